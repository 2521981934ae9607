"""Reading and writing at index tensors: take, pick, gather_nd, one_hot, ...

Indices come as numbers of any element type; fractions are cut. Out of range they are clipped or wrapped, never an error by default.
"""

from __future__ import annotations

from typing import Annotated

import torch

from ..errors import MXNetError
from ..infer.rules import free_inputs, normalize_axis
from ..infer.state import Shapes
from ..registry import Attrs, Tensor, op
from ..values import Int, OneOf
from .runtime.indexing import check_range

__all__ = ["as_index"]


def as_index(index: Tensor, size: int, mode: str) -> Tensor:
    """int64 indices into an axis of `size` elements; mode 'clip' or 'wrap' (the remainder with the divisor's sign)."""
    whole = index.to(torch.int64)
    if mode == "wrap":
        return torch.remainder(whole, max(size, 1))
    return whole.clamp(0, max(size - 1, 0))


def _take_shape(a: Attrs, s: Shapes) -> None:
    data, index = s.get(0), s.get(1)
    if data is None or index is None:
        return
    axis = normalize_axis(s, a.axis, len(data))
    s.unify_out((*data[:axis], *index, *data[axis + 1 :]))


@op("take", aliases=("_npi_take",), shape=_take_shape, dtype=free_inputs("indices"))
def take(a: Tensor, indices: Tensor, /, *, axis: Int = 0, mode: Annotated[str, OneOf("clip", "raise", "wrap")] = "clip") -> Tensor:
    """Slices of `a` along an axis at the given indices.

    a (*k, d, *m), indices (*i), any type -> (*k, *i, *m). The gradient adds up over repeated indices; that of indices is zero.
    Errors: MXNetError for an index out of range with mode='raise'. Source: src/operator/tensor/indexing_op.cc
    """
    axis = axis % a.ndim
    if mode == "raise":
        indices = check_range(indices, a.shape[axis], "take")
    index = as_index(indices, a.shape[axis], mode)
    if a.shape[axis] == 0 and index.numel():
        raise MXNetError("take: cannot take from an axis of size 0")
    picked = a.index_select(axis, index.reshape(-1))
    return picked if index.ndim == 1 else picked.reshape((*a.shape[:axis], *index.shape, *a.shape[axis + 1 :]))


