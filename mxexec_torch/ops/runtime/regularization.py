"""The sparseness penalty of IdentityAttachKLSparseReg."""

from __future__ import annotations

from typing import Any

import torch

from .leaf import leaf

__all__ = ["attach_sparseness_penalty", "moved_average"]

Tensor = torch.Tensor


def moved_average(data: Tensor, average: Tensor, momentum: float) -> Tensor:
    """The running mean activation of each unit after one more batch."""
    batch = data.unsqueeze(2).flatten(2).sum(2).mean(0)
    return average * momentum + batch * (1 - momentum)


class _AttachPenalty(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, data: Tensor, average: Tensor, target: float, penalty: float, momentum: float) -> Tensor:
        ctx.save_for_backward(data, average)
        ctx.settings = target, penalty, momentum
        return data.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        data, average = ctx.saved_tensors
        target, penalty, momentum = ctx.settings
        q = moved_average(data, average, momentum)
        extra = penalty * ((1 - target) / (1 - q) - target / q)
        return grads[0] + extra.reshape(-1, *(1,) * (data.ndim - 2)), None, None, None, None


@leaf
def attach_sparseness_penalty(data: Tensor, average: Tensor, target: float, penalty: float, momentum: float) -> Tensor:
    """Identity; the gradient gains penalty * d KL(target || running mean) / d mean."""
    if torch.is_grad_enabled() and data.requires_grad:
        return _AttachPenalty.apply(data, average, target, penalty, momentum)  # type: ignore[no-any-return]
    return data.clone()
