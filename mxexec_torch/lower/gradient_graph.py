"""The backward graph as MXNet would build it: for debug_str and for the names that monitors see during backward.

Nothing here computes: torch autograd does. Which nodes an operator's gradient adds is data recorded from MXNet 1.9.1
(data/gradient_nodes.tsv); how they are put together follows nnvm's gradient pass (one sum per shared value, zeros where nothing arrives).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from ..data import data_text
from ..graph import Entry, Node

__all__ = ["GradEntry", "GradNode", "GradientGraph", "build_gradient_graph", "is_mirrored"]


@dataclass(eq=False)
class GradNode:
    """One node of the backward graph. `of`: the forward node whose gradient it is part of (None for sums, head gradients and zeros)."""

    name: str
    op_name: str | None
    inputs: list[GradEntry] = field(default_factory=list)
    attrs: dict[str, str] = field(default_factory=dict)
    control: list[Node | GradNode] = field(default_factory=list)
    of: Node | None = None
    num_outputs: int = 1


class GradEntry(NamedTuple):
    """One output of a forward or backward node."""

    node: Node | GradNode
    index: int  # type: ignore[assignment]  # hides tuple.index, which nothing needs


@dataclass
class GradientGraph:
    """heads: the forward outputs, then one gradient per wanted argument. input_grads: (id(forward node), input position) -> its gradient.

    totals: (output of a forward node, its whole gradient), from the heads on.
    """

    heads: list[GradEntry]
    input_grads: dict[tuple[int, int], GradEntry]
    totals: list[tuple[Entry, GradEntry]]

    def order(self) -> list[Node | GradNode]:
        """All nodes, inputs and control dependencies first, each once."""
        return list(_visit(self.heads))


class _Plan(NamedTuple):
    suffix: str
    op_name: str
    inputs: list[str]
    attrs: str
    free: bool


class _Variant(NamedTuple):
    condition: dict[str, str]
    nodes: list[_Plan]
    grads: list[str]


@lru_cache(maxsize=1)
def _plans() -> dict[str, list[_Variant]]:
    table: dict[str, list[_Variant]] = {}
    for line in data_text("gradient_nodes.tsv").splitlines():
        if line.startswith("#"):
            continue
        op, condition, nodes, grads = line.split("\t")
        wanted = dict(part.split("=") for part in condition.split(",") if part)
        table.setdefault(op, []).append(_Variant(wanted, [_read_plan(part) for part in nodes.split(" ; ") if part], grads.split()))
    return table


def _read_plan(text: str) -> _Plan:
    suffix, op_name, inputs, attrs, *free = text.split(" ")
    return _Plan(suffix, op_name, [] if inputs == "-" else inputs.split(","), attrs, bool(free))


def is_mirrored(node: Node) -> bool:
    """Whether backward recomputes a node's outputs instead of keeping them: `force_mirroring`, or MXNET_BACKWARD_DO_MIRROR for cheap layers."""
    if node.op is None or node.op.name == "Dropout":
        return False
    if node.attrs.get("__force_mirroring__", "").lower() in ("true", "1"):
        return True
    return os.environ.get("MXNET_BACKWARD_DO_MIRROR", "0") not in ("", "0") and node.op.name not in _KEPT


_KEPT = ("Convolution", "FullyConnected", "Concat", "SoftmaxOutput")


