"""mx.sym.random: distributions whose parameters are numbers or symbols, and the generated `*_like` functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..published import _Null
from . import _internal
from .base import SymbolBase
from .functions import module_getattr

__all__ = [
    "exponential", "gamma", "generalized_negative_binomial", "multinomial", "negative_binomial", "normal", "poisson", "randint", "randn", "shuffle",
    "uniform",
]  # fmt: skip

_generated = module_getattr("random")
_NUMBERS = (float, int, np.generic)


def __getattr__(name: str) -> Any:
    return _generated(name)


def _draw(distribution: str, parameters: list[Any], shape: Any, dtype: Any, kwargs: dict[str, Any]) -> Any:
    """`_random_*` for numbers, `_sample_*` for symbols. Errors: ValueError for other types, AssertionError for a mixture."""
    first = parameters[0]
    if isinstance(first, SymbolBase):
        kind: Any = SymbolBase
        function = f"_sample_{distribution}"
    elif isinstance(first, _NUMBERS):
        kind, function = _NUMBERS, f"_random_{distribution}"
    else:
        raise ValueError(f"Distribution parameters must be either Symbol or numbers, but got {type(first)}.")
    for other in parameters[1:]:
        if not isinstance(other, kind):
            raise AssertionError(f"Distribution parameters must all have the same type, but got both {type(first)} and {type(other)}.")
    return getattr(_internal, function)(*parameters, shape=shape, dtype=dtype, **kwargs)


def uniform(low: Any = 0, high: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Uniform over [low, high). With symbols (x,) for parameters and shape (m, n) the result is (x, m, n)."""
    return _draw("uniform", [low, high], shape, dtype, kwargs)


def normal(loc: Any = 0, scale: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Normal with mean loc and standard deviation scale."""
    return _draw("normal", [loc, scale], shape, dtype, kwargs)


def randn(*shape: int, **kwargs: Any) -> Any:
    """Normal of the given shape; loc and scale by keyword."""
    loc, scale, dtype = kwargs.pop("loc", 0), kwargs.pop("scale", 1), kwargs.pop("dtype", _Null)
    if not all(isinstance(value, (int, float, SymbolBase)) for value in (loc, scale)):
        raise AssertionError(f"loc and scale must be numbers or Symbols, got {type(loc)} and {type(scale)}")
    return _draw("normal", [loc, scale], shape, dtype, kwargs)


def poisson(lam: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Poisson with mean lam."""
    return _draw("poisson", [lam], shape, dtype, kwargs)


def exponential(scale: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Exponential with mean scale."""
    return _draw("exponential", [1.0 / scale], shape, dtype, kwargs)


def gamma(alpha: Any = 1, beta: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Gamma with shape alpha and scale beta."""
    return _draw("gamma", [alpha, beta], shape, dtype, kwargs)


def negative_binomial(k: Any = 1, p: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Failures before the k-th success, with success probability p."""
    return _draw("negative_binomial", [k, p], shape, dtype, kwargs)


def generalized_negative_binomial(mu: Any = 1, alpha: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Negative binomial with mean mu and dispersion alpha."""
    return _draw("generalized_negative_binomial", [mu, alpha], shape, dtype, kwargs)


def multinomial(data: Any, shape: Any = _Null, get_prob: bool = True, dtype: Any = "int32", **kwargs: Any) -> Any:
    """Samples of the categories whose probabilities are the last axis of data; with get_prob their log likelihood as well."""
    return _internal._sample_multinomial(data, shape, get_prob, dtype=dtype, **kwargs)


def shuffle(data: Any, **kwargs: Any) -> Any:
    """The rows of data in random order."""
    return _internal._shuffle(data, **kwargs)


def randint(low: Any, high: Any, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Integers of [low, high); the bounds are numbers."""
    if isinstance(low, SymbolBase):
        raise TypeError("randint takes numbers for its bounds, MXNet has no operator for symbols")
    return _draw("randint", [low, high], shape, dtype, kwargs)
