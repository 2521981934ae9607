"""Functions on single images, NDArrays (height, width, channels): decoding, resizing, cropping, rotating.

Random choices are drawn from Python's `random` and from `numpy.random` as MXNet draws them, so that one seed gives one result in both.
Source: python/mxnet/image/image.py
"""

from __future__ import annotations

import math
import random
import warnings
from numbers import Number
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..ndarray import NDArray, _internal

__all__ = [
    "center_crop", "color_normalize", "copyMakeBorder", "fixed_crop", "imdecode", "imread", "imresize", "imrotate", "interpolation_for",
    "random_crop", "random_rotate", "random_size_crop", "resize_short", "scale_down",
]  # fmt: skip

Size = tuple[int, int]
Rectangle = tuple[int, int, int, int]


def imread(filename: str, *args: Any, **kwargs: Any) -> NDArray:
    """The picture in a file; arguments as for `imdecode`."""
    return _internal._cvimread(filename, *args, **kwargs)  # type: ignore[no-any-return]


def imdecode(buf: Any, *args: Any, **kwargs: Any) -> NDArray:
    """The picture in an image file's bytes (bytes, bytearray or a uint8 array) -> uint8 (h, w, 3), red first.

    flag=0: grey (h, w, 1); to_rgb=0: blue first. Errors: ValueError for str, MXNetError when the bytes are no image.
    """
    if not isinstance(buf, NDArray):
        if not isinstance(buf, (bytes, bytearray, np.ndarray)):
            raise ValueError(f"buf must be bytes, bytearray or a numpy.ndarray, got {type(buf).__name__}; encode a str to bytes first")
        buf = nd.array(np.frombuffer(buf, dtype=np.uint8), dtype=np.uint8)
    return _internal._cvimdecode(buf, *args, **kwargs)  # type: ignore[no-any-return]


def imresize(src: NDArray, w: int, h: int, *args: Any, **kwargs: Any) -> NDArray:
    """The image at another size. interp: 0 nearest, 1 linear (the default), 2 cubic, 3 area, 4 Lanczos."""
    return _internal._cvimresize(src, w, h, *args, **kwargs)  # type: ignore[no-any-return]


def copyMakeBorder(src: NDArray, top: int, bot: int, left: int, right: int, *args: Any, **kwargs: Any) -> NDArray:
    """The image with a border; see the operator `_cvcopyMakeBorder`."""
    return _internal._cvcopyMakeBorder(src, top, bot, left, right, *args, **kwargs)  # type: ignore[no-any-return]


def interpolation_for(interp: int, sizes: tuple[int, ...] = ()) -> int:
    """The method 0-4 for a code: 9 chooses by `sizes` (old height, old width, new height, new width), 10 at random.

    Errors: ValueError for other codes.
    """
    if interp == 9:
        if not sizes:
            return 2
        old_h, old_w, new_h, new_w = sizes
        if new_h > old_h and new_w > old_w:
            return 2
        return 3 if new_h < old_h and new_w < old_w else 1
    if interp == 10:
        return random.randint(0, 4)
    if interp not in range(5):
        raise ValueError(f"Unknown interp method {interp}")
    return interp


def scale_down(src_size: Size, size: Size) -> Size:
    """A crop size (w, h) made to fit an image of `src_size` (w, h), in proportion."""
    w, h = size
    image_w, image_h = src_size
    wide: float = w
    high: float = h
    if image_h < high:
        wide, high = float(wide * image_h) / high, image_h
    if image_w < wide:
        wide, high = image_w, float(high * image_w) / wide
    return int(wide), int(high)


