"""Elementwise operators of one tensor without attributes, a row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..infer.rules import elementwise
from ..registry import Grad, Tensor, op
from ._numbers import through_double
from .runtime import elementwise as rt

__all__: list[str] = []

Function = Callable[[Tensor], Tensor]


def _relu(x: Tensor) -> Tensor:
    return torch.relu(x)


def _negative(x: Tensor) -> Tensor:
    return torch.neg(x) if x.dtype is not torch.bool else x


def _hard_zero(x: Tensor) -> Tensor:
    return torch.eq(x, 0).to(x.dtype)


def _whole_erfinv(x: Tensor) -> Tensor:
    return through_double(torch.erfinv, x).masked_fill(x.abs() > 1, 0)  # MXNet's NaN of an integer type is 0


def _row(name: str, function: Function, text: str, source: str, *, aliases: str = "", integers: Function | None = None, zero: bool = False) -> None:
    """Declares one operator. integers: what runs on integers (default: `function` through float64). zero: the gradient is always zero."""

    def body(data: Tensor, /) -> Tensor:
        if data.is_floating_point():
            return function(data)
        return integers(data) if integers is not None else through_double(function, data)

    rules: dict[str, Any] = {"grad": Grad.ZERO, "head_grad": False} if zero else {}
    doc = f"{text}\n\ndata any shape -> same shape. Integers are computed in float64 and cut. Source: src/operator/tensor/{source}"
    op(name, aliases=aliases.split(), shape=elementwise, doc=doc, source=source, **rules)(body)


def _same(x: Tensor) -> Tensor:
    return x


_BASIC, _LOG, _POW, _TRIG = (f"elemwise_unary_op_{part}.cc" for part in ("basic", "logexp", "pow", "trig"))

_row("relu", _relu, "max(x, 0); gradient 0 at 0.", _BASIC, aliases="_sparse_relu", integers=_relu)
_row("sigmoid", torch.sigmoid, "1 / (1 + e^-x).", _BASIC, aliases="_sparse_sigmoid")
_row("softsign", rt.softsign, "x / (1 + |x|).", _BASIC)
_row("negative", _negative, "-x.", _BASIC, aliases="_sparse_negative", integers=_negative)
_row("abs", torch.abs, "|x|; gradient 0 at 0.", _BASIC, aliases="_sparse_abs", integers=torch.abs)
_row("sign", torch.sign, "-1, 0 or 1; 0 for NaN. The gradient is zero.", _BASIC, aliases="_sparse_sign", integers=torch.sign)
_row("round", rt.round_half_away, "The nearest integer, halves away from zero.", _BASIC, aliases="_sparse_round", integers=_same, zero=True)
_row("rint", rt.rint, "The nearest integer, halves towards minus infinity.", _BASIC, aliases="_sparse_rint", integers=_same, zero=True)
_row("ceil", torch.ceil, "The smallest integer not below x.", _BASIC, aliases="_sparse_ceil", integers=_same, zero=True)
_row("floor", torch.floor, "The largest integer not above x.", _BASIC, aliases="_sparse_floor", integers=_same, zero=True)
_row("trunc", torch.trunc, "The integer part of x.", _BASIC, aliases="_sparse_trunc", integers=_same, zero=True)
_row("fix", torch.trunc, "The integer next to x in the direction of 0.", _BASIC, aliases="_sparse_fix", integers=_same, zero=True)
_row("erf", torch.erf, "The error function.", _BASIC, aliases="_npx_erf")
_row("erfinv", torch.erfinv, "The inverse error function on (-1, 1); infinite at the ends.", _BASIC, aliases="_npx_erfinv", integers=_whole_erfinv)
_row("gamma", rt.gamma, "The gamma function.", _BASIC, aliases="_npx_gamma _sparse_gamma")
_row("gammaln", rt.gammaln, "log |gamma(x)|.", _BASIC, aliases="_npx_gammaln _sparse_gammaln")
_row("logical_not", _hard_zero, "1 where x is 0, else 0, in x's type.", _BASIC, integers=_hard_zero, zero=True)

_row("exp", torch.exp, "e^x.", _LOG, aliases="_sparse_exp")
_row("expm1", rt.expm1, "e^x - 1.", _LOG, aliases="_sparse_expm1")
_row("log", torch.log, "The natural logarithm.", _LOG, aliases="_sparse_log")
_row("log10", torch.log10, "The logarithm to base 10.", _LOG, aliases="_sparse_log10")
_row("log2", torch.log2, "The logarithm to base 2.", _LOG, aliases="_sparse_log2")
_row("log1p", torch.log1p, "log(1 + x).", _LOG, aliases="_sparse_log1p")

_row("reciprocal", rt.reciprocal, "1 / x.", _POW)
_row("square", torch.square, "x^2.", _POW, aliases="_sparse_square", integers=torch.square)
_row("sqrt", torch.sqrt, "The square root; infinite gradient at 0.", _POW, aliases="_sparse_sqrt")
_row("rsqrt", rt.rsqrt, "1 / sqrt(x).", _POW, aliases="_sparse_rsqrt")
_row("cbrt", rt.cbrt, "The real cube root.", _POW, aliases="_sparse_cbrt")
_row("rcbrt", rt.rcbrt, "1 / cbrt(x).", _POW)

_row("sin", torch.sin, "The sine of x in radians.", _TRIG, aliases="_sparse_sin")
_row("cos", torch.cos, "The cosine of x in radians.", _TRIG, aliases="_sparse_cos")
_row("tan", torch.tan, "The tangent of x in radians.", _TRIG, aliases="_sparse_tan")
_row("arcsin", torch.arcsin, "The inverse sine.", _TRIG, aliases="_sparse_arcsin")
_row("arccos", torch.arccos, "The inverse cosine.", _TRIG, aliases="_sparse_arccos")
_row("arctan", torch.arctan, "The inverse tangent.", _TRIG, aliases="_sparse_arctan")
_row("degrees", torch.rad2deg, "Radians to degrees.", _TRIG, aliases="_sparse_degrees")
_row("radians", torch.deg2rad, "Degrees to radians.", _TRIG, aliases="_sparse_radians")
_row("sinh", torch.sinh, "The hyperbolic sine.", _TRIG, aliases="_sparse_sinh")
_row("cosh", torch.cosh, "The hyperbolic cosine.", _TRIG, aliases="_sparse_cosh")
_row("tanh", torch.tanh, "The hyperbolic tangent.", _TRIG, aliases="_sparse_tanh")
_row("arcsinh", rt.arcsinh, "The inverse hyperbolic sine.", _TRIG, aliases="_sparse_arcsinh")
_row("arccosh", torch.arccosh, "The inverse hyperbolic cosine.", _TRIG, aliases="_sparse_arccosh")
_row("arctanh", torch.arctanh, "The inverse hyperbolic tangent.", _TRIG, aliases="_sparse_arctanh")
