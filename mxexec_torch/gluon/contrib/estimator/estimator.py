"""Estimator: trains and evaluates a network."""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from typing import Any

from ....context import Context, cpu, gpu, num_gpus
from ....metric import Loss as metric_loss
from ...data import DataLoader
from ...loss import Loss as gluon_loss
from ...trainer import Trainer
from .batch_processor import BatchProcessor
from .event_handler import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
    _check_event_handlers,
)  # fmt: skip
from .utils import _check_handler_metric_ref, _check_metrics, _suggest_metric_for_loss

__all__ = ["Estimator"]

_KINDS = (TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd)


def _loader_only(data: Any) -> None:
    if not isinstance(data, DataLoader):
        raise ValueError(f"Estimator only support input as Gluon DataLoader, not {type(data)}: turn arrays into gluon.data.DataLoader")


class Estimator:
    """`Estimator(net, loss, trainer=...).fit(loader, epochs=...)`.

    train_metrics, val_metrics: default the loss and the metric that goes with it. val_net, val_loss: for evaluation (default: the same).
    context: default gpu(0) where there is one. trainer: default SGD with learning rate 0.001. `logger` writes to stdout.
    """

    logger: Any = None

    def __init__(
        self, net: Any, loss: Any, train_metrics: Any = None, val_metrics: Any = None, initializer: Any = None, trainer: Any = None,
        context: Any = None, val_net: Any = None, val_loss: Any = None, batch_processor: Any = None,
    ) -> None:  # fmt: skip
        self.net, self.loss = net, self._check_loss(loss)
        self._train_metrics, self._val_metrics = _check_metrics(train_metrics), _check_metrics(val_metrics)
        self._add_default_training_metrics()
        self._add_validation_metrics()
        self.val_loss = self.loss if val_loss is None else self._check_loss(val_loss)
        self.val_net = net if val_net is None else val_net
        self.logger = logging.Logger(name="Estimator", level=logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.context = self._check_context(context)
        self._initialize(initializer)
        self.trainer = self._check_trainer(trainer)
        self.batch_processor = self._check_batch_processor(batch_processor)
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0

    # -- checks ---------------------------------------------------------------------------------------------------------------
    def _check_loss(self, loss: Any) -> Any:
        if not isinstance(loss, gluon_loss):
            raise ValueError(f"loss must be a Loss, refer to gluon.loss.Loss:{loss}")
        return loss

    def _check_context(self, context: Any) -> list[Context]:
        available = [gpu(i) for i in range(num_gpus())]
        if not context:
            if len(available) > 1:
                warnings.warn("gpu(0) is used of several GPUs: give a list as context to use more", stacklevel=3)
            return available[:1] or [cpu()]
        contexts = [context] if isinstance(context, Context) else context
        if not isinstance(contexts, list) or not all(isinstance(ctx, Context) for ctx in contexts):
            raise ValueError(f"context must be a Context or a list of Context, for example mx.cpu() or [mx.gpu(0), mx.gpu(1)], not {context}")
        for ctx in contexts:
            assert ctx.device_type != "gpu" or ctx in available, f"{ctx} is not available, please make sure your context is in one of: cpu, {available}"
        return contexts

    def _check_batch_processor(self, processor: Any) -> Any:
        if processor is None:
            return BatchProcessor()
        if not all(callable(getattr(processor, name, None)) for name in ("fit_batch", "evaluate_batch")):
            raise ValueError("Customized Batch Processor must contain fit_batch() and evaluate_batch() methods")
        return processor

    def _initialize(self, initializer: Any) -> None:
        if not self._is_initialized():
            self.net.initialize(init=initializer, ctx=self.context)
        elif initializer:
            warnings.warn("Network already fully initialized, skipping initialization: use net.initialize(init, force_reinit=True)", stacklevel=3)

    def _is_initialized(self) -> bool:
        try:
            for parameter in self.net.collect_params().values():
                parameter.list_ctx()
        except RuntimeError:
            return False
        return True

    def _check_trainer(self, trainer: Any) -> Any:
        if not trainer:
            warnings.warn("No trainer specified, default SGD optimizer with learning rate 0.001 is used.", stacklevel=3)
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ValueError(f"Trainer must be a Gluon Trainer instance, refer to gluon.Trainer:{trainer}")
        return trainer

    # -- metrics --------------------------------------------------------------------------------------------------------------
    def _add_default_training_metrics(self) -> None:
        if not self._train_metrics:
            suggested = _suggest_metric_for_loss(self.loss)
            self._train_metrics = [suggested] if suggested is not None else []
            self._train_metrics.append(metric_loss(self.loss.name.rstrip("0123456789")))
        for metric in self._train_metrics:
            metric.name = "training " + metric.name

    def _add_validation_metrics(self) -> None:
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(metric) for metric in self._train_metrics]
        for metric in self._val_metrics:
            metric.name = metric.name.replace("training", "validation") if "training" in metric.name else "validation " + metric.name

    @property
    def train_metrics(self) -> list[Any]:
        """Metrics of training."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[Any]:
        """Metrics of evaluation."""
        return self._val_metrics

    # -- loops ----------------------------------------------------------------------------------------------------------------
    def evaluate(self, val_data: Any, batch_axis: int = 0, event_handlers: Any = None) -> None:
        """Runs over a loader and leaves the results in `val_metrics`."""
        _loader_only(val_data)
        for metric in self.val_metrics:
            metric.reset()
        handlers = self._with_defaults(event_handlers, [(MetricHandler, {}), (LoggingHandler, {})], self.val_metrics, self.val_metrics)
        _, epoch_begin, batch_begin, batch_end, epoch_end, _ = self._categorize_handlers(handlers)
        for handler in epoch_begin:
            handler.epoch_begin(self)
        for batch in val_data:
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            for handler in batch_end:
                handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
        for handler in epoch_end:
            handler.epoch_end(self)

    def fit(
        self, train_data: Any, val_data: Any = None, epochs: int | None = None, event_handlers: Any = None, batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:  # fmt: skip
        """Trains for a number of epochs or of batches, evaluating on val_data. Errors: ValueError for both or neither."""
        _loader_only(train_data)
        if bool(epochs) == bool(batches):
            raise ValueError("Fit only support exactly one type of iteration: specify one and only one of epochs or batches.")
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        handlers = self._prepare_default_handlers(val_data, event_handlers)
        train_begin, epoch_begin, batch_begin, batch_end, epoch_end, train_end = self._categorize_handlers(handlers)
        for handler in train_begin:
            handler.train_begin(self)
        stop = False
        while not stop:
            for handler in epoch_begin:
                handler.epoch_begin(self)
            for batch in train_data:
                for handler in batch_begin:
                    handler.batch_begin(self, batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                # all handlers run, whatever the first ones say
                if any([handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss) for handler in batch_end]):  # noqa: C419
                    break
            stop = any([handler.epoch_end(self) for handler in epoch_end])  # noqa: C419
        for handler in train_end:
            handler.train_end(self)

    # -- handlers ---------------------------------------------------------------------------------------------------------------
    def _prepare_default_handlers(self, val_data: Any, event_handlers: Any) -> list[Any]:
        """The given handlers and those that training needs besides, in order of priority."""
        defaults: list[Any] = [(GradientUpdateHandler, None), (MetricHandler, {})]
        if val_data:
            defaults.append((ValidationHandler, {"val_data": val_data, "eval_fn": self.evaluate}))
        defaults.append((LoggingHandler, {}))
        stopping = StoppingHandler(self.max_epoch, self.max_batch)
        return self._with_defaults(event_handlers, defaults, self.train_metrics, self.train_metrics + self.val_metrics, [stopping])

    def _with_defaults(self, given: Any, defaults: list[Any], metrics: list[Any], known: list[Any], always: list[Any] | None = None) -> list[Any]:
        handlers = _check_event_handlers(given)
        added = list(always or [])
        for kind, options in defaults:
            if any(isinstance(handler, kind) for handler in handlers):
                continue
            takes_metrics = kind in (MetricHandler, LoggingHandler)
            added.append(kind(**(options or {}), **({"metrics": metrics} if takes_metrics else {})))
        mixed = bool(handlers) and bool(added)
        handlers = [*handlers, *added]
        for handler in handlers if mixed else ():
            _check_handler_metric_ref(handler, known)
        return sorted(handlers, key=lambda handler: getattr(handler, "priority", 0))

    def _categorize_handlers(self, event_handlers: list[Any]) -> tuple[list[Any], ...]:
        """Handlers by event."""
        return tuple([handler for handler in event_handlers if isinstance(handler, kind)] for kind in _KINDS)
