"""BatchNorm with the moving statistics, as MXNet differentiates it."""

from __future__ import annotations

from typing import Any

import torch

from .leaf import leaf
from .mode import backward_is_training

__all__ = ["inference_batch_norm", "l2_normalize", "tall_layer_norm", "training_batch_norm"]

Tensor = torch.Tensor


class _InferenceBatchNorm(torch.autograd.Function):
    """Backward after a test-mode forward: by default MXNet's training formula on the statistics that forward used, with
    backward(is_train=False) the derivative of what forward computed (src/operator/nn/batch_norm.cc)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gamma: Tensor | None, beta: Tensor, mean: Tensor, var: Tensor, eps: float) -> Tensor:
        ctx.save_for_backward(x, gamma, mean, var)
        ctx.eps = eps
        return torch.native_batch_norm(x, gamma, beta, mean, var, False, 0.0, eps)[0]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, gamma, mean, var = ctx.saved_tensors
        wanted = [ctx.needs_input_grad[0], gamma is not None and ctx.needs_input_grad[1], ctx.needs_input_grad[2]]
        back = torch.ops.aten.native_batch_norm_backward
        if backward_is_training():
            dx, dgamma, dbeta = back(grads[0], x, gamma, None, None, mean, (var + ctx.eps).rsqrt(), True, ctx.eps, wanted)
        else:
            dx, dgamma, dbeta = back(grads[0], x, gamma, mean, var, None, None, False, ctx.eps, wanted)
        return dx, dgamma, dbeta, None, None, None


@leaf
def inference_batch_norm(x: Tensor, gamma: Tensor | None, beta: Tensor, mean: Tensor, var: Tensor, eps: float) -> Tensor:
    """(x - mean) / sqrt(var + eps) * gamma + beta over axis 1; gamma None counts as 1."""
    tracked = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, gamma, beta))
    if tracked:
        return _InferenceBatchNorm.apply(x, gamma, beta, mean, var, eps)  # type: ignore[no-any-return]
    return torch.native_batch_norm(x, gamma, beta, mean, var, False, 0.0, eps)[0]


class _L2Normalize(torch.autograd.Function):
    """The gradient is computed from the output and the norm, as in src/operator/l2_normalization-inl.h."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float, dims: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        norm = _norm(x, eps, dims)
        out = x / norm
        ctx.save_for_backward(out, norm)
        ctx.dims = dims
        ctx.mark_non_differentiable(norm)
        return out, norm

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        out, norm = ctx.saved_tensors
        along = grads[0] * out
        if ctx.dims:
            along = along.sum(ctx.dims, keepdim=True)
        return (grads[0] - out * along) / norm, None, None


def _norm(x: Tensor, eps: float, dims: tuple[int, ...]) -> Tensor:
    squares = x.square()
    return ((squares.sum(dims, keepdim=True) if dims else squares) + eps).sqrt()


