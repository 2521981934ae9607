"""Recorded operations whose gradients with respect to sparse arrays (or of dot with csr) touch stored rows only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .core import NDArray
from .sparse import BaseSparseNDArray, CSRNDArray, RowSparseNDArray
from .sparse_history import coordinates, gather_rows, given, has_history, linear, on_tape, placeholder, stored_rows, with_placeholder
from .sparse_kernels import HANDLERS, by_column, product
from .tape import Record

__all__ = ["run_sparsely_recorded"]

_Rule = Callable[[Any, Sequence[Any]], NDArray | None]
_RULES: dict[str, _Rule] = {}


def _rule(*names: str) -> Callable[[_Rule], _Rule]:
    def declare(function: _Rule) -> _Rule:
        _RULES.update(dict.fromkeys(names, function))
        return function

    return declare


def run_sparsely_recorded(plan: Any, inputs: Sequence[Any], records: tuple[Record, ...]) -> NDArray | None:
    """Runs a plan on stored elements, with history; None where no rule covers the combination."""
    rule = _RULES.get(plan.op.name)
    result = None if rule is None else rule(plan, inputs)
    return None if result is None else on_tape(result, plan.op, plan.given, records)


def _full(array: Any) -> torch.Tensor:
    return placeholder(array.shape, array._values.dtype, array._values.device)


@_rule("abs", "relu", "square", "_square_sum")
def _on_stored(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    """Operators whose gradient is zero where the input is: torch's autograd through the kernel on stored rows."""
    (x,) = inputs
    if not isinstance(x, RowSparseNDArray):
        return None
    with torch.enable_grad():
        result: Any = HANDLERS[plan.op.name](plan, [x._with(stored_rows(x))])
    if isinstance(result, RowSparseNDArray):
        return with_placeholder(result, result._values)  # type: ignore[no-any-return]
    if result is not None and result._t.requires_grad:
        result._ag, result._t = result._t, result._t.data
    return result  # type: ignore[no-any-return]


@_rule("_mul_scalar", "_div_scalar", "_plus_scalar", "_minus_scalar", "negative", "_copy", "elemwise_add", "elemwise_sub", "add_n", "_grad_add")
def _linear(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    """Operators whose gradients are multiples of the incoming one, of whatever rows that has."""
    if any(x.stype != "row_sparse" for x in inputs):
        return None
    result = HANDLERS[plan.op.name](plan, inputs)
    if not isinstance(result, RowSparseNDArray):
        return None
    factors = [1.0] * len(inputs)
    if plan.op.name == "elemwise_sub":
        factors[1] = -1.0
    elif plan.op.name == "negative":
        factors[0] = -1.0
    elif plan.op.name in ("_mul_scalar", "_div_scalar"):
        factors[0] = plan.attrs.scalar if plan.op.name == "_mul_scalar" else 1.0 / plan.attrs.scalar
    return linear(result, inputs, factors)  # type: ignore[no-any-return]


@_rule("_sparse_retain")
def _retain(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    data, indices = inputs
    result: Any = HANDLERS["_sparse_retain"](plan, inputs)
    if has_history(data) and not has_history(indices):
        rows, shape = result._indices, data.shape
        result._ag = given(_full(result), lambda g: (coordinates(rows, gather_rows(g, rows), shape),), data._ag)
    return result  # type: ignore[no-any-return]


@_rule("Embedding", "_contrib_SparseEmbedding")
def _embedding(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    data, weight = inputs
    if data._ag is not None:
        return None  # refused by the dense operator
    result: Any = HANDLERS["Embedding"](plan, inputs)
    if result is not None and has_history(weight):
        rows, shape = data._t.long().clamp(0, plan.attrs.input_dim - 1).reshape(-1), weight.shape
        sparse = plan.attrs.get("sparse_grad") or plan.op.name == "_contrib_SparseEmbedding"

        def gradient(g: torch.Tensor) -> tuple[torch.Tensor]:
            values = g.reshape(-1, shape[1])
            return (coordinates(rows, values, shape) if sparse else values.new_zeros(shape).index_add(0, rows, values),)

        result._ag = given(result._t, gradient, weight._ag)
    return result  # type: ignore[no-any-return]


@_rule("dot")
def _dot(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    """A csr matrix times a dense or row_sparse array. The gradient of the factor, csr^T x gradient, holds the rows of the stored columns."""
    lhs, rhs = inputs
    a = plan.attrs
    if not isinstance(lhs, CSRNDArray) or isinstance(rhs, CSRNDArray):
        return None
    result: Any = HANDLERS["dot"](plan, inputs)
    if result is None or not has_history(rhs):
        return result  # type: ignore[no-any-return]
    shape = rhs.shape
    # only what takes sparse gradients is given them: sparse arrays and leaves
    sparse = not a.transpose_a and (isinstance(rhs, BaseSparseNDArray) or rhs._ag.is_leaf) and len(shape) == 2
    matrix = lhs._with(lhs._values)  # as it is now

    def gradient(g: torch.Tensor) -> tuple[torch.Tensor]:
        g = (g.to_dense() if g.is_sparse else g).reshape(-1, shape[1] if len(shape) == 2 else 1)
        if a.transpose_a:
            return (product(matrix._indptr, matrix._indices, matrix._values, g).reshape(shape),)
        stored, indptr, columns, values = by_column(matrix._rows(), matrix._indices, matrix._values)
        rows = product(indptr, columns, values, g)
        return (coordinates(stored, rows, shape) if sparse else g.new_zeros(shape).index_copy(0, stored, rows.reshape(-1, *shape[1:])),)

    if isinstance(result, BaseSparseNDArray):
        result._ag = given(_full(result), gradient, rhs._ag)
    else:
        result._ag = given(result._t, gradient, rhs._ag)
    return result  # type: ignore[no-any-return]
