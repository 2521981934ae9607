"""Two-dimensional float32 convolution on CPU over data whose channels lie next to each other in memory (torch's channels_last).

Shapes and values are those of torch.conv2d; only where the numbers lie differs, and whatever follows works on them as on any tensor.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

__all__ = ["channels_last", "convolve"]

Tensor = torch.Tensor
Pair = tuple[int, int]
_HEAVY = 2  # numbers in the weight per number in the data from which on reordering the weight costs more than it gains


def channels_last(x: Tensor) -> Tensor:
    """x with its channels next to each other; x itself where they are."""
    if x.shape[1] == 1:  # a single channel is in either order, and torch would go on in the other one
        n, _, h, w = x.shape
        return x.contiguous().as_strided((n, 1, h, w), (h * w, 1, w, 1))
    return x.contiguous(memory_format=torch.channels_last)


def _rows(x: Tensor, stride: Pair = (1, 1)) -> Tensor:
    """A row of channels for each position."""
    x = channels_last(x).permute(0, 2, 3, 1)
    return (x if stride == (1, 1) else x[:, :: stride[0], :: stride[1]]).reshape(-1, x.shape[3])


def _pointwise(x: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair) -> Tensor:
    n, _, h, w = x.shape
    rows = F.linear(_rows(x, stride), weight.flatten(1), bias)
    return rows.view(n, -(-h // stride[0]), -(-w // stride[1]), -1).permute(0, 3, 1, 2)


class _Pointwise(torch.autograd.Function):
    """A kernel of one position: a matrix product over rows of channels. Like `_Convolution` it saves what it was given, not copies
    in another order: what the owner of data or weight writes before backward counts, as in MXNet."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.stride = stride
        return _pointwise(x, weight, bias, stride)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        stride, rows = ctx.stride, _rows(grads[0])
        dx = dw = None
        if ctx.needs_input_grad[0]:
            n, _, h, w = grads[0].shape
            dx = (rows @ weight.flatten(1)).view(n, h, w, -1)
            if stride != (1, 1):
                whole = dx.new_zeros(n, x.shape[2], x.shape[3], x.shape[1])
                whole[:, :: stride[0], :: stride[1]] = dx
                dx = whole
            dx = dx.permute(0, 3, 1, 2)
        if ctx.needs_input_grad[1]:
            dw = (rows.t() @ _rows(x, stride)).view(weight.shape)
        return dx, dw, rows.sum(0) if ctx.needs_input_grad[2] else None, None


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, pad: Pair, dilate: Pair, groups: int) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.settings = stride, pad, dilate, False, (0, 0), groups
        return torch.conv2d(channels_last(x), channels_last(weight), bias, stride, pad, dilate, groups)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        wanted = list(ctx.needs_input_grad[:3])
        back = torch.ops.aten.convolution_backward
        dx, dw, db = back(channels_last(grads[0]), channels_last(x), channels_last(weight), [weight.shape[0]], *ctx.settings, wanted)
        return dx, dw, db, None, None, None, None


def convolve(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, stride: Pair, pad: Pair, dilate: Pair, groups: int) -> Tensor:
    """torch.conv2d with a result in channels_last order."""
    recorded = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, weight, bias))
    if weight.shape[2:] == (1, 1) and pad == (0, 0) and groups == 1:
        return _Pointwise.apply(x, weight, bias, stride) if recorded else _pointwise(x, weight, bias, stride)
    if weight.numel() > _HEAVY * x.numel():
        return channels_last(torch.conv2d(x.contiguous(), weight, bias, stride, pad, dilate, groups))
    if recorded:
        return _Convolution.apply(x, weight, bias, stride, pad, dilate, groups)  # type: ignore[no-any-return]
    return torch.conv2d(channels_last(x), channels_last(weight), bias, stride, pad, dilate, groups)
