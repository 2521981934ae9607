"""`mx.image.detection`: augmenters of images with object boxes, and `ImageDetIter`, batches of such images."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import io
from .. import ndarray as nd
from ..io.image_codec import opencv
from ..ndarray import NDArray
from ..util import is_np_array
from .augmenters import (
    Augmenter,
    CastAug,
    ColorJitterAug,
    ColorNormalizeAug,
    ForceResizeAug,
    HueJitterAug,
    LightingAug,
    RandomGrayAug,
    RandomOrderAug,
    ResizeAug,
    colour_statistics,
)  # fmt: skip
from .detection_augmenters import (
    CreateDetAugmenter,
    CreateMultiRandCropAugmenter,
    DetAugmenter,
    DetBorrowAug,
    DetHorizontalFlipAug,
    DetRandomCropAug,
    DetRandomPadAug,
    DetRandomSelectAug,
    Labels,
)  # fmt: skip
from .functions import copyMakeBorder, fixed_crop
from .image import ImageIter

__all__ = [
    "CreateDetAugmenter", "CreateMultiRandCropAugmenter", "DetAugmenter", "DetBorrowAug", "DetHorizontalFlipAug", "DetRandomCropAug",
    "DetRandomPadAug", "DetRandomSelectAug", "ImageDetIter",
]  # fmt: skip


class ImageDetIter(ImageIter):
    """Batches of images with their objects: labels (batch, most objects of any image, columns), filled up with -1.

    A stored label is: its header's length, the columns of an object (5 or more), the rest of the header, then the objects (class, left,
    top, right, bottom, ...). Sources and last_batch_handle as `ImageIter`; further keywords are `CreateDetAugmenter`'s.
    """

    def __init__(
        self, batch_size: int, data_shape: tuple[int, ...], path_imgrec: str | None = None, path_imglist: str | None = None,
        path_root: str | None = None, path_imgidx: str | None = None, shuffle: bool = False, part_index: int = 0, num_parts: int = 1,
        aug_list: list[Any] | None = None, imglist: list[Any] | None = None, data_name: str = "data", label_name: str = "label",
        last_batch_handle: str = "pad", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            batch_size=batch_size, data_shape=data_shape, path_imgrec=path_imgrec, path_imglist=path_imglist, path_root=path_root,
            path_imgidx=path_imgidx, shuffle=shuffle, part_index=part_index, num_parts=num_parts, aug_list=[], imglist=imglist,
            data_name=data_name, label_name=label_name, last_batch_handle=last_batch_handle,
        )  # fmt: skip
        self.auglist = CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list  # type: ignore[arg-type]
        self.label_shape: tuple[int, int] = self._estimate_label_shape()
        self.provide_label = [(label_name, (self.batch_size, *self.label_shape))]

    def _check_valid_label(self, label: Labels) -> None:
        """Errors: RuntimeError for a label of another shape or without any object of positive size and class."""
        if len(label.shape) != 2 or label.shape[1] < 5:
            raise RuntimeError(f"Label with shape (1+, 5+) required, {label} received.")
        if not ((label[:, 0] >= 0) & (label[:, 3] > label[:, 1]) & (label[:, 4] > label[:, 2])).any():
            raise RuntimeError("Invalid label occurs.")

    def _estimate_label_shape(self) -> tuple[int, int]:
        """The most objects of any image, and the columns: reads all labels once."""
        most, columns = 0, 0
        self.reset()
        try:
            while True:
                label = self._parse_label(self.next_sample()[0])
                most, columns = max(most, label.shape[0]), label.shape[1]
        except StopIteration:
            pass
        self.reset()
        return most, columns

    def _parse_label(self, label: Any) -> Labels:
        """The objects (n, columns) of a stored label, without those of no size. Errors: RuntimeError when it is malformed or none is left."""
        raw = np.ravel(label.asnumpy() if isinstance(label, NDArray) else label)
        if raw.size < 7:
            raise RuntimeError(f"Label shape is invalid: {raw.shape}")
        header, columns = int(raw[0]), int(raw[1])
        if columns < 5 or (raw.size - header) % columns != 0:
            raise RuntimeError(f"Label shape {raw.shape} inconsistent with annotation width {columns}.")
        objects = raw[header:].reshape(-1, columns)
        kept = (objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])
        if not kept.any():
            raise RuntimeError("Encounter sample with no valid label.")
        return np.asarray(objects[kept])

    def reshape(self, data_shape: tuple[int, ...] | None = None, label_shape: tuple[int, int] | None = None) -> None:
        """Other shapes from the next batch on; None leaves one as it is."""
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.provide_data = [(self.provide_data[0][0], (self.batch_size, *data_shape))]
            self.data_shape = data_shape
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.provide_label = [(self.provide_label[0][0], (self.batch_size, *label_shape))]
            self.label_shape = label_shape

    def _new_batch(self) -> tuple[NDArray, NDArray]:
        return nd.zeros((self.batch_size, *self.data_shape)), nd.full(self.provide_label[0][1], -1)

    def _batchify(self, batch_data: NDArray, batch_label: NDArray, start: int = 0) -> int:
        """As `ImageIter`'s; images whose objects are invalid, or were all lost in augmentation, are left out."""
        i = start
        try:
            while i < self.batch_size:
                stored, encoded = self.next_sample()
                image = self.imdecode(encoded)
                try:
                    self.check_valid_image([image])
                    image, label = self.augmentation_transform(image, self._parse_label(stored))
                    self._check_valid_label(label)
                except RuntimeError as error:
                    logging.debug("Invalid image, skipping:  %s", error)
                    continue
                batch_data[i] = self.postprocess_data(image)
                row = np.full(batch_label.shape[1:], -1, np.float32)
                row[: len(label)] = label
                batch_label[i] = row
                i += 1
        except StopIteration:
            if not i:
                raise
        return i

    def augmentation_transform(self, data: NDArray, label: Labels) -> tuple[NDArray, Labels]:  # type: ignore[override]
        """Image and objects through all augmenters."""
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def check_label_shape(self, label_shape: tuple[int, int]) -> None:
        """Errors: ValueError unless it has room for all objects and the same columns."""
        if len(label_shape) != 2:
            raise ValueError("label_shape should have length 2")
        if label_shape[0] < self.label_shape[0]:
            raise ValueError(f"Attempts to reduce label count from {self.label_shape[0]} to {label_shape[0]}, not allowed.")
        columns = self.provide_label[0][1][2]
        if label_shape[1] != columns:
            raise ValueError(f"label_shape object width inconsistent: {columns} vs {label_shape[1]}.")

    def draw_next(
        self, color: Any = None, thickness: int = 2, mean: Any = None, std: Any = None, clip: bool = True, waitKey: int | None = None,
        window_name: str = "draw_next", id2labels: dict[int, str] | None = None,
    ) -> Iterator[Any]:  # fmt: skip
        """The next images with their boxes drawn, uint8 and blue first; shown in a window for waitKey milliseconds when given.

        mean, std: what normalisation took away, to be put back. color: red, green, blue of the boxes, else random. Needs OpenCV.
        """
        cv2 = opencv()
        if cv2 is None:
            warnings.warn("Unable to import cv2, skip drawing", stacklevel=2)
            return
        mean, std = colour_statistics(mean, std, (np.ndarray,))
        while True:
            try:
                stored, encoded = self.next_sample()
            except StopIteration:
                return
            image = self.imdecode(encoded)
            try:
                self.check_valid_image([image])
                label = self._parse_label(stored)
            except RuntimeError as error:
                logging.debug("Invalid image, skipping:  %s", error)
                continue
            drawn = self._restored(*self.augmentation_transform(image, label), mean, std, clip, cv2, color, thickness, id2labels)
            if waitKey is not None:
                cv2.imshow(window_name, drawn)
                cv2.waitKey(waitKey)
            yield drawn

    @staticmethod
    def _restored(
        image: NDArray, label: Labels, mean: Any, std: Any, clip: bool, cv2: Any, color: Any, thickness: int, names: Any
    ) -> Any:  # fmt: skip
        pixels = image.asnumpy()
        if std is not None:
            pixels = pixels * std
        if mean is not None:
            pixels = pixels + mean
        if clip:
            pixels = np.clip(pixels, 0, 255)
        canvas = np.ascontiguousarray(pixels[:, :, ::-1]).astype(np.uint8)
        height, width, _ = canvas.shape
        for row in label:
            left, top = int(row[1] * width), int(row[2] * height)
            if left < 0:
                continue
            shade = tuple(color[::-1]) if color else tuple(np.random.rand(3) * 255)
            cv2.rectangle(canvas, (left, top), (int(row[3] * width), int(row[4] * height)), shade, thickness)
            name = (names or {}).get(int(row[0]))
            if name is not None:
                drop = cv2.getTextSize(name, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 2)[0][1]
                cv2.putText(canvas, name, (left + 5, top + drop + 5), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 2)
        return canvas

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Gives this iterator and the other the larger of their label shapes; returns the other."""
        assert isinstance(it, ImageDetIter), "Synchronize with invalid iterator."
        mine, other = self.label_shape, it.label_shape
        assert mine[1] == other[1], "object width mismatch."
        most = max(mine[0], other[0])
        if most > mine[0]:
            self.reshape(None, (most, mine[1]))
        if most > other[0]:
            it.reshape(None, (most, other[1]))
        if verbose and mine[0] != other[0]:
            logging.info("Resized label_shape to (%d, %d).", most, mine[1])
        return it


__reexported__ = (
    Augmenter, CastAug, ColorJitterAug, ColorNormalizeAug, ForceResizeAug, HueJitterAug, LightingAug, RandomGrayAug, RandomOrderAug,
    ResizeAug, copyMakeBorder, fixed_crop, io, is_np_array,
)  # fmt: skip
