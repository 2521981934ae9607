"""Running a graph node by node as operations on NDArrays: what graphs with sparse arrays need, whose storage types a lowered graph does not know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..context import Context
from ..graph import Node
from .core import NDArray
from .invoke import run
from .plans import Plan

__all__ = ["Interpreter"]

# (node, inputs) -> inputs to use instead; (node, inputs, outputs)
Watch = tuple[Callable[[Node, Sequence[NDArray]], Sequence[NDArray]], Callable[[Node, Sequence[NDArray], Sequence[NDArray]], None]]


class Interpreter:
    """nodes: a graph in topological order. Each operation is recorded for autograd if recording is on."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._steps = [
            (node, None if node.op is None else Plan(node.op, node.op.own_attributes(node.attrs), len(node.inputs))) for node in nodes
        ]

    def run(
        self, arrays: Mapping[int, NDArray], contexts: Mapping[int, Context] | None = None, watch: Watch | None = None
    ) -> dict[int, list[NDArray]]:
        """The results of all nodes by id(node). arrays: the variables by id(node). contexts: where nodes run, if in several places."""
        values: dict[int, list[NDArray]] = {}
        for node, plan in self._steps:
            if plan is None:
                values[id(node)] = [arrays[id(node)]]
                continue
            inputs: Sequence[NDArray] = [values[id(e.node)][e.index] for e in node.inputs]
            if contexts is not None:
                inputs = [array.as_in_context(contexts[id(node)]) for array in inputs]
            if watch is not None:
                inputs = watch[0](node, inputs)
            result: Any = run(plan, inputs)
            values[id(node)] = result if isinstance(result, list) else [result]
            if watch is not None:
                watch[1](node, inputs, values[id(node)])
        return values
