"""where and add_n."""

from __future__ import annotations

from typing import Annotated

import torch

from ..infer.rules import elementwise, free_inputs
from ..infer.state import Shapes, complete
from ..registry import Attrs, Tensor, op
from ..values import Int, Range

__all__: list[str] = []


def _where_shape(a: Attrs, s: Shapes) -> None:
    for known in (s.get("x"), s.get("y"), s.out()):
        s.unify("x", known)
    s.unify("y", s.get("x"), elementwise=True)
    condition, x = s.get("condition"), s.get("x")
    if not complete(condition) or x is None:
        return  # MXNet leaves even the output open until the condition's shape is known
    assert condition is not None
    s.unify_out(x)
    if len(condition) == 1 and len(x) != 1:
        if x[0] not in (-1, condition[0]):
            raise s.fail(f"where: a condition of one dimension must have as many elements as x has rows, got {condition[0]} and {x[0]}")
    else:
        s.unify("x", condition, elementwise=True)
        s.unify_out(s.get("x"))


@op("where", aliases=("_sparse_where",), shape=_where_shape, dtype=free_inputs("condition"))
def where(condition: Tensor, x: Tensor, y: Tensor, /) -> Tensor:
    """x where condition is not 0 (NaN counts as not 0), y elsewhere; the condition gets a zero gradient.

    condition of x's shape or (n,) choosing rows, x and y (n, *k) -> (n, *k). Source: src/operator/tensor/control_flow_op.cc
    """
    if condition.ndim == 1 and x.ndim > 1:
        condition = condition.reshape(-1, *(1,) * (x.ndim - 1))
    return torch.where(condition if condition.dtype is torch.bool else condition != 0, x, y)


@op(
    "add_n", aliases=("ElementWiseSum", "_sparse_ElementWiseSum", "_sparse_add_n"), shape=elementwise, key_var_num_args="num_args",
    table=("args",),
)  # fmt: skip
def add_n(*args: Tensor, num_args: Annotated[Int, Range(1)]) -> Tensor:
    """The sum of all inputs.

    any number of tensors of one shape and type -> same. Source: src/operator/tensor/elemwise_sum.cc
    """
    total = args[0]
    for other in args[1:]:
        total = total + other
    return total
