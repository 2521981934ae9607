"""Graph rewrites that MXNet makes before running and that users can observe."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..graph import Entry, Node, topological
from ..registry import get

__all__ = ["merge_equal"]


def merge_equal(heads: Sequence[Entry]) -> list[Entry]:
    """Heads of the graph with equal subexpressions computed once; the first node's name stays.

    Equal: same operator, same parameters, same inputs. Random operators and those with auxiliary states are never merged
    (src/executor/eliminate_common_expr_pass.cc). Heads that become one get copies, so that each keeps memory of its own.
    Returns the same entries when there is nothing to merge, or when MXNET_ELIMINATE_COMMON_EXPR=0.
    """
    if os.environ.get("MXNET_ELIMINATE_COMMON_EXPR", "1") == "0":
        return list(heads)
    nodes = topological(heads)
    kept: dict[tuple[object, ...], Node] = {}
    replaced: dict[int, Node] = {}  # only what is another node now
    for node in nodes:
        if node.op is None:
            continue
        mine = node
        inputs = node.inputs
        if replaced and any(id(e.node) in replaced for e in inputs):
            inputs = [Entry(replaced.get(id(e.node), e.node), e.index, e.version) for e in inputs]
            mine = Node(node.op, node.name, node.attrs, inputs, node.params)
            mine.subgraphs, mine.extra = node.subgraphs, node.extra
        if _mergeable(node):
            mine = kept.setdefault((node.op.name, node.params.key, _placement(node), *[(id(e.node), e.index) for e in inputs]), mine)
        if mine is not node:
            replaced[id(node)] = mine
    if not replaced:
        return list(heads)
    return _separate(heads, [Entry(replaced.get(id(e.node), e.node), e.index, e.version) for e in heads])


def _separate(before: Sequence[Entry], merged: Sequence[Entry]) -> list[Entry]:
    """Copies for heads that were different nodes before merging and are one now."""
    first: dict[tuple[int, int], Entry] = {}
    result: list[Entry] = []
    for old, new in zip(before, merged, strict=True):
        key = (id(new.node), new.index)
        if key in first and first[key].node is not old.node:
            copy = get("_copy")
            result.append(Entry(Node(copy, f"{new.node.name}_{len(result)}_copy", {}, [new], copy.parse({}))))
        else:
            first.setdefault(key, old)
            result.append(new)
    return result


def _mergeable(node: Node) -> bool:
    op = node.op
    return (
        op is not None and not op.random and not op.eager_only and not node.subgraphs and bool(node.inputs)
        and all(spec.kind == "arg" for spec in op.inputs)
    )  # fmt: skip


def _placement(node: Node) -> tuple[str | None, ...]:
    return node.attrs.get("__ctx_group__"), node.attrs.get("ctx_group")
