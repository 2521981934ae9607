"""The tape of an array as a Symbol (autograd.get_symbol)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ..errors import MXNetError
from ..graph import Entry, Node, topological
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
    made: dict[int, list[Entry]] = {}
    stack = [record]
    while stack:
        current = stack[-1]
        waiting = [r for r in current.inputs if id(r) not in made]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        if id(current) not in made:
            made[id(current)] = _entries(current, made)
    return symbol_class()([made[id(record)][record.index]])


def _entries(record: Record, made: dict[int, list[Entry]]) -> list[Entry]:
    """The outputs of a record's operation."""
    if record.index:  # a further output of its operation
        return made[id(record.inputs[0])]
    if record.op is None:
        if record.name is None:
            record.name = f"{'null' if record.constant else 'var'}{next(_variables)}"
        return [Entry(Node(None, record.name))]
    inputs = [made[id(r)][r.index] for r in record.inputs]
    inlined = getattr(record.op, "inlined", None)
    if inlined is not None:
        return _inlined(inlined, inputs)
    op = record.op if isinstance(record.op, OpDef) else lookup(record.op)
    if op is None:
        raise MXNetError(f"{record.op} has no symbolic form")
    if record.name is None:
        record.name = f"node_{next(_nodes)}"
    attrs = {key: attribute_text(value) for key, value in record.attrs.items()}
    node = Node(op, record.name, attrs, inputs, op.parse(record.attrs))
    return [Entry(node, index) for index in range(op.num_outputs(node.params))]


def _inlined(heads: Sequence[Entry], inputs: Sequence[Entry]) -> list[Entry]:
    """A small graph with its variables replaced by inputs."""
    nodes = topological(heads)
    copies = {id(v): entry for v, entry in zip([n for n in nodes if n.op is None], inputs, strict=True)}

    def at(entry: Entry) -> Entry:
        copy = copies[id(entry.node)]
        return copy if entry.node.op is None else Entry(copy.node, entry.index)

    for node in nodes:
        if node.op is not None:
            attrs = node.op.own_attributes(node.attrs)
            copies[id(node)] = Entry(Node(node.op, f"node_{next(_nodes)}", attrs, [at(e) for e in node.inputs], node.params))
    return [at(head) for head in heads]
