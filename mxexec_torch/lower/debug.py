"""The text of Executor.debug_str: the plan's nodes, backward ones included, and MXNet's totals."""

from __future__ import annotations

import math
from typing import Any

from ..graph import Entry, Node
from .gradient_graph import GradNode, build_gradient_graph

__all__ = ["executor_debug_str"]


def executor_debug_str(bound: Any) -> str:
    """The plan of a BoundGraph."""
    wanted = [v for v, req in zip(bound.variables, bound.reqs, strict=True) if req != "null"]
    graph = build_gradient_graph(bound.heads, bound.nodes, wanted, bound.mirrored) if wanted else None
    heads = graph.heads if graph is not None else bound.heads
    order = graph.order() if graph is not None else bound.nodes
    versions = _versions(bound.nodes)
    if len(bound.heads) == 1 and bound.heads[0].node.op is None and graph is None:
        return f"Variable:{bound.heads[0].node.name}\nTotal 0 MB allocated\nTotal 11 TempSpace resource requested\n"
    lines = ["Symbol Outputs:"] + [f"\toutput[{i}]={entry.node.name}({entry.index})" for i, entry in enumerate(heads)]
    copies = _Copies(bound.contexts)
    consumers: dict[int, list[Any]] = {}
    for node in order:
        for entry in node.inputs:
            consumers.setdefault(id(entry.node), []).append(node)
    for node in order:
        lines += _node_lines(node, versions, copies)
        for consumer in consumers.get(id(node), []):
            lines += copies.lines(node, consumer)
    total = _memory(bound)
    lines += [f"Total {total >> 20} MB allocated", "Total 11 TempSpace resource requested", ""]
    return "\n".join(lines)


class _Copies:
    """The _CrossDeviceCopy nodes that MXNet puts between contexts."""

    def __init__(self, contexts: Any) -> None:
        self._contexts, self._done = contexts, set()  # type: ignore[var-annotated]

    def _context(self, node: Node | GradNode) -> Any:
        forward = node.of if isinstance(node, GradNode) else node
        return None if forward is None else self._contexts.get(id(forward))

    def needed(self, source: Node | GradNode, target: Node | GradNode) -> bool:
        """Whether a value has to be copied between the two nodes' contexts."""
        if not self._contexts:
            return False
        here, there = self._context(source), self._context(target)
        return here is not None and there is not None and here != there

    def lines(self, source: Node | GradNode, target: Node | GradNode) -> list[str]:
        """The copies of a node's outputs for a consumer, those not listed yet."""
        lines: list[str] = []
        for entry in target.inputs:
            key = (id(source), entry.index, str(self._context(target)) if self._contexts else "")
            if entry.node is source and self.needed(source, target) and key not in self._done:
                self._done.add(key)
                lines += ["-" * 20, f"Op:_CrossDeviceCopy, Name={source.name}_{entry.index}_copy", "Inputs:", f"\targ[0]={source.name}({entry.index})"]
        return lines


def _memory(bound: Any) -> int:
    """Bytes that a pass keeps, in place of MXNet's planned pool: the outputs, and with gradients every intermediate result."""
    entries = [(id(e.node), e.index) for e in bound.heads]
    if bound.differentiated:
        entries += [(id(n), k) for n in bound.nodes if n.op is not None and id(n) in bound.differentiated for k in range(n.num_visible())]
    total = 0
    for key, index in set(entries):
        shape, dtype = bound.shapes[key][index], bound.dtypes[key][index]
        if shape is not None and dtype is not None and -1 not in shape:
            total += math.prod(shape) * dtype.itemsize
    return total


def _versions(nodes: list[Node]) -> dict[int, int]:
    """MXNet's write counter of variables: 1 for auxiliary states."""
    return {id(e.node): e.version for node in nodes for e in node.inputs if isinstance(e, Entry) and e.node.op is None}


def _node_lines(node: Node | GradNode, versions: dict[int, int], copies: _Copies) -> list[str]:
    op_name = node.op_name if isinstance(node, GradNode) else node.op.name if node.op is not None else None
    if op_name is None:
        return [f"Variable:{node.name}"]
    lines = ["-" * 20, f"Op:{op_name}, Name={node.name}", "Inputs:"]
    for i, entry in enumerate(node.inputs):
        source: Node | GradNode = entry.node  # type: ignore[attr-defined]  # Entry and GradEntry both have one
        if copies.needed(source, node):
            lines.append(f"\targ[{i}]={source.name}_{entry.index}_copy(0)")
            continue
        is_variable = source.op_name is None if isinstance(source, GradNode) else source.op is None
        lines.append(f"\targ[{i}]={source.name}({entry.index})" + (f" version={versions.get(id(source), 0)}" if is_variable else ""))
    if node.attrs:
        lines += ["Attrs:"] + [f"\t{key}={value}" for key, value in sorted(node.attrs.items())]
    if isinstance(node, GradNode) and node.control:
        lines += ["Control deps:"] + [f"\tcdep[{i}]={c.name}" for i, c in enumerate(node.control)]
    return lines
