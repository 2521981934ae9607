"""What a shape or dtype rule sees: the values known so far at one node, and `unify` to add to them.

A shape is a tuple of ints with -1 for an unknown dimension, or None when nothing is known; a dtype is a torch.dtype or None.
Rules only ever add knowledge, so the solver may run them in any order until nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import MXNetError
from ..registry import Attrs, OpDef

__all__ = ["Dtypes", "NodeState", "Shape", "Shapes", "complete", "merge_shapes", "show"]

Shape = tuple[int, ...]


def complete(shape: Shape | None) -> bool:
    """Whether every dimension is known."""
    return shape is not None and -1 not in shape


def merge_shapes(first: Shape | None, second: Shape | None) -> Shape | None:
    """What both together say. Errors: ValueError when they contradict each other."""
    if first is None or first == second:
        return second if first is None else first
    if second is None:
        return first
    if len(first) != len(second):
        raise ValueError
    merged = []
    for x, y in zip(first, second, strict=True):
        if x != y and x != -1 and y != -1:
            raise ValueError
        merged.append(y if x == -1 else x)
    return tuple(merged)


def show(value: Any) -> str:
    """A shape or dtype as MXNet prints it in errors: [2,3]."""
    if isinstance(value, tuple):
        return "[" + ",".join(str(d) for d in value) + "]"
    return "None" if value is None else str(value).removeprefix("torch.")


class NodeState:
    """Base of `Shapes` and `Dtypes`: the values of one node's inputs and outputs.

    Keys are input names or positions; `outputs` counts hidden outputs too.
    """

    what = "attr"

    def __init__(self, op: OpDef, a: Attrs, name: str, inputs: Sequence[Any], outputs: Sequence[Any], names: Sequence[str]) -> None:
        self.op, self.a, self.name = op, a, name
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.names = names
        self.subgraphs: Sequence[Any] = ()  # of control-flow nodes: the bodies, as symbols

    def position(self, key: str | int) -> int | None:
        """Position of an input, None when this node does not have it (an absent bias)."""
        if isinstance(key, int):
            return key if key < len(self.inputs) else None
        return self.names.index(key) if key in self.names else None

    def has(self, key: str | int) -> bool:
        """Whether the node has that input."""
        return self.position(key) is not None

    def get(self, key: str | int = 0) -> Any:
        """What is known of an input (None: nothing, or no such input)."""
        position = self.position(key)
        return None if position is None else self.inputs[position]

    def out(self, index: int = 0) -> Any:
        """What is known of an output."""
        return self.outputs[index]

    def unify(self, key: str | int, value: Any) -> None:
        """Adds knowledge about an input; an absent input is ignored. Errors: MXNetError on a contradiction."""
        position = self.position(key)
        if position is not None:
            self.inputs[position] = self._merge(self.inputs[position], value, f"input {self.names[position]!r}", position)

    def unify_out(self, value: Any, index: int = 0) -> None:
        """Adds knowledge about an output."""
        self.outputs[index] = self._merge(self.outputs[index], value, f"output {index}", None)

    def _merge(self, known: Any, value: Any, where: str, position: int | None) -> Any:
        raise NotImplementedError

    def fail(self, text: str) -> MXNetError:
        """An error that names the node, for `raise s.fail(...)`."""
        return MXNetError(f"Error in operator {self.name}: {text}")


class Shapes(NodeState):
    """Shapes at one node."""

    what = "shape"

    def known(self, key: str | int = 0) -> Shape | None:
        """An input's shape when it is complete, else None."""
        shape: Shape | None = self.get(key)
        return shape if complete(shape) else None

    def unify_out(self, value: Any, index: int = 0) -> None:
        if value is not None and value and min(value) < -1:
            raise self.fail(f"shape dim size must be >= -1, while {show(tuple(value))} is inferred for output {index}")
        super().unify_out(value, index)

    def unify(self, key: str | int, value: Any, elementwise: bool = False) -> None:
        position = self.position(key)
        if position is None:
            return
        known = self.inputs[position]
        try:
            self.inputs[position] = merge_shapes(known, value)
        except ValueError:
            if elementwise:
                text = f"Incompatible attr in node {self.name} at {position}-th input: expected {show(value)}, got {show(known)}"
                raise self.fail(text) from None
            inferred = str(tuple(value)).replace(" ", "") if len(value) != 1 else f"({value[0]},)"
            raise self.fail(f"Shape inconsistent, Provided = {show(known)}, inferred shape={inferred} (input {self.names[position]!r})") from None

    def _merge(self, known: Any, value: Any, where: str, position: int | None) -> Any:
        try:
            return merge_shapes(known, value)
        except ValueError:
            raise self.fail(f"Incompatible attr in node {self.name} at {where}: expected {show(value)}, got {show(known)}") from None


class Dtypes(NodeState):
    """Element types at one node (torch dtypes)."""

    what = "type"

    def _merge(self, known: torch.dtype | None, value: torch.dtype | None, where: str, position: int | None) -> torch.dtype | None:
        if known is None or value is None or known == value:
            return value if known is None else known
        at = f"{position}-th input" if position is not None else where
        raise self.fail(f"Incompatible attr in node {self.name} at {at}: expected {show(value)}, got {show(known)}")
