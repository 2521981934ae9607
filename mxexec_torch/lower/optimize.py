"""Graph rewrites that MXNet makes before running and that users can observe."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Entry, Node, topological

__all__ = ["merge_equal"]


def merge_equal(heads: Sequence[Entry]) -> list[Entry]:
    """Heads of the graph with equal subexpressions computed once; the first node's name stays.

    Equal: same operator, same parameters, same inputs. Random operators and those with auxiliary states are never merged
    (src/executor/eliminate_common_expr_pass.cc). Returns the same entries when there is nothing to merge.
    """
    nodes = topological(heads)
    kept: dict[tuple[object, ...], Node] = {}
    replaced: dict[int, Node] = {}
    changed = False
    for node in nodes:
        if node.op is None:
            replaced[id(node)] = node
            continue
        inputs = [Entry(replaced[id(e.node)], e.index, e.version) for e in node.inputs]
        mine = node
        if any(new.node is not old.node for new, old in zip(inputs, node.inputs, strict=True)):
            mine = Node(node.op, node.name, node.attrs, inputs, node.params)
            mine.subgraphs, mine.extra = node.subgraphs, node.extra
        if _mergeable(node):
            key = (node.op.name, node.params.key, tuple(sorted(_placement(node).items())), *((id(e.node), e.index) for e in inputs))
            first = kept.setdefault(key, mine)
            changed |= first is not mine
            mine = first
        replaced[id(node)] = mine
    if not changed:
        return list(heads)
    return [Entry(replaced[id(e.node)], e.index, e.version) for e in heads]


def _mergeable(node: Node) -> bool:
    op = node.op
    return op is not None and not op.random and not op.eager_only and not node.subgraphs and all(spec.kind == "arg" for spec in op.inputs) and bool(node.inputs)


def _placement(node: Node) -> dict[str, str]:
    return {k: v for k, v in node.attrs.items() if k in ("__ctx_group__", "ctx_group")}
