"""Elementwise operators of two tensors: of equal shape (`elemwise_*`, `_equal`, ...) and broadcasting (`broadcast_*`), a row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..infer.rules import broadcast, elementwise
from ..registry import Attrs, Grad, Tensor, op
from ._numbers import through_float
from .runtime import elementwise as rt

__all__ = ["divide", "hypot", "power"]

Function = Callable[[Tensor, Tensor], Tensor]
Rule = Callable[[Attrs, Any], None]


def divide(lhs: Tensor, rhs: Tensor) -> Tensor:
    """lhs / rhs; integers are truncated towards zero."""
    return torch.div(lhs, rhs) if lhs.is_floating_point() else torch.div(lhs, rhs, rounding_mode="trunc")


def power(lhs: Tensor, rhs: Tensor) -> Tensor:
    """lhs ** rhs; integers through float32."""
    return rt.power(lhs, rhs) if lhs.is_floating_point() else through_float(torch.pow, lhs, rhs)


def hypot(lhs: Tensor, rhs: Tensor) -> Tensor:
    """sqrt(lhs^2 + rhs^2); integers through float32."""
    return rt.hypot(lhs, rhs) if lhs.is_floating_point() else through_float(torch.hypot, lhs, rhs)


def _compare(function: Function) -> Function:
    """A comparison whose result has the operands' element type."""

    def compare(lhs: Tensor, rhs: Tensor) -> Tensor:
        return function(lhs, rhs).to(lhs.dtype)

    return compare


def _two(lhs: Tensor, rhs: Tensor, /) -> Tensor:
    """The schema of the family."""
    raise NotImplementedError


def _row(name: str, function: Function, rule: Rule, doc: str, source: str, aliases: str, grad: Grad, integer_grad: bool) -> None:
    op(
        name, aliases=aliases.split(), signature=_two, shape=rule, doc=f"{doc} Source: src/operator/tensor/{source}", source=source, grad=grad,
        head_grad=grad is not Grad.ZERO, integer_grad=integer_grad,
    )(function)  # fmt: skip


def _same(name: str, function: Function, text: str, source: str, *, aliases: str = "", grad: Grad = Grad.AUTO, integer_grad: bool = True) -> None:
    """Declares an operator of two tensors of one shape."""
    doc = f"{text}\n\nlhs, rhs of one shape and type -> same. Errors: MXNetError when they differ."
    _row(name, function, elementwise, doc, source, aliases, grad, integer_grad)


def _broadcast(name: str, function: Function, text: str, source: str, *, aliases: str = "", grad: Grad = Grad.AUTO, integer_grad: bool = True) -> None:
    """Declares an operator of two tensors that broadcasts as NumPy does."""
    _row(name, function, broadcast, f"{text}\n\nlhs, rhs broadcast to one shape -> that shape; one type.", source, aliases, grad, integer_grad)


_BASIC, _EXTENDED, _LOGIC = (f"elemwise_binary_op_{part}.cc" for part in ("basic", "extended", "logic"))
_B_BASIC, _B_EXTENDED, _B_LOGIC = (f"elemwise_binary_broadcast_op_{part}.cc" for part in ("basic", "extended", "logic"))

_same("elemwise_add", torch.add, "lhs + rhs.", _BASIC, aliases="_Plus _add _plus _sparse_elemwise_add")
_same("elemwise_sub", torch.sub, "lhs - rhs.", _BASIC, aliases="_Minus _minus _sub _sparse_elemwise_sub")
_same("elemwise_mul", torch.mul, "lhs * rhs.", _BASIC, aliases="_Mul _mul _sparse_elemwise_mul")
_same("elemwise_div", divide, "lhs / rhs; integers are truncated.", _BASIC, aliases="_Div _div _sparse_elemwise_div")
_same("_scatter_elemwise_div", divide, "lhs / rhs; of dense tensors the same as elemwise_div.", "elemwise_scatter_op.cc")
_same("_grad_add", torch.add, "lhs + rhs, as the gradient pass adds contributions; has no gradient itself.", _BASIC, grad=Grad.MISSING)
_same("_mod", rt.mod, "The remainder with the divisor's sign; 0 for a divisor 0.", _BASIC, aliases="_Mod", integer_grad=False)
_same("_power", power, "lhs ** rhs.", _EXTENDED, aliases="_Power")
_same("_maximum", rt.maximum, "The larger element; on a tie lhs gets the gradient.", _EXTENDED, aliases="_Maximum")
_same("_minimum", rt.minimum, "The smaller element; on a tie lhs gets the gradient.", _EXTENDED, aliases="_Minimum")
_same("_hypot", hypot, "sqrt(lhs^2 + rhs^2).", _EXTENDED, aliases="_Hypot")

_broadcast("broadcast_add", torch.add, "lhs + rhs.", _B_BASIC, aliases="broadcast_plus _sparse_broadcast_add _sparse_broadcast_plus")
_broadcast("broadcast_sub", torch.sub, "lhs - rhs.", _B_BASIC, aliases="broadcast_minus _sparse_broadcast_sub _sparse_broadcast_minus")
_broadcast("broadcast_mul", torch.mul, "lhs * rhs.", _B_BASIC, aliases="_sparse_broadcast_mul")
_broadcast("broadcast_div", divide, "lhs / rhs; integers are truncated.", _B_BASIC, aliases="_sparse_broadcast_div")
_broadcast("broadcast_mod", rt.mod, "The remainder with the divisor's sign; 0 for a divisor 0.", _B_BASIC, integer_grad=False)
_broadcast("broadcast_power", power, "lhs ** rhs.", _B_EXTENDED)
_broadcast("broadcast_maximum", rt.maximum, "The larger element; on a tie lhs gets the gradient.", _B_EXTENDED, aliases="_npi_maximum")
_broadcast("broadcast_minimum", rt.minimum, "The smaller element; on a tie lhs gets the gradient.", _B_EXTENDED, aliases="_npi_minimum")
_broadcast("broadcast_hypot", hypot, "sqrt(lhs^2 + rhs^2).", _B_EXTENDED)

_COMPARISONS = {
    "equal": torch.eq, "not_equal": torch.ne, "greater": torch.gt, "greater_equal": torch.ge, "lesser": torch.lt, "lesser_equal": torch.le,
    "logical_and": torch.logical_and, "logical_or": torch.logical_or, "logical_xor": torch.logical_xor,
}  # fmt: skip
for _name, _function in _COMPARISONS.items():
    _text = f"1 where {_name.replace('_', ' ')} holds, else 0, in the operands' type."
    _alias = "_" + _name.title()  # _Greater_Equal, _Logical_And
    _same(f"_{_name}", _compare(_function), _text, _LOGIC, aliases=_alias, grad=Grad.ZERO)
    _broadcast(f"broadcast_{_name}", _compare(_function), _text, _B_LOGIC, grad=Grad.ZERO)


@op("_identity_with_attr_like_rhs", shape=elementwise)
def identity_with_attr_like_rhs(lhs: Tensor, rhs: Tensor, /) -> Tensor:
    """A copy of lhs that inference ties to rhs (shape and type); rhs gets a zero gradient.

    lhs, rhs of one shape -> same. Source: src/operator/tensor/elemwise_unary_op_basic.cc
    """
    return lhs
