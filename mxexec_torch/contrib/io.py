"""A Gluon DataLoader as the data iterator of a Module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import ndarray as nd
from ..io import DataDesc, DataIter

__all__ = ["DataLoaderIter"]


class DataLoaderIter(DataIter):
    """The (data, label) batches of a DataLoader as DataBatches. A short last batch is filled up; `getpad` says by how much."""

    def __init__(self, loader: Any, data_name: str = "data", label_name: str = "softmax_label", dtype: Any = "float32") -> None:
        super().__init__()
        self._loader = loader
        data, label = next(iter(loader))
        self.batch_size = data.shape[0]
        self.dtype = dtype
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self._iter: Iterator[Any] = iter(())
        self._current_batch: Any = None
        self.reset()

    def reset(self) -> None:
        """Begins a new pass."""
        self._iter = iter(self._loader)

    def iter_next(self) -> bool:
        """Goes to the next batch; False at the end."""
        self._current_batch = next(self._iter, None)
        return self._current_batch is not None

    def _full(self, part: Any) -> list[Any]:
        part = part.astype(self.dtype)
        if self.getpad():
            part = nd.concat(part, nd.zeros((self.getpad(), *part.shape[1:]), dtype=part.dtype), dim=0)
        return [part]

    def getdata(self) -> list[Any]:
        """The data of the current batch."""
        return self._full(self._current_batch[0])

    def getlabel(self) -> list[Any]:
        """The labels of the current batch."""
        return self._full(self._current_batch[1])

    def getpad(self) -> int:
        """How many samples at the end of the current batch only fill it up."""
        return int(self.batch_size - self._current_batch[0].shape[0])

    def getindex(self) -> None:
        """The loader does not tell which samples it gave."""
