"""Metrics for TensorBoard, as a callback of Module.fit."""

from __future__ import annotations

import importlib
import logging
from typing import Any

__all__ = ["LogMetricsCallback"]


class LogMetricsCallback:
    """Writes the metrics at the end of each epoch (or batch) as scalars below `logging_dir`, with mxboard or torch's SummaryWriter.

    prefix: put before the names of the metrics.
    """

    def __init__(self, logging_dir: str, prefix: str | None = None) -> None:
        self.prefix = prefix
        for module in ("mxboard", "torch.utils.tensorboard"):
            try:
                writer = importlib.import_module(module).SummaryWriter
                break
            except ImportError:
                continue
        else:
            logging.error("neither mxboard nor tensorboard is installed: `pip install tensorboard`")
            return
        self.summary_writer: Any = writer(logging_dir)

    def __call__(self, param: Any) -> None:
        """Writes the metric of a BatchEndParam, if it has one."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            self.summary_writer.add_scalar(name if self.prefix is None else f"{self.prefix}-{name}", value, global_step=param.epoch)
