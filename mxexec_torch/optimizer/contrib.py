"""mx.optimizer.contrib: optimizers in trial."""

from __future__ import annotations

from typing import Any

from ..ndarray.invoke import call
from ..ndarray.utils import zeros
from .base import Optimizer

__all__ = ["GroupAdaGrad"]


@Optimizer.register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one history number for each row of a matrix, for embeddings. Weight decay must be 0."""

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: Any) -> Any:
        assert len(weight.shape) == 2, f"GroupAdaGrad is for matrices, got shape {weight.shape}"
        return zeros((weight.shape[0], 1), weight.context, stype=weight.stype)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        lr, wd = self._begin(index, weight, grad)
        assert wd == 0, "Weight decay is not supported for GroupAdaGrad"
        if grad.stype == "row_sparse":
            attrs = self._common()
            call("_contrib_group_adagrad_update", weight, grad, state, out=weight, lr=lr, epsilon=self.float_stable_eps, **attrs)
            return
        g = self._clip(grad * self.rescale_grad)
        state[:] += call("mean", g * g, axis=1, keepdims=True)
        weight[:] -= call("broadcast_div", lr * g, call("sqrt", state + self.float_stable_eps))
