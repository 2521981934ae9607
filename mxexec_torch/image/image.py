"""`mx.image.image`: the functions and augmenters of single images, and `ImageIter`, batches from a .rec file or a list of image files."""

from __future__ import annotations

import logging
import os
import random
from typing import Any

import numpy as np

from .. import io, recordio
from .. import ndarray as nd
from ..base import numeric_types
from ..io.io import DataBatch, DataIter
from ..ndarray import NDArray
from ..util import is_np_array
from .augmenters import (
    Augmenter,
    BrightnessJitterAug,
    CastAug,
    CenterCropAug,
    ColorJitterAug,
    ColorNormalizeAug,
    ContrastJitterAug,
    CreateAugmenter,
    ForceResizeAug,
    HorizontalFlipAug,
    HueJitterAug,
    LightingAug,
    RandomCropAug,
    RandomGrayAug,
    RandomOrderAug,
    RandomSizedCropAug,
    ResizeAug,
    SaturationJitterAug,
    SequentialAug,
)  # fmt: skip
from .functions import (
    center_crop,
    color_normalize,
    copyMakeBorder,
    fixed_crop,
    imdecode,
    imread,
    imresize,
    imrotate,
    random_crop,
    random_rotate,
    random_size_crop,
    resize_short,
    scale_down,
)  # fmt: skip
from .functions import interpolation_for as _get_interp_method

__all__ = [
    "Augmenter", "BrightnessJitterAug", "CastAug", "CenterCropAug", "ColorJitterAug", "ColorNormalizeAug", "ContrastJitterAug",
    "CreateAugmenter", "ForceResizeAug", "HorizontalFlipAug", "HueJitterAug", "ImageIter", "LightingAug", "RandomCropAug",
    "RandomGrayAug", "RandomOrderAug", "RandomSizedCropAug", "ResizeAug", "SaturationJitterAug", "SequentialAug", "center_crop",
    "color_normalize", "copyMakeBorder", "fixed_crop", "imdecode", "imread", "imresize", "imrotate", "random_crop", "random_rotate",
    "random_size_crop", "resize_short", "scale_down",
]  # fmt: skip

_LABEL_TYPES = ("int32", "float32", "int64", "float64")


def _labels(values: Any, dtype: str) -> Any:
    return nd.array(np.asarray(values, dtype=dtype), dtype=dtype)


def _read_list_file(path: str, dtype: str) -> tuple[dict[Any, tuple[NDArray, str]], list[Any]]:
    """The entries of a .lst file (number, labels, path; tabs between) by number, and the numbers in order."""
    entries: dict[Any, tuple[NDArray, str]] = {}
    keys: list[Any] = []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            fields = line.strip().split("\t")
            try:
                key = int(fields[0])
                entries[key] = (_labels([float(x) for x in fields[1:-1]], dtype), fields[-1])
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: expected a number, labels and a path with tabs between: {line!r}") from error
            keys.append(key)
    return entries, keys


def _read_list(items: list[Any], dtype: str) -> tuple[dict[Any, tuple[NDArray, str]], list[Any]]:
    """The same from a list of [label, path], [label, label, ..., path] or [labels, path]; keys are "1", "2", ..."""
    entries: dict[Any, tuple[NDArray, str]] = {}
    for number, item in enumerate(items, 1):
        label = item[:-1] if len(item) > 2 else [item[0]] if isinstance(item[0], numeric_types) else item[0]
        entries[str(number)] = (_labels(label, dtype), item[-1])
    return entries, list(entries)


