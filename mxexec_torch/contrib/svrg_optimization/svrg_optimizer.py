"""The optimizer of SVRGModule: parameters go to another optimizer, gradients over all data are only stored."""

from __future__ import annotations

from typing import Any

from ...optimizer import Optimizer, create

__all__: list[str] = []

_BASE = (
    "rescale_grad", "param_idx2name", "wd", "clip_gradient", "learning_rate", "lr_scheduler", "sym", "begin_num_update", "multi_precision",
    "param_dict",
)  # fmt: skip


@Optimizer.register
class _AssignmentOptimizer(Optimizer):
    """The pushed value replaces the stored one."""

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        weight[:] = grad


@Optimizer.register
class _SVRGOptimizer(Optimizer):
    """default_optimizer: name or object of what updates the parameters; keys with `full` in their name hold gradients over all data."""

    def __init__(self, default_optimizer: Any, **kwargs: Any) -> None:
        super().__init__(**self._check_params(**kwargs))
        self.default_opt = create(default_optimizer, **kwargs) if isinstance(default_optimizer, str) else default_optimizer
        self.aux_opt = create(_AssignmentOptimizer.__name__)

    @staticmethod
    def _check_params(**kwargs: Any) -> dict[str, Any]:
        """The settings that every optimizer has."""
        return {name: value for name, value in kwargs.items() if name in _BASE}

    def _check_index(self, index: Any) -> Any:
        """The name of a key."""
        return index if index in self.idx2name.values() else self.idx2name[index]

    def _of(self, index: Any) -> Any:
        return self.aux_opt if "full" in self._check_index(index) else self.default_opt

    def create_state(self, index: Any, weight: Any) -> Any:
        return self._of(index).create_state(index, weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._of(index).update(index, weight, grad, state)
