"""Thread-local switches that operators and inference read (MXNet's np_shape and np_array scopes)."""

from __future__ import annotations

import threading

__all__ = ["is_np_array", "is_np_shape", "is_np_shape_global", "set_np_array", "set_np_shape"]


class _State(threading.local):
    np_shape = False
    np_array = False


_state = _State()
_everywhere = False  # NumPy shape semantics in all threads (include/mxnet/imperative.h, GlobalOn)


def is_np_shape() -> bool:
    """Whether () is a scalar's shape and 0 a real dimension (True), or both mean unknown (False, MXNet's default)."""
    return _state.np_shape or _everywhere


def is_np_shape_global() -> bool:
    """Whether NumPy shape semantics are on in all threads."""
    return _everywhere


def set_np_shape(active: int) -> bool:
    """Switches NumPy shape semantics: 1 on in this thread, 2 on in all threads, 0 off in this and as a global setting; returns the previous state."""
    global _everywhere
    previous = is_np_shape()
    _state.np_shape = bool(active)
    if active == 2 or not active:
        _everywhere = bool(active)
    return previous


def is_np_array() -> bool:
    """Whether Gluon hands out mx.np arrays."""
    return _state.np_array


def set_np_array(active: bool) -> bool:
    """Switches NumPy array semantics for this thread; returns the previous state."""
    previous, _state.np_array = _state.np_array, bool(active)
    return previous
