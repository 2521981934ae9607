"""Handlers of the Estimator's events: stopping, metrics, validation, logs, checkpoints, updates."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from ....metric import CompositeEvalMetric, EvalMetric
from ....metric import Loss as metric_loss
from .utils import _check_metrics

__all__ = [
    "BatchBegin", "BatchEnd", "CheckpointHandler", "EarlyStoppingHandler", "EpochBegin", "EpochEnd", "GradientUpdateHandler", "LoggingHandler",
    "MetricHandler", "StoppingHandler", "TrainBegin", "TrainEnd", "ValidationHandler",
]  # fmt: skip


class EventHandler:
    """Base class of all handlers. `priority`: those with a lower one run first (default 0)."""


def _check_event_handlers(handlers: Any) -> list[Any]:
    """Handlers as a list. Errors: ValueError for anything else."""
    found = [handlers] if isinstance(handlers, EventHandler) else handlers or []
    if not all(isinstance(handler, EventHandler) for handler in found):
        raise ValueError(f"handlers must be an EventHandler or a list of EventHandler, got: {handlers}")
    return found  # type: ignore[no-any-return]


class TrainBegin(EventHandler):
    """Called when training begins."""

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """The event."""


class TrainEnd(EventHandler):
    """Called when training ends."""

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """The event."""


class EpochBegin(EventHandler):
    """Called when an epoch begins."""

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """The event."""


class EpochEnd(EventHandler):
    """Called when an epoch ends."""

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """The event; True stops training."""
        return False


class BatchBegin(EventHandler):
    """Called when a batch begins."""

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """The event."""


class BatchEnd(EventHandler):
    """Called when a batch ends."""

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """The event; True ends the epoch."""
        return False


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Stops after the estimator's number of epochs or batches."""

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch, self.max_batch = max_epoch, max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Takes over the limits."""
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        """Counts."""
        self.current_batch += 1
        self.stop_training = self.stop_training or self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        """Counts."""
        self.current_epoch += 1
        self.stop_training = self.stop_training or self.current_epoch == self.max_epoch
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Resets metrics at each epoch and updates them at each batch."""

    def __init__(self, metrics: Any, priority: float = -1000) -> None:
        self.metrics, self.priority = _check_metrics(metrics), priority

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Resets."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Updates, with losses or with labels and predictions."""
        for metric in self.metrics:
            if isinstance(metric, metric_loss):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Evaluates every epoch_period epochs and every batch_period batches."""

    def __init__(
        self, val_data: Any, eval_fn: Any, epoch_period: int | None = 1, batch_period: int | None = None, priority: float = -1000,
        event_handlers: Any = None,
    ) -> None:  # fmt: skip
        self.val_data, self.eval_fn, self.priority, self.event_handlers = val_data, eval_fn, priority, event_handlers
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.current_batch = self.current_epoch = 0

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Counts from 0."""
        self.current_batch = self.current_epoch = 0

    def _evaluate(self, count: int, period: int | None, estimator: Any) -> None:
        if period and count % period == 0:
            self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Evaluates when it is time."""
        self.current_batch += 1
        self._evaluate(self.current_batch, self.batch_period, estimator)

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Evaluates when it is time."""
        self.current_epoch += 1
        self._evaluate(self.current_epoch, self.epoch_period, estimator)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs metrics at the end of each epoch, or every log_interval batches as well."""

    def __init__(self, log_interval: Any = "epoch", metrics: Any = None, priority: float = np.inf) -> None:
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise ValueError(f"log_interval must be either an integer or string 'epoch', not {log_interval!r}")
        self.metrics, self.priority, self.log_interval = _check_metrics(metrics), priority, log_interval
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0
        self.train_start = self.epoch_start = self.batch_start = 0.0

    def _values(self) -> str:
        return ", ".join("{}: {:.4f}".format(*metric.get()) for metric in self.metrics)

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Logs optimizer and length."""
        self.train_start = time.time()
        trainer = estimator.trainer
        name = type(trainer.optimizer).__name__
        estimator.logger.info("Training begin: using optimizer %s with current learning rate %.4f ", name, trainer.learning_rate)
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Logs time and metrics."""
        seconds = time.time() - self.train_start
        estimator.logger.info(f"Train finished using total {int(seconds)}s with {self.current_epoch} epochs. {self._values()}")

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Takes the time."""
        self.batch_start = time.time()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Logs the metrics when it is time."""
        if isinstance(self.log_interval, int):
            self.log_interval_time += time.time() - self.batch_start
            self.processed_samples += kwargs["batch"][0].shape[0]
            if self.batch_index % self.log_interval == 0:
                place = f"[Epoch {self.current_epoch}][Batch {self.batch_index}][Samples {self.processed_samples}]"
                estimator.logger.info(f"{place} time/interval: {self.log_interval_time:.3f}s {self._values()}")
                self.log_interval_time = 0.0
        self.batch_index += 1

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Logs the beginning."""
        self.epoch_start = time.time()
        if any("training" in metric.name for metric in self.metrics):
            rate = estimator.trainer.learning_rate
            estimator.logger.info("[Epoch %d] Begin, current learning rate: %.4f", self.current_epoch, rate)
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Logs time and metrics."""
        seconds = time.time() - self.epoch_start
        estimator.logger.info(f"[Epoch {self.current_epoch}] Finished in {seconds:.3f}s, {self._values()}".rstrip(", "))
        self.current_epoch += 1
        self.batch_index = 0


def comparison(mode: str, monitor: Any) -> Any:
    """`np.less` or `np.greater`: which values of a metric are better. 'auto' takes larger ones and warns."""
    if mode not in ("auto", "min", "max"):
        warnings.warn(f"mode {mode} is unknown, 'auto' is used", RuntimeWarning, stacklevel=3)
        mode = "auto"
    if mode == "auto":
        text = f"larger values of {monitor.get()[0]} count as better: specify `mode='min'` for the opposite or `mode='max'` to silence this warning"
        warnings.warn(text, stacklevel=3)
    return np.less if mode == "min" else np.greater


def worst(better: Any) -> float:
    """A value that everything is better than."""
    return np.inf if better is np.less else -np.inf


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Stops when a metric has not become better by min_delta for `patience` epochs."""

    def __init__(
        self, monitor: Any, min_delta: float = 0, patience: int = 0, mode: str = "auto", baseline: float | None = None
    ) -> None:
        if not isinstance(monitor, EvalMetric):
            raise ValueError("Please provide one of the metric objects from estimator.train_metrics and estimator.val_metrics as monitor.")
        if isinstance(monitor, CompositeEvalMetric):
            raise ValueError("CompositeEvalMetric is not supported for EarlyStoppingHandler, please specify a simple metric instead.")
        self.monitor, self.baseline, self.patience = monitor, baseline, patience
        self.monitor_op = comparison(mode, monitor)
        self.min_delta = min_delta if self.monitor_op is np.greater else -min_delta
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self.best = worst(self.monitor_op)

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Begins anew."""
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self.best = worst(self.monitor_op) if self.baseline is None else self.baseline

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        """Compares."""
        name, value = self.monitor.get()
        if np.isnan(value):
            warnings.warn(f"{name} is not updated: monitor one of the metrics of the estimator", RuntimeWarning, stacklevel=2)
        elif self.monitor_op(value - self.min_delta, self.best):
            self.best, self.wait = value, 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch, self.stop_training = self.current_epoch, True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Logs why."""
        if self.stopped_epoch > 0:
            name = self.monitor.get()[0]
            estimator.logger.info("[Epoch %d] EarlyStoppingHandler: early stopping due to %s not improving", self.stopped_epoch, name)


class GradientUpdateHandler(BatchEnd):
    """Updates the parameters after each batch, before the other handlers."""

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """A step over all samples."""
        losses = kwargs["loss"] if isinstance(kwargs["loss"], list) else [kwargs["loss"]]
        estimator.trainer.step(sum(loss.shape[0] for loss in losses))


def __getattr__(name: str) -> Any:
    if name == "CheckpointHandler":  # made of the classes above
        from .checkpoint import CheckpointHandler

        return CheckpointHandler
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
