"""Gradients through values of integer types, which torch does not differentiate: a copy of the graph for them.

MXNet passes gradients through casts to integers (quantisation written as two casts is such a straight-through estimator) and has gradients
of integer arguments. In the copy such values are float64: integer arguments are given as float64, a cast to an integer type keeps the
truncated value as float64 and hands its gradient on. Values still come from the graph itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from ..dtypes import torch_dtype
from ..graph import Entry, Node
from ..infer.derive import body_outputs
from ..ops.runtime.elementwise import straight_cast
from ..registry import Attrs, Grad, OpDef, get
from .program import Program, build_program

__all__ = ["integer_paths", "integer_program"]


def integer_paths(heads: Sequence[Entry], nodes: Sequence[Node], wanted: set[int], dtypes: Mapping[int, list[Any]]) -> tuple[set[int], bool]:
    """(ids of the nodes on paths from the wanted variables to the heads along which a gradient other than zero can flow, whether such a
    path crosses a cast to an integer type). The set is empty in graphs without such casts and without wanted integer variables.
    """
    casts = {id(node) for node in nodes if _is_integer_cast(node)}
    if not casts and not any(id(n) in wanted and not dtypes[id(n)][0].is_floating_point for n in nodes if n.op is None):
        return set(), False
    depends = set(wanted)
    for node in nodes:
        if node.op is not None and _has_gradient(node.op, dtypes[id(node)]) and any(id(e.node) in depends for e in _differentiable(node)):
            depends.add(id(node))
    reached = {id(e.node) for e in heads}
    for node in reversed(nodes):
        if node.op is not None and id(node) in reached and id(node) in depends:
            reached.update(id(e.node) for e in _differentiable(node))
    paths = depends & reached
    return paths, bool(casts & paths)


def _has_gradient(op: OpDef, dtypes: Sequence[torch.dtype | None]) -> bool:
    return op.grad is Grad.AUTO and (op.integer_grad or dtypes[0] is None or dtypes[0].is_floating_point)


def _differentiable(node: Node) -> list[Entry]:
    op = node.op
    assert op is not None
    if op.differentiable is None and not op.untouched_grads:
        return node.inputs
    of = op.differentiable
    pairs = zip(node.input_specs(), node.inputs, strict=True)
    return [e for spec, e in pairs if (of is None or spec.name in of) and spec.name not in op.untouched_grads]


def _is_integer_cast(node: Node) -> bool:
    return node.op is not None and node.op.name == "Cast" and not torch_dtype(node.params.dtype).is_floating_point


def _straight_body(data: torch.Tensor, *, dtype: str) -> torch.Tensor:
    return straight_cast(data, torch_dtype(dtype))


@lru_cache(maxsize=1)
def _straight() -> OpDef:
    return replace(get("Cast"), name="_straight_cast", aliases=(), body=_straight_body)


def integer_program(
    heads: Sequence[Entry], nodes: Sequence[Node], variables: Sequence[Node], paths: set[int], shapes: Mapping[int, list[Any]],
    dtypes: Mapping[int, list[Any]], devices: Mapping[int, torch.device], train: bool,
) -> Program:  # fmt: skip
    """The copy of a graph (topological `nodes`) that takes its integer variables on `paths` as float64.

    Only what lies behind them or behind a cast to integers on the paths differs from the graph; the rest is shared with it.
    """
    shapes, dtypes, devices = dict(shapes), dict(dtypes), dict(devices)
    changed: dict[int, Node] = {}
    for node in nodes:
        if id(node) not in paths:
            continue
        if node.op is None:
            known = dtypes[id(node)][0]
            if known is not None and not known.is_floating_point:
                dtypes[id(node)] = [torch.float64]
                changed[id(node)] = node
        elif _is_integer_cast(node) or any(id(e.node) in changed for e in node.inputs):
            made = _copy(node, changed)
            shapes[id(made)], devices[id(made)] = shapes[id(node)], devices[id(node)]
            dtypes[id(made)] = list(_result_dtypes(made, shapes, dtypes, dtypes[id(node)], train))
            changed[id(node)] = made
    return build_program([_through(e, changed) for e in heads], variables, shapes, dtypes, devices, train)


def _through(entry: Entry, changed: Mapping[int, Node]) -> Entry:
    return entry._replace(node=changed.get(id(entry.node), entry.node))


def _copy(node: Node, changed: Mapping[int, Node]) -> Node:
    made = Node(_straight() if _is_integer_cast(node) else node.op, node.name, node.attrs, [_through(e, changed) for e in node.inputs], node.params)
    made.subgraphs, made.extra = node.subgraphs, node.extra
    return made


def _result_dtypes(
    node: Node, shapes: Mapping[int, list[Any]], dtypes: Mapping[int, list[Any]], declared: Sequence[torch.dtype | None], train: bool
) -> Sequence[torch.dtype | None]:
    op = node.op
    assert op is not None
    given = [shapes[id(e.node)][e.index] for e in node.inputs]
    if op.eager_only or op.bind is not None or None in given:
        return [d if d is None or d.is_floating_point else torch.float64 for d in declared]
    params: Attrs = node.params
    taken = tuple(dtypes[id(e.node)][e.index] for e in node.inputs)
    return body_outputs(op, params, tuple(given), taken, node.name, train)[1]
