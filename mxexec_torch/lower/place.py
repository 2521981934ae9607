"""Which context each node of a graph runs on (MXNet's `ctx_group` attribute and `group2ctx`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from ..errors import MXNetError
from ..graph import Node

__all__ = ["assign_contexts"]

C = TypeVar("C")


def assign_contexts(nodes: Sequence[Node], default: C, groups: Mapping[str, C] | None) -> dict[int, C]:
    """id(node) -> context. nodes: topological order.

    A node without a group takes the context of its first placed input, else of its first placed consumer, else the default.
    Errors: MXNetError for a group that `groups` does not map.
    """
    if not groups:
        return {id(n): default for n in nodes}
    placed: dict[int, C] = {}
    for node in nodes:
        group = node.attrs.get("__ctx_group__", node.attrs.get("ctx_group"))
        if group is not None:
            if group not in groups:
                raise MXNetError(f"The device assignment not found for group {group} (node {node.name!r}); group2ctx has {sorted(groups)}")
            placed[id(node)] = groups[group]
        else:
            source = next((placed[id(e.node)] for e in node.inputs if id(e.node) in placed), None)
            if source is not None:
                placed[id(node)] = source
    for node in reversed(nodes):
        if id(node) in placed:
            for entry in node.inputs:
                placed.setdefault(id(entry.node), placed[id(node)])
    return {id(n): placed.get(id(n), default) for n in nodes}
