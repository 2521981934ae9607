"""The handler that saves models while they train, and goes on from what was saved."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any

import numpy as np

from ....metric import EvalMetric
from .event_handler import BatchEnd, EpochEnd, TrainBegin, comparison, worst

__all__ = ["CheckpointHandler"]


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Writes `<prefix>-epoch<e>batch<b>.params` and `.states` every epoch_period epochs and batch_period batches, the newest max_checkpoints.

    save_best: also `<prefix>-best` whenever `monitor` is better. resume_from_checkpoint: training goes on from the newest files.
    """

    def __init__(
        self, model_dir: str, model_prefix: str = "model", monitor: Any = None, verbose: int = 0, save_best: bool = False, mode: str = "auto",
        epoch_period: int | None = 1, batch_period: int | None = None, max_checkpoints: int = 5, resume_from_checkpoint: bool = False,
    ) -> None:  # fmt: skip
        if save_best and not isinstance(monitor, EvalMetric):
            raise ValueError("save_best needs one of the metric objects of estimator.train_metrics and estimator.val_metrics as monitor.")
        os.makedirs(model_dir, exist_ok=True)
        self.model_dir, self.model_prefix, self.monitor, self.verbose, self.save_best = model_dir, model_prefix, monitor, verbose, save_best
        self.epoch_period, self.batch_period, self.max_checkpoints = epoch_period, batch_period, max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.current_batch = self.current_epoch = 0
        self.trained_epoch = self.trained_batch = -1
        self.saved_checkpoints: list[str] = []
        self.monitor_op: Any = comparison(mode, monitor) if save_best else None
        self.best = worst(self.monitor_op)

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Counts from 0, or goes on."""
        self.current_batch = self.current_epoch = 0
        self.best = worst(self.monitor_op)
        if self.resume_from_checkpoint:
            wanted, other = (self.batch_period, self.epoch_period) if estimator.max_batch else (self.epoch_period, self.batch_period)
            assert wanted and not other, "resuming needs checkpoints of the kind that training is counted in: by epochs or by batches, not both"
            self._resume(estimator)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Saves when it is time."""
        if self.current_batch == 0:
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Saves when it is time."""
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator)
        self.current_epoch += 1

    def _save_checkpoint(self, estimator: Any) -> None:
        epoch, batch = self.current_epoch, self.current_batch
        if self.resume_from_checkpoint:
            epoch += self.trained_epoch + 1
            batch += self.trained_batch + (0 if estimator.max_epoch else 1)
        self._save(estimator, f"{self.model_prefix}-epoch{epoch}batch{batch}")
        if self.verbose > 0:
            estimator.logger.info("[Epoch %d] CheckpointHandler: saved %d batches in %s", self.current_epoch, self.current_batch + 1, self.model_dir)
        if self.save_best:
            self._save_best(estimator)

    def _save_best(self, estimator: Any) -> None:
        name, value = self.monitor.get()
        if np.isnan(value):
            warnings.warn(f"the best model is not saved: {name} is not updated", RuntimeWarning, stacklevel=2)
        elif self.monitor_op(value, self.best):
            self._save(estimator, f"{self.model_prefix}-best", counted=False)
            if self.verbose > 0:
                estimator.logger.info("[Epoch %d] CheckpointHandler: %s went from %0.5f to %0.5f", self.current_epoch, name, self.best, value)
            self.best = value
        elif self.verbose > 0:
            estimator.logger.info("[Epoch %d] CheckpointHandler: %s did not improve from %0.5f", self.current_epoch, name, self.best)

    def _save_symbol(self, estimator: Any) -> None:
        target = os.path.join(self.model_dir, f"{self.model_prefix}-symbol.json")
        graph = getattr(estimator.net, "_cached_graph", None)
        if graph:
            graph[1].save(target)
        else:
            estimator.logger.info("%s is not written: the network is not hybridized", target)

    def _save(self, estimator: Any, stem: str, counted: bool = True) -> None:
        path = os.path.join(self.model_dir, stem)
        estimator.net.save_parameters(f"{path}.params")
        estimator.trainer.save_states(f"{path}.states")
        if counted:
            self.saved_checkpoints.append(stem)
        if len(self.saved_checkpoints) > self.max_checkpoints:
            oldest = self.saved_checkpoints.pop(0)
            for ending in (".params", ".states"):
                old = os.path.join(self.model_dir, oldest + ending)
                if os.path.exists(old):
                    os.remove(old)

    def _newest(self) -> tuple[int, int]:
        """(epoch, batch) of the newest checkpoint, (-1, -1) without one. Errors: ValueError for files with other names."""
        found = []
        for name in os.listdir(self.model_dir):
            if name.startswith(f"{self.model_prefix}-epoch") and name.endswith(".params"):
                match = re.fullmatch(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params", name)
                if match is None:
                    raise ValueError(f"checkpoints are named {self.model_prefix}-epoch<number>batch<number>.params, not {name}")
                found.append((int(match[1]), int(match[2])))
        self.saved_checkpoints = [f"{self.model_prefix}-epoch{epoch}batch{batch}" for epoch, batch in sorted(found)]
        return max(found, default=(-1, -1))

    def _resume(self, estimator: Any) -> None:
        epoch, batch = self.trained_epoch, self.trained_batch = self._newest()
        if epoch == -1:
            estimator.logger.info("CheckpointHandler: No checkpoint found, training from scratch")
            return
        for limit, done in (("max_epoch", epoch), ("max_batch", batch)):
            wanted = getattr(estimator, limit)
            if not wanted:
                continue
            if done >= wanted - 1:
                raise ValueError(f"the checkpoint has reached {limit} {wanted}: specify resume_from_checkpoint=False to train from scratch")
            setattr(estimator, limit, wanted - done - 1)
        path = os.path.join(self.model_dir, f"{self.model_prefix}-epoch{epoch}batch{batch}")
        for ending in (".params", ".states"):
            assert os.path.exists(path + ending), f"Failed to load checkpoint, {path + ending} does not exist"
        estimator.net.load_parameters(f"{path}.params", ctx=estimator.context)
        estimator.trainer.load_states(f"{path}.states")
        estimator.logger.warning("CheckpointHandler: Checkpoint resumed from epoch %d batch %d", epoch, batch)
