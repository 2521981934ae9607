"""Which context each node of a graph runs on (MXNet's `ctx_group` attribute and `group2ctx`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from ..errors import MXNetError
from ..graph import Node

__all__ = ["assign_contexts", "check_gradient_contexts"]

C = TypeVar("C")


def assign_contexts(nodes: Sequence[Node], default: C, groups: Mapping[str, C] | None) -> dict[int, C]:
    """id(node) -> context. nodes: topological order.

    A variable without a group lives on the default context, an operator without one runs where its first input is.
    Errors: MXNetError for a group that `groups` does not map.
    """
    if not groups:
        return {id(n): default for n in nodes}
    placed: dict[int, C] = {}
    for node in nodes:
        group = node.attrs.get("__ctx_group__", node.attrs.get("ctx_group"))
        if group is None:
            placed[id(node)] = placed[id(node.inputs[0].node)] if node.inputs else default
        elif group in groups:
            placed[id(node)] = groups[group]
        else:
            raise MXNetError(f"The device assignment not found for group {group} (node {node.name!r}); group2ctx has {sorted(groups)}")
    return placed


def check_gradient_contexts(nodes: Sequence[Node], wanted: Sequence[Node], placed: Mapping[int, C]) -> None:
    """Errors: MXNetError for an argument whose gradient is computed on another context than the argument's own."""
    source: dict[int, Node] = {}
    for node in nodes:
        source.update({id(e.node): node for e in node.inputs})  # the last consumer's gradient is the first to arrive
    for variable in wanted:
        consumer = source.get(id(variable))
        if consumer is not None and placed[id(consumer)] != placed[id(variable)]:
            raise MXNetError(
                f"Trying to save gradient to {placed[id(variable)]} while its source node \"{consumer.name}_backward\" computes it on "
                f"{placed[id(consumer)]}. Check your ctx in NDArray allocation (argument {variable.name!r})."
            )
