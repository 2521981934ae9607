"""mx.nd.contrib: the functions of the `_contrib_` operators, imperative control flow, and updates of many arrays in one call."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..context import Context, current_context
from . import register
from .arithmetic import logical_and
from .control_flow import cond, foreach, while_loop
from .core import NDArray
from .creation import full

__all__ = ["cond", "foreach", "isfinite", "isinf", "isnan", "rand_zipfian", "while_loop"]

_operator, _operator_names = register.module_functions("contrib")


def __getattr__(name: str) -> Any:
    return _operator(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_operator_names()})


def rand_zipfian(true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None) -> tuple[NDArray, NDArray, NDArray]:
    """Classes drawn from 0..range_max-1 with probabilities log((c + 2) / (c + 1)) / log(range_max + 1).

    Returns the num_sampled draws (int64) and the expected counts of true_classes and of the draws (float64).
    """
    from .random import uniform

    ctx = ctx or current_context()
    log_range = math.log(range_max + 1)
    drawn: Any = (uniform(0, log_range, shape=(num_sampled,), dtype="float64", ctx=ctx).exp() - 1).astype("int64") % range_max

    def expected(classes: Any) -> Any:
        values = classes.astype("float64")
        return ((values + 2.0) / (values + 1.0)).log() / log_range * num_sampled

    return drawn, expected(true_classes.as_in_context(ctx)), expected(drawn)


def isinf(data: Any) -> Any:
    """1 where an element is infinite, else 0."""
    return data.abs() == np.inf


def isfinite(data: Any) -> Any:
    """1 where an element is neither infinite nor NaN, else 0."""
    return logical_and(data.abs() != np.inf, data == data)  # noqa: PLR0124 - NaN differs from itself


def isnan(data: Any) -> Any:
    """1 where an element is NaN, else 0."""
    return data != data  # noqa: PLR0124 - NaN differs from itself


# -- optimizers: lists of arrays become the interleaved inputs of the operators ---------------------------------------------------
def _interleaved(*lists: Sequence[NDArray]) -> Iterable[NDArray]:
    return [array for group in zip(*lists, strict=True) for array in group]


def _scale_array(rescale_grad: Any, ctx: Context) -> NDArray:
    return rescale_grad.as_in_context(ctx) if isinstance(rescale_grad, NDArray) else full((1,), rescale_grad, ctx=ctx)


def _update(name: str) -> Any:
    return register.function_of(name, name)


def adamw_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, rescale_grad: Any, lr: float, eta: float, **kwargs: Any) -> Any:
    """AdamW step of one weight; rescale_grad is a number or an array of one element."""
    return _update("_adamw_update")(weight, grad, mean, var, _scale_array(rescale_grad, weight.context), lr=lr, eta=eta, **kwargs)


def mp_adamw_update(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray, rescale_grad: Any, lr: float, eta: float, **kwargs: Any
) -> Any:
    """AdamW step of a half precision weight with its float32 copy."""
    return _update("_mp_adamw_update")(weight, grad, mean, var, weight32, _scale_array(rescale_grad, weight.context), lr=lr, eta=eta, **kwargs)


def multi_adamw_update(
    weights: Any, grads: Any, mean: Any, var: Any, rescale_grad: Any, lrs: Any, wds: Any, etas: Any,
    out: Any = None, name: str | None = None, size: int = 0, **kwargs: Any,
) -> Any:  # fmt: skip
    """AdamW step of several weights."""
    scale = _scale_array(rescale_grad, weights[0].context)
    arrays = [*_interleaved(weights, grads, mean, var), scale]
    return _update("_multi_adamw_update")(*arrays, out=out, num_weights=size or len(weights), lrs=lrs, wds=wds, etas=etas, **kwargs)


def multi_mp_adamw_update(
    weights: Any, grads: Any, mean: Any, var: Any, weights32: Any, rescale_grad: Any, lrs: Any, wds: Any, etas: Any,
    out: Any = None, name: str | None = None, size: int = 0, **kwargs: Any,
) -> Any:  # fmt: skip
    """AdamW step of several half precision weights with float32 copies."""
    scale = _scale_array(rescale_grad, weights[0].context)
    arrays = [*_interleaved(weights, grads, mean, var, weights32), scale]
    return _update("_multi_mp_adamw_update")(*arrays, out=out, num_weights=size or len(weights), lrs=lrs, wds=wds, etas=etas, **kwargs)


def multi_lamb_update(
    weights: Any, grads: Any, mean: Any, var: Any, step_count: Any, lrs: Any, wds: Any, out: Any = None, num_tensors: int = 0, **kwargs: Any
) -> Any:
    """LAMB step of several weights."""
    arrays, count = _interleaved(weights, grads, mean, var), num_tensors or len(weights)
    return _update("_multi_lamb_update")(*arrays, out=out, num_tensors=count, step_count=step_count, learning_rates=lrs, wds=wds, **kwargs)


def multi_mp_lamb_update(
    weights: Any, grads: Any, mean: Any, var: Any, weights32: Any, step_count: Any, lrs: Any, wds: Any,
    out: Any = None, num_tensors: int = 0, **kwargs: Any,
) -> Any:  # fmt: skip
    """LAMB step of several half precision weights with float32 copies."""
    arrays, count = _interleaved(weights, grads, mean, var, weights32), num_tensors or len(weights)
    return _update("_multi_mp_lamb_update")(*arrays, out=out, num_tensors=count, step_count=step_count, learning_rates=lrs, wds=wds, **kwargs)
