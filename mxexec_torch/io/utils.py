"""Sources of NDArrayIter: arrays, lists or dicts of arrays, HDF5 data sets."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ndarray import sparse
from ..ndarray.core import NDArray
from ..ndarray.utils import array

__all__: list[str] = []


def _is_hdf5(value: Any) -> bool:
    """Whether a value is a data set of h5py, which is only asked when the caller has it loaded."""
    h5py = sys.modules.get("h5py")
    return h5py is not None and isinstance(value, h5py.Dataset)


def _init_data(data: Any, allow_empty: bool, default_name: str) -> list[tuple[str, Any]]:
    """(name, array) pairs ordered by name. One array gets the default name, several `_0_name`, `_1_name`, ...

    Errors: TypeError for what is no array, AssertionError for nothing where something is needed.
    """
    assert data is not None or allow_empty, "data must be given"
    if data is None:
        data = []
    if isinstance(data, (np.ndarray, NDArray)) or _is_hdf5(data):
        data = [data]
    if isinstance(data, list):
        assert data or allow_empty, "data must not be empty"
        data = {default_name if len(data) == 1 else f"_{i}_{default_name}": source for i, source in enumerate(data)}
    if not isinstance(data, dict):
        raise TypeError("Input must be NDArray, numpy.ndarray, h5py.Dataset, a list of them or dict with them as values")
    pairs = []
    for name, source in sorted(data.items()):
        if not isinstance(source, NDArray) and not _is_hdf5(source):
            try:
                source = array(source)
            except (TypeError, ValueError) as error:
                text = f"Invalid type '{type(source)}' for {name}, should be NDArray, numpy.ndarray or h5py.Dataset"
                raise TypeError(text) from error
        pairs.append((name, source))
    return pairs


def _has_instance(data: Sequence[tuple[str, Any]], dtype: Any) -> bool:
    """Whether one of the sources is of that class."""
    return any(isinstance(source, dtype) for _, source in data)


def _getdata_by_idx(data: Sequence[tuple[str, Any]], idx: Any) -> list[tuple[str, Any]]:
    """The sources with their rows in another order; HDF5 data sets stay, they are read by row numbers."""
    result = []
    for name, source in data:
        if _is_hdf5(source):
            result.append((name, source))
        elif isinstance(source, sparse.CSRNDArray):
            result.append((name, sparse.array(source.asscipy()[idx], source.context)))
        else:
            result.append((name, array(source.asnumpy()[idx], source.context, dtype=source.dtype)))
    return result


def _slice_along_batch_axis(data: Any, s: slice, batch_axis: int) -> Any:
    """A copy of some samples."""
    return data.slice_axis(axis=batch_axis, begin=s.start, end=s.stop)
