"""Iterators over files: CSVIter, LibSVMIter, MNISTIter. Settings are keyword arguments and may be text, as in MXNet."""

from __future__ import annotations

import gzip
import os
import re
import struct
import warnings
from ast import literal_eval
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import MXNetError
from ..ndarray import sparse
from ..ndarray.utils import array
from .io import MXDataIter

__all__ = ["CSVIter", "LibSVMIter", "MNISTIter", "settings"]

_COMMON = {"batch_size": None, "round_batch": True, "prefetch_buffer": 4, "ctx": "gpu", "dtype": None, "data_name": "data", "label_name": "softmax_label"}


def settings(kind: str, args: tuple[Any, ...], given: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The settings of an iterator: given ones as values (text is read), the rest from `defaults`; None there means required.

    Unknown settings give a warning; MXNet ignores them (scripts pass MNISTIter a `data_shape`, which only ImageRecordIter has).
    Errors: TypeError for positional arguments, MXNetError for missing or unreadable settings.
    """
    if args:
        raise TypeError(f"{kind} can only accept keyword arguments")
    known = {**_COMMON, **defaults}
    result = dict(known)
    for name, value in given.items():
        if name in known:
            result[name] = _read(kind, name, value, known[name])
    unknown = sorted(set(given) - set(known))
    if unknown:
        warnings.warn(f"{kind}: parameters without effect: {', '.join(unknown)}", stacklevel=3)
    if result["batch_size"] is None:
        raise MXNetError(f"{kind}: Required parameter batch_size of int is not presented")
    if int(result["batch_size"]) < 1:
        raise MXNetError(f"{kind}: batch_size must be at least 1, not {result['batch_size']}")
    return result


def _read(kind: str, name: str, value: Any, default: Any) -> Any:
    if not isinstance(value, str) or isinstance(default, str) or name in ("dtype", "ctx") or name.endswith(("_csv", "_libsvm")):
        return value
    try:
        return literal_eval(value) if value.lower() not in ("true", "false") else value.lower() == "true"
    except (ValueError, SyntaxError) as error:
        raise MXNetError(f"{kind}: Invalid Parameter format for {name}, value='{value}'") from error


def _shape(value: Any) -> tuple[int, ...]:
    return (int(value),) if isinstance(value, (int, np.integer)) else tuple(int(d) for d in value)


def _existing(kind: str, path: Any) -> str:
    if not path or not os.path.exists(str(path)):
        raise MXNetError(f"{kind}: cannot open {path!r}")
    return str(path)


class _Samples:
    """Batches from samples in memory. round_batch: the last batch is filled from the beginning, where the next epoch then goes on.

    rows: given sample numbers, makes (data, label).
    """

    def __init__(self, count: int, batch_size: int, round_batch: bool, rows: Callable[[Any], tuple[Any, Any]]) -> None:
        self._count, self._size, self._round, self._rows = count, batch_size, round_batch, rows
        self._next = 0
        self._overflow = 0
        self._held: Any = None
        self.data: Any = None
        self.label: Any = None
        self.index: Any = None
        self.pad = 0

    def before_first(self) -> None:
        self._next, self._overflow = self._overflow, 0

    def advance(self) -> bool:
        left = self._count - self._next
        if self._overflow or left <= 0:
            return False
        chosen = np.arange(self._next, min(self._next + self._size, self._count))
        self.pad = self._size - len(chosen)
        self._next += len(chosen)
        if self.pad and self._round:
            if self.pad > self._count:
                raise MXNetError("number of input must be bigger than batch size")
            chosen = np.concatenate([chosen, np.arange(self.pad)])
            self._overflow = self.pad
        elif self.pad:
            before = self._held if self._held is not None else np.zeros(self._size, dtype=int)
            chosen = np.concatenate([chosen, before[len(chosen) :]])  # what the buffer held: the end of the batch before
        self._held = chosen
        self.data, self.label = self._rows(chosen)
        self.index = chosen.astype(np.uint64)
        return True


def _leading_integer(text: str) -> int:
    """What C's strtol makes of a field: '3.7' is 3, as in MXNet's integer files."""
    found = re.match(r"\s*[-+]?\d+", text)
    return int(found.group()) if found else 0


def _csv(kind: str, path: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    whole = _leading_integer if dtype.kind == "i" else None
    try:
        values = np.loadtxt(_existing(kind, path), delimiter=",", dtype=dtype, ndmin=2, converters=whole)
    except ValueError as error:
        raise MXNetError(f"{kind}: {path}: {error}") from error
    width = int(np.prod(shape))
    if values.shape[1] != width:
        raise MXNetError(f"{kind}: {path} has {values.shape[1]} columns, the shape {shape} needs {width}")
    return values.reshape(len(values), *shape)


def CSVIter(*args: Any, **kwargs: Any) -> MXDataIter:
    """Batches from CSV files without a header.

    data_csv, data_shape: file and shape of a sample. label_csv, label_shape: labels, zeros without a file. batch_size. round_batch: fill
    the last batch from the beginning and go on behind that in the next epoch. dtype: 'float32' (default), 'int32', 'int64' or 'float64'.
    """
    given = settings("CSVIter", args, kwargs, {"data_csv": None, "data_shape": None, "label_csv": "NULL", "label_shape": (1,)})
    kinds = {name: np.dtype(name) for name in ("float32", "float64", "int32", "int64")}
    wanted = given["dtype"] or "float32"
    name = wanted if isinstance(wanted, str) else np.dtype(wanted).name
    if name not in kinds:
        raise MXNetError(f"CSVIter: Invalid Input: dtype {name!r}, expected one of {', '.join(kinds)}")
    dtype = kinds[name]
    if given["data_shape"] is None:
        raise MXNetError("CSVIter: Required parameter data_shape of Shape(tuple) is not presented")
    data = _csv("CSVIter", given["data_csv"], _shape(given["data_shape"]), dtype)
    unlabelled = given["label_csv"] in (None, "", "NULL")
    label_shape = (1,) if unlabelled else _shape(given["label_shape"])
    if unlabelled:
        label = np.zeros((len(data), *label_shape), dtype=dtype)
    else:
        label = _csv("CSVIter", given["label_csv"], label_shape, dtype)
    if len(label) < len(data):
        raise MXNetError(f"CSVIter: {len(data)} samples but {len(label)} labels")
    if label_shape == (1,):
        label = label.reshape(len(label))

    def rows(chosen: Any) -> tuple[Any, Any]:
        return array(data[chosen], dtype=dtype), array(label[chosen], dtype=dtype)

    names = {"data_name": given["data_name"], "label_name": given["label_name"]}
    return MXDataIter(_Samples(len(data), int(given["batch_size"]), bool(given["round_batch"]), rows), **names)


class _Rows:
    """The lines of a LibSVM file: what stands before the features, and the features as (indices, values)."""

    def __init__(self, kind: str, path: Any, part: int, parts: int) -> None:
        with open(_existing(kind, path), encoding="utf-8") as file:
            lines = [line.split("#")[0].split() for line in file]
        lines = [fields for fields in lines if fields]
        begin, end = len(lines) * part // parts, len(lines) * (part + 1) // parts
        self.heads: list[Any] = []
        self.features: list[tuple[Any, Any]] = []
        for fields in lines[begin:end]:
            self.heads.append([float(x) for field in fields if ":" not in field for x in field.split(",")])
            pairs = [field.split(":") for field in fields if ":" in field]
            indices = np.array([int(p[0]) for p in pairs], dtype=np.int64)
            values = np.array([float(p[1]) if len(p) > 1 else 1.0 for p in pairs], dtype=np.float32)
            self.features.append((indices, values))

    def __len__(self) -> int:
        return len(self.features)

    def csr(self, kind: str, chosen: Any, width: int) -> Any:
        """Some rows as a csr matrix. Errors: MXNetError for a feature beyond the width."""
        some = [self.features[i] for i in chosen]
        indices = np.concatenate([f[0] for f in some]) if some else np.zeros(0, np.int64)
        if len(indices) and indices.max() >= width:
            raise MXNetError(f"{kind}: feature index {indices.max()} is beyond the data shape {width} (indices start at 0)")
        ends = np.cumsum([0, *(len(f[0]) for f in some)])
        return sparse.csr_matrix((np.concatenate([f[1] for f in some]), indices, ends), shape=(len(some), width), dtype="float32")


def LibSVMIter(*args: Any, **kwargs: Any) -> MXDataIter:
    """Batches of csr data from LibSVM files: `label index:value ...`, indices from 0.

    data_libsvm, data_shape (width,): file and width of the data. label_libsvm, label_shape: labels from a file of the same form (csr);
    without it the numbers at the start of each line are the labels. num_parts, part_index: read one part of the file only.
    """
    defaults = {"data_libsvm": None, "data_shape": None, "label_libsvm": "NULL", "label_shape": (1,), "num_parts": 1, "part_index": 0}
    given = settings("LibSVMIter", args, kwargs, defaults)
    if given["data_shape"] is None:
        raise MXNetError("LibSVMIter: Required parameter data_shape of Shape(tuple) is not presented")
    (width,) = _shape(given["data_shape"])
    part = int(given["part_index"]), int(given["num_parts"])
    data = _Rows("LibSVMIter", given["data_libsvm"], *part)
    own_labels = given["label_libsvm"] in (None, "", "NULL")
    labels = None if own_labels else _Rows("LibSVMIter", given["label_libsvm"], *part)
    label_width = int(np.prod(_shape(given["label_shape"])))

    def rows(chosen: Any) -> tuple[Any, Any]:
        if labels is not None:
            return data.csr("LibSVMIter", chosen, width), labels.csr("LibSVMIter", chosen, label_width)
        heads = np.array([data.heads[i][:label_width] for i in chosen], dtype=np.float32)
        return data.csr("LibSVMIter", chosen, width), array(heads.reshape(-1) if label_width == 1 else heads)

    names = {"data_name": given["data_name"], "label_name": given["label_name"]}
    return MXDataIter(_Samples(len(data), int(given["batch_size"]), bool(given["round_batch"]), rows), **names)


def _idx(path: Any) -> Any:
    """The array of an idx file of unsigned bytes, plain or gzip. Errors: MXNetError."""
    name = _existing("MNISTIter", path)
    with open(name, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with gzip.open(name, "rb") if packed else open(name, "rb") as file:
        content = file.read()
    if len(content) < 8 or content[:3] != b"\x00\x00\x08":
        raise MXNetError(f"MNISTIter: {name} is no idx file of unsigned bytes")
    ndim = content[3]
    shape = struct.unpack(f">{ndim}I", content[4 : 4 + 4 * ndim])
    values = np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * ndim)
    if values.size != int(np.prod(shape)):
        raise MXNetError(f"MNISTIter: {name} holds {values.size} bytes, its header says {shape}")
    return values.reshape(shape)


class _Whole(_Samples):
    """Full batches only."""

    def before_first(self) -> None:
        self._next = 0

    def advance(self) -> bool:
        return self._count - self._next >= self._size and super().advance()


def MNISTIter(*args: Any, **kwargs: Any) -> MXDataIter:
    """Batches of MNIST's idx files (also gzip): data / 256 as (n, 1, height, width), or (n, pixels) with flat.

    image, label: files. batch_size (128). shuffle (True), seed: another order of the samples than MXNet's for the same seed.
    input_shape: shape of a sample instead. num_parts, part_index: one part of the data only. Incomplete batches are dropped.
    """
    defaults = {
        "image": "./train-images-idx3-ubyte", "label": "./train-labels-idx1-ubyte", "batch_size": 128, "shuffle": True, "flat": False, "seed": 0,
        "silent": False, "num_parts": 1, "part_index": 0, "input_shape": (),
    }  # fmt: skip
    given = settings("MNISTIter", args, kwargs, defaults)
    images, labels = _idx(given["image"]), _idx(given["label"])
    if len(images) != len(labels):
        raise MXNetError(f"MNISTIter: {len(images)} images but {len(labels)} labels")
    part, parts = int(given["part_index"]), int(given["num_parts"])
    chosen_part = slice(len(images) * part // parts, len(images) * (part + 1) // parts)
    pixels = images[chosen_part].astype(np.float32) * np.float32(1 / 256)
    truth = labels[chosen_part].astype(np.float32)
    if given["shuffle"]:
        order = np.random.RandomState(int(given["seed"])).permutation(len(pixels))
        pixels, truth = pixels[order], truth[order]
    sample = _shape(given["input_shape"]) or ((images[0].size,) if given["flat"] else (1, *images.shape[1:]))
    pixels = pixels.reshape(len(pixels), *sample)

    def rows(chosen: Any) -> tuple[Any, Any]:
        return array(pixels[chosen]), array(truth[chosen])

    names = {"data_name": given["data_name"], "label_name": given["label_name"]}
    return MXDataIter(_Whole(len(pixels), int(given["batch_size"]), False, rows), **names)
