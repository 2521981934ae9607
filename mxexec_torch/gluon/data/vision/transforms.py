"""Transforms of images, as blocks."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .... import image
from ....base import numeric_types
from ...block import Block, HybridBlock
from ...nn.sequential import HybridSequential, Sequential

__all__ = [
    "Cast", "CenterCrop", "Compose", "CropResize", "Normalize", "RandomApply", "RandomBrightness", "RandomColorJitter", "RandomContrast",
    "RandomFlipLeftRight", "RandomFlipTopBottom", "RandomHue", "RandomLighting", "RandomResizedCrop", "RandomRotation", "RandomSaturation",
    "Resize", "Rotate", "ToTensor",
]  # fmt: skip


class Compose(Sequential):
    """Transforms one after the other; neighbours that can be hybridized run as one graph."""

    def __init__(self, transforms: list[Any]) -> None:
        super().__init__()
        run: list[Any] = []
        for transform in [*transforms, None]:
            if isinstance(transform, HybridBlock):
                run.append(transform)
                continue
            self._add_run(run)
            run = []
            if transform is not None:
                self.add(transform)

    def _add_run(self, run: list[Any]) -> None:
        if len(run) > 1:
            together = HybridSequential()
            together.add(*run)
            together.hybridize()
            self.add(together)
        else:
            self.add(*run)


class _Operator(HybridBlock):
    """A transform that is one operator of F.image with these arguments."""

    _function: str
    _args: tuple[Any, ...] = ()

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # type: ignore[override]
        return getattr(F.image, self._function)(x, *self._args)


class Cast(HybridBlock):
    """Another element type."""

    def __init__(self, dtype: Any = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # type: ignore[override]
        return F.cast(x, self._dtype)


class ToTensor(_Operator):
    """(H, W, C) images of 0 to 255 as (C, H, W) float32 of 0 to 1; also batches."""

    _function = "to_tensor"

    def __init__(self) -> None:
        super().__init__()


class Normalize(_Operator):
    """(x - mean) / std per channel, of (C, H, W) images."""

    _function = "normalize"

    def __init__(self, mean: Any = 0.0, std: Any = 1.0) -> None:
        super().__init__()
        self._mean, self._std = mean, std
        self._args = (mean, std)


def _only_float32(x: Any) -> None:
    if x.dtype is not np.float32:
        raise TypeError(f"This transformation only supports float32, not {x.dtype}. Consider calling it after ToTensor")


class Rotate(Block):
    """Rotation of (C, H, W) images by degrees."""

    def __init__(self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False) -> None:
        super().__init__()
        self._args = (rotation_degrees, zoom_in, zoom_out)

    def forward(self, x: Any) -> Any:
        """The rotated image."""
        _only_float32(x)
        return image.imrotate(x, *self._args)


class RandomRotation(Block):
    """Rotation by an angle from a range, with a given probability."""

    def __init__(
        self, angle_limits: tuple[float, float], zoom_in: bool = False, zoom_out: bool = False, rotate_with_proba: float = 1.0
    ) -> None:
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            raise ValueError(f"`angle_limits` must be an ordered tuple, got {angle_limits}")
        if not 0 <= rotate_with_proba <= 1:
            raise ValueError(f"rotate_with_proba must be a probability between 0 and 1, got {rotate_with_proba}")
        self._args = (angle_limits, zoom_in, zoom_out)
        self._rotate_with_proba = rotate_with_proba

    def forward(self, x: Any) -> Any:
        """The rotated image, or the image."""
        if np.random.random() > self._rotate_with_proba:
            return x
        _only_float32(x)
        return image.random_rotate(x, *self._args)


def _pair(size: Any) -> Any:
    return (size, size) if isinstance(size, numeric_types) else size


class RandomResizedCrop(Block):
    """A part of random area (fraction in `scale`) and aspect (in `ratio`), resized to `size` (width, height)."""

    def __init__(
        self, size: Any, scale: tuple[float, float] = (0.08, 1.0), ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0), interpolation: int = 1
    ) -> None:
        super().__init__()
        self._args = (_pair(size), scale, ratio, interpolation)

    def forward(self, x: Any) -> Any:
        """The crop."""
        return image.random_size_crop(x, *self._args)[0]


class CropResize(HybridBlock):
    """The rectangle at (x, y), resized where `size` is given."""

    def __init__(self, x: int, y: int, width: int, height: int, size: Any = None, interpolation: Any = None) -> None:
        super().__init__()
        self._x, self._y, self._width, self._height, self._size, self._interpolation = x, y, width, height, size, interpolation

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # type: ignore[override]
        out = F.image.crop(x, self._x, self._y, self._width, self._height)
        return F.image.resize(out, self._size, False, self._interpolation) if self._size else out


class CenterCrop(Block):
    """The centre, of `size` (width, height), enlarged from a smaller image."""

    def __init__(self, size: Any, interpolation: int = 1) -> None:
        super().__init__()
        self._args = (_pair(size), interpolation)

    def forward(self, x: Any) -> Any:
        """The crop."""
        return image.center_crop(x, *self._args)[0]


class Resize(_Operator):
    """Resized to `size` (width, height); with keep_ratio the shorter side to a number."""

    _function = "resize"

    def __init__(self, size: Any, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._size, self._keep, self._interpolation = size, keep_ratio, interpolation
        self._args = (size, keep_ratio, interpolation)


class RandomFlipLeftRight(_Operator):
    """Mirrored left to right, half of the time."""

    _function = "random_flip_left_right"

    def __init__(self) -> None:
        super().__init__()


class RandomFlipTopBottom(_Operator):
    """Mirrored top to bottom, half of the time."""

    _function = "random_flip_top_bottom"

    def __init__(self) -> None:
        super().__init__()


def _around_one(amount: float) -> tuple[float, float]:
    return max(0, 1 - amount), 1 + amount


class RandomBrightness(_Operator):
    """Brightness times a factor between 1 - brightness and 1 + brightness."""

    _function = "random_brightness"

    def __init__(self, brightness: float) -> None:
        super().__init__()
        self._args = _around_one(brightness)


class RandomContrast(_Operator):
    """Contrast times a factor between 1 - contrast and 1 + contrast."""

    _function = "random_contrast"

    def __init__(self, contrast: float) -> None:
        super().__init__()
        self._args = _around_one(contrast)


class RandomSaturation(_Operator):
    """Saturation times a factor between 1 - saturation and 1 + saturation."""

    _function = "random_saturation"

    def __init__(self, saturation: float) -> None:
        super().__init__()
        self._args = _around_one(saturation)


class RandomHue(_Operator):
    """Hue changed by a factor between 1 - hue and 1 + hue."""

    _function = "random_hue"

    def __init__(self, hue: float) -> None:
        super().__init__()
        self._args = _around_one(hue)


class RandomColorJitter(_Operator):
    """Brightness, contrast, saturation and hue, in random order."""

    _function = "random_color_jitter"

    def __init__(self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0) -> None:
        super().__init__()
        self._args = (brightness, contrast, saturation, hue)


class RandomLighting(_Operator):
    """AlexNet's noise along the principal colours, of standard deviation alpha."""

    _function = "random_lighting"

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._alpha = alpha
        self._args = (alpha,)


class RandomApply(Sequential):
    """Applies a transform with probability p."""

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms, self.p = transforms, p

    def forward(self, x: Any) -> Any:
        """The transformed image, or the image."""
        return x if self.p < random.random() else self.transforms(x)
