"""The graph under a Symbol: nodes, entries (node, output index) and traversals. No behaviour of the public API lives here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .registry import Attrs, InputSpec, OpDef

__all__ = ["Entry", "Node", "split_variables", "topological"]


class Node:
    """One node of a symbol graph: a variable (`op is None`) or an operator application.

    attrs: all attributes as text, the operator's own (as the user wrote them) and annotations such as `__shape__`.
    params: the operator's attributes, parsed and completed with defaults.
    subgraphs: bodies of control-flow operators (symbols), in MXNet's order.
    version: of a variable: how many operators have been declared to write it (MXNet numbers the uses, see `Entry.version`).
    """

    __slots__ = ("_specs", "attrs", "extra", "inputs", "name", "op", "params", "subgraphs", "version")

    def __init__(self, op: OpDef | None, name: str, attrs: dict[str, str] | None = None, inputs: Iterable[Entry] = (), params: Attrs | None = None) -> None:
        self.op = op
        self.name = name
        self.attrs: dict[str, str] = {} if attrs is None else attrs
        self.inputs: list[Entry] = list(inputs)
        self.params: Attrs = params if params is not None else Attrs()
        self.subgraphs: list[Any] = []
        self.extra: Any = None
        self.version = 0
        self._specs: list[InputSpec] | None = None

    @property
    def is_variable(self) -> bool:
        """Whether this is an argument or auxiliary state and not an operator."""
        return self.op is None

    def input_specs(self) -> list[InputSpec]:
        """The registry's description of each input of this node."""
        if self._specs is None:
            assert self.op is not None
            self._specs = self.op.node_inputs(self.params, len(self.inputs))
        return self._specs

    def num_outputs(self) -> int:
        """Number of outputs, hidden ones included."""
        return 1 if self.op is None else self.op.num_outputs(self.params)

    def num_visible(self) -> int:
        """Number of outputs the user sees."""
        return 1 if self.op is None else self.op.num_visible(self.params)

    def __repr__(self) -> str:
        return f"<Node {self.op.name if self.op else 'null'} {self.name}>"


class Entry(NamedTuple):
    """One output of a node. `version` is MXNet's write counter of a variable (1 at auxiliary inputs)."""

    node: Node
    index: int = 0  # type: ignore[assignment]  # hides tuple.index, which nothing needs
    version: int = 0


def topological(heads: Iterable[Entry]) -> list[Node]:
    """Nodes below the heads, inputs first, left to right, each once (the order of MXNet's DFSVisit). Iterative: graphs are deep."""
    order: list[Node] = []
    seen: set[Node] = set()
    for head in heads:
        if head.node in seen:
            continue
        seen.add(head.node)
        stack = [(head.node, iter(head.node.inputs))]
        while stack:
            node, inputs = stack[-1]
            for child, _, _ in inputs:
                if child not in seen:
                    seen.add(child)
                    if child.inputs:
                        stack.append((child, iter(child.inputs)))
                        break
                    order.append(child)
            else:
                order.append(node)
                stack.pop()
    return order


def split_variables(nodes: Iterable[Node]) -> tuple[list[Node], list[Node]]:
    """(arguments, auxiliary states) among topologically ordered nodes: a variable is auxiliary when an operator takes it as such."""
    nodes = list(nodes)
    auxiliary: set[int] = set()
    for node in nodes:
        if node.op is not None and (node.op.auxiliary or any(spec.kind == "aux" for spec in node.op.inputs)):
            auxiliary.update(id(e.node) for spec, e in zip(node.input_specs(), node.inputs, strict=False) if spec.kind == "aux")
    variables = [n for n in nodes if n.op is None]
    return [v for v in variables if id(v) not in auxiliary], [v for v in variables if id(v) in auxiliary]
