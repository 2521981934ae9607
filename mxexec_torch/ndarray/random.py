"""mx.nd.random: draws from distributions. Parameters are numbers (shape gives the size) or arrays (one row of draws per element)."""

from __future__ import annotations

from typing import Any

from ..base import _Null, numeric_types
from ..context import Context, current_context
from . import register
from .core import NDArray

__all__ = [
    "exponential", "exponential_like", "gamma", "gamma_like", "generalized_negative_binomial", "generalized_negative_binomial_like", "multinomial",
    "negative_binomial", "negative_binomial_like", "normal", "normal_like", "poisson", "poisson_like", "randint", "randn", "shuffle", "uniform",
    "uniform_like",
]  # fmt: skip

_operator, _operator_names = register.module_functions("random")


def __getattr__(name: str) -> Any:
    return _operator(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_operator_names()})


def _draw(
    number_op: str, array_op: str | None, params: tuple[Any, ...], shape: Any, dtype: Any, ctx: Context | None, out: Any, kwargs: dict[str, Any]
) -> Any:
    """One of two operators, by the kind of the parameters. Errors: AssertionError when the kinds are mixed, ValueError for other kinds."""
    first = params[0]
    arrays = isinstance(first, NDArray)
    if not arrays and not isinstance(first, numeric_types):
        raise ValueError(f"Distribution parameters must be either NDArray or numbers, but got {type(first)}.")
    for other in params[1:]:
        assert isinstance(other, NDArray if arrays else numeric_types), (
            f"Distribution parameters must all have the same type, but got both {type(first)} and {type(other)}."
        )
    if arrays:
        if array_op is None:
            raise TypeError("array parameters are not available for this distribution")
        return register.function_of(array_op, array_op)(*params, shape=shape, dtype=dtype, out=out, **kwargs)
    if shape is _Null and out is None:
        shape = 1
    return register.function_of(number_op, number_op)(*params, shape=shape, dtype=dtype, ctx=ctx or current_context(), out=out, **kwargs)


def uniform(low: Any = 0, high: Any = 1, shape: Any = _Null, dtype: Any = _Null, ctx: Context | None = None, out: Any = None, **kwargs: Any) -> Any:
    """Uniform draws from [low, high)."""
    return _draw("_random_uniform", "_sample_uniform", (low, high), shape, dtype, ctx, out, kwargs)


def normal(loc: Any = 0, scale: Any = 1, shape: Any = _Null, dtype: Any = _Null, ctx: Context | None = None, out: Any = None, **kwargs: Any) -> Any:
    """Normal draws of mean loc and standard deviation scale."""
    return _draw("_random_normal", "_sample_normal", (loc, scale), shape, dtype, ctx, out, kwargs)


def randn(*shape: int, **kwargs: Any) -> Any:
    """Normal draws of the shape that the positional arguments give; keywords loc, scale, dtype, ctx, out."""
    loc, scale = kwargs.pop("loc", 0), kwargs.pop("scale", 1)
    dtype, ctx, out = kwargs.pop("dtype", _Null), kwargs.pop("ctx", None), kwargs.pop("out", None)
    assert isinstance(loc, (int, float, NDArray)) and isinstance(scale, (int, float, NDArray))
    return _draw("_random_normal", "_sample_normal", (loc, scale), shape, dtype, ctx, out, kwargs)


def poisson(lam: Any = 1, shape: Any = _Null, dtype: Any = _Null, ctx: Context | None = None, out: Any = None, **kwargs: Any) -> Any:
    """Poisson draws of rate lam, as floats."""
    return _draw("_random_poisson", "_sample_poisson", (lam,), shape, dtype, ctx, out, kwargs)


def exponential(scale: Any = 1, shape: Any = _Null, dtype: Any = _Null, ctx: Context | None = None, out: Any = None, **kwargs: Any) -> Any:
    """Exponential draws of mean scale."""
    return _draw("_random_exponential", "_sample_exponential", (1.0 / scale,), shape, dtype, ctx, out, kwargs)


def gamma(alpha: Any = 1, beta: Any = 1, shape: Any = _Null, dtype: Any = _Null, ctx: Context | None = None, out: Any = None, **kwargs: Any) -> Any:
    """Gamma draws of shape alpha and scale beta."""
    return _draw("_random_gamma", "_sample_gamma", (alpha, beta), shape, dtype, ctx, out, kwargs)


def negative_binomial(
    k: Any = 1, p: Any = 1, shape: Any = _Null, dtype: Any = _Null, ctx: Context | None = None, out: Any = None, **kwargs: Any
) -> Any:
    """Negative binomial draws (k failures, success probability p), as floats."""
    return _draw("_random_negative_binomial", "_sample_negative_binomial", (k, p), shape, dtype, ctx, out, kwargs)


def generalized_negative_binomial(
    mu: Any = 1, alpha: Any = 1, shape: Any = _Null, dtype: Any = _Null, ctx: Context | None = None, out: Any = None, **kwargs: Any
) -> Any:
    """Negative binomial draws of mean mu and dispersion alpha, as floats."""
    return _draw("_random_generalized_negative_binomial", "_sample_generalized_negative_binomial", (mu, alpha), shape, dtype, ctx, out, kwargs)


def multinomial(data: NDArray, shape: Any = _Null, get_prob: bool = False, out: Any = None, dtype: Any = "int32", **kwargs: Any) -> Any:
    """Indices drawn with the probabilities of data's last axis; with get_prob also the log probabilities."""
    return register.function_of("_sample_multinomial", "_sample_multinomial")(data, shape, get_prob, out=out, dtype=dtype, **kwargs)


def shuffle(data: NDArray, **kwargs: Any) -> Any:
    """The rows in random order."""
    return register.function_of("_shuffle", "_shuffle")(data, **kwargs)


def randint(low: Any, high: Any, shape: Any = _Null, dtype: Any = _Null, ctx: Context | None = None, out: Any = None, **kwargs: Any) -> Any:
    """Integers drawn uniformly from [low, high), int32 or int64."""
    return _draw("_random_randint", None, (low, high), shape, dtype, ctx, out, kwargs)
