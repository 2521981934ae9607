"""Shape and dtype inference over a whole graph: rules run forward and backward until nothing more is learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..graph import Node
from .derive import body_outputs
from .rules import same_dtype
from .state import Dtypes, NodeState, Shape, Shapes, complete

__all__ = ["Inferred", "infer_dtypes", "infer_shapes"]

# What is known of every output of every node, by id(node).
Inferred = dict[int, list[Any]]


def infer_shapes(nodes: Sequence[Node], given: Mapping[int, Shape | None]) -> Inferred:
    """Shapes of every node output. `given`: id(variable) -> shape with -1 for unknown dimensions.

    nodes: topological order. Errors: MXNetError on a contradiction, naming node, input, expected and given shape.
    """
    return _solve(nodes, given, _ShapePass())


def infer_dtypes(nodes: Sequence[Node], given: Mapping[int, torch.dtype | None]) -> Inferred:
    """Element types of every node output. Errors: MXNetError on a contradiction."""
    return _solve(nodes, given, _DtypePass())


class _ShapePass:
    state: type[NodeState] = Shapes

    def apply(self, node: Node, s: NodeState) -> None:
        assert node.op is not None
        if node.op.shape is not None:
            node.op.shape(node.params, s)
        elif not node.op.eager_only and all(complete(i) for i in s.inputs) and not all(complete(o) for o in s.outputs):
            shapes, _ = body_outputs(node.op, node.params, tuple(s.inputs), (torch.float32,) * len(s.inputs), node.name)
            for index, shape in enumerate(shapes):
                s.unify_out(shape, index)

    def done(self, value: Any) -> bool:
        return complete(value)


class _DtypePass:
    state: type[NodeState] = Dtypes

    def apply(self, node: Node, s: NodeState) -> None:
        assert node.op is not None
        (node.op.dtype or same_dtype)(node.params, s)  # type: ignore[arg-type]  # this pass makes Dtypes

    def done(self, value: Any) -> bool:
        return value is not None


def _solve(nodes: Sequence[Node], given: Mapping[int, Any], job: _ShapePass | _DtypePass) -> Inferred:
    known: Inferred = {}
    for node in nodes:
        known[id(node)] = [given.get(id(node))] if node.op is None else [None] * node.num_outputs()
    pending = [node for node in nodes if node.op is not None]
    forward = True
    idle = 0
    while pending and idle < 2:
        changed = False
        unfinished: list[Node] = []
        for node in pending if forward else reversed(pending):
            moved, finished = _visit(node, known, job)
            changed |= moved
            if not finished:
                unfinished.append(node)
        pending = unfinished if forward else unfinished[::-1]
        idle = 0 if changed else idle + 1
        forward = not forward
    return known


def _visit(node: Node, known: Inferred, job: _ShapePass | _DtypePass) -> tuple[bool, bool]:
    """Applies one rule; returns (something was learnt, everything at this node is known)."""
    inputs = [known[id(e.node)][e.index] for e in node.inputs]
    outputs = known[id(node)]
    assert node.op is not None
    s = job.state(node.op, node.params, node.name, inputs, outputs, [spec.name for spec in node.input_specs()])
    s.subgraphs = node.subgraphs
    job.apply(node, s)
    moved = False
    for entry, before, after in zip(node.inputs, inputs, s.inputs, strict=True):
        if after != before:
            known[id(entry.node)][entry.index] = after
            moved = True
    if s.outputs != outputs:
        known[id(node)] = s.outputs
        moved = True
    return moved, all(map(job.done, s.inputs)) and all(map(job.done, s.outputs))
