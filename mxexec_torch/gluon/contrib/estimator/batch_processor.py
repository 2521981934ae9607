"""What the Estimator does with one batch."""

from __future__ import annotations

from typing import Any

from .... import autograd
from ...utils import split_and_load

__all__ = ["BatchProcessor"]


class BatchProcessor:
    """Forward and backward of one batch (data, label), divided over the estimator's contexts. Subclasses may do otherwise."""

    def _get_data_and_label(self, batch: Any, ctx: Any, batch_axis: int = 0) -> tuple[Any, Any]:
        data, label = (split_and_load(part, ctx_list=ctx, batch_axis=batch_axis) for part in (batch[0], batch[1]))
        return data, label

    def evaluate_batch(self, estimator: Any, val_batch: Any, batch_axis: int = 0) -> tuple[Any, Any, Any, Any]:
        """(data, labels, predictions, losses), each a list over contexts."""
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        predictions = [estimator.val_net(x) for x in data]
        return data, label, predictions, [estimator.val_loss(p, y) for p, y in zip(predictions, label, strict=True)]

    def fit_batch(self, estimator: Any, train_batch: Any, batch_axis: int = 0) -> tuple[Any, Any, Any, Any]:
        """As evaluate_batch with the gradients computed; the parameters are updated by GradientUpdateHandler."""
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            predictions = [estimator.net(x) for x in data]
            losses = [estimator.loss(p, y) for p, y in zip(predictions, label, strict=True)]
        for loss in losses:
            loss.backward()
        return data, label, predictions, losses
