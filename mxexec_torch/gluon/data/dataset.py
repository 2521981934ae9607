"""Datasets: samples by index, filtered, divided and transformed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ... import recordio
from ...errors import MXNetError
from ...ndarray.core import NDArray
from ..utils import _get_repo_file_url
from .sampler import FilterSampler, Sampler, SequentialSampler

__all__ = ["ArrayDataset", "Dataset", "RecordFileDataset", "SimpleDataset"]


class Dataset:
    """Base class: `dataset[i]` and `len(dataset)`."""

    def __getitem__(self, idx: Any) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def filter(self, fn: Callable[[Any], Any]) -> Dataset:
        """The samples for which `fn(sample)` holds."""
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Part `index` of num_shards; the first ones are longer by one where the length does not divide."""
        assert num_shards > 0, "Number of shards must be greater than 0"
        assert 0 <= index < num_shards, f"shard {index} of {num_shards} does not exist"
        length, longer = divmod(len(self), num_shards)
        start = length * index + min(index, longer)
        return _SampledDataset(self, SequentialSampler(length + (index < longer), start))

    def take(self, count: int | None) -> Dataset:
        """The first `count` samples; all for None."""
        return _SampledDataset(self, SequentialSampler(len(self) if count is None else min(count, len(self))))

    def sample(self, sampler: Sampler) -> Dataset:
        """The samples in a sampler's order. Errors: TypeError for anything else."""
        if not isinstance(sampler, Sampler):
            raise TypeError(f"Invalid sampler type: {type(sampler)}. Expected gluon.data.Sampler instead.")
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """`fn(*sample)` of each sample, computed when it is read, or now unless lazy."""
        made = _LazyTransformDataset(self, fn)
        return made if lazy else SimpleDataset([made[i] for i in range(len(made))])

    def transform_first(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """Transforms only the first element of each sample."""
        return self.transform(_TransformFirstClosure(fn), lazy)


class SimpleDataset(Dataset):
    """A list as a dataset."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: Any) -> Any:
        return self._data[idx]


class _LazyTransformDataset(Dataset):
    """A dataset seen through a function."""

    def __init__(self, data: Any, fn: Callable[..., Any]) -> None:
        self._data, self._fn = data, fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: Any) -> Any:
        item = self._data[idx]
        return self._fn(*item) if isinstance(item, tuple) else self._fn(item)


class _TransformFirstClosure:
    """Applies a function to the first of its arguments; a class, so that worker processes can receive it."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn

    def __call__(self, x: Any, *args: Any) -> Any:
        return (self._fn(x), *args) if args else self._fn(x)


class _SampledDataset(Dataset):
    """Some samples of a dataset."""

    def __init__(self, dataset: Any, sampler: Sampler) -> None:
        self._dataset, self._sampler = dataset, sampler
        self._indices = list(sampler)

    def __len__(self) -> int:
        return len(self._sampler)

    def __getitem__(self, idx: Any) -> Any:
        return self._dataset[self._indices[idx]]


class ArrayDataset(Dataset):
    """Arrays (or lists) of one length side by side: samples are tuples, or elements of the only array."""

    def __init__(self, *args: Any) -> None:
        assert args, "Needs at least 1 arrays"
        self._length = len(args[0])
        for i, data in enumerate(args):
            assert len(data) == self._length, f"All arrays must have the same length; array[0] has length {self._length} while array[{i}] has {len(data)}."
        # elements of a vector are wanted as numbers
        self._data = [data.asnumpy() if isinstance(data, NDArray) and data.ndim == 1 else data for data in args]

    def __getitem__(self, idx: Any) -> Any:
        return self._data[0][idx] if len(self._data) == 1 else tuple(data[idx] for data in self._data)

    def __len__(self) -> int:
        return self._length


class RecordFileDataset(Dataset):
    """The records of a RecordIO file `x.rec` with an index `x.idx`, as bytes."""

    def __init__(self, filename: str) -> None:
        self.idx_file = os.path.splitext(filename)[0] + ".idx"
        self.filename = filename
        self._record = recordio.MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __getitem__(self, idx: Any) -> Any:
        return self._record.read_idx(self._record.keys[idx])

    def __len__(self) -> int:
        return len(self._record.keys)


class _DownloadedDataset(Dataset):
    """A public data set that lies in a folder; subclasses read it into `_data` and `_label`."""

    _namespace: str

    def __init__(self, root: str, transform: Callable[..., Any] | None) -> None:
        self._transform = transform
        self._data: Any = None
        self._label: Any = None
        self._root = os.path.expanduser(root)
        self._get_data()

    def _file(self, name: str) -> str:
        """The path of one of its files. Errors: MXNetError when it is not there: nothing is downloaded."""
        path = os.path.join(self._root, name)
        if not os.path.exists(path):
            url = _get_repo_file_url(f"gluon/dataset/{self._namespace}", name)
            raise MXNetError(f"{type(self).__name__} needs the file {path}, which does not exist. Data sets are not downloaded: get it from {url}")
        return path

    def __getitem__(self, idx: Any) -> Any:
        data, label = self._data[idx], self._label[idx]
        return (data, label) if self._transform is None else self._transform(data, label)

    def __len__(self) -> int:
        return len(self._label)

    def _get_data(self) -> None:
        raise NotImplementedError
