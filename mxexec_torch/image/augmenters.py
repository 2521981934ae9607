"""Augmenters of single images and `CreateAugmenter`, the usual list of them. They draw from `random` and `numpy.random` in MXNet's order.

The colour augmenters work in place, on float images. Source: python/mxnet/image/image.py
"""

from __future__ import annotations

import json
import random
import warnings
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..ndarray import NDArray
from .functions import (
    Size,
    center_crop,
    color_normalize,
    imresize,
    interpolation_for,
    random_crop,
    random_size_crop,
    resize_short,
)  # fmt: skip

__all__ = [
    "Augmenter", "BrightnessJitterAug", "CastAug", "CenterCropAug", "ColorJitterAug", "ColorNormalizeAug", "ContrastJitterAug",
    "CreateAugmenter", "ForceResizeAug", "HorizontalFlipAug", "HueJitterAug", "LightingAug", "RandomCropAug", "RandomGrayAug",
    "RandomOrderAug", "RandomSizedCropAug", "ResizeAug", "SaturationJitterAug", "SequentialAug", "colour_statistics", "lighting_pca",
    "plain_arguments",
]  # fmt: skip

_MEAN = (123.68, 116.28, 103.53)  # of ImageNet's pixels, red first
_STD = (58.395, 57.12, 57.375)


def plain_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with arrays as lists, for JSON."""
    plain = {}
    for name, value in arguments.items():
        if isinstance(value, NDArray):
            value = value.asnumpy()
        plain[name] = value.tolist() if isinstance(value, np.ndarray) else value
    return plain


class Augmenter:
    """Base class: `image = augmenter(image)`; keyword arguments are what `dumps` writes."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = plain_arguments(kwargs)

    def dumps(self) -> Any:
        """JSON of the name in lower case and the arguments."""
        return json.dumps([self.__class__.__name__.lower(), self._kwargs])

    def __call__(self, src: NDArray) -> NDArray:
        """The image changed. Errors: NotImplementedError in the base class."""
        raise NotImplementedError("Must override implementation.")


