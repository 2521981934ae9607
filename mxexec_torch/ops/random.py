"""Draws from distributions whose parameters are attributes: `_random_*` (shape given) and `_random_*_like` (shape of an array).

All numbers come from torch's global generators, which `mx.random.seed` seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import torch

from ..dtypes import name_of, torch_dtype
from ..errors import MXNetError
from ..infer.rules import elementwise
from ..infer.state import Dtypes, Shapes
from ..registry import Attrs, Device, Grad, Tensor, op
from ..semantics import is_np_shape
from ..values import Float, Int, Long, OneOf, Shape, Str
from .runtime.random import exponential, gamma, generalized_negative_binomial, negative_binomial, normal, poisson, uniform

__all__ = ["FloatType", "OpenShape"]

OpenShape = Annotated[tuple[int, ...] | None, Shape.__metadata__[0]]
FloatType = Annotated[str, OneOf("None", "float16", "float32", "float64")]
IntType = Annotated[str, OneOf("None", "int32", "int64")]


def _shape(a: Attrs, s: Shapes) -> None:
    """The attribute gives the shape; dimensions it leaves open (0, or no shape at all) come from the consumer."""
    if a.shape is not None and (a.shape or is_np_shape()):
        s.unify_out(a.shape if is_np_shape() else tuple(d or -1 for d in a.shape))


def _drawn(default: torch.dtype, *allowed: torch.dtype) -> Callable[[Attrs, Dtypes], None]:
    """The attribute `dtype`, else what the consumer wants, else the default."""

    def rule(a: Attrs, t: Dtypes) -> None:
        wanted = torch_dtype(a.dtype) if a.dtype != "None" else t.out() or default
        if wanted not in allowed:
            raise t.fail(f"Output type must be {', '.join(str(d).removeprefix('torch.') for d in allowed)}: dtype is {wanted}")
        t.unify_out(wanted)

    return rule


def _decided(a: Attrs, shapes: Sequence[Any], dtypes: Sequence[Any]) -> Attrs:
    """The attributes with what the graph's inference found for the drawn numbers."""
    dtype = name_of(dtypes[0])
    return a if (a.shape, a.dtype) == (shapes[0], dtype) else Attrs(a, shape=tuple(shapes[0]), dtype=dtype)


_FLOAT = _drawn(torch.float32, torch.float16, torch.float32, torch.float64)
_INT = _drawn(torch.int32, torch.int32, torch.int64)


def _size(shape: tuple[int, ...] | None) -> tuple[int, ...]:
    if shape is None or (not is_np_shape() and (not shape or 0 in shape)):
        raise MXNetError(f"the shape of the random numbers is unknown: shape={shape}")
    return shape


def _full(value: float, shape: tuple[int, ...] | None, dtype: str, device: torch.device) -> Tensor:
    """A parameter as a tensor of the drawn shape and type."""
    return torch.full(_size(shape), value, dtype=torch.float32 if dtype == "None" else torch_dtype(dtype), device=device)


def _positive(value: float, text: str) -> None:
    if not value > 0:
        raise MXNetError(f"{text} has to be positive, got {value:g}")


def _non_negative(value: float, text: str) -> None:
    if not value >= 0:
        raise MXNetError(f"{text} has to be non-negative, got {value:g}")


def _ordered(low: float, high: float) -> None:
    if not high >= low:
        raise MXNetError(f"low must be less or equal to high in uniform distribution, got low={low:g} and high={high:g}")


def _check_normal(scale: float) -> None:
    _positive(scale, "scale parameter in gaussian")


def _check_gamma(alpha: float, beta: float) -> None:
    _positive(alpha, "alpha parameter in gamma distribution")
    _positive(beta, "beta parameter in gamma distribution")


def _check_exponential(lam: float) -> None:
    _positive(lam, "lambda parameter in exponential distribution")


def _check_poisson(lam: float) -> None:
    _non_negative(lam, "lambda parameter in poisson distribution")


def _check_negative_binomial(k: float, p: float) -> None:
    _non_negative(k, "k parameter in negative binomial distribution")
    _non_negative(p, "p parameter in negative binomial distribution")


