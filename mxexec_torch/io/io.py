"""Batches and iterators: descriptions of data, the base class, iterators that wrap other iterators, and the base of file iterators."""

from __future__ import annotations

import logging
from collections import namedtuple
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

__all__ = ["DataBatch", "DataDesc", "DataIter", "Loader", "MXDataIter", "PrefetchingIter", "ResizeIter"]


class DataDesc(namedtuple("DataDesc", ["name", "shape"])):
    """Name and shape of an input, with `dtype` and `layout` (whose `N` is the batch axis). Compares as (name, shape)."""

    dtype: Any
    layout: str | None

    def __new__(cls, name: str, shape: Sequence[int], dtype: Any = np.float32, layout: str | None = "NCHW") -> DataDesc:
        made = super().__new__(cls, name, shape)
        made.dtype = dtype
        made.layout = layout
        return made

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """The axis of the batch: 0 without a layout, -1 where the layout has no `N`."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes: Any, types: Any) -> list[DataDesc]:
        """Descriptions from (name, shape) and (name, type) pairs; types may be None."""
        if types is None:
            return [DataDesc(entry[0], entry[1]) for entry in shapes]
        by_name = dict(types)
        return [DataDesc(entry[0], entry[1], by_name[entry[0]]) for entry in shapes]


class DataBatch:
    """Lists of data and label arrays. pad: how many samples at the end are fill. index: positions of the samples, or None.

    bucket_key, provide_data, provide_label: for modules that switch shapes from batch to batch.
    """

    def __init__(
        self, data: Any, label: Any = None, pad: int | None = None, index: Any = None, bucket_key: Any = None, provide_data: Any = None,
        provide_label: Any = None,
    ) -> None:  # fmt: skip
        for what, arrays in (("Data", data), ("Label", label)):
            assert arrays is None or isinstance(arrays, (list, tuple)), f"{what} must be list of NDArrays"
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        labels = [array.shape for array in self.label] if self.label else None
        return f"{type(self).__name__}: data shapes: {[array.shape for array in self.data]} label shapes: {labels}"


class DataIter:
    """Base class: subclasses define `next`, or `iter_next` with `getdata`, `getlabel`, `getpad`, `getindex`; and `provide_data`, `provide_label`."""

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[Any]:
        return self

    def reset(self) -> None:
        """Goes back to the first batch."""

    def next(self) -> DataBatch:
        """The next batch. Errors: StopIteration at the end."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(data=self.getdata(), label=self.getlabel(), pad=self.getpad(), index=self.getindex())

    def __next__(self) -> DataBatch:
        return self.next()

    def iter_next(self) -> Any:
        """Moves to the next batch; whether there is one."""

    def getdata(self) -> Any:
        """Data of the current batch."""

    def getlabel(self) -> Any:
        """Labels of the current batch."""

    def getindex(self) -> Any:
        """Positions of the current batch's samples."""
        return None

    def getpad(self) -> Any:
        """Number of fill samples in the current batch."""


class _Current(DataIter):
    """An iterator that keeps its current batch."""

    current_batch: Any = None

    def getdata(self) -> Any:
        return self.current_batch.data

    def getlabel(self) -> Any:
        return self.current_batch.label

    def getindex(self) -> Any:
        return self.current_batch.index

    def getpad(self) -> Any:
        return self.current_batch.pad


class ResizeIter(_Current):
    """Epochs of `size` batches from another iterator, which starts over when it ends. reset_internal: `reset` resets it too."""

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True) -> None:
        super().__init__(data_iter.batch_size)
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True


