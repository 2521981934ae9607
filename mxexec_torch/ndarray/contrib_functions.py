"""The functions of mx.nd.contrib that are Python over operators: tests of numbers, the candidate sampler, AdamW and LAMB updates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _internal
from .core import NDArray
from .creation import full

__all__ = [
    "adamw_update", "isfinite", "isinf", "isnan", "mp_adamw_update", "multi_adamw_update", "multi_lamb_update", "multi_mp_adamw_update",
    "multi_mp_lamb_update", "rand_zipfian",
]  # fmt: skip


def isinf(data: Any) -> Any:
    """1 where data is infinite, else 0, in the type of data."""
    return data.abs() == math.inf


def isfinite(data: Any) -> Any:
    """1 where data is neither infinite nor NaN, else 0, in the type of data."""
    return (data.abs() != math.inf) * (data == data)  # noqa: PLR0124 - NaN differs from itself


def isnan(data: Any) -> Any:
    """1 where data is NaN, else 0, in the type of data."""
    return data != data  # noqa: PLR0124 - NaN differs from itself


def rand_zipfian(true_classes: Any, num_sampled: int, range_max: int, ctx: Any = None) -> tuple[Any, Any, Any]:
    """Draws classes of [0, range_max) with probability log((c + 2) / (c + 1)) / log(range_max + 1), for sampled losses.

    true_classes (n,) -> samples (num_sampled,) int64, expected counts of the true classes (n,) and of the samples, both float64.
    """
    from ..context import current_context
    from .random import uniform

    ctx = current_context() if ctx is None else ctx
    log_range = math.log(range_max + 1)
    samples = (uniform(0, log_range, shape=(num_sampled,), dtype="float64", ctx=ctx).exp() - 1).astype("int64") % range_max

    def expected(classes: Any) -> Any:
        wide = classes.astype("float64")
        return ((wide + 2.0) / (wide + 1.0)).log() / log_range * num_sampled

    return samples, expected(true_classes.as_in_context(ctx)), expected(samples)


def _scale(value: Any, like: Any) -> Any:
    """rescale_grad as an array on the weight's context."""
    return value.as_in_context(like.context) if isinstance(value, NDArray) else full((1,), value, ctx=like.context)


def _interleaved(*groups: Sequence[NDArray]) -> list[NDArray]:
    return [array for arrays in zip(*groups, strict=True) for array in arrays]


def adamw_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, rescale_grad: Any, lr: float, eta: float, **attributes: Any) -> Any:
    """One AdamW step; rescale_grad is a number or an array of one (the step is skipped where it is not finite or 0)."""
    return _internal._adamw_update(weight, grad, mean, var, _scale(rescale_grad, weight), lr=lr, eta=eta, **attributes)


def mp_adamw_update(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray, rescale_grad: Any, lr: float, eta: float, **attributes: Any
) -> Any:
    """One AdamW step of a half-precision weight with its float32 master copy."""
    return _internal._mp_adamw_update(weight, grad, mean, var, weight32, _scale(rescale_grad, weight), lr=lr, eta=eta, **attributes)


def multi_adamw_update(
    weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray], rescale_grad: Any, lrs: Any, wds: Any,
    etas: Any, out: Any = None, name: Any = None, size: int = 0, **attributes: Any,
) -> Any:  # fmt: skip
    """AdamW steps of many weights."""
    arrays = [*_interleaved(weights, grads, mean, var), _scale(rescale_grad, weights[0])]
    return _internal._multi_adamw_update(*arrays, out=out, num_weights=size or len(weights), lrs=lrs, wds=wds, etas=etas, **attributes)


def multi_mp_adamw_update(
    weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray], weights32: Sequence[NDArray],
    rescale_grad: Any, lrs: Any, wds: Any, etas: Any, out: Any = None, name: Any = None, size: int = 0, **attributes: Any,
) -> Any:  # fmt: skip
    """AdamW steps of many half-precision weights with their float32 master copies."""
    arrays = [*_interleaved(weights, grads, mean, var, weights32), _scale(rescale_grad, weights[0])]
    return _internal._multi_mp_adamw_update(*arrays, out=out, num_weights=size or len(weights), lrs=lrs, wds=wds, etas=etas, **attributes)


def multi_lamb_update(
    weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray], step_count: Any, lrs: Any, wds: Any,
    out: Any = None, num_tensors: int = 0, **attributes: Any,
) -> Any:  # fmt: skip
    """LAMB steps of many weights; step_count, lrs and wds hold one number a weight."""
    arrays = _interleaved(weights, grads, mean, var)
    return _internal._multi_lamb_update(
        *arrays, out=out, num_tensors=num_tensors or len(weights), step_count=step_count, learning_rates=lrs, wds=wds, **attributes
    )


def multi_mp_lamb_update(
    weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray], weights32: Sequence[NDArray],
    step_count: Any, lrs: Any, wds: Any, out: Any = None, num_tensors: int = 0, **attributes: Any,
) -> Any:  # fmt: skip
    """LAMB steps of many half-precision weights with their float32 master copies."""
    arrays = _interleaved(weights, grads, mean, var, weights32)
    return _internal._multi_mp_lamb_update(
        *arrays, out=out, num_tensors=num_tensors or len(weights), step_count=step_count, learning_rates=lrs, wds=wds, **attributes
    )
