"""Image data sets, read from local files."""

from __future__ import annotations

import gzip
import os
import tarfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .... import base, image, recordio
from .... import ndarray as nd
from .. import dataset

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "ImageFolderDataset", "ImageRecordDataset"]


def _root(name: str) -> str:
    return os.path.join(base.data_dir(), "datasets", name)


class MNIST(dataset._DownloadedDataset):
    """Handwritten digits: (28, 28, 1) uint8 images and int32 labels, from the four idx files in `root`."""

    _namespace = "mnist"

    def __init__(self, root: str = _root("mnist"), train: bool = True, transform: Callable[..., Any] | None = None) -> None:
        self._train = train
        super().__init__(root, transform)

    def _get_data(self) -> None:
        part = "train" if self._train else "t10k"
        with gzip.open(self._file(f"{part}-labels-idx1-ubyte.gz")) as file:
            self._label = np.frombuffer(file.read()[8:], np.uint8).astype(np.int32)
        with gzip.open(self._file(f"{part}-images-idx3-ubyte.gz")) as file:
            pixels = np.frombuffer(file.read()[16:], np.uint8).reshape(len(self._label), 28, 28, 1)
        self._data = nd.array(pixels, dtype=np.uint8)


class FashionMNIST(MNIST):
    """Articles of clothing, in MNIST's form."""

    _namespace = "fashion-mnist"

    def __init__(self, root: str = _root("fashion-mnist"), train: bool = True, transform: Callable[..., Any] | None = None) -> None:
        super().__init__(root, train, transform)


class CIFAR10(dataset._DownloadedDataset):
    """Small images of ten classes: (32, 32, 3) uint8 images and int32 labels, from the binary batches in `root` or their archive."""

    _namespace = "cifar10"
    _archive = "cifar-10-binary.tar.gz"
    _label_bytes = 1
    _files: dict[bool, list[str]] = {True: [f"data_batch_{i}.bin" for i in range(1, 6)], False: ["test_batch.bin"]}

    def __init__(self, root: str = _root("cifar10"), train: bool = True, transform: Callable[..., Any] | None = None) -> None:
        self._train = train
        super().__init__(root, transform)

    def _label_column(self) -> int:
        return 0

    def _read_batch(self, filename: str) -> tuple[Any, Any]:
        with open(filename, "rb") as file:
            rows = np.frombuffer(file.read(), np.uint8).reshape(-1, 3 * 32 * 32 + self._label_bytes)
        pixels = rows[:, self._label_bytes :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return pixels, rows[:, self._label_column()].astype(np.int32)

    def _get_data(self) -> None:
        names = self._files[self._train]
        if not all(os.path.exists(os.path.join(self._root, name)) for name in names):
            with tarfile.open(self._file(self._archive)) as archive:
                archive.extractall(self._root, filter="data")
        parts = [self._read_batch(self._file(name)) for name in names]
        pixels = np.concatenate([part[0] for part in parts])
        self._data = nd.array(pixels, dtype=pixels.dtype)
        self._label = np.concatenate([part[1] for part in parts])


class CIFAR100(CIFAR10):
    """Small images of 100 classes in 20 groups; the label is the group unless fine_label."""

    _namespace = "cifar100"
    _archive = "cifar-100-binary.tar.gz"
    _label_bytes = 2
    _files = {True: ["train.bin"], False: ["test.bin"]}

    def __init__(
        self, root: str = _root("cifar100"), fine_label: bool = False, train: bool = True, transform: Callable[..., Any] | None = None
    ) -> None:
        self._fine_label = fine_label
        super().__init__(root, train, transform)

    def _label_column(self) -> int:
        return int(self._fine_label)


class ImageRecordDataset(dataset.RecordFileDataset):
    """(image, label) of the records of an image RecordIO file. flag: 1 colour, 0 grey."""

    def __init__(self, filename: str, flag: int = 1, transform: Callable[..., Any] | None = None) -> None:
        super().__init__(filename)
        self._flag, self._transform = flag, transform

    def __getitem__(self, idx: Any) -> Any:
        header, encoded = recordio.unpack(super().__getitem__(idx))
        pixels = image.imdecode(encoded, self._flag)
        return (pixels, header.label) if self._transform is None else self._transform(pixels, header.label)


class ImageFolderDataset(dataset.Dataset):
    """(image, label) of the files `root/<class>/<image>`; classes are numbered in alphabetical order (`synsets`)."""

    _exts = (".jpg", ".jpeg", ".png")

    def __init__(self, root: str, flag: int = 1, transform: Callable[..., Any] | None = None) -> None:
        self._root = os.path.expanduser(root)
        self._flag, self._transform = flag, transform
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        for folder in sorted(os.listdir(self._root)):
            path = os.path.join(self._root, folder)
            if not os.path.isdir(path):
                warnings.warn(f"Ignoring {path}, which is not a directory.", stacklevel=2)
                continue
            for name in sorted(os.listdir(path)):
                if os.path.splitext(name)[1].lower() in self._exts:
                    self.items.append((os.path.join(path, name), len(self.synsets)))
                else:
                    warnings.warn(f"Ignoring {os.path.join(path, name)}: only {', '.join(self._exts)} are images", stacklevel=2)
            self.synsets.append(folder)

    def __getitem__(self, idx: Any) -> Any:
        path, label = self.items[idx]
        pixels = image.imread(path, self._flag)
        return (pixels, label) if self._transform is None else self._transform(pixels, label)

    def __len__(self) -> int:
        return len(self.items)
