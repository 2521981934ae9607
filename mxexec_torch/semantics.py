"""Thread-local switches that operators and inference read (MXNet's np_shape and np_array scopes)."""

from __future__ import annotations

import threading
from types import TracebackType

__all__ = ["NumpyArrayScope", "is_np_array", "is_np_shape", "is_np_shape_global", "set_np_array", "set_np_shape"]


class _State(threading.local):
    np_shape = False


class NumpyArrayScope:
    """`with NumpyArrayScope(True):` Gluon hands out mx.np arrays inside; one state a thread, `_current.value`, as old code reads it."""

    _current = threading.local()

    def __init__(self, is_np_array: bool) -> None:
        self._old_scope: NumpyArrayScope | None = None
        self._is_np_array = is_np_array

    def __enter__(self) -> NumpyArrayScope:
        self._old_scope = getattr(NumpyArrayScope._current, "value", None) or NumpyArrayScope(False)
        NumpyArrayScope._current.value = self
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        NumpyArrayScope._current.value = self._old_scope


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
    scope = getattr(NumpyArrayScope._current, "value", None)
    return scope is not None and scope._is_np_array


def set_np_array(active: bool) -> bool:
    """Switches NumPy array semantics for this thread; returns the previous state."""
    previous = is_np_array()
    NumpyArrayScope._current.value = NumpyArrayScope(bool(active))
    return previous
