"""Stochastic gradient descent and its relatives: SGD, NAG, Signum, LARS, LBSGD, DCASGD, SGLD."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ndarray import random
from ..ndarray.core import NDArray
from ..ndarray.creation import array
from ..ndarray.invoke import call
from . import foreach
from .base import Optimizer, _as_list, zeros_like

__all__ = ["DCASGD", "LARS", "LBSGD", "NAG", "SGD", "SGLD", "Signum", "ccSGD"]


class _Momentum(Optimizer):
    """Shared by SGD, NAG and LARS: a momentum, and states (momentum, float32 copy) for float16 weights."""

    momentum: float
    lazy_update = False

    def create_state_multi_precision(self, index: Any, weight: Any) -> Any:
        if self._wants_master(weight):
            master = weight.astype(np.float32)
            return (self.create_state(index, master), master)
        return self.create_state(index, weight)

    def create_state(self, index: Any, weight: Any) -> Any:
        if self.momentum == 0.0:
            return None
        return zeros_like(weight, stype=weight.stype if self.lazy_update else "default")

    def _half(self, weight: Any) -> bool:
        """Whether this weight, or a list's first, is updated through its float32 copy."""
        return self.multi_precision and _as_list(weight)[0].dtype == np.float16


def _sgd_one(weight: Any, grad: Any, state: Any, half: bool, lazy: dict[str, Any], attrs: dict[str, Any]) -> None:
    """One SGD step of one parameter, by the operator that fits its state. `lazy`: attributes of the full-precision forms only."""
    if not half:
        if state is None:
            call("sgd_update", weight, grad, out=weight, **_without_momentum(attrs), **lazy)
        else:
            call("sgd_mom_update", weight, grad, state, out=weight, **attrs, **lazy)
    elif state[0] is None:
        call("mp_sgd_update", weight, grad, state[1], out=weight, **_without_momentum(attrs))
    else:
        call("mp_sgd_mom_update", weight, grad, *state, out=weight, **attrs)


def _without_momentum(attrs: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in attrs.items() if k != "momentum"}


@Optimizer.register
class SGD(_Momentum):
    """m <- momentum m - lr (clip(rescale g) + wd w); w <- w + m. The rate stays inside the momentum.

    lazy_update: a row_sparse gradient changes only the rows that it holds.
    """

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update
        self.aggregate_num = int(os.getenv("MXNET_OPTIMIZER_AGGREGATION_SIZE", "4"))

    def _apply(self, index: Any, weight: Any, grad: Any, state: Any, half: bool) -> None:
        """Updates one parameter, or several given as lists."""
        if isinstance(index, (list, tuple)):
            indices, weights, grads, states = index, weight, grad, state
        else:
            indices, weights, grads, states = [index], [weight], [grad], [state]
        assert all(isinstance(a, NDArray) for column in (weights, grads) for a in column), "weights and gradients must be NDArrays"
        self._update_count(indices)
        lrs, wds = self._get_lrs(indices), self._get_wds(indices)
        moms = states if self.momentum > 0 else None
        if not half and foreach.usable(weights, grads, moms or ()):
            foreach.sgd(weights, grads, moms, lrs, wds, self.momentum, self.rescale_grad, self.clip_gradient)
            return
        attrs = self._common(momentum=max(self.momentum, 0))
        lazy = {"lazy_update": self.lazy_update}
        for w, g, s, lr, wd in zip(weights, grads, states, lrs, wds, strict=True):
            _sgd_one(w, g, s, half, lazy, {"lr": lr, "wd": wd, **attrs})

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._apply(index, weight, grad, state, False)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._apply(index, weight, grad, state, self._half(weight))


@Optimizer.register
class ccSGD(SGD):  # noqa: N801 - MXNet's name
    """SGD under its former name."""


@Optimizer.register
class NAG(_Momentum):
    """Nesterov's accelerated gradient."""

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum

    def _apply(self, index: Any, weight: Any, grad: Any, state: Any, half: bool) -> None:
        lr, wd = self._begin(index, weight, grad)
        attrs = {"lr": lr, "wd": wd, **self._common(momentum=max(self.momentum, 0))}
        if (state[0] if half else state) is None:
            _sgd_one(weight, grad, state, half, {}, attrs)
        elif half:
            call("mp_nag_mom_update", weight, grad, *state, out=weight, **attrs)
        else:
            call("nag_mom_update", weight, grad, state, out=weight, **attrs)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._apply(index, weight, grad, state, False)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._apply(index, weight, grad, state, self._half(weight) and isinstance(state, (tuple, list)))