class PrefetchingIter(_Current):
    """Reads one batch ahead in a thread for each iterator; several iterators are joined into one batch.

    rename_data, rename_label: for each iterator a dict of old to new names. Errors: AssertionError when the iterators end apart.
    """

    def __init__(self, iters: Any, rename_data: Any = None, rename_label: Any = None) -> None:
        super().__init__()
        self.iters = iters if isinstance(iters, list) else [iters]
        assert self.iters, "PrefetchingIter needs an iterator"
        self.n_iter = len(self.iters)
        self.rename_data = rename_data
        self.rename_label = rename_label
        self.batch_size = self.provide_data[0][1][0]
        self._pool = ThreadPoolExecutor(self.n_iter, thread_name_prefix="prefetch")
        self._pending: list[Future[Any]] = []
        self._start()

    def _start(self) -> None:
        self._pending = [self._pool.submit(_next_or_none, source) for source in self.iters]

    def __del__(self) -> None:
        pool = getattr(self, "_pool", None)
        if pool is not None:
            pool.shutdown(wait=False)

    @property
    def provide_data(self) -> list[Any]:
        """Descriptions of all iterators' data, renamed."""
        return self._provided("provide_data", self.rename_data)

    @property
    def provide_label(self) -> list[Any]:
        """Descriptions of all iterators' labels, renamed."""
        return self._provided("provide_label", self.rename_label)

    def _provided(self, which: str, renames: Any) -> list[Any]:
        result: list[Any] = []
        for position, source in enumerate(self.iters):
            for entry in getattr(source, which):
                if renames is None:
                    result.append(entry)
                elif isinstance(entry, DataDesc):
                    result.append(DataDesc(renames[position][entry.name], entry.shape, entry.dtype))
                else:
                    result.append(DataDesc(*entry))
        return result

    def reset(self) -> None:
        for future in self._pending:
            future.exception()  # wait: the iterators must not be reset while they are read
        for source in self.iters:
            source.reset()
        self._start()

    def iter_next(self) -> bool:
        batches = [future.result() for future in self._pending]
        if batches[0] is None:
            assert not any(batches), "Number of entry mismatches between iterators"
            return False
        first = batches[0]
        assert all(b is not None and b.pad == first.pad for b in batches), "Number of entry mismatches between iterators"
        self.current_batch = DataBatch(
            [array for batch in batches for array in batch.data], [array for batch in batches for array in batch.label], first.pad, first.index,
            provide_data=self.provide_data, provide_label=self.provide_label,
        )  # fmt: skip
        self._start()
        return True

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return self.current_batch  # type: ignore[no-any-return]


def _next_or_none(source: Any) -> Any:
    try:
        return source.next()
    except StopIteration:
        return None


class Loader(Protocol):
    """What a file iterator reads from: one batch at a time, as arrays."""

    data: Any
    label: Any
    index: Any
    pad: int

    def before_first(self) -> None:
        """Starts an epoch."""

    def advance(self) -> bool:
        """Loads the next batch into data, label, index and pad; False at the end."""


class MXDataIter(DataIter):
    """The iterator of a file reader (CSVIter, LibSVMIter, MNISTIter, ...). The first batch is read at once, for its shapes."""

    def __init__(self, handle: Loader, data_name: str = "data", label_name: str = "softmax_label", **_: Any) -> None:
        super().__init__()
        self.handle = handle
        self._debug_skip_load = False
        self._debug_at_begin = True
        self.first_batch: DataBatch | None = None
        self.first_batch = self.next()
        data, label = self.first_batch.data[0], self.first_batch.label[0]
        self.provide_data = [DataDesc(data_name, data.shape, data.dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, label.dtype)]
        self.batch_size = data.shape[0]

    def debug_skip_load(self) -> None:
        """From now on returns the first batch again and again, to measure everything but the reading."""
        self._debug_skip_load = True
        logging.info("debug_skip_load: the first batch is returned from now on")

    def reset(self) -> None:
        self._debug_at_begin = True
        self.first_batch = None
        self.handle.before_first()

    def _batch(self) -> DataBatch:
        return DataBatch(data=[self.getdata()], label=[self.getlabel()], pad=self.getpad(), index=self.getindex())

    def next(self) -> DataBatch:
        if self._debug_skip_load and not self._debug_at_begin:
            return self._batch()
        if self.first_batch is not None:
            batch, self.first_batch = self.first_batch, None
            return batch
        self._debug_at_begin = False
        if not self.handle.advance():
            raise StopIteration
        return self._batch()

    def iter_next(self) -> bool:
        return True if self.first_batch is not None else self.handle.advance()

    def getdata(self) -> Any:
        return self.handle.data

    def getlabel(self) -> Any:
        return self.handle.label

    def getindex(self) -> Any:
        return self.handle.index

    def getpad(self) -> int:
        return self.handle.pad
