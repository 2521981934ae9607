"""Optimizer updates of one tensor: sgd, nag, adam, adamw, lamb and their mixed-precision forms.

Each returns the new weight; new states come back through `writes`. The `mp_` forms keep a float32 master copy beside a float16 weight.
lr stays inside the momentum of sgd and nag, unlike torch.optim. MXNet updates the weight only where the caller passes out=weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..infer.rules import elementwise
from ..infer.state import Dtypes, Shapes
from ..registry import Attrs, Grad, Out, State, Tensor, op
from ..values import Bool, Float, Int

__all__ = [
    "UPDATE", "adam_moments", "adamw_step", "clipped", "complement", "finite_scale", "lamb_direction", "mixed_precision", "sgd_momentum_step",
    "sgd_step", "trust_ratio",
]  # fmt: skip

# What all optimizer operators share: no gradient, and no input names in MXNet's registry (so no symbols can be built of them there).
UPDATE: dict[str, Any] = {"grad": Grad.MISSING, "lists_inputs": False}


def clipped(grad: Tensor, limit: float) -> Tensor:
    """The gradient limited to [-limit, limit]; a negative limit means none."""
    return grad.clamp(-limit, limit) if limit >= 0 else grad


def mixed_precision(*full: str) -> Any:
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


def complement(beta: float) -> float:
    """1 - beta as MXNet has it: beta is a C float, so 1 - 0.999 is 0.00099998713."""
    return 1.0 - float(np.float32(beta))


def _scaled(grad: Tensor, rescale: float, limit: float) -> Tensor:
    return clipped(grad if rescale == 1 else grad * rescale, limit)


# -- sgd ----------------------------------------------------------------------------------------------------------------------
def sgd_step(weight: Tensor, grad: Tensor, lr: float, wd: float, rescale: float, limit: float) -> Tensor:
    """(1 - lr wd) w - lr clip(rescale g)."""
    decayed = weight if wd == 0 else weight * (1 - lr * wd)
    if limit >= 0:
        return torch.add(decayed, _scaled(grad, rescale, limit), alpha=-lr)
    return torch.add(decayed, grad, alpha=-lr * rescale)


def sgd_momentum_step(
    weight: Tensor, grad: Tensor, mom: Tensor, lr: float, momentum: float, wd: float, rescale: float, limit: float
) -> Tensor:
    """The new momentum: momentum m - lr wd w - lr clip(rescale g)."""
    new = mom * momentum
    if wd != 0:
        new = torch.add(new, weight, alpha=-lr * wd)
    if limit >= 0:
        return torch.add(new, _scaled(grad, rescale, limit), alpha=-lr)
    return torch.add(new, grad, alpha=-lr * rescale)


def _add_step(target: Tensor, grad: Tensor, lr: float, rescale: float, limit: float) -> None:
    if limit >= 0:
        target.add_(_scaled(grad, rescale, limit), alpha=-lr)
    else:
        target.add_(grad, alpha=-lr * rescale)


def _sgd_in_place(weight: Tensor, grad: Tensor, /, *, lr: float, wd: float, rescale_grad: float, clip_gradient: float, lazy_update: bool) -> None:
    if wd != 0:
        weight.mul_(1 - lr * wd)
    _add_step(weight, grad, lr, rescale_grad, clip_gradient)


def _sgd_momentum_in_place(
    weight: Tensor, grad: Tensor, mom: Tensor, /, *, lr: float, momentum: float, wd: float, rescale_grad: float, clip_gradient: float,
    lazy_update: bool,
) -> None:  # fmt: skip
    mom.mul_(momentum)
    if wd != 0:
        mom.add_(weight, alpha=-lr * wd)
    _add_step(mom, grad, lr, rescale_grad, clip_gradient)
    weight.add_(mom)


@op("sgd_update", aliases=("_sparse_sgd_update",), shape=elementwise, in_place=_sgd_in_place, **UPDATE)
def sgd_update(
    weight: Tensor, grad: Tensor, /, *, lr: Float, wd: Float = 0.0, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0,
    lazy_update: Bool = True,
) -> Tensor:
    """w <- (1 - lr wd) w - lr clip(rescale g). weight, grad: one shape -> same. Source: src/operator/optimizer_op.cc"""
    return sgd_step(weight, grad, lr, wd, rescale_grad, clip_gradient)


@op("sgd_mom_update", aliases=("_sparse_sgd_mom_update",), shape=elementwise, in_place=_sgd_momentum_in_place, **UPDATE)
def sgd_mom_update(
    weight: Tensor, grad: Tensor, mom: State, /, *, lr: Float, momentum: Float = 0.0, wd: Float = 0.0, rescale_grad: Float = 1.0,
    clip_gradient: Float = -1.0, lazy_update: Bool = True,
) -> Out:
    """m <- momentum m - lr wd w - lr clip(rescale g); w <- w + m. All of one shape. Source: src/operator/optimizer_op.cc"""
    new = sgd_momentum_step(weight, grad, mom, lr, momentum, wd, rescale_grad, clip_gradient)
    return Out(weight + new, writes={"mom": new})


@op("mp_sgd_update", shape=elementwise, dtype=mixed_precision("weight32"), **UPDATE)
def mp_sgd_update(
    weight: Tensor, grad: Tensor, weight32: State, /, *, lr: Float, wd: Float = 0.0, rescale_grad: Float = 1.0,
    clip_gradient: Float = -1.0, lazy_update: Bool = True,
) -> Out:
    """sgd_update on the float32 copy. weight, grad float16, weight32 float32: one shape. Source: src/operator/optimizer_op.cc"""
    new = sgd_step(weight32, grad.float(), lr, wd, rescale_grad, clip_gradient)
    return Out(new.to(weight.dtype), writes={"weight32": new})


@op("mp_sgd_mom_update", shape=elementwise, dtype=mixed_precision("mom", "weight32"), **UPDATE)
def mp_sgd_mom_update(
    weight: Tensor, grad: Tensor, mom: State, weight32: State, /, *, lr: Float, momentum: Float = 0.0, wd: Float = 0.0,
    rescale_grad: Float = 1.0, clip_gradient: Float = -1.0, lazy_update: Bool = True,
) -> Out:
    """sgd_mom_update on the float32 copy. weight, grad float16, mom, weight32 float32: one shape.

    Source: src/operator/optimizer_op.cc
    """
    step = sgd_momentum_step(weight32, grad.float(), mom, lr, momentum, wd, rescale_grad, clip_gradient)
    new = weight32 + step
    return Out(new.to(weight.dtype), writes={"mom": step, "weight32": new})


# -- nag ----------------------------------------------------------------------------------------------------------------------
def _nag(
    weight: Tensor, grad: Tensor, mom: Tensor, lr: float, momentum: float, wd: float, rescale: float, limit: float
) -> tuple[Tensor, Tensor]:
    """(new weight, new momentum): w' = w - momentum m + (momentum + 1) (momentum m - lr (g + wd w)), m' = momentum m - lr (g + wd w').

    MXNet's kernel writes the weight first, so with out=weight, its only use, the momentum sees the new weight.
    """
    g = _scaled(grad, rescale, limit)
    decayed = mom * momentum
    ahead = torch.add(decayed, torch.add(g, weight, alpha=wd), alpha=-lr)
    new = torch.add(weight - decayed, ahead, alpha=momentum + 1)
    return new, ahead if wd == 0 else torch.add(decayed, torch.add(g, new, alpha=wd), alpha=-lr)


@op("nag_mom_update", shape=elementwise, **UPDATE)
def nag_mom_update(
    weight: Tensor, grad: Tensor, mom: State, /, *, lr: Float, momentum: Float = 0.0, wd: Float = 0.0, rescale_grad: Float = 1.0,
    clip_gradient: Float = -1.0,
) -> Out:
    """Nesterov momentum: m' = momentum m - lr (clip(rescale g) + wd w); w <- w - momentum m + (momentum + 1) m'. All of one shape.

    The stored momentum is computed from the new weight, as MXNet does with out=weight. Source: src/operator/optimizer_op-inl.h
    """
    new_weight, new_mom = _nag(weight, grad, mom, lr, momentum, wd, rescale_grad, clip_gradient)
    return Out(new_weight, writes={"mom": new_mom})


@op("mp_nag_mom_update", shape=elementwise, dtype=mixed_precision("mom", "weight32"), **UPDATE)
def mp_nag_mom_update(
    weight: Tensor, grad: Tensor, mom: State, weight32: State, /, *, lr: Float, momentum: Float = 0.0, wd: Float = 0.0,
    rescale_grad: Float = 1.0, clip_gradient: Float = -1.0,
) -> Out:
    """nag_mom_update on the float32 copy. weight, grad float16, mom, weight32 float32: one shape.

    Source: src/operator/optimizer_op.cc
    """
    new_weight, new_mom = _nag(weight32, grad.float(), mom, lr, momentum, wd, rescale_grad, clip_gradient)
    return Out(new_weight.to(weight.dtype), writes={"mom": new_mom, "weight32": new_weight})


# -- adam ---------------------------------------------------------------------------------------------------------------------
def adam_moments(grad: Tensor, mean: Tensor, var: Tensor, beta1: float, beta2: float) -> tuple[Tensor, Tensor]:
    """(beta1 mean + (1 - beta1) g, beta2 var + (1 - beta2) g^2)."""
    new_mean = torch.add(mean * beta1, grad, alpha=complement(beta1))
    return new_mean, torch.addcmul(var * beta2, grad, grad, value=complement(beta2))


@op("adam_update", aliases=("_sparse_adam_update",), shape=elementwise, **UPDATE)
def adam_update(
    weight: Tensor, grad: Tensor, mean: State, var: State, /, *, lr: Float, beta1: Float = 0.9, beta2: Float = 0.999,
    epsilon: Float = 1e-8, wd: Float = 0.0, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0, lazy_update: Bool = True,
) -> Out:
    """Adam without bias correction (callers put it into lr); wd is added before clipping. All of one shape.

    Source: src/operator/optimizer_op.cc
    """
    g = grad if rescale_grad == 1 else grad * rescale_grad
    g = clipped(g if wd == 0 else torch.add(g, weight, alpha=wd), clip_gradient)
    new_mean, new_var = adam_moments(g, mean, var, beta1, beta2)
    return Out(torch.addcdiv(weight, new_mean, new_var.sqrt() + epsilon, value=-lr), writes={"mean": new_mean, "var": new_var})


def finite_scale(scale: Tensor) -> tuple[Tensor, Tensor]:
    """(whether an adamw update takes place, the gradient's scale): NaN, infinity and 0 mean that it is skipped."""
    value = scale.reshape(-1)[:1]
    usable = torch.isfinite(value) & (value != 0)
    return usable, torch.where(usable, value, 1.0)


def _adamw_shape(a: Attrs, s: Shapes) -> None:
    known = next((x for x in [*s.inputs[:-1], s.out()] if x is not None), None)
    for position in range(len(s.inputs) - 1):
        s.unify(position, known)
    s.unify_out(known)


def _adamw_dtype(a: Attrs, t: Dtypes) -> None:
    half = t.has("weight32")
    for name in ("mean", "var", "weight32") if half else ():
        t.unify(name, torch.float32)
    t.unify("rescale_grad", torch.float32)
    tied = ("weight", "grad") if half else ("weight", "grad", "mean", "var")
    known = next((d for d in [*map(t.get, tied), t.out()] if d is not None), None)
    for name in tied:
        t.unify(name, known)
    t.unify_out(known)


def adamw_step(
    weight: Tensor, grad: Tensor, mean: Tensor, var: Tensor, usable: Tensor,
    *, lr: float, beta1: float, beta2: float, epsilon: float, wd: float, eta: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """(new weight, mean, var) of adamw for a scaled and clipped gradient; unchanged where not usable."""
    new_mean, new_var = adam_moments(grad, mean, var, beta1, beta2)
    step = torch.add(lr * new_mean / (new_var.sqrt() + epsilon), weight, alpha=wd)
    new = torch.add(weight, step, alpha=-eta)
    return torch.where(usable, new, weight), torch.where(usable, new_mean, mean), torch.where(usable, new_var, var)


@op("_adamw_update", shape=_adamw_shape, dtype=_adamw_dtype, **UPDATE)
def adamw_update(
    weight: Tensor, grad: State, mean: State, var: State, rescale_grad: Tensor, /, *, lr: Float, beta1: Float = 0.9,
    beta2: Float = 0.999, epsilon: Float = 1e-8, wd: Float = 0.0, eta: Float, clip_gradient: Float = -1.0,
) -> Out:
    """Adam with decoupled weight decay: w <- w - eta (lr m / (sqrt(v) + epsilon) + wd w).

    weight, grad, mean, var: one shape; rescale_grad (1,): the gradient's scale, an update with NaN, inf or 0 is skipped.
    The gradient is written too: scaled and clipped, as MXNet leaves it.
    Source: src/operator/contrib/adamw.cc
    """
    usable, scale = finite_scale(rescale_grad.to(weight.dtype))
    g = clipped(grad * scale, clip_gradient)
    new, new_mean, new_var = adamw_step(weight, g, mean, var, usable, lr=lr, beta1=beta1, beta2=beta2, epsilon=epsilon, wd=wd, eta=eta)
    return Out(new, writes={"grad": torch.where(usable, g, grad), "mean": new_mean, "var": new_var})


@op("_mp_adamw_update", shape=_adamw_shape, dtype=_adamw_dtype, **UPDATE)
def mp_adamw_update(
    weight: Tensor, grad: Tensor, mean: State, var: State, weight32: State, rescale_grad: Tensor, /, *, lr: Float, beta1: Float = 0.9,
    beta2: Float = 0.999, epsilon: Float = 1e-8, wd: Float = 0.0, eta: Float, clip_gradient: Float = -1.0,
) -> Out:
    """_adamw_update on the float32 copy. weight, grad float16, mean, var, weight32 float32: one shape; rescale_grad (1,).

    Source: src/operator/contrib/adamw.cc
    """
    usable, scale = finite_scale(rescale_grad)
    g = clipped(grad.float() * scale, clip_gradient)
    new, new_mean, new_var = adamw_step(weight32, g, mean, var, usable, lr=lr, beta1=beta1, beta2=beta2, epsilon=epsilon, wd=wd, eta=eta)
    return Out(torch.where(usable, new.to(weight.dtype), weight), writes={"mean": new_mean, "var": new_var, "weight32": new})


# -- lamb ---------------------------------------------------------------------------------------------------------------------
def lamb_direction(
    weight: Tensor, grad: Tensor, mean: Tensor, var: Tensor,
    *, beta1: float, beta2: float, epsilon: float, t: int, bias_correction: bool, wd: float, rescale: float, limit: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """(update direction, new mean, new var): Adam's direction, with or without bias correction, plus wd w."""
    new_mean, new_var = adam_moments(_scaled(grad, rescale, limit), mean, var, beta1, beta2)
    m, v = new_mean, new_var
    if bias_correction:
        m, v = m / (1 - float(np.float32(beta1)) ** t), v / (1 - float(np.float32(beta2)) ** t)
    return torch.add(m / (v.sqrt() + epsilon), weight, alpha=wd), new_mean, new_var


def trust_ratio(weight_norm: Tensor, direction_norm: Tensor, lower: float, upper: float) -> Tensor:
    """|w| / |direction| with |w| kept inside the given bounds (negative: none); 1 where a norm is zero."""
    r1 = weight_norm.clamp(min=lower if lower >= 0 else None, max=upper if upper >= 0 else None) if lower >= 0 or upper >= 0 else weight_norm
    zero = (r1 == 0) | (direction_norm == 0)
    return torch.where(zero, 1.0, r1 / torch.where(zero, 1.0, direction_norm))


def _norms_free(a: Attrs, s: Shapes) -> None:
    """weight and g have one shape, r1 and r2 are numbers of any shape."""
    tied = [i for i, name in enumerate(s.names) if name not in ("r1", "r2")]
    known = next((x for x in [*(s.inputs[i] for i in tied), s.out()] if x is not None), None)
    for position in tied:
        s.unify(position, known)
    s.unify_out(known)


@op("lamb_update_phase1", shape=elementwise, **UPDATE)
def lamb_update_phase1(
    weight: Tensor, grad: Tensor, mean: State, var: State, /, *, beta1: Float = 0.9, beta2: Float = 0.999, epsilon: Float = 1e-6, t: Int,
    bias_correction: Bool = True, wd: Float, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0,
) -> Out:
    """LAMB's update direction at step t, before the norms are taken. All of one shape. Source: src/operator/optimizer_op.cc"""
    g, new_mean, new_var = lamb_direction(
        weight, grad, mean, var, beta1=beta1, beta2=beta2, epsilon=epsilon, t=t, bias_correction=bias_correction, wd=wd,
        rescale=rescale_grad, limit=clip_gradient,
    )  # fmt: skip
    return Out(g, writes={"mean": new_mean, "var": new_var})


@op("lamb_update_phase2", shape=_norms_free, **UPDATE)
def lamb_update_phase2(
    weight: Tensor, g: Tensor, r1: Tensor, r2: Tensor, /, *, lr: Float, lower_bound: Float = -1.0, upper_bound: Float = -1.0
) -> Tensor:
    """w <- w - lr r1 / r2 g with r1 = |w|, r2 = |g|. weight, g: one shape, r1, r2 (1,). Source: src/operator/optimizer_op.cc"""
    return weight - lr * trust_ratio(r1.reshape(-1)[:1], r2.reshape(-1)[:1], lower_bound, upper_bound) * g


def _mp_lamb1_dtype(a: Attrs, t: Dtypes) -> None:
    for name in ("mean", "var", "weight32"):
        t.unify(name, torch.float32)
    known = t.get("weight") or t.get("grad")
    t.unify("weight", known)
    t.unify("grad", known)
    t.unify_out(torch.float32)


@op("mp_lamb_update_phase1", shape=elementwise, dtype=_mp_lamb1_dtype, **UPDATE)
def mp_lamb_update_phase1(
    weight: Tensor, grad: Tensor, mean: State, var: State, weight32: Tensor, /, *, beta1: Float = 0.9, beta2: Float = 0.999,
    epsilon: Float = 1e-6, t: Int, bias_correction: Bool = True, wd: Float, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0,
) -> Out:
    """lamb_update_phase1 on the float32 copy; the direction is float32 too. All of one shape. Source: src/operator/optimizer_op.cc"""
    g, new_mean, new_var = lamb_direction(
        weight32, grad.float(), mean, var, beta1=beta1, beta2=beta2, epsilon=epsilon, t=t, bias_correction=bias_correction, wd=wd,
        rescale=rescale_grad, limit=clip_gradient,
    )  # fmt: skip
    return Out(g, writes={"mean": new_mean, "var": new_var})


def _mp_lamb2_dtype(a: Attrs, t: Dtypes) -> None:
    for name in ("g", "r1", "r2", "weight32"):
        t.unify(name, torch.float32)
    t.unify_out(t.get("weight"))
    t.unify("weight", t.out())


@op(
    "mp_lamb_update_phase2", shape=_norms_free, dtype=_mp_lamb2_dtype,
    limits=("the float32 weight is updated too; MXNet leaves it as it was, so that every step starts from the first weight",), **UPDATE,
)  # fmt: skip
def mp_lamb_update_phase2(
    weight: Tensor, g: Tensor, r1: Tensor, r2: Tensor, weight32: State, /, *, lr: Float, lower_bound: Float = -1.0, upper_bound: Float = -1.0
) -> Out:
    """lamb_update_phase2 on the float32 copy. weight float16, g, weight32 float32: one shape, r1, r2 (1,).

    Source: src/operator/optimizer_op.cc
    """
    new = weight32 - lr * trust_ratio(r1.reshape(-1)[:1], r2.reshape(-1)[:1], lower_bound, upper_bound) * g
    return Out(new.to(weight.dtype), writes={"weight32": new})
