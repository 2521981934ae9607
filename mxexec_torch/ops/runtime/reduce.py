"""Reductions whose gradients torch defines differently: ties share nothing in MXNet, products divide, norms do not mask zeros.

`dims` are the reduced axes, sorted, never empty; `keep` keeps them with size 1.
"""

from __future__ import annotations

from typing import Any

import torch

from .leaf import leaf

__all__ = ["extremum", "last_axis_softmax", "nanprod", "norm", "prod", "softmax_cross_entropy", "whole_norm"]

Tensor = torch.Tensor
Dims = tuple[int, ...]


def _tracked(x: Tensor) -> bool:
    return x.requires_grad and torch.is_grad_enabled()


def _left(kept: Tensor, dims: Dims, keep: bool) -> Tensor:
    return kept if keep else kept.squeeze(dims)


class _Extremum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: Dims, keep: bool, largest: bool) -> Tensor:
        kept = x.amax(dims, keepdim=True) if largest else x.amin(dims, keepdim=True)
        ctx.save_for_backward(x, kept)
        return _left(kept, dims, keep)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None, None]:
        x, kept = ctx.saved_tensors
        return g.reshape(kept.shape) * (x == kept), None, None, None


@leaf
def extremum(x: Tensor, dims: Dims, keep: bool, largest: bool) -> Tensor:
    """Maximum or minimum over axes; every element equal to it receives the whole gradient."""
    if _tracked(x):
        return _Extremum.apply(x, dims, keep, largest)  # type: ignore[no-any-return]
    return x.amax(dims, keepdim=keep) if largest else x.amin(dims, keepdim=keep)


def _prod(x: Tensor, dims: Dims, keep: bool) -> Tensor:
    if len(dims) == 1:
        return torch.prod(x, dims[0], keepdim=keep, dtype=x.dtype)
    for dim in dims:
        x = torch.prod(x, dim, keepdim=True, dtype=x.dtype)
    return _left(x, dims, keep)


class _Prod(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: Dims, keep: bool, skip_nan: bool) -> Tensor:
        kept = _prod(x.masked_fill(x.isnan(), 1.0) if skip_nan else x, dims, True)
        ctx.save_for_backward(x, kept)
        ctx.skip_nan = skip_nan
        return _left(kept, dims, keep)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None, None]:
        x, kept = ctx.saved_tensors
        grad = g.reshape(kept.shape) * (kept / x)
        return grad.masked_fill(x.isnan(), 0.0) if ctx.skip_nan else grad, None, None, None


@leaf
def prod(x: Tensor, dims: Dims, keep: bool) -> Tensor:
    """Product over axes; the gradient is product / element, NaN where that is 0 / 0."""
    return _Prod.apply(x, dims, keep, False) if _tracked(x) else _prod(x, dims, keep)


@leaf
def nanprod(x: Tensor, dims: Dims, keep: bool) -> Tensor:
    """Product over axes that skips NaN."""
    if _tracked(x):
        return _Prod.apply(x, dims, keep, True)  # type: ignore[no-any-return]
    return _prod(x.masked_fill(x.isnan(), 1.0) if x.is_floating_point() else x, dims, keep)


class _Norm(torch.autograd.Function):
    """p-norm for p = 1, 2."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: Dims, keep: bool, order: int) -> Tensor:
        kept = torch.linalg.vector_norm(x, order, dims, keepdim=True)
        ctx.save_for_backward(x, kept)
        ctx.order = order
        return _left(kept, dims, keep)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None, None]:
        x, kept = ctx.saved_tensors
        return g.reshape(kept.shape) * (x.sign() if ctx.order == 1 else x / kept), None, None, None


@leaf
def norm(x: Tensor, dims: Dims, keep: bool, order: int) -> Tensor:
    """Sum of magnitudes (order 1) or root of the sum of squares (order 2); gradient sign(x) or x / norm, NaN for a zero norm."""
    if _tracked(x):
        return _Norm.apply(x, dims, keep, order)  # type: ignore[no-any-return]
    return torch.linalg.vector_norm(x, order, dims, keepdim=keep)  # type: ignore[no-any-return]


@leaf
def whole_norm(x: Tensor, dims: Dims, keep: bool, order: int) -> Tensor:
    """norm of integers. MXNet sums (element / largest)^2 in the integer type, so that only elements of the largest magnitude count."""
    if order == 1:
        return torch.sum(x.abs(), dims, keepdim=keep, dtype=x.dtype)
    size = x.abs()
    largest = size.amax(dims, keepdim=True)
    count = (size == largest).sum(dims, keepdim=True)
    return _left((largest.double() * count.double().sqrt()).to(x.dtype), dims, keep)


class _SoftmaxCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        probability = torch.softmax(x, 1)
        ctx.save_for_backward(probability, rows)
        return _cross_entropy(probability, rows)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        probability, rows = ctx.saved_tensors
        return g * (probability - torch.zeros_like(probability).scatter(1, rows, 1.0)), None


def _cross_entropy(probability: Tensor, rows: Tensor) -> Tensor:
    return -probability.gather(1, rows).clamp_min(1e-8).log().sum(0)


@leaf
def softmax_cross_entropy(x: Tensor, label: Tensor) -> Tensor:
    """-sum(log softmax(x)[label]), probabilities no smaller than 1e-8; shape (1,). The gradient ignores that limit."""
    rows = label.long().clamp(0, x.shape[1] - 1).unsqueeze(1)
    if _tracked(x):
        return _SoftmaxCrossEntropy.apply(x, rows)  # type: ignore[no-any-return]
    return _cross_entropy(torch.softmax(x, 1), rows)


class _LastAxisSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(1, keepdim=True))  # type: ignore[no-any-return]


@leaf
def last_axis_softmax(x: Tensor) -> Tensor:
    """softmax over the last axis with SoftmaxActivation's gradient, which sums over axis 1."""
    return _LastAxisSoftmax.apply(x) if _tracked(x) else torch.softmax(x, -1)
