"""mx.nd.sparse: the functions that make sparse arrays, their arithmetic, and every operator that takes them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import torch

from ..context import Context, current_context
from ..dtypes import TORCH_TO_NAME, array_dtype
from ..errors import MXNetError
from ..semantics import is_np_shape
from .core import NDArray, wrap
from .sparse_arithmetic import add, divide, multiply, subtract
from .sparse_array import (
    INTEGERS,
    SPARSE_CLASSES,
    BaseSparseNDArray,
    CSRNDArray,
    NotSupportedForSparseNDArray,
    RowSparseNDArray,
    scipy_sparse,
    to_storage,
)  # fmt: skip

__all__ = [
    "SPARSE_CLASSES", "BaseSparseNDArray", "CSRNDArray", "NotSupportedForSparseNDArray", "RowSparseNDArray", "add", "array", "csr_matrix",
    "divide", "empty", "multiply", "row_sparse_array", "subtract", "to_storage", "zeros",
]  # fmt: skip


def _is_scipy_csr(value: Any) -> bool:
    sparse = scipy_sparse()
    return sparse is not None and sparse.issparse(value) and value.format == "csr"


def _default_dtype(source: Any, dtype: Any) -> torch.dtype:
    """The given type, else the source's where it has one, else float32."""
    if dtype is None:
        dtype = source.dtype if isinstance(source, (NDArray, np.ndarray)) or _is_scipy_csr(source) else np.float32
    return array_dtype(dtype)


