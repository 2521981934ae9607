"""Optimizers with rates of their own for each weight: Adam and its relatives, AdaGrad, AdaDelta, RMSProp, Ftrl, FTML, LAMB."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ndarray.invoke import call
from ..ndarray.utils import zeros
from . import foreach
from .base import Optimizer, zeros_like

__all__ = ["FTML", "LAMB", "AdaDelta", "AdaGrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSProp", "Test"]


def _pair(weight: Any, stype: str = "default") -> tuple[Any, Any]:
    return zeros_like(weight, stype=stype), zeros_like(weight, stype=stype)


def _float_zeros(weight: Any, stype: str = "default") -> Any:
    """Zeros of the default type, whatever the weight's."""
    return zeros(weight.shape, weight.context, stype=stype)


@Optimizer.register
class Adam(Optimizer):
    """Adam (Kingma & Ba 2014); wd is added to the gradient. lazy_update: a row_sparse gradient changes only its rows."""

    def __init__(
        self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, lazy_update: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def create_state(self, index: Any, weight: Any) -> Any:
        return _pair(weight, weight.stype if self.lazy_update else "default")

    def _corrected(self, lr: float, t: int) -> float:
        return lr * math.sqrt(1.0 - self.beta2**t) / (1.0 - self.beta1**t)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index, weight, grad)
        attrs = self._common()
        call(
            "adam_update", weight, grad, *state, out=weight, lr=self._corrected(lr, self._index_update_count[index]), wd=wd, beta1=self.beta1,
            beta2=self.beta2, epsilon=self.epsilon, lazy_update=self.lazy_update, **attrs,
        )  # fmt: skip

    def update_all(self, indices: Sequence[Any], weights: Sequence[Any], grads: Sequence[Any], states: Sequence[Any]) -> bool:
        """Updates many dense parameters at once; False when they must go one by one."""
        if self.multi_precision or not foreach.usable(weights, grads, *zip(*states, strict=True)):
            return False
        lrs, wds = [], []
        for index in indices:
            self._update_count(index)
            lrs.append(self._corrected(self._get_lr(index), self._index_update_count[index]))
            wds.append(self._get_wd(index))
        means, variances = zip(*states, strict=True)
        foreach.adam(
            weights, grads, means, variances, lrs, wds, self.beta1, self.beta2, self.epsilon, self.rescale_grad, self.clip_gradient
        )
        return True


@Optimizer.register
class Adamax(Optimizer):
    """Adam with the infinity norm."""

    def __init__(self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def create_state(self, index: Any, weight: Any) -> Any:
        return _pair(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index, weight, grad)
        rate = lr / (1.0 - self.beta1 ** self._index_update_count[index])
        g = self._clip(grad * self.rescale_grad + wd * weight)
        mean, largest = state
        mean[:] = self.beta1 * mean + (1.0 - self.beta1) * g
        largest[:] = call("broadcast_maximum", self.beta2 * largest, call("abs", g))
        weight[:] -= rate * mean / largest


@Optimizer.register
class Nadam(Optimizer):
    """Adam with Nesterov momentum (Dozat 2016). The momentum schedule is one number for all parameters, as in MXNet."""

    def __init__(
        self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, schedule_decay: float = 0.004,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def create_state(self, index: Any, weight: Any) -> Any:
        return _pair(weight)

    def _momentum(self, t: int) -> float:
        return float(self.beta1 * (1.0 - 0.5 * 0.96 ** (t * self.schedule_decay)))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index, weight, grad)
        t = self._index_update_count[index]
        g = self._clip(grad * self.rescale_grad + wd * weight)
        now, following = self._momentum(t), self._momentum(t + 1)
        self.m_schedule *= now
        mean, var = state
        mean[:] = self.beta1 * mean + (1.0 - self.beta1) * g
        var[:] = self.beta2 * var + (1.0 - self.beta2) * g * g
        ahead = (1.0 - now) * (g / (1.0 - self.m_schedule)) + following * (mean / (1.0 - self.m_schedule * following))
        weight[:] -= lr * ahead / (call("sqrt", var / (1.0 - self.beta2**t)) + self.epsilon)


@Optimizer.register
class AdaGrad(Optimizer):
    """h <- h + g^2; w <- w - lr (g / sqrt(h + eps) + wd w)."""

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: Any) -> Any:
        return _float_zeros(weight, weight.stype)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index, weight, grad)
        if grad.stype == "row_sparse":
            attrs = self._common()
            call("_sparse_adagrad_update", weight, grad, state, out=weight, lr=lr, wd=wd, epsilon=self.float_stable_eps, **attrs)
            return
        g = self._clip(grad * self.rescale_grad)
        state[:] += g * g
        weight[:] += (g / call("sqrt", state + self.float_stable_eps) + weight * wd) * -lr


