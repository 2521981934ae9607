"""The tape of an array as a Symbol (autograd.get_symbol)."""

from __future__ import annotations

import itertools
from typing import Any

from ..errors import MXNetError
from ..graph import Entry, Node
from ..registry import OpDef, lookup
from ..symbol.base import symbol_class
from ..symbol.compose import attribute_text
from .tape import Record

__all__ = ["symbol_of"]

_variables, _nodes = itertools.count(), itertools.count()


def symbol_of(record: Record) -> Any:
    """A symbol of the operations that led to a record; leaves are variables `var<n>`, constants `null<n>`, operations `node_<n>`.

    Errors: MXNetError where an operation has no symbolic form (autograd.Function).
    """
    made: dict[int, Node] = {}
    stack = [record]
    while stack:
        current = stack[-1]
        waiting = [r for r in current.inputs if id(r) not in made]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        if id(current) not in made:
            made[id(current)] = _node(current, made)
    return symbol_class()([_entry(record, made)])


def _entry(record: Record, made: dict[int, Node]) -> Entry:
    return Entry(made[id(record)], record.index)


def _node(record: Record, made: dict[int, Node]) -> Node:
    if record.index:  # a further output of its operation
        return made[id(record.inputs[0])]
    if record.op is None:
        if record.name is None:
            record.name = f"{'null' if record.constant else 'var'}{next(_variables)}"
        return Node(None, record.name)
    op = record.op if isinstance(record.op, OpDef) else lookup(record.op)
    if op is None:
        raise MXNetError(f"{record.op} has no symbolic form")
    if record.name is None:
        record.name = f"node_{next(_nodes)}"
    attrs = {key: attribute_text(value) for key, value in record.attrs.items()}
    return Node(op, record.name, attrs, [_entry(r, made) for r in record.inputs], op.parse(record.attrs))
