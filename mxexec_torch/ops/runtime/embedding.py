"""Embedding whose weight gradient holds the rows in use only."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from .leaf import leaf

__all__ = ["sparse_lookup"]


class _SparseLookup(torch.autograd.Function):
    """Rows of a weight. A weight that is no result of another operation gets a sparse gradient: every looked-up row with its share."""

    @staticmethod
    def forward(ctx: Any, index: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(index)
        ctx.shape, ctx.sparse = weight.shape, weight.is_leaf
        return F.embedding(index, weight)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        (index,) = ctx.saved_tensors
        rows, values = index.reshape(-1), grads[0].reshape(-1, ctx.shape[1])
        if ctx.sparse:
            return None, torch.sparse_coo_tensor(rows[None], values, ctx.shape, check_invariants=False)
        return None, values.new_zeros(ctx.shape).index_add(0, rows, values)


@leaf
def sparse_lookup(index: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """weight[index], with a sparse (COO) gradient where the weight is a leaf of torch's graph. index: int64, within bounds."""
    result: torch.Tensor = _SparseLookup.apply(index, weight)
    return result
