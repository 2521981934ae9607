"""Elementwise operators of one tensor with attributes: clip, hard_sigmoid, smooth_l1 and small members of contrib."""

from __future__ import annotations

import math

import torch

from ..infer.rules import elementwise
from ..registry import Tensor, op
from ..values import Bool, Double, Float
from ._numbers import cut, through_double
from .runtime import elementwise as rt

__all__: list[str] = []


def _whole_bounds(low: float, high: float, dtype: torch.dtype) -> tuple[int | None, int | None]:
    """Bounds as elements of an integer type; None where every element is inside."""
    info = torch.iinfo(dtype)
    return (None if low <= info.min else int(cut(low, dtype))), (None if high >= info.max else int(cut(high, dtype)))


@op(
    "clip", aliases=("_npi_clip", "_sparse_clip"), shape=elementwise,
    added={"data": lambda a, content, grad: grad},  # written over what is there
)  # fmt: skip
def clip(data: Tensor, /, *, a_min: Float, a_max: Float) -> Tensor:
    """data limited to [a_min, a_max]; the gradient passes at both bounds and at NaN. NaN stays.

    data any shape -> same shape. With a_min > a_max what exceeds a_max becomes a_max, the rest a_min. Source: src/operator/tensor/matrix_op.cc
    """
    if a_min > a_max:
        return torch.where(data > a_max, cut(a_max, data.dtype), cut(a_min, data.dtype)).to(data.dtype)
    if data.is_floating_point():
        return rt.clip(data, a_min, a_max)
    low, high = _whole_bounds(a_min, a_max, data.dtype)
    return data if low is None and high is None else torch.clamp(data, low, high)


@op("hard_sigmoid", floats_only=True, shape=elementwise)
def hard_sigmoid(data: Tensor, /, *, alpha: Float = 0.2, beta: Float = 0.5) -> Tensor:
    """alpha x + beta limited to [0, 1]; gradient 0 at the joints.

    data any shape -> same shape. Source: src/operator/tensor/elemwise_unary_op_basic.cc
    """
    return rt.hard_sigmoid(data, alpha, beta)


@op("smooth_l1", aliases=("_npx_smooth_l1",), shape=elementwise, described={"scalar": "float"}, table=("data", "scalar"))
def smooth_l1(data: Tensor, /, *, scalar: Double = 1.0, is_int: Bool = True) -> Tensor:
    """0.5 (s x)^2 where |x| < 1 / s^2, |x| - 0.5 / s^2 elsewhere; s is `scalar`.

    data any shape -> same shape. Source: src/operator/tensor/elemwise_binary_scalar_op_extended.cc
    """
    if data.is_floating_point():
        return rt.smooth_l1(data, scalar)
    return through_double(lambda x: rt.smooth_l1(x, float(cut(scalar, data.dtype))), data)


@op("_contrib_quadratic", shape=elementwise)
def quadratic(data: Tensor, /, *, a: Float = 0.0, b: Float = 0.0, c: Float = 0.0) -> Tensor:
    """a x^2 + b x + c.

    data any shape -> same shape. Source: src/operator/contrib/quadratic_op.cc
    """
    if data.is_floating_point():
        return (a * data + b) * data + c
    return through_double(lambda x: (a * x + b) * x + c, data)


@op("_contrib_div_sqrt_dim", shape=elementwise)
def div_sqrt_dim(data: Tensor, /) -> Tensor:
    """data over the square root of its last dimension.

    data (..., d) -> same shape. Source: src/operator/contrib/transformer.cc
    """
    root = math.sqrt(data.shape[-1])
    return data / root if data.is_floating_point() else torch.div(data, int(root), rounding_mode="trunc")


@op("_contrib_gradientmultiplier", shape=elementwise)
def gradient_multiplier(data: Tensor, /, *, scalar: Double = 1.0, is_int: Bool = True) -> Tensor:
    """data itself; its gradient is multiplied by `scalar` (-1 reverses it).

    data any shape -> same shape. Source: src/operator/contrib/gradient_multiplier_op.cc
    """
    return rt.scale_gradient(data, scalar)


@op("_contrib_round_ste", aliases=("_sparse__contrib_round_ste",), shape=elementwise)
def round_ste(data: Tensor, /) -> Tensor:
    """round(data) whose gradient passes straight through.

    data any shape -> same shape. Source: src/operator/contrib/stes_op.cc
    """
    return rt.straight_through_round(data) if data.is_floating_point() else data


@op("_contrib_sign_ste", aliases=("_sparse__contrib_sign_ste",), shape=elementwise)
def sign_ste(data: Tensor, /) -> Tensor:
    """sign(data) whose gradient passes straight through.

    data any shape -> same shape. Source: src/operator/contrib/stes_op.cc
    """
    return rt.straight_through_sign(data)
