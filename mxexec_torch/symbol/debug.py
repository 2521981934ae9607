"""The text of `Symbol.debug_str`."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Entry, Node, topological

__all__ = ["graph_debug_str"]


def graph_debug_str(entries: Sequence[Entry]) -> str:
    """Outputs, variables and operators with inputs and attributes, in MXNet's layout."""
    first = entries[0].node
    if not first.inputs and all(entry.node is first for entry in entries):
        return f"Variable:{first.name}\n" if first.op is None else f"AtomicFunctor  Op:{first.op.name}\n"
    heads = "".join(f"\toutput[{i}]={entry.node.name}({entry.index})\n" for i, entry in enumerate(entries))
    return "Symbol Outputs:\n" + heads + "".join(map(_node_text, topological(entries)))


def _node_text(node: Node) -> str:
    """The block of one node."""
    if node.op is None:
        return f"Variable:{node.name}\n"
    lines = ["-" * 20, f"Op:{node.op.name}, Name={node.name}", "Inputs:"]
    for i, entry in enumerate(node.inputs):
        version = f" version={entry.version}" if entry.node.op is None else ""
        lines.append(f"\targ[{i}]={entry.node.name}({entry.index}){version}")
    if node.attrs:
        lines.append("Attrs:")
        lines.extend(f"\t{key}={value}" for key, value in sorted(node.attrs.items()))
    return "\n".join(lines) + "\n"
