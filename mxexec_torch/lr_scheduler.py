"""mx.lr_scheduler: the learning rate as a function of the number of updates, with an optional warm-up."""

from __future__ import annotations

import logging
from itertools import pairwise
from math import cos, pi
from typing import Any

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]


class LRScheduler:
    """Base class: `scheduler(num_update)` gives the learning rate.

    base_lr: rate after the warm-up. warmup_steps: updates that rise from warmup_begin_lr to base_lr ('linear') or stay at
    warmup_begin_lr ('constant'). Errors: ValueError for rates that would fall, negative steps and other modes.
    """

    def __init__(self, base_lr: float = 0.01, warmup_steps: int = 0, warmup_begin_lr: float = 0, warmup_mode: str = "linear") -> None:
        assert isinstance(warmup_steps, int), "warmup_steps must be an int"
        if warmup_begin_lr > base_lr:
            raise ValueError("Base lr has to be higher than warmup_begin_lr")
        if warmup_steps < 0:
            raise ValueError("Warmup steps has to be positive or 0")
        if warmup_mode not in ("linear", "constant"):
            raise ValueError("Supports only linear and constant modes of warmup")
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update: int) -> float:
        """The rate of an update inside the warm-up."""
        assert num_update < self.warmup_steps
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        return self.warmup_begin_lr + (self.warmup_final_lr - self.warmup_begin_lr) * num_update / self.warmup_steps

    def __call__(self, num_update: int) -> float:
        raise NotImplementedError(f"{type(self).__name__} defines no __call__")


def _check_factor(factor: float) -> None:
    if factor > 1.0:
        raise ValueError("Factor must be no more than 1 to make lr reduce")


class FactorScheduler(LRScheduler):
    """Multiplies the rate by `factor` every `step` updates, down to stop_factor_lr."""

    def __init__(self, step: int, factor: float = 1, stop_factor_lr: float = 1e-8, base_lr: float = 0.01, warmup_steps: int = 0,
                 warmup_begin_lr: float = 0, warmup_mode: str = "linear") -> None:  # fmt: skip
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if step < 1:
            raise ValueError("Schedule step must be greater or equal than 1 round")
        _check_factor(factor)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while num_update > self.count + self.step:  # a while: `num_update` may jump when training resumes
            self.count += self.step
            reduced = self.base_lr * self.factor
            self.base_lr = max(reduced, self.stop_factor_lr)
            end = ", its final value" if reduced < self.stop_factor_lr else ""
            logging.info("Update[%d]: Change learning rate to %0.5e%s", num_update, self.base_lr, end)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiplies the rate by `factor` after each number of updates in `step`, an increasing list."""

    def __init__(self, step: list[int], factor: float = 1, base_lr: float = 0.01, warmup_steps: int = 0, warmup_begin_lr: float = 0,
                 warmup_mode: str = "linear") -> None:  # fmt: skip
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        assert isinstance(step, list) and len(step) >= 1, "step must be a list of at least one number"
        if any(later <= earlier for earlier, later in pairwise(step)):
            raise ValueError("Schedule step must be an increasing integer list")
        if step[0] < 1:
            raise ValueError("Schedule step must be greater or equal than 1 round")
        _check_factor(factor)
        self.step = step
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            logging.info("Update[%d]: Change learning rate to %0.5e", num_update, self.base_lr)
        return self.base_lr


class _Decay(LRScheduler):
    """From base_lr to final_lr over max_update updates, along `_share`, which falls from 1 to 0."""

    def __init__(self, max_update: int, base_lr: float, final_lr: float, *warmup: Any) -> None:
        super().__init__(base_lr, *warmup)
        assert isinstance(max_update, int), "max_update must be an int"
        if max_update < 1:
            raise ValueError("maximum number of updates must be strictly positive")
        self.base_lr_orig = base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = max_update - self.warmup_steps

    def _share(self, progress: float) -> float:
        raise NotImplementedError

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            share = self._share((num_update - self.warmup_steps) / self.max_steps)
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * share
        return self.base_lr


class PolyScheduler(_Decay):
    """Falls to final_lr as (1 - progress) ** pwr."""

    def __init__(self, max_update: int, base_lr: float = 0.01, pwr: float = 2, final_lr: float = 0, warmup_steps: int = 0,
                 warmup_begin_lr: float = 0, warmup_mode: str = "linear") -> None:  # fmt: skip
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _share(self, progress: float) -> float:
        return float(pow(1 - progress, self.power))


class CosineScheduler(_Decay):
    """Falls to final_lr along half a cosine."""

    def __init__(self, max_update: int, base_lr: float = 0.01, final_lr: float = 0, warmup_steps: int = 0, warmup_begin_lr: float = 0,
                 warmup_mode: str = "linear") -> None:  # fmt: skip
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _share(self, progress: float) -> float:
        return (1 + cos(pi * progress)) / 2
