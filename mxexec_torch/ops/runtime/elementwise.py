"""Elementwise functions whose values or gradients torch does not have, or has differently at kinks and ties.

Each public function is a leaf. Without a gradient to compute it runs the plain formula and skips autograd.Function.
Backward passes are made of differentiable torch operations, so that second derivatives exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .leaf import leaf

__all__ = [
    "arcsinh", "cbrt", "clip", "expm1", "gamma", "gammaln", "hard_sigmoid", "hypot", "maximum", "minimum", "mod", "ones_gradient", "power", "rcbrt",
    "reciprocal", "rint", "round_half_away", "rsqrt", "scale_gradient", "smooth_l1", "softsign", "straight_cast", "straight_through_round",
    "straight_through_sign",
]  # fmt: skip

Tensor = torch.Tensor


def _tracked(x: Tensor) -> bool:
    return x.requires_grad and torch.is_grad_enabled()


def _cbrt(x: Tensor) -> Tensor:
    return x.abs().pow(1.0 / 3.0).copysign(x)


class _Cbrt(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = _cbrt(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return g / (3.0 * y * y)  # type: ignore[no-any-return]


@leaf
def cbrt(x: Tensor) -> Tensor:
    """The real cube root, also of negative numbers; the gradient at 0 is infinite."""
    return _Cbrt.apply(x) if _tracked(x) else _cbrt(x)


# torch keeps the result of these four for the gradient, MXNet the input: what counts is what the input holds when backward runs.
class _OfInput(torch.autograd.Function):
    """function(x) with the gradient g * slope(x)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, function: Callable[[Tensor], Tensor], slope: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.save_for_backward(x)
        ctx.slope = slope
        return function(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        return grads[0] * ctx.slope(x), None, None


def _rcbrt(x: Tensor) -> Tensor:
    return _cbrt(x).reciprocal()


@leaf
def rcbrt(x: Tensor) -> Tensor:
    """1 / cbrt(x)."""
    return _OfInput.apply(x, _rcbrt, lambda v: _rcbrt(v) / (-3.0 * v)) if _tracked(x) else _rcbrt(x)


@leaf
def rsqrt(x: Tensor) -> Tensor:
    """1 / sqrt(x)."""
    return _OfInput.apply(x, torch.rsqrt, lambda v: -0.5 * v.rsqrt() / v) if _tracked(x) else torch.rsqrt(x)


class _Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, low: float, high: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.bounds = low, high
        return torch.clamp(x, low, high)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        low, high = ctx.bounds
        return grads[0].masked_fill((x < low) | (x > high), 0.0), None, None


@leaf
def clip(x: Tensor, low: float, high: float) -> Tensor:
    """x limited to [low, high]; the gradient passes at the bounds and at NaN."""
    return _Clip.apply(x, low, high) if _tracked(x) else torch.clamp(x, low, high)


@leaf
def reciprocal(x: Tensor) -> Tensor:
    """1 / x."""
    return _OfInput.apply(x, torch.reciprocal, lambda v: -1.0 / (v * v)) if _tracked(x) else torch.reciprocal(x)


class _Hypot(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(x, y)
        return torch.hypot(x, y)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, y = ctx.saved_tensors
        share = grads[0] / torch.hypot(x, y)
        return (share * x).sum_to_size(x.shape), (share * y).sum_to_size(y.shape)


@leaf
def hypot(x: Tensor, y: Tensor) -> Tensor:
    """sqrt(x^2 + y^2), broadcasting; the gradient at (0, 0) is NaN."""
    return _Hypot.apply(x, y) if _tracked(x) or _tracked(y) else torch.hypot(x, y)


@leaf
def expm1(x: Tensor) -> Tensor:
    """exp(x) - 1."""
    return _OfInput.apply(x, torch.expm1, torch.exp) if _tracked(x) else torch.expm1(x)


def _gamma(x: Tensor) -> Tensor:
    wide = x.double()  # exp amplifies the error of lgamma: float32 would keep only five digits
    size = wide.lgamma().exp()
    whole = wide.floor()
    negative = (wide < 0) & (whole.remainder(2.0) == 1.0)
    value = torch.where(negative, -size, size).masked_fill((wide < 0) & (whole == wide), float("nan"))
    return torch.where(wide == 0, size.copysign(wide), value).to(x.dtype)


class _Arcsinh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.arcsinh()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return _ArcsinhGradient.apply(g, x)  # type: ignore[no-any-return]


class _ArcsinhGradient(torch.autograd.Function):
    """g / sqrt(x^2 + 1), whose derivative MXNet defines with the wrong sign (test_higher_order_grad.py expects it so)."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, x: Tensor) -> Tensor:
        slope = (x.square() + 1.0).rsqrt()
        ctx.save_for_backward(g, x, slope)
        return g * slope

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> tuple[Tensor, Tensor]:
        g, x, slope = ctx.saved_tensors
        return h * slope, h * g * slope * slope.square() * x


@leaf
def arcsinh(x: Tensor) -> Tensor:
    """The inverse hyperbolic sine."""
    return _Arcsinh.apply(x) if _tracked(x) else x.arcsinh()


class _Gamma(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)  # MXNet computes the gradient from the input alone
        return _gamma(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * gamma(x) * _digamma(x)


def _digamma(x: Tensor) -> Tensor:
    """digamma, infinite at its poles as MXNet has it."""
    return torch.where((x <= 0) & (x == x.floor()), torch.inf, x.digamma())


@leaf
def gamma(x: Tensor) -> Tensor:
    """The gamma function: NaN at negative integers, signed infinity at 0."""
    return _Gamma.apply(x) if _tracked(x) else _gamma(x)


class _Gammaln(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.lgamma()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * _digamma(x)


@leaf
def gammaln(x: Tensor) -> Tensor:
    """log |gamma(x)|."""
    return _Gammaln.apply(x) if _tracked(x) else x.lgamma()


def _softsign(x: Tensor) -> Tensor:
    return x / (x.abs() + 1.0)


class _Softsign(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return _softsign(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g / (x.abs() + 1.0).square()  # type: ignore[no-any-return]


@leaf
def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|) with the closed form of its gradient (torch's chain of operations cancels for large x)."""
    return _Softsign.apply(x) if _tracked(x) else _softsign(x)


def _smooth_l1(x: Tensor, sigma: float) -> Tensor:
    square = sigma * sigma
    bound = 1.0 / square if square else float("inf")
    size = x.abs()
    return torch.where(size > bound, size - 0.5 * bound, 0.5 * square * x * x)


class _SmoothL1(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, sigma: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.sigma = sigma
        return _smooth_l1(x, sigma)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        square = ctx.sigma * ctx.sigma
        bound = 1.0 / square if square else float("inf")
        return g * torch.where(x.abs() > bound, x.sign(), square * x), None


@leaf
def smooth_l1(x: Tensor, sigma: float) -> Tensor:
    """0.5 (sigma x)^2 within 1 / sigma^2 of 0, |x| - 0.5 / sigma^2 beyond."""
    return _SmoothL1.apply(x, sigma) if _tracked(x) else _smooth_l1(x, sigma)


def _hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    return (x * alpha + beta).clamp(0, 1)


class _HardSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, alpha: float, beta: float) -> Tensor:
        y = _hard_sigmoid(x, alpha, beta)
        ctx.save_for_backward(y)
        ctx.alpha = alpha
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        (y,) = ctx.saved_tensors
        return g * ctx.alpha * ((y > 0) & (y < 1)), None, None


@leaf
def hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    """alpha x + beta limited to [0, 1]; gradient 0 where it is 0 or 1."""
    return _HardSigmoid.apply(x, alpha, beta) if _tracked(x) else _hard_sigmoid(x, alpha, beta)


@leaf
def rint(x: Tensor) -> Tensor:
    """The nearest integer, halves towards minus infinity."""
    low, high = x.floor(), x.ceil()
    return torch.where(x - low <= high - x, low, high)


@leaf
def round_half_away(x: Tensor) -> Tensor:
    """The nearest integer, halves away from zero."""
    low = x.trunc()
    return torch.where((x - low).abs() >= 0.5, low + x.sign(), low)


class _RoundThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return round_half_away(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g


@leaf
def straight_through_round(x: Tensor) -> Tensor:
    """Rounds (halves away from zero); the gradient passes unchanged."""
    return _RoundThrough.apply(x) if _tracked(x) else round_half_away(x)


class _SignThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.sign()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g


@leaf
def straight_through_sign(x: Tensor) -> Tensor:
    """sign(x); the gradient passes unchanged."""
    return _SignThrough.apply(x) if _tracked(x) else x.sign()


class _ScaleGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        return g * ctx.factor, None


class _OnesGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return torch.ones_like(g)


@leaf
def ones_gradient(x: Tensor) -> Tensor:
    """x itself; its gradient is 1 whatever the head gradient."""
    return _OnesGradient.apply(x) if _tracked(x) else x


@leaf
def scale_gradient(x: Tensor, factor: float) -> Tensor:
    """x itself; its gradient is multiplied by `factor`."""
    return _ScaleGradient.apply(x, factor) if _tracked(x) else x


class _Extremum(torch.autograd.Function):
    """maximum (largest=True) or minimum of two tensors; on a tie lhs receives the whole gradient."""

    @staticmethod
    def forward(ctx: Any, lhs: Tensor, rhs: Tensor, largest: bool) -> Tensor:
        ctx.save_for_backward(lhs, rhs)
        ctx.largest = largest
        return torch.maximum(lhs, rhs) if largest else torch.minimum(lhs, rhs)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        lhs, rhs = ctx.saved_tensors
        chosen = lhs >= rhs if ctx.largest else lhs <= rhs
        other = lhs < rhs if ctx.largest else lhs > rhs
        left = (g * chosen).sum_to_size(lhs.shape) if ctx.needs_input_grad[0] else None
        return left, (g * other).sum_to_size(rhs.shape) if ctx.needs_input_grad[1] else None, None


@leaf
def maximum(lhs: Tensor, rhs: Tensor) -> Tensor:
    """The larger element, broadcasting; NaN wins."""
    if _tracked(lhs) or _tracked(rhs):
        return _Extremum.apply(lhs, rhs, True)  # type: ignore[no-any-return]
    return torch.maximum(lhs, rhs)


@leaf
def minimum(lhs: Tensor, rhs: Tensor) -> Tensor:
    """The smaller element, broadcasting; NaN wins."""
    if _tracked(lhs) or _tracked(rhs):
        return _Extremum.apply(lhs, rhs, False)  # type: ignore[no-any-return]
    return torch.minimum(lhs, rhs)


def _mod(lhs: Tensor, rhs: Tensor) -> Tensor:
    if lhs.is_floating_point():
        return torch.where(rhs == 0, torch.zeros_like(rhs), torch.remainder(lhs, rhs))
    # A divisor of 1 stands for 0 (result 0) and for -1 (result 0 too; the processor traps on the smallest integer % -1).
    safe = rhs.masked_fill((rhs == 0) | (rhs == -1), 1) if rhs.dtype.is_signed else rhs.masked_fill(rhs == 0, 1)
    return torch.remainder(lhs, safe)


class _Mod(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, lhs: Tensor, rhs: Tensor) -> Tensor:
        ctx.save_for_backward(lhs, rhs)
        return _mod(lhs, rhs)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor | None]:
        lhs, rhs = ctx.saved_tensors
        left = g.sum_to_size(lhs.shape) if ctx.needs_input_grad[0] else None
        return left, (g * -(lhs / rhs).floor()).sum_to_size(rhs.shape) if ctx.needs_input_grad[1] else None


@leaf
def mod(lhs: Tensor, rhs: Tensor) -> Tensor:
    """The remainder with the divisor's sign, 0 for a divisor 0, broadcasting. Gradients: 1 and -floor(lhs / rhs)."""
    return _Mod.apply(lhs, rhs) if _tracked(lhs) or _tracked(rhs) else _mod(lhs, rhs)


class _Power(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, lhs: Tensor, rhs: Tensor) -> Tensor:
        ctx.save_for_backward(lhs, rhs)
        return torch.pow(lhs, rhs)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor | None]:
        lhs, rhs = ctx.saved_tensors
        left = (g * rhs * torch.pow(lhs, rhs - 1)).sum_to_size(lhs.shape) if ctx.needs_input_grad[0] else None
        return left, (g * torch.pow(lhs, rhs) * lhs.log()).sum_to_size(rhs.shape) if ctx.needs_input_grad[1] else None


@leaf
def power(lhs: Tensor, rhs: Tensor) -> Tensor:
    """lhs ** rhs, broadcasting, with unguarded gradients: where torch has 0 at lhs = 0, log(0) shows."""
    return _Power.apply(lhs, rhs) if _tracked(lhs) or _tracked(rhs) else torch.pow(lhs, rhs)


class _StraightCast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dtype: torch.dtype) -> Tensor:
        ctx.dtype = x.dtype
        return x.to(dtype).double()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        return g.to(ctx.dtype), None


@leaf
def straight_cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    """The values of x in an integer type, held as float64; the gradient is handed on."""
    result: Tensor = _StraightCast.apply(x, dtype)
    return result
