"""Nested lists of arrays or symbols as flat lists and back, as hybridized blocks need them."""

from __future__ import annotations

from typing import Any

from ..context import Context
from ..ndarray.core import NDArray
from ..symbol import Symbol

__all__ = ["flatten", "gather", "regroup"]


def flatten(args: Any, inout_str: str) -> tuple[list[Any], Any]:
    """(flat list, format): formats are 0 for one array, n for a symbol of n outputs, -1 for None, lists for lists. Errors: ValueError."""
    if isinstance(args, NDArray):
        return [args], 0
    if isinstance(args, Symbol):
        count = len(args._entries)
        return [args], count if count > 1 else 0
    if args is None:
        return [None], -1
    if not isinstance(args, (list, tuple)):
        text = f"When hybridized, the {inout_str} of HybridBlock must be (nested) list of Symbol or NDArray, but got {args} of type {type(args)}"
        raise ValueError(text)
    flat: list[Any] = []
    formats = []
    for item in args:
        part, form = flatten(item, inout_str)
        flat += part
        formats.append(form)
    return flat, formats


def regroup(args: Any, fmt: Any) -> Any:
    """The nested form of a flat list, after `flatten`'s format."""
    return _take(args, fmt)[0]


def _take(args: Any, fmt: Any) -> tuple[Any, Any]:
    """(the part that a format describes, the rest)."""
    if isinstance(fmt, int):
        if fmt < -1:
            raise ValueError(f"Unsupported encoded format {fmt}.")
        if fmt > 0:
            return args[:fmt], args[fmt:]
        if fmt == -1 and args[0] is not None:
            raise ValueError(f"an argument that was None when the block was hybridized must stay None, got {args[0]}")
        return args[0], args[1:]
    if not isinstance(args, (list, tuple)):
        raise ValueError(f"When hybridized, the output of HybridBlock must be (nested) list of Symbol or NDArray, but got {args} of type {type(args)}")
    result = []
    for form in fmt:
        part, args = _take(args, form)
        result.append(part)
    return result, args


def gather(args: Any) -> tuple[bool, bool, set[Context], Context | None]:
    """(any symbol, any array, contexts of the arrays, the first array's context) of nested arguments."""
    if isinstance(args, NDArray):
        return False, True, {args.ctx}, args.ctx
    if isinstance(args, Symbol):
        return True, False, set(), None
    symbols, arrays, contexts, first = False, False, set(), None
    for item in args if isinstance(args, (list, tuple)) else ():
        more = gather(item)
        symbols, arrays, first = symbols or more[0], arrays or more[1], more[3] if first is None else first
        contexts |= more[2]
    return symbols, arrays, contexts, first


def same_format(stored: Any, given: Any) -> bool:
    """Whether two formats agree; trailing Nones may be left out."""
    if stored == given:
        return True
    if not isinstance(stored, list) or not isinstance(given, list):
        return False
    common = min(len(stored), len(given))
    return stored[:common] == given[:common] and all(f == -1 for f in stored[common:] + given[common:]) and len(stored) != len(given)