def resize_short(src: NDArray, size: int, interp: int = 2) -> NDArray:
    """The image resized so that its shorter side is `size`."""
    h, w, _ = src.shape
    new_h, new_w = (size * h // w, size) if h > w else (size, size * w // h)
    return imresize(src, new_w, new_h, interp=interpolation_for(interp, (h, w, new_h, new_w)))


def fixed_crop(src: NDArray, x0: int, y0: int, w: int, h: int, size: Size | None = None, interp: int = 2) -> NDArray:
    """The part of w x h at (x0, y0), resized to `size` (w, h) when given."""
    part: NDArray = src[y0 : y0 + h, x0 : x0 + w]
    if size is None or (w, h) == size:
        return part
    return imresize(part, *size, interp=interpolation_for(interp, (h, w, size[1], size[0])))


def random_crop(src: NDArray, size: Size, interp: int = 2) -> tuple[NDArray, Rectangle]:
    """A part of `size` (w, h) at a random place, and (x, y, w, h) of it; from a smaller image a smaller part, enlarged."""
    h, w, _ = src.shape
    new_w, new_h = scale_down((w, h), size)
    x0 = random.randint(0, w - new_w)
    y0 = random.randint(0, h - new_h)
    return fixed_crop(src, x0, y0, new_w, new_h, size, interp), (x0, y0, new_w, new_h)


def center_crop(src: NDArray, size: Size, interp: int = 2) -> tuple[NDArray, Rectangle]:
    """The part of `size` (w, h) in the middle, and (x, y, w, h) of it; from a smaller image a smaller part, enlarged."""
    h, w, _ = src.shape
    new_w, new_h = scale_down((w, h), size)
    x0, y0 = (w - new_w) // 2, (h - new_h) // 2
    return fixed_crop(src, x0, y0, new_w, new_h, size, interp), (x0, y0, new_w, new_h)


def random_size_crop(
    src: NDArray, size: Size, area: Any, ratio: tuple[float, float], interp: int = 2, **kwargs: Any
) -> tuple[NDArray, Rectangle]:  # fmt: skip
    """A part of random area and aspect ratio resized to `size` (w, h), and (x, y, w, h) of it.

    area: the smallest share of the image, or (smallest, largest). After ten proposals that do not fit: the centre.
    """
    h, w, _ = src.shape
    if "min_area" in kwargs:
        warnings.warn("`min_area` is deprecated. Please use `area` instead.", DeprecationWarning, stacklevel=2)
        area = kwargs.pop("min_area")
    assert not kwargs, "unexpected keyword arguments for `random_size_crop`."
    least, most = (float(area), 1.0) if isinstance(area, (int, float)) else area
    for _attempt in range(10):
        wanted = random.uniform(least, most) * (h * w)
        aspect = np.exp(random.uniform(np.log(ratio[0]), np.log(ratio[1])))
        new_w, new_h = int(round(np.sqrt(wanted * aspect))), int(round(np.sqrt(wanted / aspect)))
        if new_w <= w and new_h <= h:
            x0 = random.randint(0, w - new_w)
            y0 = random.randint(0, h - new_h)
            return fixed_crop(src, x0, y0, new_w, new_h, size, interp), (x0, y0, new_w, new_h)
    return center_crop(src, size, interp)


def color_normalize(src: NDArray, mean: Any, std: Any = None) -> NDArray:
    """(src - mean) / std, in place; None leaves that step out."""
    if mean is not None:
        src -= mean
    if std is not None:
        src /= std
    return src


def imrotate(src: NDArray, rotation_degrees: Any, zoom_in: bool = False, zoom_out: bool = False) -> NDArray:
    """float32 images (c, h, w) or (n, c, h, w) turned about their centre by an angle, or one for each image.

    zoom_in cuts so that no border shows, zoom_out shrinks so that all of the image does.
    """
    if zoom_in and zoom_out:
        raise ValueError("`zoom_in` and `zoom_out` cannot be both True")
    if src.dtype is not np.float32:
        raise TypeError("Only `float32` images are supported by this function")
    if src.ndim not in (3, 4):
        raise ValueError("Only 3D and 4D are supported by this function")
    single = src.ndim == 3
    if single:
        if not isinstance(rotation_degrees, Number):
            raise TypeError("When a single image is passed the rotation angle is required to be a scalar.")
        src = src.expand_dims(axis=0)
    count, _, h, w = src.shape
    if isinstance(rotation_degrees, Number):
        rotation_degrees = nd.array([rotation_degrees] * count, ctx=src.context)
    if len(rotation_degrees) != count:
        raise ValueError("The number of images must be equal to the number of rotation angles")
    angle = (rotation_degrees.as_in_context(src.context) * (np.pi / 180)).reshape((count, 1, 1))
    middle_y, middle_x = (h - 1) / 2, (w - 1) / 2
    rows = (nd.arange(h, ctx=src.context) - middle_y).reshape((1, h, 1))
    columns = (nd.arange(w, ctx=src.context) - middle_x).reshape((1, 1, w))
    cosine, sine = nd.cos(angle), nd.sin(angle)
    x = (columns * cosine - rows * sine) / middle_x
    y = (columns * sine + rows * cosine) / middle_y
    grid = nd.stack(x, y, axis=1)
    if zoom_in or zoom_out:
        grid = grid * _zoom(angle, h, w, zoom_out).expand_dims(axis=3)
    turned: Any = nd.BilinearSampler(src, grid)
    return turned[0] if single else turned  # type: ignore[no-any-return]


def _zoom(angle: NDArray, h: int, w: int, out: bool) -> NDArray:
    """The scale at which the turned image's corners (out) or the image's own stay inside."""
    diagonal, corner = math.hypot(h, w), math.atan(h / w)
    turns = (corner + nd.abs(angle), corner - nd.abs(angle))
    reach_x = nd.maximum(*[nd.abs(diagonal * nd.cos(turn)) for turn in turns]) / w
    reach_y = nd.maximum(*[nd.abs(diagonal * nd.sin(turn)) for turn in turns]) / h
    scale: NDArray = nd.maximum(reach_x, reach_y) if out else nd.minimum(1 / reach_x, 1 / reach_y)
    return scale


def random_rotate(src: NDArray, angle_limits: tuple[float, float], zoom_in: bool = False, zoom_out: bool = False) -> NDArray:
    """`imrotate` by angles drawn between the limits, one for each image."""
    angles: Any = np.random.uniform(*angle_limits) if src.ndim == 3 else nd.array(np.random.uniform(*angle_limits, size=src.shape[0]))
    return imrotate(src, angles, zoom_in=zoom_in, zoom_out=zoom_out)