def build_gradient_graph(heads: Sequence[Entry], nodes: Sequence[Node], wanted: Iterable[Node], mirrored: Collection[int] = ()) -> GradientGraph:
    """The backward graph of `heads` (nodes: topological order) for the wanted variables. mirrored: ids of the nodes that backward recomputes."""
    grads: dict[tuple[int, int], list[GradEntry]] = {}
    for i, head in enumerate(heads):
        variable = GradNode(f"_head_grad_{i}", None)
        identity = GradNode(f"_head_grad_{i}_id", "_identity_with_attr_like_rhs", [GradEntry(variable, 0), GradEntry(head.node, head.index)])
        grads[id(head.node), head.index] = [GradEntry(identity, 0)]  # the last of equal heads counts
    input_grads: dict[tuple[int, int], GradEntry] = {}
    needed = _depending(nodes, {id(v) for v in wanted})
    totals: list[tuple[Entry, GradEntry]] = []
    mirrors = _mirrors(nodes, mirrored)
    for node in reversed(nodes):
        if node.op is None or id(node) not in needed:
            continue
        arriving = [grads.get((id(node), k), []) for k in range(node.num_outputs())]
        if not any(arriving):
            continue
        out_grads = _Arriving(arriving)
        mirror = mirrors.get(id(node))
        zero = len(arriving) == 1 and _stays_zero(node) and _is_zero(out_grads[0])
        for position, gradient in enumerate(_zeros(node, mirror) if zero else _backward_nodes(node, out_grads, mirror)):
            if gradient is not None:
                entry = node.inputs[position]
                input_grads[id(node), position] = gradient
                grads.setdefault((id(entry.node), entry.index), []).append(gradient)
        totals.extend((Entry(node, k), total) for k, total in out_grads.made.items())
    result = [GradEntry(e.node, e.index) for e in heads]
    uses: dict[tuple[int, int], int] = {}
    for argument in wanted:
        result.append(_unique(_sum(grads.get((id(argument), 0), [])), uses))
    return GradientGraph(result, input_grads, totals)


def _unique(entry: GradEntry, uses: dict[tuple[int, int], int]) -> GradEntry:
    """A gradient shared by several arguments is copied for all but the first."""
    key = (id(entry.node), entry.index)
    number = uses[key] = uses.get(key, -1) + 1
    if number == 0:
        return entry
    return GradEntry(GradNode(f"{entry.node.name}_{number}_copy", "_copy", [entry]), 0)


class _Arriving:
    """Gradients of a node's outputs, summed when first asked for (MXNet makes the sum node then)."""

    def __init__(self, lists: list[list[GradEntry]]) -> None:
        self._lists = lists
        self.made: dict[int, GradEntry] = {}

    def __getitem__(self, index: int) -> GradEntry:
        if index not in self.made:
            self.made[index] = _sum(self._lists[index] if index < len(self._lists) else [])
        return self.made[index]


def _sum(entries: list[GradEntry]) -> GradEntry:
    if not entries:
        return GradEntry(GradNode("zeros_without_dtype", "_zeros_without_dtype"), 0)
    kept = [e for e in entries if not _is_zero(e)] or entries[:1]
    if len(kept) == 1:
        return kept[0]
    entries = kept
    return GradEntry(GradNode("sum_grad", "add_n", list(entries), {"num_args": str(len(entries))}), 0)


def _backward_nodes(node: Node, out_grads: _Arriving, mirror: GradNode | None = None) -> list[GradEntry | None]:
    """The gradient of each input of a node (None: the operator has none recorded)."""
    assert node.op is not None
    variant = next((v for v in _plans().get(node.op.name, []) if _holds(v.condition, node)), None)
    count = len(node.inputs)
    if variant is None:
        return [None] * count
    if variant.grads == ["each"]:
        return [_make(node, variant.nodes[0], out_grads, [], position, mirror) for position in range(count)]
    made: list[GradNode] = []
    for plan in variant.nodes:
        made.append(_make(node, plan, out_grads, made, None, mirror).node)  # type: ignore[arg-type]
    tokens = _expand_grads(variant.grads, count)
    result: list[GradEntry | None] = []
    for token in tokens[:count]:
        if token[0] == "o":
            result.append(out_grads[int(token[1:])])
        else:
            which, output = token[1:].split(".")
            made[int(which)].num_outputs = max(made[int(which)].num_outputs, int(output) + 1)
            result.append(GradEntry(made[int(which)], int(output)))
    return result + [None] * (count - len(result))


def _is_zero(entry: GradEntry) -> bool:
    return isinstance(entry.node, GradNode) and entry.node.op_name in ("_zeros", "zeros_like")


def _stays_zero(node: Node) -> bool:
    """Whether the gradient of a zero gradient is written as zeros: so it is for tensor operators (MakeNonlossGradNode), not for layers."""
    assert node.op is not None
    return node.op.name == "SoftmaxActivation" or ("src/operator/tensor/" in node.op.doc and node.op.name != "where")


def _zeros(node: Node, mirror: GradNode | None) -> list[GradEntry | None]:
    base = node.name if mirror is None else mirror.name
    inputs = [GradEntry(e.node, e.index) for e in node.inputs] if mirror is None else mirror.inputs
    names = [f"{base}_backward"] if len(inputs) == 1 else [f"{base}_in{i}_backward" for i in range(len(inputs))]
    return [GradEntry(GradNode(name, "zeros_like", [e], {}, [mirror or node], node), 0) for name, e in zip(names, inputs, strict=True)]


