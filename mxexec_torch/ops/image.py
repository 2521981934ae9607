"""Image operators (`_image_*`): conversion, normalisation, cropping, resizing and random augmentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import torch

from ..errors import MXNetError
from ..infer.rules import fixed_dtype
from ..infer.state import Shapes, show
from ..registry import Attrs, Device, Tensor, op
from ..values import Bool, Float, FloatTuple, Int, Range, Shape
from .runtime.image import adjust_hue, color_jitter, keep_gradient, lighting
from .runtime.image import brightness as scaled_brightness
from .runtime.image import contrast as scaled_contrast
from .runtime.image import saturation as scaled_saturation
from .runtime.resize import resize_image

__all__ = ["check_resizable"]

Factor = Annotated[Float, Range(0.0)]
_RESIZABLE = (torch.uint8, torch.int16, torch.uint16, torch.float32, torch.float64)


def check_resizable(data: Tensor, interpolation: int) -> None:
    """Errors: MXNetError for an element type or interpolation that OpenCV does not resize."""
    if data.dtype not in _RESIZABLE:
        raise MXNetError(f"images of type {show(data.dtype)} cannot be resized: uint8, float32 and float64 can")
    if not 0 <= interpolation <= 4:
        raise MXNetError(f"unknown interpolation method {interpolation}: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos")


def _image(s: Shapes, dims: tuple[int, ...], layout: str) -> Any:
    data = s.get("data")
    if data is not None and len(data) not in dims:
        raise s.fail(f"Input image must have shape {layout}, but got {show(data)}")
    return data


def _channels(s: Shapes, data: Any, axis: int) -> int:
    channels: int = data[axis]
    if channels not in (1, 3, -1):
        raise s.fail(f"an image has 1 or 3 channels on axis {axis}, but got input with shape {show(data)}")
    return channels


def _to_tensor_shape(a: Attrs, s: Shapes) -> None:
    data = _image(s, (3, 4), "(height, width, channels), or (N, height, width, channels)")
    if data is not None:
        s.unify_out((*data[:-3], data[-1], *data[-3:-1]))


@op("_image_to_tensor", aliases=("_npx__image_to_tensor",), shape=_to_tensor_shape, dtype=fixed_dtype(torch.float32))
def to_tensor(data: Tensor, /) -> Tensor:
    """Channels first and divided by 255.

    data (h, w, c) or (n, h, w, c) of any type -> (c, h, w) or (n, c, h, w) float32. Source: src/operator/image/image_random.cc
    """
    wide = data if data.dtype == torch.float64 else data.float()
    return (wide / 255.0).float().movedim(-1, -3)


def _normalize_shape(a: Attrs, s: Shapes) -> None:
    data = _image(s, (3, 4), "(channels, height, width), or (N, channels, height, width)")
    if data is None:
        return
    channels = _channels(s, data, -3)
    for name in ("mean", "std"):
        if len(a[name]) != 1 and channels != -1 and len(a[name]) != channels:
            text = f"Invalid {name} for input with shape {show(data)}. {name} must have either 1 or {channels} elements, but got {a[name]}"
            raise s.fail(text)
    s.unify_out(data)


@op("_image_normalize", aliases=("_npx__image_normalize",), shape=_normalize_shape)
def normalize(
    data: Tensor, /, *, mean: FloatTuple = (0.0, 0.0, 0.0, 0.0), std: FloatTuple = (1.0, 1.0, 1.0, 1.0), device: Device
) -> Tensor:
    """(data - mean) / std for each channel.

    data (c, h, w) or (n, c, h, w), c 1 or 3; mean and std of 1 or c numbers -> same shape and type. The defaults hold four numbers and
    fit no image: give both. Source: src/operator/image/image_random.cc
    """
    wide = data if data.dtype == torch.float64 else data.float()
    shift = torch.tensor(mean, dtype=wide.dtype, device=device).reshape(-1, 1, 1)
    scale = torch.tensor(std, dtype=wide.dtype, device=device).reshape(-1, 1, 1)
    return ((wide - shift) / scale).to(data.dtype)


def _crop_shape(a: Attrs, s: Shapes) -> None:
    data = _image(s, (3, 4), "(height, width, channels), or (N, height, width, channels)")
    if data is None:
        return
    _channels(s, data, -1)
    if a.height <= 0 or a.width <= 0:
        raise s.fail("Input height and width must be greater than 0")
    for start, extent, size, name in ((a.x, a.width, data[-2], "x + width"), (a.y, a.height, data[-3], "y + height")):
        if start < 0 or (size != -1 and start + extent > size):
            raise s.fail(f"{name} should not be greater than the input's and not start below 0: {start} + {extent} of {size}")
    s.unify_out((*data[:-3], a.height, a.width, data[-1]))


@op("_image_crop", aliases=("_npx__image_crop",), shape=_crop_shape)
def crop(data: Tensor, /, *, x: Int, y: Int, width: Int, height: Int) -> Tensor:
    """A rectangle of the image.

    data (h, w, c) or (n, h, w, c), c 1 or 3 -> (height, width, c) or (n, height, width, c).
    Deviations: a negative x or y is an error; MXNet reads memory before the image. Source: src/operator/image/crop.cc
    """
    return data[..., y : y + height, x : x + width, :]


def _resized(h: int, w: int, size: tuple[int, ...], keep_ratio: bool) -> tuple[int, int]:
    """(height, width) of the result."""
    if len(size) not in (1, 2):
        raise MXNetError(f"Input size dimension must be 1 or 2, but got {len(size)}")
    if min(size) <= 0:
        raise MXNetError(f"Input size should be greater than 0, but got {size}")
    if len(size) == 2:
        return size[1], size[0]
    if not keep_ratio:
        return size[0], size[0]
    return (h * size[0] // w, size[0]) if h > w else (size[0], w * size[0] // h)


def _resize_shape(a: Attrs, s: Shapes) -> None:
    data = _image(s, (3, 4), "of 3 or 4 dimensions")
    if data is None:
        return
    if len(a.size) == 1 and a.keep_ratio and -1 in data[-3:-1]:
        return
    try:
        height, width = _resized(data[-3], data[-2], a.size, a.keep_ratio)
    except MXNetError as error:
        raise s.fail(str(error)) from None
    s.unify_out((*data[:-3], height, width, data[-1]))


@op("_image_resize", aliases=("_npx__image_resize",), shape=_resize_shape)
def resize(data: Tensor, /, *, size: Shape = (), keep_ratio: Bool = False, interp: Int = 1) -> Tensor:
    """The image at another size, with OpenCV's rules.

    data (h, w, c) or (n, h, w, c) -> (height, width, c) or (n, height, width, c). size: (width, height), or one number for both or, with
    keep_ratio, for the shorter side. interp: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos. Source: src/operator/image/resize-inl.h
    """
    height, width = _resized(data.shape[-3], data.shape[-2], size, keep_ratio)
    check_resizable(data, interp)
    return resize_image(data, height, width, interp)


def _augment_shape(a: Attrs, s: Shapes) -> None:
    data = _image(s, (3,), "(height, width, channels)")
    if data is None:
        return
    _channels(s, data, -1)
    s.unify_out(data)


def _augment(name: str, random: bool = True, **rules: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    full = f"_image_{name}"
    return op(full, aliases=(f"_npx_{full}",), shape=_augment_shape, random=random, **rules)


def _draw(low: float, high: float, device: torch.device) -> Tensor:
    return torch.rand((), device=device) * (high - low) + low


@_augment("flip_left_right", random=False)
def flip_left_right(data: Tensor, /) -> Tensor:
    """Mirrored left to right. data (h, w, c) -> same; the gradient passes unchanged. Source: src/operator/image/image_random.cc

    Deviations: MXNet leaves the middle column of an odd width unwritten.
    """
    return keep_gradient(data, data.flip(1))


@_augment("flip_top_bottom", random=False)
def flip_top_bottom(data: Tensor, /) -> Tensor:
    """Mirrored top to bottom. data (h, w, c) -> same; the gradient passes unchanged. Source: src/operator/image/image_random.cc

    Deviations: MXNet leaves the middle row of an odd height unwritten.
    """
    return keep_gradient(data, data.flip(0))


@_augment("random_flip_left_right")
def random_flip_left_right(data: Tensor, /, *, device: Device) -> Tensor:
    """Mirrored left to right every second time. data (h, w, c) -> same. Source: src/operator/image/image_random.cc"""
    return keep_gradient(data, torch.where(torch.rand((), device=device) < 0.5, data, data.flip(1)))


@_augment("random_flip_top_bottom")
def random_flip_top_bottom(data: Tensor, /, *, device: Device) -> Tensor:
    """Mirrored top to bottom every second time. data (h, w, c) -> same. Source: src/operator/image/image_random.cc"""
    return keep_gradient(data, torch.where(torch.rand((), device=device) < 0.5, data, data.flip(0)))


@_augment("random_brightness")
def random_brightness(data: Tensor, /, *, min_factor: Factor, max_factor: Factor, device: Device) -> Tensor:
    """data times a random factor. data (h, w, c) -> same; uint8 saturates. Source: src/operator/image/image_random.cc"""
    return keep_gradient(data, scaled_brightness(data, _draw(min_factor, max_factor, device)))


@_augment("random_contrast")
def random_contrast(data: Tensor, /, *, min_factor: Factor, max_factor: Factor, device: Device) -> Tensor:
    """Distance from the mean grey times a random factor. data (h, w, c) -> same. Source: src/operator/image/image_random.cc"""
    return keep_gradient(data, scaled_contrast(data, _draw(min_factor, max_factor, device)))


@_augment("random_saturation")
def random_saturation(data: Tensor, /, *, min_factor: Factor, max_factor: Factor, device: Device) -> Tensor:
    """Distance from grey (MXNet: 0.114 times blue) times a random factor. data (h, w, c) -> same. Source: src/operator/image/image_random.cc"""
    return keep_gradient(data, scaled_saturation(data, _draw(min_factor, max_factor, device)))


@_augment("random_hue")
def random_hue(data: Tensor, /, *, min_factor: Factor, max_factor: Factor, device: Device) -> Tensor:
    """The hue turned by a random part of the circle. data (h, w, c) -> same. Source: src/operator/image/image_random.cc"""
    return keep_gradient(data, adjust_hue(data, _draw(min_factor, max_factor, device)))


@_augment("random_color_jitter")
def random_color_jitter(data: Tensor, /, *, brightness: Float, contrast: Float, saturation: Float, hue: Float) -> Tensor:
    """Brightness, contrast, saturation and hue changed by up to these amounts, in random order; 0 leaves one alone.

    data (h, w, c) -> same. Deviations: with four zeros MXNet leaves its output unwritten. Source: src/operator/image/image_random.cc
    """
    return keep_gradient(data, color_jitter(data, (brightness, contrast, saturation, hue)))


@_augment("adjust_lighting", random=False)
def adjust_lighting(data: Tensor, /, *, alpha: FloatTuple, device: Device) -> Tensor:
    """AlexNet's lighting noise for given weights of the three principal colours. data (h, w, c) -> same.

    Source: src/operator/image/image_random.cc
    """
    if len(alpha) < 3:
        raise MXNetError(f"alpha needs three numbers, got {alpha}")
    return keep_gradient(data, lighting(data, torch.tensor(alpha[:3], dtype=torch.float32, device=device)))


@_augment("random_lighting")
def random_lighting(data: Tensor, /, *, alpha_std: Float = 0.05, device: Device) -> Tensor:
    """AlexNet's lighting noise with normal weights of this standard deviation. data (h, w, c) -> same.

    Source: src/operator/image/image_random.cc
    """
    return keep_gradient(data, lighting(data, torch.randn(3, device=device) * alpha_std))
