"""Augmenters of an image together with its object boxes, and the usual lists of them.

Labels are float32 arrays (objects, 5 or more): class, left, top, right, bottom as shares of the image, further columns untouched.
Source: python/mxnet/image/detection.py
"""

from __future__ import annotations

import json
import logging
import math
import random
import warnings
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..base import numeric_types
from ..ndarray import NDArray
from .augmenters import Augmenter, CastAug, ForceResizeAug, ResizeAug, colour_augmenters, colour_statistics, plain_arguments
from .functions import copyMakeBorder, fixed_crop

__all__ = [
    "CreateDetAugmenter", "CreateMultiRandCropAugmenter", "DetAugmenter", "DetBorrowAug", "DetHorizontalFlipAug", "DetRandomCropAug",
    "DetRandomPadAug", "DetRandomSelectAug",
]  # fmt: skip

Labels = np.ndarray[Any, Any]
Box = tuple[int, int, int, int]


class DetAugmenter:
    """Base class: `image, label = augmenter(image, label)`; keyword arguments are what `dumps` writes."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = plain_arguments(kwargs)

    def dumps(self) -> Any:
        """JSON of the name in lower case and the arguments."""
        return json.dumps([self.__class__.__name__.lower(), self._kwargs])

    def __call__(self, src: NDArray, label: Labels) -> tuple[NDArray, Labels]:
        """Image and label changed. Errors: NotImplementedError in the base class."""
        raise NotImplementedError("Must override implementation.")


class DetBorrowAug(DetAugmenter):
    """An augmenter of single images that moves no object."""

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter):
            raise TypeError(f"Borrowing from invalid Augmenter: {augmenter!r}")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Any:
        """The name and what the borrowed augmenter dumps, as a list."""
        return [self.__class__.__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: NDArray, label: Labels) -> tuple[NDArray, Labels]:
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of the augmenters at random, or with probability skip_prob none."""

    def __init__(self, aug_list: Any, skip_prob: float = 0) -> None:
        super().__init__(skip_prob=skip_prob)
        augmenters: Any = aug_list if isinstance(aug_list, (list, tuple)) else [aug_list]
        for augmenter in augmenters:
            if not isinstance(augmenter, DetAugmenter):
                raise ValueError(f"Allow DetAugmenter in list only, got {augmenter!r}")
        self.aug_list = list(augmenters)
        self.skip_prob = skip_prob if augmenters else 1

    def dumps(self) -> Any:
        """The name and what each augmenter dumps, as a list."""
        return [self.__class__.__name__.lower(), [augmenter.dumps() for augmenter in self.aug_list]]

    def __call__(self, src: NDArray, label: Labels) -> tuple[NDArray, Labels]:
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        chosen: tuple[NDArray, Labels] = self.aug_list[0](src, label)
        return chosen


