"""mx.contrib.svrg_optimization: training with variance-reduced gradients (Johnson & Zhang 2013)."""

from __future__ import annotations

from . import svrg_module, svrg_optimizer
from .svrg_module import SVRGModule

__all__ = ["SVRGModule", "svrg_module", "svrg_optimizer"]