@Optimizer.register
class Signum(Optimizer):
    """Steps of the sign of the momentum (of the gradient when momentum is 0); wd_lh: weight decay apart from the gradient."""

    def __init__(self, learning_rate: float = 0.01, momentum: float = 0.9, wd_lh: float = 0.0, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.wd_lh = wd_lh

    def create_state(self, index: Any, weight: Any) -> Any:
        return zeros_like(weight, stype=weight.stype) if self.momentum != 0.0 else None

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index, weight, grad)
        attrs = {"lr": lr, "wd": wd, **self._common()}
        if state is None:
            call("signsgd_update", weight, grad, out=weight, **attrs)
        else:
            attrs.update({k: v for k, v in (("momentum", max(self.momentum, 0)), ("wd_lh", self.wd_lh)) if v})
            call("signum_update", weight, grad, state, out=weight, **attrs)


@Optimizer.register
class LARS(_Momentum):
    """SGD whose rate is scaled for each layer by eta |w| / (|g| + wd |w| + eps); gamma, beta and bias keep the plain rate.

    momentum_correction: scales the momentum with the change of the rate.
    """

    _decayed_endings = ("_weight",)

    def __init__(
        self, momentum: float = 0.0, lazy_update: bool = True, eta: float = 0.001, eps: float = 0, momentum_correction: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.momentum_correction = momentum_correction
        self.lazy_update = lazy_update
        self.aggregate_num = int(os.getenv("MXNET_OPTIMIZER_AGGREGATION_SIZE", "4"))
        self.eta = eta
        self.eps = eps
        self.skip = 0
        self.last_lr: float | None = None
        self.cur_lr: float | None = None

    def _get_lrs(self, indices: Sequence[Any]) -> list[float]:
        rate = self.learning_rate
        self.last_lr = rate if self.cur_lr is None else self.cur_lr
        self.cur_lr = rate
        return self._multiplied(rate, indices, "lr_mult")

    def _scaled_rate(self, index: Any, weight: Any, grad: Any, lr: float, wd: float) -> float:
        if self.idx2name.get(index, str(index)).endswith(("gamma", "beta", "bias")):
            return lr
        of_weight = float(weight._t.float().norm())
        of_grad = float((grad._t.float() * self.rescale_grad).norm())
        if of_weight <= 0.0 or of_grad <= 0.0:
            return lr
        return lr * self.eta * of_weight / (of_grad + wd * of_weight + self.eps)

    def _apply(self, index: Any, weight: Any, grad: Any, state: Any, half: bool) -> None:
        if isinstance(index, (list, tuple)):
            indices, weights, grads, states = index, weight, grad, state
        else:
            indices, weights, grads, states = [index], [weight], [grad], [state]
        assert all(isinstance(a, NDArray) for column in (weights, grads) for a in column), "weights and gradients must be NDArrays"
        self._update_count(indices)
        lrs, wds = self._get_lrs(indices), self._get_wds(indices)
        momentum = self.momentum
        if momentum > 0 and self.momentum_correction and self.last_lr and self.cur_lr is not None:
            momentum *= self.cur_lr / self.last_lr
        attrs = self._common(momentum=max(momentum, 0))
        for i, w, g, s, lr, wd in zip(indices, weights, grads, states, lrs, wds, strict=True):
            full_w, full_g = (a if a.stype == "default" else a.tostype("default") for a in (w, g))
            rate = self._scaled_rate(i, full_w, full_g, lr, wd)
            _sgd_one(w, g, s, half, {"lazy_update": self.lazy_update}, {"lr": rate, "wd": wd, **attrs})

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._apply(index, weight, grad, state, False)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._apply(index, weight, grad, state, self._half(weight))


@Optimizer.register
class LBSGD(Optimizer):
    """SGD for large batches: gradients of batch_scale batches are added up, the rate rises during warmup_epochs or by layer ('lars').

    warmup_strategy: 'linear', 'power2', 'sqrt' or 'lars'.
    """

    def __init__(
        self, momentum: float = 0.0, multi_precision: bool = False, warmup_strategy: str = "linear", warmup_epochs: int = 5,
        batch_scale: float = 1, updates_per_epoch: int = 32, begin_epoch: int = 0, num_epochs: int = 60, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        logging.info(
            "Large-batch SGD: batch_scale=%f, warmup_epochs=%d, warmup_strategy=%s, updates_per_epoch=%d",
            batch_scale, warmup_epochs, warmup_strategy, updates_per_epoch,
        )  # fmt: skip
        self.momentum, self.multi_precision = momentum, multi_precision
        self.warmup_strategy, self.warmup_epochs = warmup_strategy, warmup_epochs
        self.batch_scale, self.updates_per_epoch, self.num_epochs = batch_scale, updates_per_epoch, num_epochs
        self.init_updates = begin_epoch * updates_per_epoch
        self.lbmult = 1
        self.cumgrads: dict[Any, dict[str, Any]] = {}
        self.adaptive = False
        self.admult = 1

    def create_state(self, index: Any, weight: Any) -> Any:
        if self._wants_master(weight):
            master = array(weight, ctx=weight.context, dtype=np.float32)
            return (zeros_like(weight, np.float32, weight.stype) if self.momentum != 0.0 else None, master)
        return zeros_like(weight, stype=weight.stype) if self.momentum != 0.0 else None

    def _warmup_factor(self, updates: int) -> float:
        length = self.warmup_epochs * self.updates_per_epoch
        top = float(self.batch_scale)
        if updates >= length:
            return top
        if length <= 1:
            return 1.0
        done = updates / length
        shares = {"linear": done, "power2": done * done, "sqrt": math.sqrt(done)}
        return 1.0 + (top - 1) * shares.get(self.warmup_strategy, 0.0)

    def _layer_factor(self, weight: Any, grad: Any, wd: float) -> float:
        of_weight, of_grad = float((weight._t * weight._t).sum()), float((grad._t * grad._t).sum())
        return min(max(math.sqrt(of_weight / (of_grad + wd * of_weight + 1e-18)), 0.01), 100)

    def _accumulate(self, index: Any, grad: Any) -> dict[str, Any]:
        before = self.cumgrads.get(index)
        if before and before["num_cums"] > 0:
            entry = {"cum_grad": before["cum_grad"] + grad, "num_cums": before["num_cums"] + 1}
        else:
            entry = {"cum_grad": grad, "num_cums": self.init_updates + 1}
        self.cumgrads[index] = entry
        return entry

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        assert isinstance(weight, NDArray) and isinstance(grad, NDArray)
        lr, wd = self._get_lr(index), self._get_wd(index)
        self._update_count(index)
        entry = self._accumulate(index, grad)
        if entry["num_cums"] % self.batch_scale != 0:
            return  # a step of rate 0
        mean = entry["cum_grad"] / self.batch_scale
        factor = self._layer_factor(weight, mean, wd) if self.warmup_strategy == "lars" else self._warmup_factor(entry["num_cums"])
        attrs = {"lr": lr * factor, "wd": wd, **self._common(momentum=max(self.momentum, 0))}
        _sgd_one(weight, mean, state, isinstance(state, (list, tuple)), {}, attrs)
        entry["cum_grad"] = 0


@Optimizer.register
class DCASGD(Optimizer):
    """SGD that corrects gradients computed at older weights (Zheng et al. 2017)."""

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.weight_previous: dict[Any, Any] = {}
        self.lamda = lamda

    def create_state(self, index: Any, weight: Any) -> Any:
        return (None if self.momentum == 0.0 else zeros_like(weight), weight.copy())

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index, weight, grad)
        g = self._clip(grad * self.rescale_grad)
        momentum, before = state
        step = -lr * (g + wd * weight + self.lamda * g * g * (weight - before))
        if momentum is not None:
            momentum[:] = momentum * self.momentum + step
            step = momentum
        before[:] = weight
        weight[:] += step


@Optimizer.register
class SGLD(Optimizer):
    """Langevin dynamics: SGD of half the rate plus normal noise of variance lr."""

    def create_state(self, index: Any, weight: Any) -> Any:
        return None

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index, weight, grad)
        g = self._clip(grad * self.rescale_grad)
        weight[:] += -lr / 2 * (g + wd * weight)
        weight[:] += random.normal(0, math.sqrt(lr), shape=weight.shape, dtype=weight.dtype, ctx=weight.context)
