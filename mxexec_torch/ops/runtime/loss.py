"""Loss heads: forward is a prediction, backward ignores the head gradient and returns MXNet's own gradient."""

from __future__ import annotations

import math
from typing import Any

import torch

from .leaf import leaf

__all__ = ["constant_gradient", "regression_output", "softmax_output", "svm_output"]

Tensor = torch.Tensor


def _recorded(x: Tensor) -> bool:
    """Whether autograd looks on; if not, a head is just its forward function."""
    return torch.is_grad_enabled() and x.requires_grad


def _one_hot_terms(label: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """(clamped index, 1 where the class exists else 0): labels out of range name no class."""
    index = label.long()
    inside = (index >= 0) & (index < classes)
    return index.clamp(0, classes - 1).unsqueeze(1), inside.unsqueeze(1)


# -- SoftmaxOutput -------------------------------------------------------------------------------------------------------------
def _softmax_view(x: Tensor, multi_output: bool, preserve_shape: bool) -> Tensor:
    """The tensor with classes at axis 1: (n, k, positions), (rows, k) or (n, everything)."""
    if multi_output:
        return x.reshape(x.shape[0], x.shape[1], -1)
    return x.reshape(-1, x.shape[-1]) if preserve_shape else x.reshape(x.shape[0], -1)


class _SoftmaxOutput(torch.autograd.Function):
    """src/operator/softmax_output-inl.h; `settings` is (multi_output, preserve_shape, use_ignore, ignore_label, normalization,
    grad_scale, smooth_alpha, out_grad)."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, label: Tensor, settings: tuple[Any, ...]) -> Tensor:
        out = _softmax_view(data, settings[0], settings[1]).softmax(1).reshape(data.shape)
        ctx.save_for_backward(out, label)
        ctx.settings = settings
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        out, label = ctx.saved_tensors
        return _softmax_gradient(out, label, *ctx.settings), None, None


def _softmax_gradient(
    out: Tensor, label: Tensor, multi_output: bool, preserve_shape: bool, use_ignore: bool, ignore_label: float, normalization: str,
    grad_scale: float, smooth_alpha: float, out_grad: bool,
) -> Tensor:  # fmt: skip
    if out.shape == label.shape:  # probabilities: no normalization, no ignored label
        grad = out - label
        grad = grad if grad_scale == 1.0 else grad * grad_scale
        return grad * out if out_grad else grad
    p = _softmax_view(out, multi_output, preserve_shape)
    classes = p.shape[1]
    positions = p.shape[2] if multi_output else 1
    labels = label.reshape(p.shape[0], -1) if multi_output else label.reshape(-1)
    # Flattened data of more than two axes have fewer rows than labels: the first ones count.
    target = labels.reshape(p.shape[0], *p.shape[2:]) if multi_output else labels[: p.shape[0]]
    index, inside = _one_hot_terms(target, classes)
    if smooth_alpha and not multi_output:
        rest = smooth_alpha / (classes - 1) if classes > 1 else 0.0
        grad = (p - rest).scatter_add(1, index, inside.to(p.dtype) * (rest + smooth_alpha - 1))
    else:
        grad = p.scatter_add(1, index, -inside.to(p.dtype))
    scale: float | Tensor = grad_scale
    if normalization == "batch":
        scale = grad_scale / max(labels.shape[0] * positions, 1)
    elif normalization == "valid":
        scale = grad_scale / (labels.int() != int(ignore_label)).sum().clamp(min=1).to(p.dtype)
    elif multi_output:
        scale = grad_scale / max(positions, 1)
    if use_ignore:
        kept = target.int() != int(ignore_label)
        grad = grad * (kept.unsqueeze(1).to(p.dtype) * scale)
    elif isinstance(scale, Tensor) or scale != 1.0:
        grad = grad * scale
    grad = grad.reshape(out.shape)
    return grad * out if out_grad else grad


@leaf
def softmax_output(
    data: Tensor, label: Tensor, multi_output: bool, preserve_shape: bool, use_ignore: bool, ignore_label: float, normalization: str,
    grad_scale: float, smooth_alpha: float, out_grad: bool,
) -> Tensor:  # fmt: skip
    """Softmax whose gradient is that of the cross entropy with `label`, whatever the head gradient.

    out_grad multiplies the gradient by the output: MXNet 1.9.1 hands its kernel the output where the head gradient belongs.
    """
    if not _recorded(data):
        return _softmax_view(data, multi_output, preserve_shape).softmax(1).reshape(data.shape)
    settings = (multi_output, preserve_shape, use_ignore, ignore_label, normalization, grad_scale, smooth_alpha, out_grad)
    return _SoftmaxOutput.apply(data, label, settings)  # type: ignore[no-any-return]


# -- Regression ------------------------------------------------------------------------------------------------------------------
class _RegressionOutput(torch.autograd.Function):
    """src/operator/regression_output-inl.h: divided by the outputs of one sample, not by the batch."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, label: Tensor, kind: str, grad_scale: float) -> Tensor:
        out = data.sigmoid() if kind == "logistic" else data.clone()
        ctx.save_for_backward(out, label)
        ctx.settings = kind, grad_scale
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        out, label = ctx.saved_tensors
        kind, grad_scale = ctx.settings
        grad = out - label.reshape(out.shape)
        if kind == "mae":  # the sign of zero is -1
            grad = (grad > 0).to(out.dtype) * 2 - 1
        scale = grad_scale / max(label.numel() // max(label.shape[0], 1), 1)
        return grad if scale == 1.0 else grad * scale, None, None, None


@leaf
def regression_output(data: Tensor, label: Tensor, kind: str, grad_scale: float) -> Tensor:
    """The three regression heads: kind 'linear', 'logistic' or 'mae'."""
    if not _recorded(data):
        return data.sigmoid() if kind == "logistic" else data.clone()
    return _RegressionOutput.apply(data, label, kind, grad_scale)  # type: ignore[no-any-return]


# -- SVMOutput -------------------------------------------------------------------------------------------------------------------
class _SVMOutput(torch.autograd.Function):
    """src/operator/svm_output.cc: one-against-all hinge, squared unless use_linear."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, label: Tensor, margin: float, coefficient: float, use_linear: bool) -> Tensor:
        out = data.clone()
        ctx.save_for_backward(out, label)
        ctx.settings = margin, coefficient, use_linear
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        out, label = ctx.saved_tensors
        margin, coefficient, use_linear = ctx.settings
        if not out.numel():
            return torch.zeros_like(out), None, None, None, None
        x = out.flatten(0, -2)
        index, inside = _one_hot_terms(label.reshape(-1), x.shape[1])
        sign = x.new_ones(()).expand(x.shape).scatter_add(1, index, inside.to(x.dtype) * -2)  # -1 at the label, +1 elsewhere
        slack = margin + sign * x
        grad = sign * (slack > 0).to(x.dtype) if use_linear else sign * 2 * slack.clamp(min=0)
        return (grad * coefficient).reshape(out.shape), None, None, None, None


@leaf
def svm_output(data: Tensor, label: Tensor, margin: float, coefficient: float, use_linear: bool) -> Tensor:
    """Passes data through; the gradient is the hinge loss's."""
    if not _recorded(data):
        return data.clone()
    return _SVMOutput.apply(data, label, margin, coefficient, use_linear)  # type: ignore[no-any-return]


# -- MakeLoss --------------------------------------------------------------------------------------------------------------------
class _ConstantGradient(torch.autograd.Function):
    """src/operator/make_loss-inl.h."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, grad_scale: float, normalization: str, valid_thresh: float) -> Tensor:
        ctx.save_for_backward(data)
        ctx.settings = grad_scale, normalization, valid_thresh
        return data.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (data,) = ctx.saved_tensors
        grad_scale, normalization, valid_thresh = ctx.settings
        if normalization == "valid":
            count = (data > valid_thresh).sum().clamp(min=1).to(data.dtype)
            return (grad_scale / count).expand(data.shape), None, None, None
        scale = grad_scale / max(math.prod(data.shape[:-1]), 1) if normalization == "batch" else grad_scale
        return torch.full_like(data, scale), None, None, None


@leaf
def constant_gradient(data: Tensor, grad_scale: float, normalization: str, valid_thresh: float) -> Tensor:
    """Passes data through; every element's gradient is grad_scale, divided as `normalization` says."""
    if not _recorded(data):
        return data.clone()
    return _ConstantGradient.apply(data, grad_scale, normalization, valid_thresh)  # type: ignore[no-any-return]