class SequentialAug(Augmenter):
    """Augmenters one after another."""

    def __init__(self, ts: list[Any]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> Any:
        """The name and what each part dumps, as a list."""
        return [self.__class__.__name__.lower(), [part.dumps() for part in self.ts]]

    def __call__(self, src: NDArray) -> NDArray:
        for part in self.ts:
            src = part(src)
        return src


class RandomOrderAug(Augmenter):
    """Augmenters in an order drawn anew for each image."""

    def __init__(self, ts: list[Any]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> Any:
        """The name and what each part dumps, as a list."""
        return [self.__class__.__name__.lower(), [part.dumps() for part in self.ts]]

    def __call__(self, src: NDArray) -> NDArray:
        random.shuffle(self.ts)
        for part in self.ts:
            src = part(src)
        return src


class ResizeAug(Augmenter):
    """Shorter side to `size`."""

    def __init__(self, size: int, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp

    def __call__(self, src: NDArray) -> NDArray:
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(Augmenter):
    """Resized to `size` (w, h), whatever the aspect ratio."""

    def __init__(self, size: Size, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp

    def __call__(self, src: NDArray) -> NDArray:
        sizes = (src.shape[0], src.shape[1], self.size[1], self.size[0])
        return imresize(src, *self.size, interp=interpolation_for(self.interp, sizes))


class RandomCropAug(Augmenter):
    """`random_crop`."""

    def __init__(self, size: Size, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp

    def __call__(self, src: NDArray) -> NDArray:
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """`random_size_crop`."""

    def __init__(self, size: Size, area: Any, ratio: tuple[float, float], interp: int = 2, **kwargs: Any) -> None:
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        if "min_area" in kwargs:
            warnings.warn("`min_area` is deprecated. Please use `area` instead.", DeprecationWarning, stacklevel=2)
            area = kwargs.pop("min_area")
        assert not kwargs, "unexpected keyword arguments for `RandomSizedCropAug`."
        self.size = size
        self.area = area
        self.ratio = ratio
        self.interp = interp

    def __call__(self, src: NDArray) -> NDArray:
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class CenterCropAug(Augmenter):
    """`center_crop`."""

    def __init__(self, size: Size, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp

    def __call__(self, src: NDArray) -> NDArray:
        return center_crop(src, self.size, self.interp)[0]


class BrightnessJitterAug(Augmenter):
    """Scaled by 1 +- brightness."""

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: NDArray) -> NDArray:
        src *= 1.0 + random.uniform(-self.brightness, self.brightness)
        return src


def _grey_weights() -> Any:
    return nd.array([[[0.299, 0.587, 0.114]]])


class ContrastJitterAug(Augmenter):
    """Blended with the image's mean grey: alpha * image + (1 - alpha) * mean, alpha = 1 +- contrast."""

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast
        self.coef = _grey_weights()

    def __call__(self, src: NDArray) -> NDArray:
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        weighted = src * self.coef
        shift = nd.sum(weighted) * (3.0 * (1.0 - alpha) / weighted.size)  # the three weighted channels of a pixel make one grey value
        src *= alpha
        src += shift
        return src


class SaturationJitterAug(Augmenter):
    """Blended with its grey version: alpha * image + (1 - alpha) * grey, alpha = 1 +- saturation."""

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation
        self.coef = _grey_weights()

    def __call__(self, src: NDArray) -> NDArray:
        alpha = 1.0 + random.uniform(-self.saturation, self.saturation)
        grey = nd.sum(src * self.coef, axis=2, keepdims=True) * (1.0 - alpha)
        src *= alpha
        src += grey
        return src


class HueJitterAug(Augmenter):
    """Hue turned by +- hue half circles, in the YIQ colour space."""

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue
        self.tyiq = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
        self.ityiq = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])

    def __call__(self, src: NDArray) -> NDArray:
        angle = random.uniform(-self.hue, self.hue) * np.pi
        cosine, sine = np.cos(angle), np.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])
        turned: NDArray = nd.dot(src, nd.array((self.ityiq @ turn @ self.tyiq).T))
        return turned


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation, those above 0, in random order."""

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        wanted = ((BrightnessJitterAug, brightness), (ContrastJitterAug, contrast), (SaturationJitterAug, saturation))
        super().__init__([kind(amount) for kind, amount in wanted if amount > 0])


class LightingAug(Augmenter):
    """Noise along the principal components of natural colours (eigval (3,), eigvec (3, 3)), of standard deviation `alphastd`."""

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd = alphastd
        self.eigval = eigval
        self.eigvec = eigvec

    def __call__(self, src: NDArray) -> NDArray:
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        src += nd.array(np.dot(self.eigvec * alpha, self.eigval))
        return src


class ColorNormalizeAug(Augmenter):
    """`color_normalize`."""

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean=mean, std=std)
        self.mean = mean if mean is None or isinstance(mean, NDArray) else nd.array(mean)
        self.std = std if std is None or isinstance(std, NDArray) else nd.array(std)

    def __call__(self, src: NDArray) -> NDArray:
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Grey, in three equal channels, with probability p."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array([[0.21] * 3, [0.72] * 3, [0.07] * 3])

    def __call__(self, src: NDArray) -> NDArray:
        return nd.dot(src, self.mat) if random.random() < self.p else src


class HorizontalFlipAug(Augmenter):
    """Left and right exchanged with probability p."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray) -> NDArray:
        return nd.flip(src, axis=1) if random.random() < self.p else src


class CastAug(Augmenter):
    """Converted to an element type."""

    def __init__(self, typ: str = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: NDArray) -> NDArray:
        return src.astype(self.typ)


def lighting_pca() -> tuple[Any, Any]:
    """Eigenvalues (3,) and eigenvectors (3, 3) of ImageNet's colours."""
    vectors = [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
    return np.array([55.46, 4.794, 1.148]), np.array(vectors)


def colour_statistics(mean: Any, std: Any, arrays: Any) -> tuple[Any, Any]:
    """mean and std as given, or ImageNet's for True. Errors: AssertionError for other types, or not 1 or 3 numbers."""
    if mean is True:
        mean = np.array(_MEAN)
    elif mean is not None:
        assert isinstance(mean, arrays) and len(mean) in (1, 3), f"mean must be an array of 1 or 3 numbers, got {mean!r}"
    if std is True:
        std = np.array(_STD)
    elif std is not None:
        assert isinstance(std, arrays) and len(std) in (1, 3), f"std must be an array of 1 or 3 numbers, got {std!r}"
    return mean, std


def colour_augmenters(
    brightness: float, contrast: float, saturation: float, hue: float, pca_noise: float, rand_gray: float, mean: Any, std: Any
) -> list[Augmenter]:
    """The augmenters of the second half of the usual list, those that are wanted."""
    made: list[Augmenter] = []
    if brightness or contrast or saturation:
        made.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        made.append(HueJitterAug(hue))
    if pca_noise > 0:
        made.append(LightingAug(pca_noise, *lighting_pca()))
    if rand_gray > 0:
        made.append(RandomGrayAug(rand_gray))
    if mean is not None or std is not None:
        made.append(ColorNormalizeAug(mean, std))
    return made


def CreateAugmenter(
    data_shape: tuple[int, int, int], resize: int = 0, rand_crop: bool = False, rand_resize: bool = False, rand_mirror: bool = False,
    mean: Any = None, std: Any = None, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0,
    pca_noise: float = 0, rand_gray: float = 0, inter_method: int = 2,
) -> list[Augmenter]:  # fmt: skip
    """The usual list: resize the shorter side, crop to `data_shape` (c, h, w), mirror, cast, colours, normalise with mean and std.

    mean, std: arrays of 1 or 3 numbers, or True for ImageNet's. rand_resize needs rand_crop.
    """
    made: list[Augmenter] = []
    if resize > 0:
        made.append(ResizeAug(resize, inter_method))
    crop_size = (data_shape[2], data_shape[1])
    if rand_resize:
        assert rand_crop, "rand_resize needs rand_crop"
        made.append(RandomSizedCropAug(crop_size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method))
    else:
        made.append((RandomCropAug if rand_crop else CenterCropAug)(crop_size, inter_method))
    if rand_mirror:
        made.append(HorizontalFlipAug(0.5))
    made.append(CastAug())
    standard = colour_statistics(mean, std, (np.ndarray, NDArray))
    mean, std = (nd.array(found) if given is True else found for given, found in zip((mean, std), standard, strict=True))
    return made + colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)
