"""mx.io: iterators over batches of data."""

from __future__ import annotations

from . import io, utils
from .files import CSVIter, LibSVMIter, MNISTIter
from .image_det_iter import ImageDetRecordIter
from .image_iters import ImageRecordInt8Iter, ImageRecordIter, ImageRecordIter_v1, ImageRecordUInt8Iter, ImageRecordUInt8Iter_v1
from .io import DataBatch, DataDesc, DataIter, MXDataIter, PrefetchingIter, ResizeIter
from .ndarray_iter import NDArrayIter

__all__ = [
    "CSVIter", "DataBatch", "DataDesc", "DataIter", "ImageDetRecordIter", "ImageRecordInt8Iter", "ImageRecordIter", "ImageRecordIter_v1",
    "ImageRecordUInt8Iter", "ImageRecordUInt8Iter_v1", "LibSVMIter", "MNISTIter", "MXDataIter", "NDArrayIter", "PrefetchingIter", "ResizeIter",
    "io", "utils",
]  # fmt: skip

for _name in __all__[:-2]:  # MXNet has all of them in mx.io.io
    setattr(io, _name, globals()[_name])