def _tensor(source: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A new tensor of anything array-like. Errors: TypeError."""
    if isinstance(source, NDArray):
        return source._t.to(device, dtype, copy=True)
    if not isinstance(source, np.ndarray):
        try:
            source = np.array(source, dtype=None if dtype is torch.bfloat16 else TORCH_TO_NAME[dtype])
        except (ValueError, TypeError) as error:
            raise TypeError(f"values must be array like object: {error}") from None
    return torch.tensor(source).to(device, dtype)


def _check_shape(found: Any, expected: Any) -> None:
    if found and expected and tuple(found) != tuple(expected):
        raise ValueError(f"Shape mismatch detected. {found} v.s. {expected}")


def _sizes(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, INTEGERS) else tuple(int(d) for d in shape)


def csr_matrix(arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> CSRNDArray:
    """Makes a csr matrix of

    - a dense matrix (NDArray, NumPy array, nested lists),
    - a CSRNDArray or scipy.sparse.csr_matrix,
    - a shape (M, N): all zeros,
    - (data, indices, indptr),
    - (data, (row, col)): coordinates, repeated ones are added (needs scipy).

    shape: default read off the indices. dtype: default the source's type, float32 for lists.
    Errors: ValueError for shapes that do not fit, TypeError for what is no array.
    """
    if isinstance(arg1, tuple):
        if len(arg1) == 3:
            return _csr_of_parts(arg1[0], arg1[1], arg1[2], shape=shape, ctx=ctx, dtype=dtype)
        if len(arg1) != 2:
            raise ValueError(f"Unexpected length of input tuple: {len(arg1)}")
        if not (isinstance(arg1[1], tuple) and len(arg1[1]) == 2):
            _check_shape(arg1, shape)
            return empty("csr", arg1, ctx=ctx, dtype=dtype)  # type: ignore[no-any-return]
        sparse = scipy_sparse()
        if sparse is None:
            raise ImportError("scipy could not be imported. Please make sure that the scipy is installed.")
        data, (row, col) = arg1
        data, row, col = (x.asnumpy() if isinstance(x, NDArray) else x for x in (data, row, col))
        matrix = sparse.coo_matrix((data, (row, col)), shape=shape)
        _check_shape(matrix.shape, shape)
        return array(matrix.tocsr(), ctx=ctx, dtype=dtype)  # type: ignore[no-any-return]
    if isinstance(arg1, RowSparseNDArray):
        raise ValueError("Unexpected input type: RowSparseNDArray")  # noqa: TRY004 - MXNet's class
    if isinstance(arg1, CSRNDArray) or _is_scipy_csr(arg1):
        _check_shape(arg1.shape, shape)
        return array(arg1, ctx=ctx, dtype=dtype)  # type: ignore[no-any-return]
    return _of_dense(CSRNDArray, arg1, shape, ctx, dtype)  # type: ignore[no-any-return]


def _of_dense(kind: Any, source: Any, shape: Any, ctx: Context | None, dtype: Any) -> Any:
    context = current_context() if ctx is None else ctx
    dense = _tensor(source, _default_dtype(source, dtype), context.device)
    _check_shape(tuple(dense.shape), shape)
    return kind._of(dense, context)


def _csr_of_parts(data: Any, indices: Any, indptr: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> CSRNDArray:
    context = current_context() if ctx is None else ctx
    values = _tensor(data, _default_dtype(data, dtype), context.device)
    columns = _tensor(indices, torch.int64, context.device)
    offsets = _tensor(indptr, torch.int64, context.device)
    if shape is None:
        if columns.numel() == 0:
            raise ValueError("invalid shape: it cannot be read off an empty list of column indices")
        shape = (offsets.shape[0] - 1, int(columns.max()) + 1)
    if values.ndim != 1 or offsets.ndim != 1 or columns.ndim != 1 or offsets.shape[0] == 0 or len(shape) != 2:
        raise ValueError(
            f"invalid shape: data {tuple(values.shape)}, indices {tuple(columns.shape)}, indptr {tuple(offsets.shape)} "
            f"must have one dimension each, the shape {tuple(shape)} two"
        )
    return CSRNDArray._new(values, columns, offsets, _sizes(shape), context)


def row_sparse_array(arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> RowSparseNDArray:
    """Makes a row_sparse array of

    - a dense array (NDArray, NumPy array, nested lists),
    - a RowSparseNDArray,
    - a shape (D0, D1, ...): all zeros,
    - (data, indices): stored rows and their numbers, which must rise.

    shape: default read off data and the last index. dtype: default the source's type, float32 for lists.
    Errors: ValueError for shapes that do not fit, TypeError for what is no array.
    """
    if isinstance(arg1, tuple):
        if len(arg1) < 2:
            raise ValueError(f"Unexpected length of input tuple: {len(arg1)}")
        if len(arg1) > 2 or (isinstance(arg1[0], INTEGERS) and isinstance(arg1[1], INTEGERS)):
            _check_shape(arg1, shape)
            return empty("row_sparse", arg1, ctx=ctx, dtype=dtype)  # type: ignore[no-any-return]
        return _rows_of_parts(arg1[0], arg1[1], shape=shape, ctx=ctx, dtype=dtype)
    if isinstance(arg1, CSRNDArray):
        raise ValueError("Unexpected input type: CSRNDArray")  # noqa: TRY004 - MXNet's class
    if isinstance(arg1, RowSparseNDArray):
        _check_shape(arg1.shape, shape)
        return array(arg1, ctx=ctx, dtype=dtype)  # type: ignore[no-any-return]
    return _of_dense(RowSparseNDArray, arg1, shape, ctx, dtype)  # type: ignore[no-any-return]


def _rows_of_parts(data: Any, indices: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> RowSparseNDArray:
    context = current_context() if ctx is None else ctx
    values = _tensor(data, _default_dtype(data, dtype), context.device)
    rows = _tensor(indices, torch.int64, context.device)
    if shape is None:
        if rows.numel() == 0:
            raise ValueError("invalid shape: it cannot be read off an empty list of row indices")
        shape = (int(rows[-1]) + 1, *values.shape[1:])
    shape = _sizes(shape)
    if values.ndim != len(shape) or rows.ndim != 1 or 0 in shape[1:]:
        raise ValueError(f"invalid shape: data {tuple(values.shape)} and indices {tuple(rows.shape)} for an array of shape {shape}")
    return RowSparseNDArray._new(values, rows, shape, context)


def zeros(stype: str, shape: Any, ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> Any:
    """A new array of zeros with the given storage type. Errors: ValueError for an unknown storage type."""
    context = current_context() if ctx is None else ctx
    if stype == "default":
        return wrap(torch.zeros(_sizes(shape), dtype=array_dtype(dtype or np.float32), device=context.device), context)
    if stype not in SPARSE_CLASSES:
        raise ValueError(f"unknown storage type {stype}")
    sizes = tuple(operator.index(d) for d in shape)
    if any(d < 0 for d in sizes):
        raise OverflowError(f"cannot make an array of shape {sizes}: negative dimension")
    if not is_np_shape() and (0 in sizes or not sizes):
        raise MXNetError(f"an array of shape {sizes} has unknown dimensions (0 means unknown without np_shape)")
    if stype == "csr" and len(sizes) != 2:
        raise MXNetError(f"csr storage is for matrices, got shape {sizes}")
    return SPARSE_CLASSES[stype]._zeros(sizes, context, array_dtype(np.float32 if dtype is None else dtype))


def empty(stype: str, shape: Any, ctx: Context | None = None, dtype: Any = None) -> Any:
    """The same as `zeros`, for sparse storage types only. Errors: Exception for others."""
    shape = (shape,) if isinstance(shape, int) else shape
    if stype not in SPARSE_CLASSES:
        raise Exception(f"unknown stype : {stype}")  # noqa: TRY002 - MXNet's class
    return zeros(stype, shape, ctx=ctx, dtype=dtype)


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> Any:
    """A sparse copy of a sparse source: a CSRNDArray, RowSparseNDArray or scipy.sparse.csr_matrix (sorted, duplicates added up).

    dtype: default the source's. Errors: ValueError for dense sources (mx.nd.array makes dense arrays, tostype converts).
    """
    context = current_context() if ctx is None else ctx
    if isinstance(source_array, BaseSparseNDArray):
        result = type(source_array)._zeros(source_array.shape, context, _default_dtype(source_array, dtype))
        result._take_parts(source_array)
        return result
    if isinstance(source_array, NDArray):
        raise AssertionError("Please use `tostype` to create RowSparseNDArray or CSRNDArray from an NDArray")  # noqa: TRY004 - MXNet's class
    if _is_scipy_csr(source_array):
        matrix = source_array.sorted_indices()
        matrix.sum_duplicates()
        kind = _default_dtype(source_array, dtype)
        return _csr_of_parts(matrix.data, matrix.indices, matrix.indptr, shape=matrix.shape, ctx=ctx, dtype=kind)
    if isinstance(source_array, (np.ndarray, np.generic)):
        raise ValueError(f"Please use mx.nd.array to create an NDArray with source_array of type {type(source_array)}")  # noqa: TRY004 - MXNet's class
    raise ValueError(f"Unexpected source_array type: {type(source_array)}")


def __getattr__(name: str) -> Any:
    from .register import module_functions

    return module_functions("sparse")[0](name)


def __dir__() -> list[str]:
    from .register import names_of

    return sorted({*globals(), *names_of("sparse")})
