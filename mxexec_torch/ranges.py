"""Named ranges for mx.profiler: while it records, each operator runs inside a range of torch's profiler that bears its MXNet name.

Nothing is added to the usual paths: `switch` tells whoever has shorter ways around the ranges to close them while recording.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch

__all__ = ["CUSTOM", "OPERATOR", "is_recording", "named", "on_switch", "switch"]

OPERATOR = "mxnet::"
CUSTOM = "mxnet custom::"  # a user's operator, inside whose Python code others run

_NOTHING = nullcontext()
_listeners: list[Callable[[bool], None]] = []
_recording = False


def is_recording() -> bool:
    """Whether ranges are made."""
    return _recording


def named(name: str, prefix: str = OPERATOR) -> AbstractContextManager[object]:
    """A range while the profiler records, else nothing."""
    return torch.autograd.profiler.record_function(prefix + name) if _recording else _NOTHING


def on_switch(listener: Callable[[bool], None]) -> Callable[[bool], None]:
    """Registers a function to be told when recording begins (True) and ends (False)."""
    _listeners.append(listener)
    return listener


def switch(on: bool) -> None:
    """Recording begins or ends."""
    global _recording
    if on != _recording:
        _recording = on
        for listener in _listeners:
            listener(on)
