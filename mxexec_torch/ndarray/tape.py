"""The recording state of each thread and the tape: which operations produced an array, for `backward`, its errors and `get_symbol`.

torch's own autograd graph holds what gradients need. The tape beside it answers what torch's graph cannot: which leaves an array depends on
at all (a leaf behind operators with a zero gradient is still given zeros), and whether a backward has already freed the history.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from ..errors import MXNetError

__all__ = ["GRADIENT", "IN_GRAPH", "IN_PLACE", "Leaf", "Record", "constant_record", "guard_write", "leaves_of", "records_below", "release", "state"]


IN_GRAPH = (
    "Assigning to NDArrays that are already in a computational graph has no defined gradient: call backward first, or write outside of record(). "
    "This concerns +=, *=, relu(x, out=x), y[idx] = x and the like."
)
GRADIENT = "_backward"  # the operation whose results are gradients
IN_PLACE = "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd."


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


def records_below(heads: list[Record], through_gradients: bool = True) -> list[Record]:
    """Every record that the heads were computed from, each once. Leaves whose gradient would never be written (labels) are left out."""
    seen: set[int] = set()
    found: list[Record] = []
    stack = list(heads)
    while stack:
        record = stack.pop()
        if id(record) in seen:
            continue
        seen.add(id(record))
        found.append(record)
        if getattr(record.op, "untouched_grads", ()):
            stack.extend(_written(record))
        elif through_gradients or record.op != GRADIENT:
            stack.extend(record.inputs)
    return found


def _written(record: Record) -> list[Record]:
    op = record.op
    names = [spec.name for spec in op.node_inputs(op.parse(record.attrs), len(record.inputs))]
    return [r for name, r in zip(names, record.inputs, strict=True) if r.leaf is None or name not in op.untouched_grads]


def leaves_of(records: list[Record]) -> list[Leaf]:
    """The leaves among records."""
    return [r.leaf for r in records if r.leaf is not None]


def release(heads: list[Record]) -> None:
    """Frees the history of the heads: those arrays are constants from now on. Leaves stay leaves.

    What a gradient (`create_graph`) was computed from is not part of its history: those heads can be differentiated again.
    """
    for record in records_below(heads, through_gradients=False):
        if record.leaf is None:
            record.freed = True
            record.inputs = ()


def guard_write(array: Any, value: Any = None) -> None:
    """Refuses to write to an array that recording has seen, or a recorded value into a part of one. Errors: MXNetError."""
    if array._rec is not None and not array._rec.freed:
        raise MXNetError(IN_GRAPH)
    if (rec := getattr(value, "_rec", None)) is not None and not (rec.freed or rec.constant):
        raise MXNetError(IN_PLACE)
