"""The text of Executor.debug_str: the plan's nodes, backward ones included, and MXNet's totals."""

from __future__ import annotations

from typing import Any

from ..graph import Entry, Node
from .gradient_graph import GradNode, build_gradient_graph

__all__ = ["executor_debug_str"]


def executor_debug_str(bound: Any) -> str:
    """The plan of a BoundGraph. Memory: bytes of the output buffers, in whole MB (MXNet counts its whole pool)."""
    wanted = [v for v, req in zip(bound.variables, bound.reqs, strict=True) if req != "null"]
    graph = build_gradient_graph(bound.heads, bound.nodes, wanted) if wanted else None
    heads = graph.heads if graph is not None else bound.heads
    order = graph.order() if graph is not None else bound.nodes
    versions = _versions(bound.nodes)
    if len(bound.heads) == 1 and bound.heads[0].node.op is None and graph is None:
        return f"Variable:{bound.heads[0].node.name}\nTotal 0 MB allocated\nTotal 11 TempSpace resource requested\n"
    lines = ["Symbol Outputs:"] + [f"\toutput[{i}]={entry.node.name}({entry.index})" for i, entry in enumerate(heads)]
    for node in order:
        lines += _node_lines(node, versions)
    total = sum(t.numel() * t.element_size() for t in bound.outputs if t is not None)
    lines += [f"Total {total >> 20} MB allocated", "Total 11 TempSpace resource requested", ""]
    return "\n".join(lines)


def _versions(nodes: list[Node]) -> dict[int, int]:
    """MXNet's write counter of variables: 1 for auxiliary states."""
    return {id(e.node): e.version for node in nodes for e in node.inputs if isinstance(e, Entry) and e.node.op is None}


def _node_lines(node: Node | GradNode, versions: dict[int, int]) -> list[str]:
    op_name = node.op_name if isinstance(node, GradNode) else node.op.name if node.op is not None else None
    if op_name is None:
        return [f"Variable:{node.name}"]
    lines = ["-" * 20, f"Op:{op_name}, Name={node.name}", "Inputs:"]
    for i, entry in enumerate(node.inputs):
        source = entry.node
        is_variable = source.op_name is None if isinstance(source, GradNode) else source.op is None
        lines.append(f"\targ[{i}]={source.name}({entry.index})" + (f" version={versions.get(id(source), 0)}" if is_variable else ""))
    if node.attrs:
        lines += ["Attrs:"] + [f"\t{key}={value}" for key, value in sorted(node.attrs.items())]
    if isinstance(node, GradNode) and node.control:
        lines += ["Control deps:"] + [f"\tcdep[{i}]={c.name}" for i, c in enumerate(node.control)]
    return lines
