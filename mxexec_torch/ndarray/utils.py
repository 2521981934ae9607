"""The functions of mx.nd that make, save and load arrays of any storage type."""

from __future__ import annotations

from typing import Any

from ..context import Context
from . import creation
from .core import NDArray
from .serialization import load, load_frombuffer, save

__all__ = ["array", "empty", "load", "load_frombuffer", "save", "zeros"]


def zeros(shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str | None = None, **kwargs: Any) -> Any:
    """Zeros of a storage type: 'default', 'csr' or 'row_sparse'."""
    if stype is None or stype == "default":
        return creation.zeros(shape, ctx, dtype, **kwargs)
    from . import sparse

    return sparse.zeros(stype, shape, ctx, dtype, **kwargs)


def empty(shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str | None = None) -> Any:
    """An array of a storage type with arbitrary contents."""
    if stype is None or stype == "default":
        return creation.empty(shape, ctx, dtype)
    from . import sparse

    return sparse.empty(stype, shape, ctx, dtype)


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> Any:
    """An array from data, NumPy, SciPy or NDArray; sparse sources stay sparse. float32 unless told otherwise."""
    if (isinstance(source_array, NDArray) and source_array.stype != "default") or type(source_array).__module__.startswith("scipy.sparse"):
        from . import sparse

        return sparse.array(source_array, ctx, dtype)
    return creation.array(source_array, ctx, dtype)