def _make(node: Node, plan: _Plan, out_grads: _Arriving, made: Sequence[GradNode], position: int | None, mirror: GradNode | None) -> GradEntry:
    each = plan.suffix.startswith("each")
    base = node.name if mirror is None else mirror.name
    name = "" if plan.suffix == "each=" else f"{base}_in{position}_backward" if each else base + plan.suffix
    if plan.suffix.startswith("="):
        name = plan.suffix[1:]
    inputs = [GradEntry(node.inputs[position].node, node.inputs[position].index)] if each and position is not None and plan.inputs == ["i"] else []
    for token in plan.inputs if not inputs else ():
        inputs.extend(_resolve(token, node, out_grads, made, mirror))
    return GradEntry(GradNode(name, plan.op_name, inputs, _attrs(plan.attrs, node), [] if plan.free else [mirror or node], node), 0)


def _resolve(token: str, node: Node, out_grads: _Arriving, made: Sequence[GradNode], mirror: GradNode | None) -> list[GradEntry]:
    kind, rest = token[0], token[1:]
    if kind == "o":
        return [out_grads[k] for k in range(node.num_visible())] if rest == "*" else [out_grads[int(rest)]]
    if kind == "i":
        entries = [GradEntry(e.node, e.index) for e in node.inputs] if mirror is None else mirror.inputs
        return entries if rest == "*" else entries[int(rest) : int(rest) + 1]
    if kind == "r":
        return [GradEntry(node if mirror is None else mirror, int(rest))]
    which, output = rest.split(".")
    return [GradEntry(made[int(which)], int(output))]


def _mirrors(nodes: Sequence[Node], mirrored: Collection[int]) -> dict[int, GradNode]:
    """Copies of the nodes that backward recomputes: their own gradients refer to the copies."""
    mirrors: dict[int, GradNode] = {}
    for node in nodes:
        if node.op is not None and id(node) in mirrored:
            inputs = [GradEntry(mirrors.get(id(e.node), e.node), e.index) for e in node.inputs]
            mirrors[id(node)] = GradNode(f"{node.name}_mirror", node.op.name, inputs, _attrs("same", node), [], node, node.num_visible())
    return mirrors


def _expand_grads(tokens: list[str], count: int) -> list[str]:
    if len(tokens) == 1 and tokens[0].endswith(".*"):
        return [f"{tokens[0][:-1]}{k}" for k in range(count)]
    return tokens


def _attrs(text: str, node: Node) -> dict[str, str]:
    own = dict(node.attrs)
    if text == "same":
        return own
    if text == "none":
        return {}
    if text == "inverse_axes":
        axes = node.params.axes
        if not axes:
            return own
        inverse = sorted(range(len(axes)), key=axes.__getitem__)
        return {"axes": "[" + ",".join(map(str, inverse)) + "]"}
    return dict(part.split("=", 1) for part in text.split(","))


def _holds(condition: dict[str, str], node: Node) -> bool:
    return all(str(node.params.get(key)) == value for key, value in condition.items())


def _depending(nodes: Sequence[Node], wanted: set[int]) -> set[int]:
    """Nodes below which a wanted variable lies."""
    depends = set(wanted)
    for node in nodes:
        if any(id(e.node) in depends for e in node.inputs):
            depends.add(id(node))
    return depends


def _children(node: Any) -> list[Any]:
    below = [e.node for e in node.inputs]
    return below + node.control if isinstance(node, GradNode) else below


def _visit(heads: Iterable[GradEntry]) -> Iterator[Node | GradNode]:
    seen: set[int] = set()
    for head in heads:
        if id(head.node) in seen:
            continue
        seen.add(id(head.node))
        stack: list[tuple[Any, list[Any], int]] = [(head.node, _children(head.node), 0)]
        while stack:
            node, children, position = stack.pop()
            while position < len(children):
                child = children[position]
                position += 1
                if id(child) not in seen:
                    seen.add(id(child))
                    stack.append((node, children, position))
                    stack.append((child, _children(child), 0))
                    break
            else:
                yield node
