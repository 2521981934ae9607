"""Thread-local switches that operators and inference read (MXNet's np_shape and np_array scopes)."""

from __future__ import annotations

import threading

__all__ = ["is_np_array", "is_np_shape", "set_np_array", "set_np_shape"]


class _State(threading.local):
    np_shape = False
    np_array = False


_state = _State()


def is_np_shape() -> bool:
    """Whether () is a scalar's shape and 0 a real dimension (True), or both mean unknown (False, MXNet's default)."""
    return _state.np_shape


def set_np_shape(active: bool) -> bool:
    """Switches NumPy shape semantics for this thread; returns the previous state."""
    previous, _state.np_shape = _state.np_shape, bool(active)
    return previous


def is_np_array() -> bool:
    """Whether Gluon hands out mx.np arrays."""
    return _state.np_array


def set_np_array(active: bool) -> bool:
    """Switches NumPy array semantics for this thread; returns the previous state."""
    previous, _state.np_array = _state.np_array, bool(active)
    return previous
