"""`AttrScope`: attributes attached to every symbol created inside a with statement."""

from __future__ import annotations

import threading
import warnings
from collections import defaultdict
from collections.abc import Mapping
from types import TracebackType

__all__ = ["AttrScope"]


class _CurrentMeta(type):
    """Gives `AttrScope.current`, which MXNet keeps as a deprecated class property."""

    @property
    def current(cls) -> AttrScope:
        warnings.warn("AttrScope.current has been deprecated. It is advised to use the `with` statement with AttrScope.", DeprecationWarning, stacklevel=2)
        return current_scope()

    @current.setter
    def current(cls, scope: AttrScope) -> None:
        warnings.warn("AttrScope.current has been deprecated. It is advised to use the `with` statement with AttrScope.", DeprecationWarning, stacklevel=2)
        AttrScope._current.value = scope


class AttrScope(metaclass=_CurrentMeta):
    """`with AttrScope(ctx_group="dev1"):` sets attributes on variables and operators created inside.

    Inner scopes override outer ones, an explicit `attr=` overrides both. A scope that is entered again keeps what it merged the first time.
    Errors: ValueError when a value is not a string.
    """

    _current = threading.local()
    _subgraph_names: defaultdict[str, int] = defaultdict(int)

    def __init__(self, **kwargs: str) -> None:
        self._old_scope: AttrScope | None = None
        if not all(isinstance(value, str) for value in kwargs.values()):
            raise ValueError("Attributes need to be string")
        self._attr: dict[str, str] = kwargs

    def get(self, attr: Mapping[str, str] | None) -> Mapping[str, str]:
        """The scope's attributes with `attr` over them."""
        if self._attr:
            return {**self._attr, **(attr or {})}
        return attr if attr else {}

    def __enter__(self) -> AttrScope:
        self._old_scope = current_scope()
        self._attr = {**self._old_scope._attr, **self._attr}
        AttrScope._current.value = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._old_scope is not None
        AttrScope._current.value = self._old_scope


def current_scope() -> AttrScope:
    """The attribute scope in effect in this thread."""
    try:
        return AttrScope._current.value  # type: ignore[no-any-return]
    except AttributeError:
        AttrScope._current.value = AttrScope()
        return AttrScope._current.value  # type: ignore[no-any-return]
