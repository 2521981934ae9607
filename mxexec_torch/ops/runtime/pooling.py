"""Pooling with MXNet's gradient and border rules, for one to three spatial dimensions, channel first."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

from .leaf import leaf

__all__ = ["lp_root", "max_pool", "max_pool_all_ties"]

Ints = tuple[int, ...]


def _ordered(x: torch.Tensor) -> torch.Tensor:
    """x with the lowest finite number for NaN and -inf."""
    return torch.fmax(x, x.new_full((), torch.finfo(x.dtype).min))


def _unusual(out: torch.Tensor) -> bool:
    """Whether maxima may be NaN or -inf. Looks at the numbers where that is cheap, else says yes."""
    if out.device.type != "cpu" or type(out) is not torch.Tensor or torch.compiler.is_compiling():
        return True
    return not math.isfinite(out.sum().item())


class _MaxPool(torch.autograd.Function):
    """Max pooling whose windows start at the lowest finite number: NaN and -inf never win (src/operator/nn/pool.h)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, kernel: Ints, stride: Ints, pad: Ints, ceil: bool) -> torch.Tensor:
        pool = torch.ops.aten.max_pool2d_with_indices if len(kernel) == 2 else torch.ops.aten.max_pool3d_with_indices
        out: torch.Tensor
        out, indices = pool(x, kernel, stride, pad, (1,) * len(kernel), ceil)
        if _unusual(out):
            out, indices = pool(_ordered(x), kernel, stride, pad, (1,) * len(kernel), ceil)
        ctx.save_for_backward(x, indices)  # backward looks at x for its shape only
        ctx.settings = kernel, stride, pad, (1,) * len(kernel), ceil
        return out

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, indices = ctx.saved_tensors
        two = len(ctx.settings[0]) == 2
        back = torch.ops.aten.max_pool2d_with_indices_backward if two else torch.ops.aten.max_pool3d_with_indices_backward
        grad: torch.Tensor = back(grads[0], x, *ctx.settings, indices)
        return grad, None, None, None, None


@leaf
def max_pool(x: torch.Tensor, kernel: Ints, stride: Ints, pad: Ints, extra: Ints, ceil: bool) -> torch.Tensor:
    """Max pooling over the last two or three axes; a tie gives the gradient to the first element in row-major order.

    extra: padding at the high end on top of `pad`, where torch's own border rules cannot express the window positions.
    """
    lowest = torch.finfo(x.dtype).min
    if any(extra) or any(p > k // 2 for p, k in zip(pad, kernel, strict=True)):
        borders = [v for p, e in zip(reversed(pad), reversed(extra), strict=True) for v in (p, p + e)]
        x, pad = F.pad(x, borders, value=lowest), (0,) * len(pad)
    if torch.is_grad_enabled() and x.requires_grad:
        return _MaxPool.apply(x, kernel, stride, pad, ceil)  # type: ignore[no-any-return]
    pool = F.max_pool2d if len(kernel) == 2 else F.max_pool3d
    out = pool(x, kernel, stride, pad, 1, ceil)
    return pool(_ordered(x), kernel, stride, pad, 1, ceil) if _unusual(out) else out


class _MaxPoolAllTies(torch.autograd.Function):
    """Max pooling of unpadded data in which every tied element of a window receives the gradient (Pooling_v1)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, kernel: Ints, stride: Ints) -> torch.Tensor:
        out = F.max_pool2d(x, kernel, stride)
        ctx.save_for_backward(x, out)
        ctx.settings = kernel, stride
        return out

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, out = ctx.saved_tensors
        (kh, kw), (sh, sw) = ctx.settings
        rows, columns = (out.shape[2] - 1) * sh + 1, (out.shape[3] - 1) * sw + 1
        result = torch.zeros_like(x)
        for i in range(kh):
            for j in range(kw):
                place = (..., slice(i, i + rows, sh), slice(j, j + columns, sw))
                result[place] += grads[0] * (x[place] == out)
        return result, None, None


@leaf
def max_pool_all_ties(x: torch.Tensor, kernel: Ints, stride: Ints) -> torch.Tensor:
    """Two-dimensional max pooling without padding; ties share nothing, each gets the whole gradient."""
    if torch.is_grad_enabled() and x.requires_grad:
        return _MaxPoolAllTies.apply(x, kernel, stride)  # type: ignore[no-any-return]
    return F.max_pool2d(x, kernel, stride)


class _Root(torch.autograd.Function):
    """x ** (1 / p) with gradient 0 where the result is 0 (src/operator/nn/pool_utils.h, lp_grad)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, p: int) -> torch.Tensor:
        out = x.sqrt() if p == 2 else x.sign() * x.abs().pow(1 / 3)
        ctx.p = p
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (out,) = ctx.saved_tensors
        zero = out == 0
        safe = torch.where(zero, torch.ones_like(out), out)
        return torch.where(zero, torch.zeros_like(out), grads[0] / (ctx.p * safe ** (ctx.p - 1))), None


@leaf
def lp_root(x: torch.Tensor, p: int) -> torch.Tensor:
    """The p-th root that ends Lp pooling, p 2 or 3."""
    return _Root.apply(x, p)  # type: ignore[no-any-return]
