"""Leaf functions: recorded as one call when a body is traced, instead of being traced into.

A leaf is what torch.fx cannot look through: an autograd.Function with a gradient of its own, or code whose control flow depends on data.
Arguments: tensors, numbers, strings, tuples of them. On meta tensors a leaf must return meta tensors of the right shape and type.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

__all__ = ["Recorder", "leaf", "recording"]

F = TypeVar("F", bound=Callable[..., Any])


class Recorder(Protocol):
    """What tracing offers to leaves."""

    def record_leaf(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs `function` on the meta tensors and records the call."""


_active: Recorder | None = None


class recording:  # noqa: N801 - a context manager, named like a function
    """`with recording(r):` leaves called inside are recorded by r. One trace at a time: the tracer holds a lock."""

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._previous: Recorder | None = None

    def __enter__(self) -> None:
        global _active
        self._previous, _active = _active, self._recorder

    def __exit__(self, *exc: object) -> None:
        global _active
        _active = self._previous


def leaf(function: F) -> F:
    """Decorator: tracing records calls of `function` as a whole."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _active is not None:
            return _active.record_leaf(call, args, kwargs)
        return function(*args, **kwargs)

    call.plain = function  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
