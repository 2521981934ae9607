"""Optimizer updates of one tensor: sgd, nag, adam, adamw, lamb, ftml, ftrl, rmsprop, signsgd, adagrad and their mixed-precision forms.

Each returns the new weight; new states come back through `writes`. The `mp_` forms keep a float32 master copy beside a float16 weight.
lr stays inside the momentum of sgd and nag, unlike torch.optim. MXNet updates the weight only where the caller passes out=weight.
"""

from __future__ import annotations

import torch

from ..infer.rules import elementwise
from ..infer.state import Dtypes
from ..registry import Attrs, Grad, Out, State, Tensor, op
from ..values import Bool, Float

__all__ = ["clipped", "mixed_precision"]


def clipped(grad: Tensor, limit: float) -> Tensor:
    """The gradient limited to [-limit, limit]; a negative limit means none."""
    return grad.clamp(-limit, limit) if limit >= 0 else grad


def mixed_precision(*full: str) -> object:
    """dtype rule of the mp_ forms: float32 for the named states, one other type for weight, gradient and output."""

    def rule(a: Attrs, t: Dtypes) -> None:
        for name in full:
            t.unify(name, torch.float32)
        known = next((d for d in [t.get("weight"), t.get("grad"), t.out()] if d is not None), None)
        if known is not None:
            t.unify("weight", known)
            t.unify("grad", known)
            t.unify_out(known)

    return rule


def _scaled(grad: Tensor, rescale: float, limit: float) -> Tensor:
    return clipped(grad if rescale == 1 else grad * rescale, limit)


# -- sgd ----------------------------------------------------------------------------------------------------------------------
def _sgd(weight: Tensor, grad: Tensor, lr: float, wd: float, rescale: float, limit: float) -> Tensor:
    decayed = weight if wd == 0 else weight * (1 - lr * wd)
    if limit >= 0:
        return torch.add(decayed, _scaled(grad, rescale, limit), alpha=-lr)
    return torch.add(decayed, grad, alpha=-lr * rescale)


def _momentum(
    weight: Tensor, grad: Tensor, mom: Tensor, lr: float, momentum: float, wd: float, rescale: float, limit: float
) -> Tensor:
    new = mom * momentum
    if wd != 0:
        new = torch.add(new, weight, alpha=-lr * wd)
    if limit >= 0:
        return torch.add(new, _scaled(grad, rescale, limit), alpha=-lr)
    return torch.add(new, grad, alpha=-lr * rescale)


@op("sgd_update", aliases=("_sparse_sgd_update",), shape=elementwise, grad=Grad.MISSING)
def sgd_update(
    weight: Tensor, grad: Tensor, /, *, lr: Float, wd: Float = 0.0, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0,
    lazy_update: Bool = True,
) -> Tensor:
    """w <- (1 - lr wd) w - lr clip(rescale g). weight, grad: one shape -> same. Source: src/operator/optimizer_op.cc"""
    return _sgd(weight, grad, lr, wd, rescale_grad, clip_gradient)


@op("sgd_mom_update", aliases=("_sparse_sgd_mom_update",), shape=elementwise, grad=Grad.MISSING)
def sgd_mom_update(
    weight: Tensor, grad: Tensor, mom: State, /, *, lr: Float, momentum: Float = 0.0, wd: Float = 0.0, rescale_grad: Float = 1.0,
    clip_gradient: Float = -1.0, lazy_update: Bool = True,
) -> Out:
    """m <- momentum m - lr wd w - lr clip(rescale g); w <- w + m. All of one shape. Source: src/operator/optimizer_op.cc"""
    new = _momentum(weight, grad, mom, lr, momentum, wd, rescale_grad, clip_gradient)
    return Out(weight + new, writes={"mom": new})


@op("mp_sgd_update", shape=elementwise, dtype=mixed_precision("weight32"), grad=Grad.MISSING)
def mp_sgd_update(
    weight: Tensor, grad: Tensor, weight32: State, /, *, lr: Float, wd: Float = 0.0, rescale_grad: Float = 1.0,
    clip_gradient: Float = -1.0, lazy_update: Bool = True,
) -> Out:
    """sgd_update on the float32 copy. weight, grad float16, weight32 float32: one shape. Source: src/operator/optimizer_op.cc"""
    new = _sgd(weight32, grad.float(), lr, wd, rescale_grad, clip_gradient)
    return Out(new.to(weight.dtype), writes={"weight32": new})


@op("mp_sgd_mom_update", shape=elementwise, dtype=mixed_precision("mom", "weight32"), grad=Grad.MISSING)
def mp_sgd_mom_update(
    weight: Tensor, grad: Tensor, mom: State, weight32: State, /, *, lr: Float, momentum: Float = 0.0, wd: Float = 0.0,
    rescale_grad: Float = 1.0, clip_gradient: Float = -1.0, lazy_update: Bool = True,
) -> Out:
    """sgd_mom_update on the float32 copy. weight, grad float16, mom, weight32 float32: one shape.

    Source: src/operator/optimizer_op.cc
    """
    step = _momentum(weight32, grad.float(), mom, lr, momentum, wd, rescale_grad, clip_gradient)
    new = weight32 + step
    return Out(new.to(weight.dtype), writes={"mom": step, "weight32": new})


# -- adam ---------------------------------------------------------------------------------------------------------------------
@op("adam_update", aliases=("_sparse_adam_update",), shape=elementwise, grad=Grad.MISSING)
def adam_update(
    weight: Tensor, grad: Tensor, mean: State, var: State, /, *, lr: Float, beta1: Float = 0.9, beta2: Float = 0.999,
    epsilon: Float = 1e-8, wd: Float = 0.0, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0, lazy_update: Bool = True,
) -> Out:
    """Adam without bias correction (callers put it into lr); wd is added before clipping. All of one shape.

    Source: src/operator/optimizer_op.cc
    """
    g = grad if rescale_grad == 1 else grad * rescale_grad
    g = clipped(g if wd == 0 else torch.add(g, weight, alpha=wd), clip_gradient)
    new_mean = torch.lerp(mean, g, 1 - beta1)
    new_var = torch.addcmul(var * beta2, g, g, value=1 - beta2)
    return Out(torch.addcdiv(weight, new_mean, new_var.sqrt() + epsilon, value=-lr), writes={"mean": new_mean, "var": new_var})


