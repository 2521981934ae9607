"""mx.optimizer: optimizers by name, with learning rates, weight decay and states as MXNet has them."""

from __future__ import annotations

from . import contrib, optimizer
from .optimizer import *  # noqa: F403
from .optimizer import __all__ as _names

__all__ = ["contrib", "optimizer", *_names]
