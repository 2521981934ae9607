"""NDArrayIter: batches from arrays in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..errors import MXNetError
from ..ndarray import concat
from ..ndarray.core import NDArray, wrap
from ..ndarray.sparse import CSRNDArray
from ..ndarray.utils import array
from .io import DataBatch, DataDesc, DataIter
from .utils import _getdata_by_idx, _has_instance, _init_data, _slice_along_batch_axis

__all__ = ["NDArrayIter"]


class NDArrayIter(DataIter):
    """Batches of batch_size samples from arrays (NDArray, numpy.ndarray, h5py.Dataset; lists or dicts of them).

    last_batch_handle, when the samples do not fill the last batch: 'pad' fills with samples from the beginning, 'discard' drops it,
    'roll_over' puts it before the next epoch's. shuffle: a new order by NumPy's generator at construction and at each reset.
    layout: the `N` in it is the batch axis.
    """

    def __init__(
        self, data: Any, label: Any = None, batch_size: int = 1, shuffle: bool = False, last_batch_handle: str = "pad", data_name: str = "data",
        label_name: str = "softmax_label", layout: str = "NCHW",
    ) -> None:  # fmt: skip
        super().__init__(batch_size)
        self.data = _init_data(data, allow_empty=False, default_name=data_name)
        self.label = _init_data(label, allow_empty=True, default_name=label_name)
        if last_batch_handle != "discard" and _has_instance([*self.data, *self.label], CSRNDArray):
            raise NotImplementedError("`NDArrayIter` only supports ``CSRNDArray`` with `last_batch_handle` set to `discard`.")
        self.layout = layout
        self.idx = np.arange(self.data[0][1].shape[0])
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.num_data = self.idx.shape[0]
        self.cursor = -batch_size
        self._cache_data: list[Any] | None = None
        self._cache_label: list[Any] | None = None
        self.reset()
        self.data_list = [source for _, source in [*self.data, *self.label]]
        self.num_source = len(self.data_list)

    @property
    def _axis(self) -> int:
        return self.layout.find("N")

    def _described(self, sources: Any) -> list[DataDesc]:
        axis = self._axis
        shapes = [(*source.shape[:axis], self.batch_size, *source.shape[axis + 1 :]) for _, source in sources]
        return [DataDesc(name, shape, source.dtype, layout=self.layout) for (name, source), shape in zip(sources, shapes, strict=True)]

    @property
    def provide_data(self) -> list[DataDesc]:
        """Names, shapes and types of the data of a batch."""
        return self._described(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Names, shapes and types of the labels of a batch."""
        return self._described(self.label)

    def hard_reset(self) -> None:
        """Starts over, dropping samples that were to roll over."""
        if self.shuffle:
            self._shuffle_data()
        self.cursor = -self.batch_size
        self._cache_data = self._cache_label = None

    def reset(self) -> None:
        if self.shuffle:
            self._shuffle_data()
        incomplete = self.num_data - self.batch_size < self.cursor < self.num_data
        if self.last_batch_handle == "roll_over" and incomplete:
            self.cursor -= self.num_data + self.batch_size  # so that the first batch starts with the samples kept back
        else:
            self.cursor = -self.batch_size

    def iter_next(self) -> bool:
        self.cursor += self.batch_size
        return bool(self.cursor < self.num_data)

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        data, label = self.getdata(), self.getlabel()
        if data[0].shape[self._axis] != self.batch_size:
            self._cache_data, self._cache_label = data, label  # for the next epoch, if samples roll over
            raise StopIteration
        return DataBatch(data=data, label=label, pad=self.getpad(), index=None)

    # -- samples --------------------------------------------------------------------------------------------------------------
    def _rows(self, source: Any, begin: int, end: int) -> Any:
        """Samples begin:end of one source, as a new array."""
        if source.__class__ is NDArray:
            axis = self._axis
            begin = begin + self.num_data if begin < 0 else begin
            if end > source.shape[axis]:
                raise MXNetError(f"samples {begin} to {end - 1} of an array with {source.shape[axis]}: data and labels differ in length")
            return wrap(source._t.narrow(axis, begin, end - begin).clone(memory_format=torch.contiguous_format), source._ctx)
        if isinstance(source, NDArray):
            return _slice_along_batch_axis(source, slice(begin, end), self._axis)
        wanted = self.idx[begin:end]  # HDF5 reads increasing row numbers only
        order = np.argsort(wanted)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return array(source[wanted[order]][back])

    def _pieces(self) -> list[tuple[int, int]]:
        """The ranges of samples that make up the current batch."""
        begin, end = self.cursor, self.cursor + self.batch_size
        if end <= self.num_data or self.last_batch_handle != "pad":
            return [(max(begin, 0), min(end, self.num_data))]
        missing = end - self.num_data
        repeats, rest = divmod(missing, self.num_data)
        return [(begin, self.num_data), *[(0, self.num_data)] * repeats, *([(0, rest)] if rest else [])]

    def _batch(self, sources: Any, kept: list[Any] | None) -> list[Any]:
        if self.cursor >= self.num_data:
            raise AssertionError("DataIter needs reset.")
        ranges = self._pieces()
        result = []
        for position, (_, source) in enumerate(sources):
            parts = [self._rows(source, begin, end) for begin, end in ranges]
            if kept is not None:
                parts.insert(0, kept[position])
            result.append(parts[0] if len(parts) == 1 else concat(*parts, dim=self._axis))  # type: ignore[misc]  # made from the registry at import
        return result

    def _rolled(self) -> bool:
        return self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < 0

    def getdata(self) -> list[Any]:
        kept, self._cache_data = (self._cache_data, None) if self._rolled() else (None, self._cache_data)
        if self._rolled() and kept is None:
            raise MXNetError("the samples that roll over into this epoch were not read in the last one")
        return self._batch(self.data, kept)

    def getlabel(self) -> list[Any]:
        kept, self._cache_label = (self._cache_label, None) if self._rolled() else (None, self._cache_label)
        return self._batch(self.label, kept)

    def getpad(self) -> int:
        if self.last_batch_handle == "pad":
            return int(max(self.cursor + self.batch_size - self.num_data, 0))
        return -self.cursor if self._rolled() else 0

    def _shuffle_data(self) -> None:
        np.random.shuffle(self.idx)  # noqa: NPY002 - legacy scripts seed NumPy's global generator
        self.data = _getdata_by_idx(self.data, self.idx)
        self.label = _getdata_by_idx(self.label, self.idx)
