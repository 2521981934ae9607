"""mx.misc: the first learning rate schedulers, kept for old scripts."""

from __future__ import annotations

import logging

__all__ = ["FactorScheduler", "LearningRateScheduler"]


class LearningRateScheduler:
    """Base class: `scheduler(iteration)` gives the learning rate."""

    def __init__(self) -> None:
        self.base_lr = 0.01

    def __call__(self, iteration: int) -> float:
        raise NotImplementedError(f"{type(self).__name__} defines no __call__")


class FactorScheduler(LearningRateScheduler):
    """Multiplies the rate by `factor` every `step` iterations."""

    def __init__(self, step: int, factor: float = 0.1) -> None:
        super().__init__()
        if step < 1:
            raise ValueError("Schedule step must be greater or equal than 1 round")
        if factor >= 1.0:
            raise ValueError("Factor must be less than 1 to make lr reduce")
        self.step = step
        self.factor = factor
        self.old_lr = self.base_lr
        self.init = False

    def __call__(self, iteration: int) -> float:
        if not self.init:  # base_lr may have been set after construction
            self.init, self.old_lr = True, self.base_lr
        rate = self.base_lr * self.factor ** (iteration // self.step)
        if rate != self.old_lr:
            self.old_lr = rate
            logging.info("At Iteration [%d]: new learning rate %.5f", iteration, rate)
        return rate
