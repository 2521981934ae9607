"""Checks of the metrics that estimators and handlers are given."""

from __future__ import annotations

from typing import Any

from ....metric import Accuracy, CompositeEvalMetric, EvalMetric
from ...loss import SoftmaxCrossEntropyLoss

__all__: list[str] = []


def _check_metrics(metrics: Any) -> list[Any]:
    """Metrics as a list, composite ones taken apart. Errors: ValueError for anything else."""
    if isinstance(metrics, CompositeEvalMetric):
        return [single for metric in metrics.metrics for single in _check_metrics(metric)]
    found = [metrics] if isinstance(metrics, EvalMetric) else metrics or []
    if not all(isinstance(metric, EvalMetric) for metric in found):
        raise ValueError(f"metrics must be a Metric or a list of Metric, refer to mxnet.metric.EvalMetric: {metrics}")
    return found  # type: ignore[no-any-return]


def _check_handler_metric_ref(handler: Any, known_metrics: Any) -> None:
    """Errors: ValueError for a handler with a metric that is none of the estimator's."""
    for name in dir(handler):
        if "metric" not in name:
            continue
        held = getattr(handler, name)
        for metric in held if isinstance(held, list) else [held] if held else []:
            if not any(metric is known for known in known_metrics):
                raise ValueError(
                    f"Event handler {type(handler).__name__} refers to a metric instance {metric} outside of the known training and validation "
                    "metrics. Please use the metrics from estimator.train_metrics and estimator.val_metrics instead."
                )


def _suggest_metric_for_loss(loss: Any) -> Any:
    """The metric that goes with a loss, or None."""
    return Accuracy() if isinstance(loss, SoftmaxCrossEntropyLoss) else None
