"""mx.io: iterators over batches of data."""

from __future__ import annotations

from . import io, utils
from .files import CSVIter, LibSVMIter, MNISTIter
from .io import DataBatch, DataDesc, DataIter, MXDataIter, PrefetchingIter, ResizeIter
from .ndarray_iter import NDArrayIter

__all__ = [
    "CSVIter", "DataBatch", "DataDesc", "DataIter", "LibSVMIter", "MNISTIter", "MXDataIter", "NDArrayIter", "PrefetchingIter", "ResizeIter",
    "io", "utils",
]  # fmt: skip

for _name in ("NDArrayIter", "CSVIter", "LibSVMIter", "MNISTIter"):  # MXNet has all of them in mx.io.io
    setattr(io, _name, globals()[_name])
