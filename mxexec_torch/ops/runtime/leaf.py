"""Leaf functions: recorded as one call when a body is traced, instead of being traced into.

A leaf is what torch.fx cannot look through: an autograd.Function with a gradient of its own, or code whose control flow depends on data.
Arguments: tensors, numbers, strings, tuples of them. On meta tensors a leaf must return meta tensors of the right shape and type.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

__all__ = ["Recorder", "leaf", "recording"]

F = TypeVar("F", bound=Callable[..., Any])


class Recorder(Protocol):
    """What tracing offers to leaves."""

    def record_leaf(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs `function` on the meta tensors and records the call."""


class _Active(threading.local):
    """The recorder of this thread: others go on running their leaves."""

    recorder: Recorder | None = None


_active = _Active()


class recording:  # noqa: N801 - a context manager, named like a function
    """`with recording(r):` leaves that this thread calls inside are recorded by r."""

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._previous: Recorder | None = None

    def __enter__(self) -> None:
        self._previous, _active.recorder = _active.recorder, self._recorder

    def __exit__(self, *exc: object) -> None:
        _active.recorder = self._previous


def leaf(function: F) -> F:
    """Decorator: tracing records calls of `function` as a whole."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _active.recorder is not None:
            return _active.recorder.record_leaf(call, args, kwargs)
        return function(*args, **kwargs)

    call.plain = function  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
