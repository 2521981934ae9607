"""Operators about sparse storage. Bodies see dense tensors; what happens to the stored elements is in ndarray/sparse_ops.py."""

from __future__ import annotations

from typing import Annotated

import torch

from ..infer.rules import elementwise, fixed_dtype
from ..infer.state import Dtypes, Shapes
from ..registry import Attrs, Grad, Tensor, op
from ..values import Bool, OneOf, OptInt, OptShape

__all__: list[str] = []


@op("cast_storage", aliases=("_sparse_cast_storage",), shape=elementwise)
def cast_storage(data: Tensor, /, *, stype: Annotated[str, OneOf("default", "row_sparse", "csr")]) -> Tensor:
    """The same array in another storage type.

    data any shape (a matrix for csr) -> same shape. Errors: MXNetError for csr <-> row_sparse.
    Source: src/operator/tensor/cast_storage.cc
    """
    return data


def _retain_shape(a: Attrs, s: Shapes) -> None:
    s.unify_out(s.get("data"))
    s.unify("data", s.out())


def _retain_dtype(a: Attrs, d: Dtypes) -> None:
    d.unify_out(d.get("data"))
    d.unify("data", d.out())


@op("_sparse_retain", shape=_retain_shape, dtype=_retain_dtype, differentiable=("data",))
def sparse_retain(data: Tensor, indices: Tensor, /) -> Tensor:
    """The given rows of data, zeros elsewhere.

    data (n,*k) row_sparse, indices (m,) any type -> (n,*k) row_sparse. Source: src/operator/tensor/sparse_retain.cc
    """
    kept = data.new_zeros(data.shape[0], dtype=torch.bool).index_fill(0, indices.long(), True)
    return torch.where(kept.reshape(-1, *[1] * (data.ndim - 1)), data, torch.zeros_like(data))


def _square_sum_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is not None:
        axes = _axes(a, len(data))
        s.unify_out(tuple(1 if x in axes else d for x, d in enumerate(data) if x not in axes or a.keepdims) or (1,))


def _axes(a: Attrs, ndim: int) -> tuple[int, ...]:
    axes = tuple(range(ndim)) if not a.axis else tuple(x % ndim for x in a.axis)
    return tuple(x for x in range(ndim) if x not in axes) if a.exclude else axes


@op("_square_sum", shape=_square_sum_shape)
def square_sum(data: Tensor, /, *, axis: OptShape = None, keepdims: Bool = False, exclude: Bool = False) -> Tensor:
    """The sum of squares over an axis of a row_sparse matrix.

    data (n,m) row_sparse, axis 0 or 1 -> (m,), (n,), or with keepdims (1,m), (n,1). Source: src/operator/tensor/square_sum.cc
    """
    result = data.square().sum(_axes(Attrs(axis=axis, exclude=exclude), data.ndim), keepdim=keepdims)
    return result.reshape(1) if result.ndim == 0 else result


@op("_contrib_getnnz", dtype=fixed_dtype(torch.int64), grad=Grad.MISSING)
def getnnz(data: Tensor, /, *, axis: OptInt = None) -> Tensor:
    """The number of stored elements of a csr matrix, or of each of its rows.

    data (n,m) csr, axis None -> (1,), axis 1 -> (n,). dtype: int64. Source: src/operator/contrib/nnz.cc
    """
    stored = data != 0
    return stored.sum().reshape(1) if axis is None else stored.sum(axis)
