"""Activations whose gradient in MXNet is not the derivative."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from .leaf import leaf

__all__ = ["selu"]

_ALPHA, _LAMBDA = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


class _Selu(torch.autograd.Function):
    """MXNet's gradient below 0 is lambda * (alpha + output); the derivative would be lambda * alpha + output (src/operator/mshadow_op.h)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        out = F.selu(x)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        (out,) = ctx.saved_tensors
        return grads[0] * torch.where(out > 0, torch.ones_like(out), out + _ALPHA) * _LAMBDA


@leaf
def selu(x: torch.Tensor) -> torch.Tensor:
    """Scaled exponential linear unit with MXNet's gradient."""
    if torch.is_grad_enabled() and x.requires_grad:
        return _Selu.apply(x)  # type: ignore[no-any-return]
    return F.selu(x)
