"""Recorded operations on sparse arrays: their gradients touch stored rows only, as MXNet's do.

A recorded sparse array's `_ag` is a placeholder of the array's full shape that occupies no memory; what flows back through it is a
gradient of that shape, often a sparse one (torch's COO layout, one sparse dimension: rows). Which of the reference's gradients stay sparse:
src/operator/tensor/dot-inl.h, indexing_op.h, square_sum-inl.h, elemwise_binary_op_basic.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .core import NDArray, wrap
from .tape import Record

__all__ = ["coordinates", "dense_history", "gather_rows", "linear", "placeholder", "stored_rows", "with_placeholder"]

Gradients = Callable[[torch.Tensor], Sequence[torch.Tensor | None]]


def placeholder(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A tensor of that shape that occupies the memory of one element."""
    return torch.zeros((), dtype=dtype, device=device).expand(tuple(shape))


def coordinates(rows: torch.Tensor, values: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """A sparse tensor of rows at their places; repeated ones add up."""
    return torch.sparse_coo_tensor(rows[None], values, tuple(shape), check_invariants=False)


def gather_rows(gradient: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """The given rows of a dense or sparse gradient."""
    if not gradient.is_sparse:
        return gradient[rows]
    gradient = gradient.coalesce()
    known, values = gradient.indices()[0], gradient.values()
    if known.numel() == 0:
        return values.new_zeros((rows.numel(), *values.shape[1:]))
    place = torch.searchsorted(known, rows).clamp(max=known.numel() - 1)
    found = (known[place] == rows).reshape(-1, *[1] * (values.ndim - 1))
    return torch.where(found, values[place], torch.zeros((), dtype=values.dtype, device=values.device))


class _Given(torch.autograd.Function):
    """A value whose gradient with respect to some sources a function of the incoming gradient gives."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor, rule: Gradients, *sources: torch.Tensor) -> torch.Tensor:
        ctx.rule = rule
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return (None, None, *ctx.rule(grads[0]))


def given(value: torch.Tensor, rule: Gradients, *sources: torch.Tensor) -> torch.Tensor:
    """`value` with history: rule(gradient) gives the gradients of the sources."""
    with torch.enable_grad():
        result: torch.Tensor = _Given.apply(value, rule, *sources)
    return result


def has_history(array: NDArray) -> bool:
    """Whether gradients flow into an array."""
    return array._ag is not None and array._ag.requires_grad


def stored_rows(array: Any) -> torch.Tensor:
    """The stored rows of a row_sparse array, with the array's history."""
    rows, shape = array._indices, array.shape
    if not has_history(array):
        return array._values.data  # type: ignore[no-any-return]
    return given(array._values.data, lambda g: (coordinates(rows, g, shape),), array._ag)


def with_placeholder(array: Any, values: torch.Tensor) -> Any:
    """Gives a row_sparse array (of which `values` are the stored rows, with history) a placeholder that hands gradients on to them."""
    array._values = values.data
    rows = array._indices
    if values.requires_grad:
        array._ag = given(placeholder(array.shape, values.dtype, values.device), lambda g: (gather_rows(g, rows),), values)
    return array


def linear(array: Any, inputs: Sequence[Any], factors: Sequence[float]) -> Any:
    """Gives a result history: the gradient of each input is its factor times the incoming gradient."""
    pairs = [(x._ag, f) for x, f in zip(inputs, factors, strict=True) if has_history(x)]
    if pairs:
        value = array._t if array.stype == "default" else placeholder(array.shape, array._values.dtype, array._values.device)
        array._ag = given(value, lambda g: tuple(g if f == 1 else g * f for _, f in pairs), *[h for h, _ in pairs])
    return array


def dense_history(array: Any, tensor: torch.Tensor) -> NDArray:
    """A dense array of a sparse one's content (`tensor`), with its history."""
    view = wrap(tensor, array._ctx)
    view._rec = array._rec
    if array._ag is not None:
        view._ag = given(tensor.to(array._ag.dtype), lambda g: (g,), array._ag) if array._ag.requires_grad else tensor
    return view


def on_tape(array: NDArray, op: Any, attrs: Mapping[str, Any], records: tuple[Record, ...]) -> NDArray:
    """Puts a result on the tape."""
    array._rec = Record(op, dict(attrs), records)
    return array
