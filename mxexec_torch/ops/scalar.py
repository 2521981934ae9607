"""Elementwise operators of a tensor and a number, a row each.

The number is cut to the tensor's element type first (int32 data: x + 2.5 is x + 2). With is_int=0 integer data is computed in float64 and
stays so; bool data becomes int64 (or float64).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..infer.rules import elementwise
from ..infer.state import Dtypes
from ..registry import Attrs, Grad, Tensor, op
from ..values import Bool, Double
from ._numbers import cut
from .runtime import elementwise as rt

__all__: list[str] = []

Function = Callable[[Tensor, Any], Tensor]


def _widened(dtype: torch.dtype, is_int: bool) -> torch.dtype:
    """The element type in which data of `dtype` meets the number; it is the result's type too."""
    if dtype.is_floating_point:
        return dtype
    if not is_int:
        return torch.float64
    return torch.int64 if dtype is torch.bool else dtype


def scalar_dtype(a: Attrs, t: Dtypes) -> None:
    """The dtype rule of the family."""
    data = t.get(0)
    if data is not None:
        t.unify_out(_widened(data, a.is_int))
    else:
        t.unify(0, t.out())


def _divide(x: Tensor, number: float) -> Tensor:
    return torch.div(x, number) if x.is_floating_point() else torch.div(x, number, rounding_mode="trunc")


def _divide_into(x: Tensor, number: float) -> Tensor:
    if not x.is_floating_point():
        return torch.div(number, x.double()).trunc().to(x.dtype)  # no error where x is 0
    return torch.reciprocal(x) if number == 1 else torch.div(x.new_full((), number), x)


def _subtract_from(x: Tensor, number: float) -> Tensor:
    return torch.rsub(x, number)


def _mod(x: Tensor, number: float) -> Tensor:
    if x.is_floating_point():
        return torch.remainder(x, number) if number != 0 else rt.mod(x, torch.zeros_like(x))
    return torch.remainder(x, number) if number not in (0, -1) else torch.zeros_like(x)


def _mod_of(x: Tensor, number: float) -> Tensor:
    return rt.mod(torch.full_like(x, number), x)


def _power(x: Tensor, number: float) -> Tensor:
    return torch.pow(x, number) if x.is_floating_point() else torch.pow(x.float(), float(number)).to(x.dtype)


def _power_of(x: Tensor, number: float) -> Tensor:
    return torch.pow(number, x) if x.is_floating_point() else torch.pow(float(number), x.float()).to(x.dtype)


def _hypot(x: Tensor, number: float) -> Tensor:
    if x.is_floating_point():
        return torch.hypot(x, x.new_full((), number))
    wide = x.float()
    return torch.hypot(wide, wide.new_full((), number)).to(x.dtype)


def _and(x: Tensor, number: float) -> Tensor:
    return torch.ne(x, 0) if number else torch.zeros_like(x)


def _or(x: Tensor, number: float) -> Tensor:
    return torch.ones_like(x) if number else torch.ne(x, 0)


def _xor(x: Tensor, number: float) -> Tensor:
    return torch.eq(x, 0) if number else torch.ne(x, 0)


def _typed(function: Function) -> Function:
    """A comparison whose result has the data's element type."""

    def compare(x: Tensor, number: float) -> Tensor:
        return function(x, number).to(x.dtype)

    return compare


def _row(name: str, function: Function, text: str, source: str, *, aliases: str = "", grad: Grad = Grad.AUTO, integer_grad: bool = True) -> None:
    """Declares one operator."""

    def body(data: Tensor, /, *, scalar: Double = 1.0, is_int: Bool = True) -> Tensor:
        if data.is_floating_point():
            return function(data, scalar)
        wide = _widened(data.dtype, is_int)
        return function(data if data.dtype is wide else data.to(wide), cut(scalar, wide))

    doc = f"{text}\n\ndata any shape -> same shape; see the module for element types. Source: src/operator/tensor/{source}"
    op(
        name, aliases=aliases.split(), shape=elementwise, dtype=scalar_dtype, doc=doc, source=source, grad=grad, head_grad=grad is not Grad.ZERO,
        integer_grad=integer_grad,
    )(body)  # fmt: skip


_BASIC, _EXTENDED, _LOGIC = (f"elemwise_binary_scalar_op_{part}.cc" for part in ("basic", "extended", "logic"))
_SCATTER = "elemwise_scatter_op.cc"

_row("_plus_scalar", torch.add, "x + scalar.", _BASIC, aliases="_PlusScalar")
_row("_minus_scalar", torch.sub, "x - scalar.", _BASIC, aliases="_MinusScalar")
_row("_rminus_scalar", _subtract_from, "scalar - x.", _BASIC, aliases="_RMinusScalar")
_row("_mul_scalar", torch.mul, "x * scalar.", _BASIC, aliases="_MulScalar")
_row("_div_scalar", _divide, "x / scalar; integers are truncated.", _BASIC, aliases="_DivScalar")
_row("_rdiv_scalar", _divide_into, "scalar / x; integers are truncated.", _BASIC, aliases="_RDivScalar")
_row("_mod_scalar", _mod, "x mod scalar with the divisor's sign; 0 for a divisor 0.", _BASIC, aliases="_ModScalar", integer_grad=False)
_row("_rmod_scalar", _mod_of, "scalar mod x with the divisor's sign; 0 where x is 0.", _BASIC, aliases="_RModScalar", integer_grad=False)
_row("_scatter_plus_scalar", torch.add, "x + scalar; of sparse tensors only the stored elements.", _SCATTER)
_row("_scatter_minus_scalar", torch.sub, "x - scalar; of sparse tensors only the stored elements.", _SCATTER)
_row("_maximum_scalar", torch.clamp_min, "max(x, scalar); on a tie x gets the gradient.", _EXTENDED, aliases="_MaximumScalar _npi_maximum_scalar")
_row("_minimum_scalar", torch.clamp_max, "min(x, scalar); on a tie x gets the gradient.", _EXTENDED, aliases="_MinimumScalar _npi_minimum_scalar")
_row("_power_scalar", _power, "x ** scalar.", _EXTENDED, aliases="_PowerScalar")
_row("_rpower_scalar", _power_of, "scalar ** x.", _EXTENDED, aliases="_RPowerScalar")
_row("_hypot_scalar", _hypot, "sqrt(x^2 + scalar^2).", _EXTENDED, aliases="_HypotScalar _npi_hypot_scalar")

_LOGICAL: dict[str, Function] = {
    "equal": torch.eq, "not_equal": torch.ne, "greater": torch.gt, "greater_equal": torch.ge, "lesser": torch.lt, "lesser_equal": torch.le,
    "logical_and": _and, "logical_or": _or, "logical_xor": _xor,
}  # fmt: skip
for _name, _function in _LOGICAL.items():
    _row(
        f"_{_name}_scalar", _typed(_function), f"1 where x {_name.replace('_', ' ')} scalar holds, else 0, in x's type.", _LOGIC,
        aliases="_" + _name.title().replace("_", "") + "Scalar", grad=Grad.ZERO,
    )  # fmt: skip
