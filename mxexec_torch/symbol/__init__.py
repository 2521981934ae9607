"""mx.sym: symbols, their operators as functions, and files."""

from __future__ import annotations

from typing import Any

from . import _internal, contrib, image, linalg, op, random, sparse
from .base import SymbolBase
from .creation import arange, eye, full, histogram, hypot, linspace, maximum, minimum, ones, pow, power, split_v2, zeros
from .symbol import Group, Symbol, Variable, fromjson, load, load_json, var

__all__ = [
    "Group", "Symbol", "SymbolBase", "Variable", "arange", "contrib", "eye", "fromjson", "full", "histogram", "hypot", "image", "linalg", "linspace",
    "load", "load_json", "maximum", "minimum", "ones", "op", "pow", "power", "random", "sparse", "split_v2", "var", "zeros",
    *op.__all__,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    function = getattr(op, name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *op.__all__})
