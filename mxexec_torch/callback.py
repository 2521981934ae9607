"""mx.callback: functions called by fit after batches and epochs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from math import ceil
from typing import Any

from .model import save_checkpoint

__all__ = [
    "LogValidationMetricsCallback", "ProgressBar", "Speedometer", "do_checkpoint", "log_train_metric", "module_checkpoint", "save_checkpoint",
]  # fmt: skip


def module_checkpoint(mod: Any, prefix: str, period: int = 1, save_optimizer_states: bool = False) -> Callable[..., None]:
    """After every `period` epochs: `mod.save_checkpoint(prefix, epoch, save_optimizer_states)`."""
    every = int(max(1, period))

    def at_epoch_end(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % every == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return at_epoch_end


def do_checkpoint(prefix: str, period: int = 1) -> Callable[..., None]:
    """After every `period` epochs: writes `prefix-symbol.json` and `prefix-<epoch>.params`."""
    every = int(max(1, period))

    def at_epoch_end(iter_no: int, sym: Any, arg: Any, aux: Any) -> None:
        if (iter_no + 1) % every == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return at_epoch_end


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """Logs the metric every `period` batches; auto_reset starts it anew each time."""

    def at_batch_end(param: Any) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                param.eval_metric.reset_local()

    return at_batch_end


class Speedometer:
    """Logs samples per second and the metric every `frequent` batches; auto_reset starts the metric anew each time."""

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size = batch_size
        self.frequent = frequent
        self.init = False
        self.tic: float = 0
        self.last_count = 0
        self.auto_reset = auto_reset

    def __call__(self, param: Any) -> None:
        count = param.nbatch
        started = self.init and count >= self.last_count  # a smaller number: the next epoch has begun
        self.last_count = count
        self.init = True
        if not started:
            self.tic = time.time()
        elif count % self.frequent == 0:
            self._report(param, count)
            self.tic = time.time()

    def _report(self, param: Any, count: int) -> None:
        elapsed = time.time() - self.tic
        speed = self.frequent * self.batch_size / elapsed if elapsed else float("inf")
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
            return
        pairs = param.eval_metric.get_name_value()
        begin = 0
        if self.auto_reset:
            begin = count - self.frequent
            param.eval_metric.reset_local()
        shown = "".join(f"\t{name}={value:f}" for name, value in pairs)
        logging.info("Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec%s", param.epoch, begin, count, speed, shown)


class ProgressBar:
    """Logs a bar of `length` characters for `total` batches."""

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len = length
        self.total = total

    def __call__(self, param: Any) -> None:
        share = param.nbatch / float(self.total)
        filled = round(self.bar_len * share)
        logging.info("[%s] %s%s\r", "=" * filled + "-" * (self.bar_len - filled), ceil(100.0 * share), "%")


class LogValidationMetricsCallback:
    """Logs the validation metric at the end of an epoch."""

    def __call__(self, param: Any) -> None:
        if param.eval_metric:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