def _check_generalized(mu: float, alpha: float) -> None:
    _non_negative(mu, "mu parameter in generalized negative binomial distribution")
    _non_negative(alpha, "alpha parameter in generalized negative binomial distribution")


def _plain(name: str, *aliases: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return op(name, aliases=aliases, shape=_shape, dtype=_FLOAT, specialize=_decided, random=True, grad=Grad.MISSING)


def _like(name: str, *attributes: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return op(name, floats_only=True, shape=elementwise, random=True, grad=Grad.ZERO, table=(*attributes, "data"))


@_plain("_random_uniform", "random_uniform", "uniform")
def random_uniform(
    *, low: Float = 0.0, high: Float = 1.0, shape: OpenShape = None, ctx: Str = "", dtype: FloatType = "None", device: Device
) -> Tensor:
    """Uniform numbers in [low, high).

    -> shape, float16/32/64 (float32 unless asked). Errors: low > high. Source: src/operator/random/sample_op.cc
    """
    _ordered(low, high)
    return uniform(_full(low, shape, dtype, device), high)


@_plain("_random_normal", "normal", "random_normal")
def random_normal(
    *, loc: Float = 0.0, scale: Float = 1.0, shape: OpenShape = None, ctx: Str = "", dtype: FloatType = "None", device: Device
) -> Tensor:
    """Normal numbers of mean loc and standard deviation scale.

    -> shape, float16/32/64 (float32 unless asked). Errors: scale <= 0. Source: src/operator/random/sample_op.cc
    """
    _check_normal(scale)
    return normal(_full(loc, shape, dtype, device), scale)


@_plain("_random_gamma", "random_gamma")
def random_gamma(
    *, alpha: Float = 1.0, beta: Float = 1.0, shape: OpenShape = None, ctx: Str = "", dtype: FloatType = "None", device: Device
) -> Tensor:
    """Gamma numbers of shape parameter alpha and scale beta (mean alpha * beta).

    -> shape, float16/32/64 (float32 unless asked). Errors: alpha <= 0 or beta <= 0. Source: src/operator/random/sample_op.cc
    """
    _check_gamma(alpha, beta)
    return gamma(_full(alpha, shape, dtype, device), beta)


@_plain("_random_exponential", "random_exponential")
def random_exponential(*, lam: Float = 1.0, shape: OpenShape = None, ctx: Str = "", dtype: FloatType = "None", device: Device) -> Tensor:
    """Exponential numbers of rate lam (mean 1 / lam).

    -> shape, float16/32/64 (float32 unless asked). Errors: lam <= 0. Source: src/operator/random/sample_op.cc
    """
    _check_exponential(lam)
    return exponential(_full(lam, shape, dtype, device))


@_plain("_random_poisson", "random_poisson")
def random_poisson(*, lam: Float = 1.0, shape: OpenShape = None, ctx: Str = "", dtype: FloatType = "None", device: Device) -> Tensor:
    """Poisson counts of mean lam, as floating numbers.

    -> shape, float16/32/64 (float32 unless asked). Errors: lam < 0. Source: src/operator/random/sample_op.cc
    """
    _check_poisson(lam)
    return poisson(_full(lam, shape, dtype, device))


@_plain("_random_negative_binomial", "random_negative_binomial")
def random_negative_binomial(
    *, k: Int = 1, p: Float = 1.0, shape: OpenShape = None, ctx: Str = "", dtype: FloatType = "None", device: Device
) -> Tensor:
    """Successes before k failures, p being the probability of a failure (mean k (1 - p) / p), as floating numbers.

    -> shape, float16/32/64 (float32 unless asked). Errors: k < 0 or p < 0. Source: src/operator/random/sample_op.cc
    """
    _check_negative_binomial(k, p)
    return negative_binomial(_full(k, shape, dtype, device), p)


@_plain("_random_generalized_negative_binomial", "random_generalized_negative_binomial")
def random_generalized_negative_binomial(
    *, mu: Float = 1.0, alpha: Float = 1.0, shape: OpenShape = None, ctx: Str = "", dtype: FloatType = "None", device: Device
) -> Tensor:
    """Negative binomial counts given by mean mu and dispersion alpha (variance mu + alpha mu^2); Poisson for alpha = 0.

    -> shape, float16/32/64 (float32 unless asked). Errors: mu < 0 or alpha < 0. Source: src/operator/random/sample_op.cc
    """
    _check_generalized(mu, alpha)
    return generalized_negative_binomial(_full(mu, shape, dtype, device), alpha)


@op(
    "_random_randint", aliases=("_npi_random_randint", "random_randint"), shape=_shape, dtype=_INT, specialize=_decided, random=True,
    grad=Grad.MISSING,
)  # fmt: skip
def random_randint(*, low: Long, high: Long, shape: OpenShape = None, ctx: Str = "", dtype: IntType = "None", device: Device) -> Tensor:
    """Whole numbers in [low, high), each equally likely.

    -> shape, int32 or int64 (int32 unless asked). Errors: low > high. Source: src/operator/random/sample_op.cc
    Deviations: low == high is an error here; MXNet's process ends with a division by zero.
    """
    _ordered(low, high)
    if low == high:
        raise MXNetError(f"low must be less than high to draw whole numbers, got {low} twice")
    return torch.randint(low, high, _size(shape), dtype=torch.int32 if dtype == "None" else torch_dtype(dtype), device=device)


@_like("_random_uniform_like", "low", "high")
def random_uniform_like(data: Tensor, /, *, low: Float = 0.0, high: Float = 1.0) -> Tensor:
    """Uniform numbers in [low, high) with the shape and type of data. Errors: low > high. Source: src/operator/random/sample_op.cc"""
    _ordered(low, high)
    return uniform(torch.full_like(data, low), high)


@_like("_random_normal_like", "loc", "scale")
def random_normal_like(data: Tensor, /, *, loc: Float = 0.0, scale: Float = 1.0) -> Tensor:
    """Normal numbers with the shape and type of data. Errors: scale <= 0. Source: src/operator/random/sample_op.cc"""
    _check_normal(scale)
    return normal(torch.full_like(data, loc), scale)


@_like("_random_gamma_like", "alpha", "beta")
def random_gamma_like(data: Tensor, /, *, alpha: Float = 1.0, beta: Float = 1.0) -> Tensor:
    """Gamma numbers (shape alpha, scale beta) with the shape and type of data. Source: src/operator/random/sample_op.cc"""
    _check_gamma(alpha, beta)
    return gamma(torch.full_like(data, alpha), beta)


@_like("_random_exponential_like", "lam")
def random_exponential_like(data: Tensor, /, *, lam: Float = 1.0) -> Tensor:
    """Exponential numbers of rate lam with the shape and type of data. Source: src/operator/random/sample_op.cc"""
    _check_exponential(lam)
    return exponential(torch.full_like(data, lam))


@_like("_random_poisson_like", "lam")
def random_poisson_like(data: Tensor, /, *, lam: Float = 1.0) -> Tensor:
    """Poisson counts of mean lam with the shape and type of data. Source: src/operator/random/sample_op.cc"""
    _check_poisson(lam)
    return poisson(torch.full_like(data, lam))


@_like("_random_negative_binomial_like", "k", "p")
def random_negative_binomial_like(data: Tensor, /, *, k: Int = 1, p: Float = 1.0) -> Tensor:
    """Negative binomial counts (k failures of probability p) with the shape and type of data. Source: src/operator/random/sample_op.cc"""
    _check_negative_binomial(k, p)
    return negative_binomial(torch.full_like(data, k), p)


@_like("_random_generalized_negative_binomial_like", "mu", "alpha")
def random_generalized_negative_binomial_like(data: Tensor, /, *, mu: Float = 1.0, alpha: Float = 1.0) -> Tensor:
    """Negative binomial counts (mean mu, dispersion alpha) with the shape and type of data. Source: src/operator/random/sample_op.cc"""
    _check_generalized(mu, alpha)
    return generalized_negative_binomial(torch.full_like(data, mu), alpha)
