"""The recording state of each thread and the tape: which operations produced an array, for `backward`, its errors and `get_symbol`.

torch's own autograd graph holds what gradients need. The tape beside it answers what torch's graph cannot: which leaves an array depends on
at all (a leaf behind operators with a zero gradient is still given zeros), and whether a backward has already freed the history.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

__all__ = ["Leaf", "Record", "leaves_below", "release", "state"]


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
    """One recorded operation: operator, attributes as given, records of its inputs (None: a constant).

    A leaf has `leaf` and no operator. Output i > 0 of an operation is a record of its own: op None, `index` i, the operation as only input.
    """

    __slots__ = ("attrs", "freed", "index", "inputs", "leaf", "op")

    def __init__(self, op: Any, attrs: Any, inputs: tuple[Any, ...], index: int = 0, leaf: Leaf | None = None) -> None:
        self.op, self.attrs, self.inputs, self.index, self.leaf = op, attrs, inputs, index, leaf
        self.freed = False


def _walk(heads: list[Record]) -> list[Record]:
    seen: set[int] = set()
    found: list[Record] = []
    stack = list(heads)
    while stack:
        record = stack.pop()
        if id(record) in seen:
            continue
        seen.add(id(record))
        found.append(record)
        stack.extend(r for r in record.inputs if r is not None)
    return found


def leaves_below(heads: list[Record]) -> list[Leaf]:
    """The leaves that the heads were computed from, each once."""
    return [r.leaf for r in _walk(heads) if r.leaf is not None]


def release(heads: list[Record]) -> None:
    """Marks everything below the heads as freed: those arrays are constants from now on. Leaves stay leaves."""
    for record in _walk(heads):
        if record.leaf is None:
            record.freed = True
            record.inputs = ()