class DetHorizontalFlipAug(DetAugmenter):
    """Image and boxes mirrored with probability p; the label is changed in place."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray, label: Labels) -> tuple[NDArray, Labels]:
        if random.random() < self.p:
            src = nd.flip(src, axis=1)
            label[:, [1, 3]] = 1.0 - label[:, [3, 1]]
        return src, label


def _range(value: Any, name: str, owner: str) -> Any:
    """A range from a range or one number."""
    if isinstance(value, (tuple, list)):
        return value
    assert isinstance(value, numeric_types), f"{name} must be a number or a pair of numbers, got {value!r}"
    logging.info("Using fixed %s: %s in %s", name, value, owner)
    return (value, value)


def _usable(owner: str, area_range: tuple[float, float], area_ok: bool, aspect_ratio_range: tuple[float, float]) -> bool:
    if not area_ok:
        warnings.warn(f"Skip {owner} due to invalid area_range: {area_range}", stacklevel=3)
    elif aspect_ratio_range[0] > aspect_ratio_range[1] or aspect_ratio_range[0] <= 0:
        warnings.warn(f"Skip {owner} due to invalid aspect_ratio_range: {aspect_ratio_range}", stacklevel=3)
    else:
        return True
    return False


def _areas(boxes: Labels) -> Labels:
    """Areas of boxes whose first four columns are left, top, right, bottom; 0 where they are turned inside out."""
    sides = np.maximum(0, boxes[:, 2:4] - boxes[:, :2])
    return np.asarray(sides[:, 0] * sides[:, 1])


class DetRandomCropAug(DetAugmenter):
    """A part of random area and aspect ratio that covers more than `min_object_covered` of each object it touches.

    Objects of which no more than min_eject_coverage is left are dropped. After max_attempts proposals: the image as it is.
    """

    def __init__(
        self, min_object_covered: float = 0.1, aspect_ratio_range: Any = (0.75, 1.33), area_range: Any = (0.05, 1.0),
        min_eject_coverage: float = 0.3, max_attempts: int = 50,
    ) -> None:  # fmt: skip
        aspect_ratio_range = _range(aspect_ratio_range, "aspect ratio", "DetRandomCropAug")
        area_range = _range(area_range, "area range", "DetRandomCropAug")
        super().__init__(
            min_object_covered=min_object_covered, aspect_ratio_range=aspect_ratio_range, area_range=area_range,
            min_eject_coverage=min_eject_coverage, max_attempts=max_attempts,
        )  # fmt: skip
        self.min_object_covered = min_object_covered
        self.min_eject_coverage = min_eject_coverage
        self.max_attempts = max_attempts
        self.aspect_ratio_range = aspect_ratio_range
        self.area_range = area_range
        area_ok = area_range[1] > 0 and area_range[0] <= area_range[1]
        self.enabled = _usable("DetRandomCropAug", area_range, area_ok, aspect_ratio_range)

    def __call__(self, src: NDArray, label: Labels) -> tuple[NDArray, Labels]:
        found = self._random_crop_proposal(label, src.shape[0], src.shape[1])
        if found is None:
            return src, label
        box, cropped = found
        return fixed_crop(src, *box, None), cropped

    def _random_crop_proposal(self, label: Labels, height: int, width: int) -> tuple[Box, Labels] | None:
        """A box (x, y, w, h) and the labels in it."""
        if not self.enabled or height <= 0 or width <= 0:
            return None
        for _attempt in range(self.max_attempts):
            ratio = random.uniform(*self.aspect_ratio_range)
            size = self._size(ratio, height, width) if ratio > 0 else None
            if size is None:
                continue
            w, h = size
            y = random.randint(0, max(0, height - h))
            x = random.randint(0, max(0, width - w))
            if self._satisfies(label, (x, y, w, h), width, height):
                cropped = self._update_labels(label, (x, y, w, h), height, width)
                if cropped is not None:
                    return (x, y, w, h), cropped
        return None

    def _size(self, ratio: float, height: int, width: int) -> tuple[int, int] | None:
        """A random size (w, h) of that aspect ratio with an area in the range, None when rounding leaves it."""
        least, most = (share * height * width for share in self.area_range)
        h, tallest = round(math.sqrt(least / ratio)), round(math.sqrt(most / ratio))
        if round(tallest * ratio) > width:
            tallest = int((width + 0.4999999) / ratio)
        tallest = min(tallest, height)
        h = random.randint(h, tallest) if h < tallest else tallest
        w = round(h * ratio)
        if w * h < least:
            h += 1
            w = round(h * ratio)
        if w * h > most:
            h -= 1
            w = round(h * ratio)
        return (w, h) if least <= w * h <= most and 0 <= w <= width and 0 <= h <= height else None

    def _satisfies(self, label: Labels, box: Box, width: int, height: int) -> bool:
        """Whether the box has two pixels and covers enough of each object that it touches, of those above two pixels."""
        x, y, w, h = box
        if w * h < 2:
            return False
        areas = _areas(label[:, 1:])
        large = areas * width * height > 2
        if not large.any():
            return False
        objects = label[large, 1:5].copy()
        objects[:, :2] = np.maximum(objects[:, :2], [x / width, y / height])
        objects[:, 2:] = np.minimum(objects[:, 2:], [(x + w) / width, (y + h) / height])
        covered = _areas(objects) / areas[large]
        covered = covered[covered > 0]
        return covered.size > 0 and bool(covered.min() > self.min_object_covered)

    def _update_labels(self, label: Labels, box: Box, height: int, width: int) -> Labels | None:
        """The labels relative to the box, without the objects that fell out; None when all did."""
        x, y, w, h = box[0] / width, box[1] / height, box[2] / width, box[3] / height
        out = label.copy()
        out[:, (1, 3)] = (out[:, (1, 3)] - x) / w
        out[:, (2, 4)] = (out[:, (2, 4)] - y) / h
        out[:, 1:5] = np.clip(out[:, 1:5], 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            left = _areas(out[:, 1:]) * w * h / _areas(label[:, 1:])
        kept = (out[:, 3] > out[:, 1]) & (out[:, 4] > out[:, 2]) & (left > self.min_eject_coverage)
        return out[kept] if kept.any() else None


class DetRandomPadAug(DetAugmenter):
    """The image at a random place of a larger one filled with pad_val, of random area (a multiple of the image's) and aspect ratio."""

    def __init__(
        self, aspect_ratio_range: Any = (0.75, 1.33), area_range: Any = (1.0, 3.0), max_attempts: int = 50,
        pad_val: Any = (128, 128, 128),
    ) -> None:  # fmt: skip
        if not isinstance(pad_val, (list, tuple)):
            assert isinstance(pad_val, numeric_types), f"pad_val must be a number or numbers, got {pad_val!r}"
            pad_val = (pad_val,) * 3
        aspect_ratio_range = _range(aspect_ratio_range, "aspect ratio", "DetRandomPadAug")
        area_range = _range(area_range, "area range", "DetRandomPadAug")
        super().__init__(aspect_ratio_range=aspect_ratio_range, area_range=area_range, max_attempts=max_attempts, pad_val=pad_val)
        self.pad_val = pad_val
        self.aspect_ratio_range = aspect_ratio_range
        self.area_range = area_range
        self.max_attempts = max_attempts
        area_ok = area_range[1] > 1.0 and area_range[0] <= area_range[1]
        self.enabled = _usable("DetRandomPadAug", area_range, area_ok, aspect_ratio_range)

    def __call__(self, src: NDArray, label: Labels) -> tuple[NDArray, Labels]:
        height, width, _ = src.shape
        found = self._random_pad_proposal(label, height, width)
        if found is None:
            return src, label
        (x, y, w, h), label = found
        return copyMakeBorder(src, y, h - y - height, x, w - x - width, 0, values=self.pad_val), label

    def _update_labels(self, label: Labels, box: Box, height: int, width: int) -> Labels:
        """The labels relative to the larger image, in which this one has its corner at box's x and y."""
        out = label.copy()
        out[:, (1, 3)] = (out[:, (1, 3)] * width + box[0]) / box[2]
        out[:, (2, 4)] = (out[:, (2, 4)] * height + box[1]) / box[3]
        return out

    def _random_pad_proposal(self, label: Labels, height: int, width: int) -> tuple[Box, Labels] | None:
        """A box (x, y, w, h): place of the image and size of the larger one; and the labels in it."""
        if not self.enabled or height <= 0 or width <= 0:
            return None
        least, most = (share * height * width for share in self.area_range)
        for _attempt in range(self.max_attempts):
            ratio = random.uniform(*self.aspect_ratio_range)
            if ratio <= 0:
                continue
            h, tallest = round(math.sqrt(least / ratio)), round(math.sqrt(most / ratio))
            if round(h * ratio) < width:
                h = int((width + 0.499999) / ratio)
            h = max(h, height)
            h = random.randint(h, tallest) if h < tallest else tallest
            w = round(h * ratio)
            if h - height < 2 or w - width < 2:
                continue  # a border this narrow changes nothing
            y = random.randint(0, max(0, h - height))
            x = random.randint(0, max(0, w - width))
            return (x, y, w, h), self._update_labels(label, (x, y, w, h), height, width)
        return None


def CreateMultiRandCropAugmenter(
    min_object_covered: Any = 0.1, aspect_ratio_range: Any = (0.75, 1.33), area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3, max_attempts: Any = 50, skip_prob: float = 0,
) -> DetRandomSelectAug:  # fmt: skip
    """A random choice among several `DetRandomCropAug`: each argument is one value for all or a list with one for each."""
    given = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
    columns = [value if isinstance(value, list) else [value] for value in given]
    count = max(map(len, columns))
    for i, column in enumerate(columns):
        if len(column) != count:
            assert len(column) == 1, f"lists of one length are needed, got {[len(c) for c in columns]}"
            columns[i] = column * count
    return DetRandomSelectAug([DetRandomCropAug(*row) for row in zip(*columns, strict=True)], skip_prob=skip_prob)


def CreateDetAugmenter(
    data_shape: tuple[int, int, int], resize: int = 0, rand_crop: float = 0, rand_pad: float = 0, rand_gray: float = 0,
    rand_mirror: bool = False, mean: Any = None, std: Any = None, brightness: float = 0, contrast: float = 0, saturation: float = 0,
    pca_noise: float = 0, hue: float = 0, inter_method: int = 2, min_object_covered: Any = 0.1, aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0), min_eject_coverage: Any = 0.3, max_attempts: Any = 50, pad_val: Any = (127, 127, 127),
) -> list[DetAugmenter]:  # fmt: skip
    """The usual list: resize the shorter side, crop and pad with these probabilities, mirror, force to `data_shape`, cast, colours, normalise."""
    made: list[DetAugmenter] = []
    if resize > 0:
        made.append(DetBorrowAug(ResizeAug(resize, inter_method)))
    if rand_crop > 0:
        made.append(
            CreateMultiRandCropAugmenter(
                min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts, skip_prob=1 - rand_crop
            )
        )
    if rand_mirror > 0:
        made.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        made.append(DetRandomSelectAug([DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)], 1 - rand_pad))
    made.append(DetBorrowAug(ForceResizeAug((data_shape[2], data_shape[1]), inter_method)))
    made.append(DetBorrowAug(CastAug()))
    mean, std = colour_statistics(mean, std, (np.ndarray,))
    colours = colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)
    return made + [DetBorrowAug(augmenter) for augmenter in colours]
