"""`SymbolBase`: what makes an object a symbol for the published functions. The public class is `symbol.Symbol`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..graph import Entry

__all__ = ["SymbolBase", "set_symbol_class", "symbol_class"]

_classes: list[type[Any]] = []


class SymbolBase:
    """Holds the outputs of a graph."""

    __slots__ = ("_entries",)

    def __init__(self, handle: Iterable[Entry] | None) -> None:
        self._entries: list[Entry] = list(handle) if handle is not None else []

    @property
    def handle(self) -> list[Entry]:
        """The outputs. Stands where MXNet has a C handle: `Symbol(s.handle)` is a shallow copy of s."""
        return self._entries

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None,), self.__getstate__()


def set_symbol_class(cls: type[Any]) -> None:
    """Tells the published functions which class to return."""
    _classes[:] = [cls]


def symbol_class() -> type[Any]:
    """The class of the symbols that published functions return."""
    return _classes[0]
