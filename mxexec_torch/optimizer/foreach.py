"""One pass over many dense parameters with torch's foreach kernels; the arithmetic of sgd_update, sgd_mom_update and adam_update."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ..ndarray.core import NDArray
from ..ndarray.tape import state as tape
from ..ops.optimizer_update import complement

__all__ = ["adam", "sgd", "usable"]

_TYPES = (torch.float32, torch.float64)


def usable(*columns: Sequence[Any]) -> bool:
    """Whether all arrays are dense floats outside of a recording, so that their tensors may be changed directly."""
    return not tape.recording and all(a.__class__ is NDArray and a._t.dtype in _TYPES for column in columns for a in column)


def _groups(keys: Sequence[Any]) -> Iterator[tuple[Any, list[int]]]:
    """Positions of equal keys together."""
    found: dict[Any, list[int]] = {}
    for position, key in enumerate(keys):
        found.setdefault(key, []).append(position)
    yield from found.items()


def _tensors(arrays: Sequence[Any], positions: Sequence[int]) -> list[torch.Tensor]:
    return [arrays[i]._t for i in positions]


def _keys(weights: Sequence[Any], lrs: Sequence[float], wds: Sequence[float]) -> list[Any]:
    """What parameters of one pass share: rates, type and device."""
    return [(lr, wd, w._t.dtype, w._t.device) for w, lr, wd in zip(weights, lrs, wds, strict=True)]


@torch.no_grad()
def sgd(
    weights: Sequence[Any], grads: Sequence[Any], moms: Sequence[Any] | None, lrs: Sequence[float], wds: Sequence[float],
    momentum: float, rescale: float, limit: float | None,
) -> None:  # fmt: skip
    """w <- w - lr (clip(rescale g) + wd w), or through the momenta: m <- momentum m - lr (...), w <- w + m."""
    for (lr, wd, _dtype, _device), members in _groups(_keys(weights, lrs, wds)):
        w = _tensors(weights, members)
        g: Any = _tensors(grads, members)
        step = -lr * rescale
        if limit:
            g = torch._foreach_mul(g, rescale)
            torch._foreach_clamp_max_(g, limit)
            torch._foreach_clamp_min_(g, -limit)
            step = -lr
        if moms is None:
            if wd:
                torch._foreach_mul_(w, 1 - lr * wd)
            torch._foreach_add_(w, g, alpha=step)
        else:
            m = _tensors(moms, members)
            torch._foreach_mul_(m, momentum)
            if wd:
                torch._foreach_add_(m, w, alpha=-lr * wd)
            torch._foreach_add_(m, g, alpha=step)
            torch._foreach_add_(w, m)


@torch.no_grad()
def adam(
    weights: Sequence[Any], grads: Sequence[Any], means: Sequence[Any], variances: Sequence[Any], lrs: Sequence[float], wds: Sequence[float],
    beta1: float, beta2: float, epsilon: float, rescale: float, limit: float | None,
) -> None:  # fmt: skip
    """Adam; `lrs` hold the bias correction already."""
    for (lr, wd, _dtype, _device), members in _groups(_keys(weights, lrs, wds)):
        w = _tensors(weights, members)
        g: Any = _tensors(grads, members)
        mean, var = _tensors(means, members), _tensors(variances, members)
        if rescale != 1:
            g = torch._foreach_mul(g, rescale)
        if wd:
            g = torch._foreach_add(g, w, alpha=wd)
        if limit:
            g = torch._foreach_clamp_max(g, limit)
            torch._foreach_clamp_min_(g, -limit)
        torch._foreach_mul_(mean, beta1)
        torch._foreach_add_(mean, g, alpha=complement(beta1))
        torch._foreach_mul_(var, beta2)
        torch._foreach_addcmul_(var, g, g, complement(beta2))
        below = torch._foreach_sqrt(var)
        torch._foreach_add_(below, epsilon)
        torch._foreach_addcdiv_(w, mean, below, -lr)
