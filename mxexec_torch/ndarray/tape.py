"""The recording state of each thread and the tape: which operations produced an array, for `backward`, its errors and `get_symbol`.

torch's own autograd graph holds what gradients need. The tape beside it answers what torch's graph cannot: which leaves an array depends on
at all (a leaf behind operators with a zero gradient is still given zeros), and whether a backward has already freed the history.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

__all__ = ["Leaf", "Record", "constant_record", "leaves_below", "release", "state"]


class _State(threading.local):
    recording = False
    training = False


state = _State()


class Leaf:
    """What belongs to an array that gradients are asked of: torch's leaf tensor, the gradient buffer (an NDArray) and the request."""

    __slots__ = ("alias", "fresh", "grad", "req")

    def __init__(self, alias: torch.Tensor, grad: Any, req: str) -> None:
        self.alias, self.grad, self.req = alias, grad, req
        self.fresh = False


class Record:
    """One recorded operation: operator, attributes as given, records of its inputs.

    A leaf has `leaf` and no operator. Output i > 0 of an operation is a record of its own: op None, `index` i, the operation as only input.
    A constant that took part in a recorded operation has a record too (`constant`): writing to it while recording is refused.
    """

    __slots__ = ("attrs", "constant", "freed", "index", "inputs", "leaf", "name", "op")

    def __init__(self, op: Any, attrs: Any, inputs: tuple[Any, ...], index: int = 0, leaf: Leaf | None = None) -> None:
        self.op, self.attrs, self.inputs, self.index, self.leaf = op, attrs, inputs, index, leaf
        self.freed = False
        self.constant = False
        self.name: str | None = None  # given by get_symbol


def constant_record() -> Record:
    """The record of an array that is an input without history."""
    record = Record(None, None, ())
    record.constant = True
    return record


def _walk(heads: list[Record], gradients: bool = False) -> list[Record]:
    """Every record below the heads. gradients: leaves at inputs whose gradient array is never written (labels) are left out."""
    seen: set[int] = set()
    found: list[Record] = []
    stack = list(heads)
    while stack:
        record = stack.pop()
        if id(record) in seen:
            continue
        seen.add(id(record))
        found.append(record)
        if gradients and record.op is not None and getattr(record.op, "untouched_grads", ()):
            stack.extend(_written(record))
        else:
            stack.extend(record.inputs)
    return found


def _written(record: Record) -> list[Record]:
    op = record.op
    names = [spec.name for spec in op.node_inputs(op.parse(record.attrs), len(record.inputs))]
    return [r for name, r in zip(names, record.inputs, strict=True) if r.leaf is None or name not in op.untouched_grads]


def leaves_below(heads: list[Record]) -> list[Leaf]:
    """The leaves that the heads were computed from, each once."""
    return [r.leaf for r in _walk(heads, gradients=True) if r.leaf is not None]


def release(heads: list[Record]) -> None:
    """Marks everything below the heads as freed: those arrays are constants from now on. Leaves stay leaves."""
    for record in _walk(heads):
        if record.leaf is None:
            record.freed = True
            record.inputs = ()