@leaf
def l2_normalize(x: Tensor, eps: float, dims: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """(x / norm, norm) with norm = sqrt(sum of squares over dims + eps); no dims: each element by itself."""
    if torch.is_grad_enabled() and x.requires_grad:
        return _L2Normalize.apply(x, eps, dims)  # type: ignore[no-any-return]
    norm = _norm(x, eps, dims)
    return x / norm, norm


# -- statistics of the batch -----------------------------------------------------------------------------------------------------
_MANY_ROWS = 8192  # from where on the parameters' gradients are added up in blocks


def _blocks(x: Tensor) -> tuple[Tensor, int]:
    """channels_last data as if it had k times the channels and 1/k of the positions: sums come in k parts, and keep their digits."""
    n, c, h, w = x.shape
    rows, k = n * h * w, 1
    while 16 * k * k < rows and rows % (2 * k) == 0:
        k *= 2
    return x.permute(0, 2, 3, 1).reshape(1, rows // k, 1, k * c).permute(0, 3, 1, 2), k


def _statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and biased variance of the channels of channels_last data."""
    blocks, k = _blocks(x)
    means, variances = (t.view(k, -1) for t in torch.ops.aten.batch_norm_update_stats(blocks, None, None, 0.0))
    mean = means.mean(0)
    return mean, (variances + (means - mean).square()).mean(0)


class _LastBatchNorm(torch.autograd.Function):
    """Over channels_last data. torch's own CPU kernel adds up all rows one after the other there, which loses digits."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gamma: Tensor | None, beta: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        mean, variance = _statistics(x)
        inverse = (variance + eps).rsqrt()
        ctx.save_for_backward(x, gamma, mean, inverse)
        ctx.mark_non_differentiable(mean, inverse)
        ctx.eps = eps
        return torch.native_batch_norm(x, gamma, beta, mean, variance, False, 0.0, eps)[0], mean, inverse

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, gamma, mean, inverse = ctx.saved_tensors
        grad = grads[0].contiguous(memory_format=torch.channels_last)
        wanted = [ctx.needs_input_grad[0], gamma is not None and ctx.needs_input_grad[1], ctx.needs_input_grad[2]]
        back = torch.ops.aten.native_batch_norm_backward
        dx, dgamma, dbeta = back(grad, x, gamma, None, None, mean, inverse, True, ctx.eps, wanted)
        if x.numel() > _MANY_ROWS * x.shape[1] and any(wanted[1:]):
            (blocks, k), (grads_in_blocks, _) = _blocks(x), _blocks(grad)
            parts = back(grads_in_blocks, blocks, None, None, None, mean.repeat(k), inverse.repeat(k), True, ctx.eps, [False, *wanted[1:]])
            dgamma, dbeta = (part.view(k, -1).sum(0) if ask else None for part, ask in zip(parts[1:], wanted[1:], strict=True))
        return dx, dgamma, dbeta, None


@leaf
def training_batch_norm(x: Tensor, gamma: Tensor | None, beta: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) / sqrt(var + eps) * gamma + beta over axis 1, mean and 1 / sqrt(var + eps) of the batch; gamma None counts as 1."""
    last = x.device.type == "cpu" and x.ndim == 4 and x.dtype is torch.float32 and not x.is_contiguous()
    if last and x.is_contiguous(memory_format=torch.channels_last) and x.numel():
        return _LastBatchNorm.apply(x, gamma, beta, eps)  # type: ignore[no-any-return]
    return torch.native_batch_norm(_dense(x), gamma, beta, None, None, True, 0.0, eps)


def _dense(x: Tensor) -> Tensor:
    """x without gaps: on views such as slices torch's backward kernel is 20 times slower and adds up in single precision."""
    if x.is_contiguous() or (x.ndim in (4, 5) and x.is_contiguous(memory_format=torch.channels_last if x.ndim == 4 else torch.channels_last_3d)):
        return x
    return x.contiguous()


# -- layer normalization -----------------------------------------------------------------------------------------------------------
class _TallLayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        out, mean, inverse = torch.native_layer_norm(x, x.shape[-1:], gamma, beta, eps)
        ctx.save_for_backward(x, gamma, beta, mean, inverse)
        ctx.mark_non_differentiable(mean, inverse)
        return out, mean, inverse

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, gamma, beta, mean, inverse = ctx.saved_tensors
        back = torch.ops.aten.native_layer_norm_backward
        if x.is_cuda:
            return (*back(grads[0], x, x.shape[-1:], mean, inverse, gamma, beta, [True, True, True]), None)
        width = x.shape[-1]
        rows = [t.reshape(-1, t.shape[-1]).split(_ROWS) for t in (grads[0], x, mean, inverse)]
        parts = [back(g, part, (width,), m, r, gamma, beta, [True, True, True]) for g, part, m, r in zip(*rows, strict=True)]
        dx, dgamma, dbeta = zip(*parts, strict=True)
        return torch.cat(dx).reshape(x.shape), torch.stack(dgamma).sum(0), torch.stack(dbeta).sum(0), None


_ROWS = 256


@leaf
def tall_layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Layer normalization of many rows: torch's CPU kernel adds the parameter gradients row by row, which loses digits; here in blocks."""
    if torch.is_grad_enabled() and any(t.requires_grad for t in (x, gamma, beta)):
        return _TallLayerNorm.apply(x, gamma, beta, eps)  # type: ignore[no-any-return]
    return torch.native_layer_norm(x, x.shape[-1:], gamma, beta, eps)