class ImageIter(DataIter):
    """Batches of images (batch_size, *data_shape) and labels, decoded and augmented one by one in Python.

    From a .rec file (path_imgrec; path_imgidx is needed to shuffle or to take a part) or from image files under path_root, named in a
    .lst file (path_imglist) or in a list of [label, path] (imglist). Further keywords are `CreateAugmenter`'s, unless aug_list is given.
    last_batch_handle: "pad" fills from the start, "discard" drops, "roll_over" keeps the rest for the next pass.
    """

    def __init__(
        self, batch_size: int, data_shape: tuple[int, ...], label_width: int = 1, path_imgrec: str | None = None,
        path_imglist: str | None = None, path_root: str | None = None, path_imgidx: str | None = None, shuffle: bool = False,
        part_index: int = 0, num_parts: int = 1, aug_list: list[Any] | None = None, imglist: list[Any] | None = None,
        data_name: str = "data", label_name: str = "softmax_label", dtype: str = "float32", last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        assert path_imgrec or path_imglist or isinstance(imglist, list), "one of path_imgrec, path_imglist and imglist is needed"
        assert dtype in _LABEL_TYPES, f"{dtype} label not supported"
        self.imgrec: Any = None
        self.imgidx: list[Any] | None = None
        if path_imgrec:
            logging.info("%s: loading recordio %s...", type(self).__name__, path_imgrec)
            if path_imgidx:
                self.imgrec = recordio.MXIndexedRecordIO(path_imgidx, path_imgrec, "r")
                self.imgidx = list(self.imgrec.keys)
            else:
                self.imgrec = recordio.MXRecordIO(path_imgrec, "r")
        self.imglist: dict[Any, tuple[NDArray, str]] | None = None
        keys: list[Any] = []
        if path_imglist:
            logging.info("%s: loading image list %s...", type(self).__name__, path_imglist)
            self.imglist, keys = _read_list_file(path_imglist, dtype)
        elif isinstance(imglist, list):
            self.imglist, keys = _read_list(imglist, dtype)
        self.path_root = path_root
        self.check_data_shape(data_shape)
        data_shape = tuple(data_shape)
        self.provide_data: list[Any] = [(data_name, (batch_size, *data_shape))]
        self.provide_label: list[Any] = [(label_name, (batch_size, label_width) if label_width > 1 else (batch_size,))]
        self.batch_size = batch_size
        self.data_shape = data_shape
        self.label_width = label_width
        self.shuffle = shuffle
        self.seq: list[Any] | None = None
        if self.imgrec is None:
            self.seq = keys
        elif shuffle or num_parts > 1 or path_imgidx:
            assert self.imgidx is not None, "shuffling and taking a part of a .rec file need path_imgidx"
            self.seq = self.imgidx
        if num_parts > 1:
            assert part_index < num_parts and self.seq is not None
            share = len(self.seq) // num_parts
            self.seq = self.seq[part_index * share : (part_index + 1) * share]
        self.auglist: Any = CreateAugmenter(data_shape, **kwargs) if aug_list is None else aug_list  # type: ignore[arg-type]
        self.cur = 0
        self._allow_read = True
        self.last_batch_handle = last_batch_handle
        self.num_image = None if self.seq is None else len(self.seq)
        self._rolled: tuple[NDArray, NDArray, int] | None = None  # a batch begun in the last pass, and how many images it holds
        self.reset()

    def reset(self) -> None:
        """Starts the next pass; with "roll_over" and images kept, it goes on where it was."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self.last_batch_handle != "roll_over" or self._rolled is None:
            self._rewind()

    def hard_reset(self) -> None:
        """Starts anew and forgets images kept from the last pass."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        self._rewind()
        self._rolled = None

    def _rewind(self) -> None:
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0
        self._allow_read = True

    def next_sample(self) -> tuple[Any, bytes]:
        """The next label and encoded image. Errors: StopIteration at the end of the pass."""
        if not self._allow_read:
            raise StopIteration
        if self.seq is None:
            record = self.imgrec.read()
            if record is None:
                if self.last_batch_handle != "discard":
                    self.imgrec.reset()
                raise StopIteration
            header, image = recordio.unpack(record)
            return header.label, image
        if self.cur >= len(self.seq):
            if self.last_batch_handle != "discard":
                self.cur = 0
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            assert self.imglist is not None
            label, name = self.imglist[key]
            return label, self.read_image(name)
        header, image = recordio.unpack(self.imgrec.read_idx(key))
        return (header.label if self.imglist is None else self.imglist[key][0]), image

    def _new_batch(self) -> tuple[NDArray, NDArray]:
        return nd.zeros((self.batch_size, *self.data_shape)), nd.empty(self.provide_label[0][1])

    def _batchify(self, batch_data: NDArray, batch_label: NDArray, start: int = 0) -> int:
        """Fills the batch from place `start` and returns how far it came. Errors: StopIteration when nothing is in it."""
        i = start
        try:
            while i < self.batch_size:
                label, encoded = self.next_sample()
                image = self.imdecode(encoded)
                try:
                    self.check_valid_image(image)
                except RuntimeError as error:
                    logging.debug("Invalid image, skipping:  %s", error)
                    continue
                image = self.augmentation_transform(image)
                batch_data[i] = self.postprocess_data(image)
                batch_label[i] = label
                i += 1
        except StopIteration:
            if not i:
                raise
        return i

    def next(self) -> DataBatch:
        """The next batch; `pad` counts the images at its end that only fill it."""
        rolled = self._rolled
        if rolled is not None:
            data, label, filled = rolled
        else:
            data, label = self._new_batch()
            filled = self._batchify(data, label)
        pad = self.batch_size - filled
        if pad:
            if self.last_batch_handle == "discard":
                raise StopIteration
            if self.last_batch_handle == "roll_over" and rolled is None:
                self._rolled = (data, label, filled)
                raise StopIteration
            self._batchify(data, label, filled)
            if self.last_batch_handle == "pad":
                self._allow_read = False
            else:
                self._rolled = None
        return DataBatch([data], [label], pad=pad)

    def check_data_shape(self, data_shape: tuple[int, ...]) -> None:
        """Errors: ValueError unless it is (3, height, width)."""
        if len(data_shape) != 3:
            raise ValueError("data_shape should have length 3, with dimensions CxHxW")
        if data_shape[0] != 3:
            raise ValueError("This iterator expects inputs to have 3 channels.")

    def check_valid_image(self, data: Any) -> None:
        """Errors: RuntimeError for an image without dimensions."""
        if len(data[0].shape) == 0:
            raise RuntimeError("Data shape is wrong")

    def imdecode(self, s: bytes) -> NDArray:
        """The image in bytes. Errors: RuntimeError naming the file or record that is broken."""
        try:
            return imdecode(s)
        except Exception as error:
            raise RuntimeError(f"Broken image {self._last_read()}, {error}") from error

    def _last_read(self) -> str:
        if self.seq is None:
            return f"record of {self.imgrec.uri}"
        key = self.seq[self.cur % len(self.seq) - 1]
        return f"index: {key}" if self.imglist is None else f"filename: {self.imglist[key][1]}"

    def read_image(self, fname: str) -> bytes:
        """The bytes of an image file under path_root."""
        with open(os.path.join(self.path_root or "", fname), "rb") as file:
            return file.read()

    def augmentation_transform(self, data: NDArray) -> NDArray:
        """The image through all augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: NDArray) -> NDArray:
        """The image (h, w, c) as it goes into the batch, (c, h, w)."""
        transposed: NDArray = nd.transpose(datum, axes=(2, 0, 1))
        return transposed


__reexported__ = (_get_interp_method, io, is_np_array)