@Optimizer.register
class AdaDelta(Optimizer):
    """AdaDelta (Zeiler 2012): no learning rate; wd is subtracted from the weight directly."""

    def __init__(self, rho: float = 0.9, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def create_state(self, index: Any, weight: Any) -> Any:
        return _float_zeros(weight), _float_zeros(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        _, wd = self._begin(index, weight, grad)
        grad *= self.rescale_grad  # in the caller's array, as MXNet does
        g = self._clip(grad)
        of_grad, of_step = state
        of_grad[:] = self.rho * of_grad + (1.0 - self.rho) * g * g
        step = call("sqrt", of_step + self.epsilon) / call("sqrt", of_grad + self.epsilon) * g
        of_step[:] = self.rho * of_step + (1.0 - self.rho) * step * step
        weight[:] -= step + wd * weight


@Optimizer.register
class RMSProp(Optimizer):
    """RMSProp; centered: Graves' form with a mean of the gradient and a momentum gamma2."""

    def __init__(
        self, learning_rate: float = 0.001, gamma1: float = 0.9, gamma2: float = 0.9, epsilon: float = 1e-8, centered: bool = False,
        clip_weights: float | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.centered = centered
        self.epsilon = epsilon
        self.clip_weights = clip_weights

    def create_state(self, index: Any, weight: Any) -> Any:
        return tuple(_float_zeros(weight, weight.stype) for _ in range(3 if self.centered else 1))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index, weight, grad)
        attrs = self._common(clip_weights=self.clip_weights)
        attrs.update(lr=lr, wd=wd, gamma1=self.gamma1, epsilon=self.epsilon)
        if self.centered:
            call("rmspropalex_update", weight, grad, *state, out=weight, gamma2=self.gamma2, **attrs)
        else:
            call("rmsprop_update", weight, grad, *state, out=weight, **attrs)


@Optimizer.register
class Ftrl(Optimizer):
    """Follow the regularized leader: sparse weights through an L1 term lamda1."""

    def __init__(self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.lamda1 = lamda1
        self.beta = beta
        self.lr = learning_rate

    def create_state(self, index: Any, weight: Any) -> Any:
        return _float_zeros(weight, weight.stype), _float_zeros(weight, weight.stype)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index, weight, grad)
        call("ftrl_update", weight, grad, *state, out=weight, lr=lr, wd=wd, lamda1=self.lamda1, beta=self.beta, **self._common())


@Optimizer.register
class FTML(Optimizer):
    """Follow the moving leader (Zheng & Kwok 2017)."""

    def __init__(self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index: Any, weight: Any) -> Any:
        return (*_pair(weight), zeros_like(weight))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index, weight, grad)
        attrs: dict[str, Any] = {"clip_grad": self.clip_gradient} if self.clip_gradient else {}
        call(
            "ftml_update", weight, grad, *state, out=weight, lr=lr, wd=wd, t=self._index_update_count[index], beta1=self.beta1, beta2=self.beta2,
            epsilon=self.epsilon, rescale_grad=self.rescale_grad, **attrs,
        )  # fmt: skip


@Optimizer.register
class LAMB(Optimizer):
    """Adam steps scaled for each layer by |w| / |step| (You et al. 2019), |w| within [lower_bound, upper_bound]."""

    def __init__(
        self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-6, lower_bound: float | None = None,
        upper_bound: float | None = None, bias_correction: bool = True, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction
        self.aggregate_num = max(1, min(45, int(os.getenv("MXNET_OPTIMIZER_AGGREGATION_SIZE", "45"))))

    def create_state(self, index: Any, weight: Any) -> Any:
        return _pair(weight, weight.stype)

    def _one(self, index: Any, weight: Any, grad: Any, state: Any, half: bool) -> None:
        lr, wd = self._begin(index, weight, grad)
        (mean, var), master = (state[1], state[0]) if half else (state, weight)
        extra = (master,) if half else ()
        prefix = "mp_" if half else ""
        direction = call(
            f"{prefix}lamb_update_phase1", weight, grad, mean, var, *extra, wd=wd, t=self._index_update_count[index], beta1=self.beta1,
            beta2=self.beta2, epsilon=self.epsilon, bias_correction=self.bias_correction, **self._common(),
        )  # fmt: skip
        bounds = {k: v for k, v in (("lower_bound", self.lower_bound), ("upper_bound", self.upper_bound)) if v}
        norms = call("norm", master), call("norm", direction)
        call(f"{prefix}lamb_update_phase2", weight, direction, *norms, *extra, out=weight, lr=lr, **bounds)

    def _apply(self, index: Any, weight: Any, grad: Any, state: Any, half: bool) -> None:
        if not isinstance(index, (list, tuple)):
            self._one(index, weight, grad, state, half)
            return
        if self.aggregate_num <= 1:
            assert len(index) == self.aggregate_num, f"{len(index)} parameters at once, aggregate_num is {self.aggregate_num}"
            self._one(index[0], weight[0], grad[0], state[0], half)
            return
        lrs, wds, counts = [], [], []
        for i, w, g in zip(index, weight, grad, strict=True):
            lr, wd = self._begin(i, w, g)
            lrs.append(lr)
            wds.append(wd)
            counts.append(self._index_update_count[i])
        rows: list[tuple[Any, ...]] = [
            (w, g, *(s[1] if half else s), *((s[0],) if half else ())) for w, g, s in zip(weight, grad, state, strict=True)
        ]
        call(
            "_multi_mp_lamb_update" if half else "_multi_lamb_update", *[array for row in rows for array in row], out=list(weight),
            learning_rates=tuple(lrs), wds=tuple(wds), step_count=tuple(counts), num_tensors=len(rows), beta1=self.beta1, beta2=self.beta2,
            epsilon=self.epsilon, bias_correction=self.bias_correction,
            **self._common(lower_bound=self.lower_bound, upper_bound=self.upper_bound),
        )  # fmt: skip

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._apply(index, weight, grad, state, False)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        first = weight[0] if isinstance(weight, (list, tuple)) else weight
        self._apply(index, weight, grad, state, self.multi_precision and first.dtype == np.float16)


@Optimizer.register
class Test(Optimizer):
    """Adds the gradient to the weight and keeps a copy: for tests of key-value stores."""

    def create_state(self, index: Any, weight: Any) -> Any:
        return _float_zeros(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        weight[:] += grad * self.rescale_grad
        state[:] = weight
