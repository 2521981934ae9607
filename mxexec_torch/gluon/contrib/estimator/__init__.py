"""The Estimator: a training loop with event handlers."""

from __future__ import annotations

from .batch_processor import *
from .estimator import *
from .event_handler import *
