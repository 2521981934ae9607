"""Optimizer updates with rules of their own: ftml, ftrl, rmsprop, rmspropalex, signsgd, signum, adagrad, group adagrad, reset_arrays."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import torch

from ..errors import MXNetError
from ..infer.rules import any_dtype, elementwise
from ..infer.state import Shapes
from ..registry import Attrs, Aux, Out, State, Tensor, op
from ..values import Double, Float, Int, Range
from .optimizer_update import UPDATE, clipped, complement

__all__: list[str] = []

Share = Annotated[Float, Range(0, 1)]


def _bias(beta: float, t: int, dtype: torch.dtype) -> float:
    """1 - beta^t with MXNet's rounding: the power of a C float, in the weight's precision."""
    real = np.float64 if dtype == torch.float64 else np.float32
    return float(real(1) - real(np.float32(beta)) ** real(t))


@op("ftml_update", shape=elementwise, **UPDATE)
def ftml_update(
    weight: Tensor, grad: Tensor, d: State, v: State, z: State, /, *, lr: Float, beta1: Share = 0.6, beta2: Share = 0.999,
    epsilon: Double = 9.9999999392252903e-09, t: Int, wd: Float = 0.0, rescale_grad: Float = 1.0, clip_grad: Float = -1.0,
) -> Out:
    """Follow the moving leader at step t. All of one shape. Source: src/operator/optimizer_op.cc"""
    g = clipped(torch.add(grad * rescale_grad, weight, alpha=wd), clip_grad)
    new_v = torch.addcmul(v * beta2, g, g, value=complement(beta2))
    new_d = ((new_v / _bias(beta2, t, weight.dtype)).sqrt() + epsilon) * _bias(beta1, t, weight.dtype) / lr
    new_z = torch.add(z * beta1, g, alpha=complement(beta1)) - (new_d - beta1 * d) * weight
    return Out(-new_z / new_d, writes={"d": new_d, "v": new_v, "z": new_z})


@op("ftrl_update", aliases=("_sparse_ftrl_update",), shape=elementwise, **UPDATE)
def ftrl_update(
    weight: Tensor, grad: Tensor, z: State, n: State, /, *, lr: Float, lamda1: Float = 0.01, beta: Float = 1.0, wd: Float = 0.0,
    rescale_grad: Float = 1.0, clip_gradient: Float = -1.0,
) -> Out:
    """Follow the regularized leader: weights with |z| <= lamda1 become zero. All of one shape. Source: src/operator/optimizer_op.cc"""
    g = clipped(grad * rescale_grad, clip_gradient)
    new_n = torch.addcmul(n, g, g)
    new_z = z + g - (new_n.sqrt() - n.sqrt()) * weight / lr
    moved = (torch.sign(new_z) * lamda1 - new_z) / ((beta + new_n.sqrt()) / lr + wd)
    return Out(torch.where(new_z.abs() > lamda1, moved, 0.0), writes={"z": new_z, "n": new_n})


@op("rmsprop_update", shape=elementwise, **UPDATE)
def rmsprop_update(
    weight: Tensor, grad: Tensor, n: State, /, *, lr: Float, gamma1: Float = 0.95, epsilon: Float = 1e-8, wd: Float = 0.0,
    rescale_grad: Float = 1.0, clip_gradient: Float = -1.0, clip_weights: Float = -1.0,
) -> Out:
    """n <- gamma1 n + (1 - gamma1) g^2; w <- w - lr g / sqrt(n + epsilon). All of one shape. Source: src/operator/optimizer_op.cc"""
    g = clipped(torch.add(grad * rescale_grad, weight, alpha=wd), clip_gradient)
    new_n = torch.addcmul(n * gamma1, g, g, value=complement(gamma1))
    return Out(clipped(torch.addcdiv(weight, g, (new_n + epsilon).sqrt(), value=-lr), clip_weights), writes={"n": new_n})


@op("rmspropalex_update", shape=elementwise, **UPDATE)
def rmspropalex_update(
    weight: Tensor, grad: Tensor, n: State, g: State, delta: State, /, *, lr: Float, gamma1: Float = 0.95, gamma2: Float = 0.9,
    epsilon: Float = 1e-8, wd: Float = 0.0, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0, clip_weights: Float = -1.0,
) -> Out:
    """RMSProp with a centred second moment and momentum (Graves 2013). All of one shape. Source: src/operator/optimizer_op.cc"""
    scaled = clipped(torch.add(grad * rescale_grad, weight, alpha=wd), clip_gradient)
    new_n = torch.addcmul(n * gamma1, scaled, scaled, value=complement(gamma1))
    new_g = torch.add(g * gamma1, scaled, alpha=complement(gamma1))
    new_delta = torch.addcdiv(delta * gamma2, scaled, (new_n - new_g * new_g + epsilon).sqrt(), value=-lr)
    return Out(clipped(weight + new_delta, clip_weights), writes={"n": new_n, "g": new_g, "delta": new_delta})


def _sign(x: Tensor) -> Tensor:
    """-1, 0 or 1; NaN counts as 0."""
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


@op("signsgd_update", shape=elementwise, **UPDATE)
def signsgd_update(
    weight: Tensor, grad: Tensor, /, *, lr: Float, wd: Float = 0.0, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0
) -> Tensor:
    """w <- (1 - lr wd) w - lr sign(g); the scale and clipping of the gradient play no role. One shape.

    Source: src/operator/optimizer_op.cc
    """
    return torch.add(weight * (1 - lr * wd), _sign(grad), alpha=-lr)


@op("signum_update", shape=elementwise, **UPDATE)
def signum_update(
    weight: Tensor, grad: Tensor, mom: State, /, *, lr: Float, momentum: Float = 0.0, wd: Float = 0.0, rescale_grad: Float = 1.0,
    clip_gradient: Float = -1.0, wd_lh: Float = 0.0,
) -> Out:
    """m <- momentum m - (1 - momentum) (wd w + clip(rescale g)); w <- (1 - lr wd_lh) w + lr sign(m). One shape.

    Source: src/operator/optimizer_op.cc
    """
    g = torch.add(clipped(grad * rescale_grad, clip_gradient), weight, alpha=wd)
    new = torch.add(mom * momentum, g, alpha=-(1 - momentum))
    return Out(torch.add(weight * (1 - lr * wd_lh), _sign(new), alpha=lr), writes={"mom": new})


@op("_sparse_adagrad_update", shape=elementwise, **UPDATE)
def adagrad_update(
    weight: Tensor, grad: Tensor, history: State, /, *, lr: Float, epsilon: Float = 1e-7, wd: Float = 0.0, rescale_grad: Float = 1.0,
    clip_gradient: Float = -1.0,
) -> Out:
    """h <- h + g^2; w <- w - lr g / sqrt(h + epsilon) with g = clip(rescale g). All of one shape.

    Source: src/operator/optimizer_op.cc
    Deviations: MXNet accepts only row_sparse gradients (and refuses wd != 0); dense ones work here too.
    """
    g = clipped(grad * rescale_grad, clip_gradient)
    new = torch.addcmul(history, g, g)
    return Out(torch.addcdiv(weight, g, (new + epsilon).sqrt(), value=-lr), writes={"history": new})


def _group_shape(a: Attrs, s: Shapes) -> None:
    known = next((x for x in [s.get("weight"), s.get("grad"), s.out()] if x is not None), None)
    s.unify("weight", known)
    s.unify("grad", known)
    s.unify_out(known)
    if known is not None:
        s.unify("history", (known[0], *(1,) * (len(known) - 1)))


@op("_contrib_group_adagrad_update", shape=_group_shape, **UPDATE)
def group_adagrad_update(
    weight: Tensor, grad: Tensor, history: State, /, *, lr: Float, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0,
    epsilon: Float = 1e-5,
) -> Out:
    """adagrad with one history entry for each row: h <- h + mean(g^2 over the row). weight, grad (n, *k), history (n, 1, ...).

    Source: src/operator/contrib/optimizer_op.cc
    Deviations: MXNet accepts only row_sparse gradients; dense ones work here too.
    """
    g = clipped(grad * rescale_grad, clip_gradient)
    new = history + (g * g).reshape(g.shape[0], -1).mean(1).reshape(history.shape)
    return Out(torch.addcdiv(weight, g, (new + epsilon).sqrt(), value=-lr), writes={"history": new})


@op(
    "reset_arrays", count=lambda a: a.num_arrays, variadic_names=lambda a, n: [f"array_{i}" for i in range(n)], outputs=(), dtype=any_dtype, **UPDATE
)  # fmt: skip
def reset_arrays(*data: Aux, num_arrays: Int) -> Out:
    """Sets all arrays to zero; no output. data: any shapes, floating. Source: src/operator/contrib/reset_arrays.cc"""
    if any(not x.is_floating_point() for x in data):
        raise MXNetError(f"This operation only support floating point types, got {', '.join(str(x.dtype) for x in data)}")
    return Out(writes={f"array_{i}": torch.zeros_like(x) for i, x in enumerate(data)})
