"""One pass over many dense parameters with torch's foreach kernels; the arithmetic of sgd_update, sgd_mom_update and adam_update."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.autograd.graph import increment_version

from ..ndarray.core import NDArray
from ..ndarray.tape import state as tape
from ..ops.optimizer_update import complement

__all__ = ["adam", "sgd", "usable"]

_TYPES = {torch.float32, torch.float64}


def usable(*columns: Sequence[Any]) -> bool:
    """Whether all arrays are dense floats outside of a recording, so that their tensors may be changed directly."""
    if tape.recording or not all(set(map(type, column)) <= {NDArray} for column in columns):
        return False
    return {a._t.dtype for column in columns for a in column} <= _TYPES


def _groups(lrs: Sequence[float], wds: Sequence[float], *columns: Sequence[Any]) -> Iterator[tuple[float, float, list[list[torch.Tensor]]]]:
    """(rate, decay, tensors by column) of the parameters that one pass can update: they share rates, type and device."""
    tensors = [[a._t for a in column] for column in columns]
    keys = [(lr, wd, w.dtype, w.device) for w, lr, wd in zip(tensors[0], lrs, wds, strict=True)]
    if len(set(keys)) == 1:
        yield lrs[0], wds[0], tensors
        return
    found: dict[Any, list[int]] = {}
    for position, key in enumerate(keys):
        found.setdefault(key, []).append(position)
    for (lr, wd, _dtype, _device), members in found.items():
        yield lr, wd, [[column[i] for i in members] for column in tensors]


def _positive(limit: float | None) -> float | None:
    """clip_gradient as the update operators read it: zero (which the optimizers leave out) and negative numbers mean no limit."""
    return limit if limit is not None and limit > 0 else None


@torch.no_grad()
def sgd(
    weights: Sequence[Any], grads: Sequence[Any], moms: Sequence[Any] | None, lrs: Sequence[float], wds: Sequence[float],
    momentum: float, rescale: float, limit: float | None,
) -> None:  # fmt: skip
    """w <- w - lr (clip(rescale g) + wd w), or through the momenta: m <- momentum m - lr (...), w <- w + m. limit: none unless above 0."""
    limit = _positive(limit)
    for lr, wd, (w, g, *m) in _groups(lrs, wds, weights, grads, *([] if moms is None else [moms])):
        step = -lr * rescale
        if m and step and not limit and all(t.is_contiguous() for column in (w, g, *m) for t in column):
            # torch's m <- momentum m + (1 - dampening) (g + wd w), w <- w - lr m, with the rate inside the momentum as MXNet has it
            torch._fused_sgd_(
                w, g, m[0], weight_decay=wd / rescale, momentum=momentum, lr=-1.0, dampening=1.0 - step, nesterov=False, maximize=False,
                is_first_step=False,
            )  # fmt: skip
            increment_version([*w, *m[0]])  # this kernel counts no writes (see lower.fuse)
            continue
        if limit:
            g = list(torch._foreach_mul(g, rescale))
            torch._foreach_clamp_max_(g, limit)
            torch._foreach_clamp_min_(g, -limit)
            step = -lr
        if not m:
            if wd:
                torch._foreach_mul_(w, 1 - lr * wd)
            torch._foreach_add_(w, g, alpha=step)
        else:
            torch._foreach_mul_(m[0], momentum)
            if wd:
                torch._foreach_add_(m[0], w, alpha=-lr * wd)
            torch._foreach_add_(m[0], g, alpha=step)
            torch._foreach_add_(w, m[0])


@torch.no_grad()
def adam(
    weights: Sequence[Any], grads: Sequence[Any], means: Sequence[Any], variances: Sequence[Any], lrs: Sequence[float], wds: Sequence[float],
    beta1: float, beta2: float, epsilon: float, rescale: float, limit: float | None,
) -> None:  # fmt: skip
    """Adam; `lrs` hold the bias correction already."""
    limit = _positive(limit)
    for lr, wd, (w, g, mean, var) in _groups(lrs, wds, weights, grads, means, variances):
        if rescale != 1:
            g = list(torch._foreach_mul(g, rescale))
        if wd:
            g = list(torch._foreach_add(g, w, alpha=wd))
        if limit:
            g = list(torch._foreach_clamp_max(g, limit))
            torch._foreach_clamp_min_(g, -limit)
        torch._foreach_mul_(mean, beta1)
        torch._foreach_add_(mean, g, alpha=complement(beta1))
        torch._foreach_mul_(var, beta2)
        torch._foreach_addcmul_(var, g, g, complement(beta2))
        below = torch._foreach_sqrt(var)
        torch._foreach_add_(below, epsilon)
        torch._foreach_addcdiv_(w, mean, below, -lr)
