"""Automatic names of symbols: `NameManager` and `Prefix`."""

from __future__ import annotations

import threading
import warnings
from types import TracebackType

__all__ = ["NameManager", "Prefix"]


class _CurrentMeta(type):
    """Gives `NameManager.current`, which MXNet keeps as a deprecated class property."""

    @property
    def current(cls) -> NameManager:
        warnings.warn("NameManager.current has been deprecated. It is advised to use the `with` statement with NameManager.", DeprecationWarning, stacklevel=2)
        return current_manager()

    @current.setter
    def current(cls, manager: NameManager) -> None:
        NameManager._current.value = manager


class NameManager(metaclass=_CurrentMeta):
    """Hands out names: a given name is kept, otherwise `hint` + a counter per hint. Subclasses may override `get`.

    Used in a with statement; managers replace each other and count on their own.
    """

    _current = threading.local()

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}
        self._old_manager: NameManager | None = None

    def get(self, name: str | None, hint: str) -> str:
        """`name` unless it is empty or None, else the next name of the hint."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> NameManager:
        self._old_manager = current_manager()
        NameManager._current.value = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._old_manager is not None
        NameManager._current.value = self._old_manager


class Prefix(NameManager):
    """A name manager that puts a prefix before given and automatic names (not before variables' names)."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        return self._prefix + super().get(name, hint)


def current_manager() -> NameManager:
    """The name manager in effect in this thread."""
    try:
        return NameManager._current.value  # type: ignore[no-any-return]
    except AttributeError:
        NameManager._current.value = NameManager()
        return NameManager._current.value  # type: ignore[no-any-return]
