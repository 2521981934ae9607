"""A lowered graph as one Python function, put together from templates that are kept with each lowered node.

Building and printing an fx.Graph costs more than everything else at bind; a template costs one `str.format` a node. The text is what
torch.fx would print for the flat graph: one line a torch call, values dropped after their last use.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from ..graph import Entry, Node
from .fuse import Step
from .trace import LoweredNode

__all__ = ["Source", "Template", "template_of"]

_INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//", operator.mod: "%",
    operator.pow: "**", operator.matmul: "@", operator.and_: "&", operator.or_: "|", operator.xor: "^",
    operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=",
}  # fmt: skip
_counter = itertools.count()


@dataclass
class Template:
    """The lines of one lowered node. `{0}`, `{1}`, ... are its inputs, then its own values; scope: the objects that the lines name."""

    text: str
    num_inputs: int
    num_values: int
    results: dict[int, int]  # result index -> position among inputs and values
    scope: dict[str, Any] = field(default_factory=dict)


def template_of(form: LoweredNode, needed: Iterable[int]) -> Template:
    """The lines that compute the needed results of a lowered node; kept with it."""
    key = frozenset(needed)
    found = form.templates.get(key)
    if found is None:
        found = form.templates[key] = _write(form, key)
    return found


def _write(form: LoweredNode, needed: frozenset[int]) -> Template:
    results = {index: form.results[index] for index in sorted(needed)}
    live = set(results.values())
    for call in reversed(form.calls):
        if call in live:
            live.update(call.all_input_nodes)
    calls = [call for call in form.calls if call in live]
    position = {node: i for i, node in enumerate([*form.inputs, *calls])}
    kept = {*form.inputs, *results.values()}
    last: dict[fx.Node, fx.Node] = {used: call for call in calls for used in call.all_input_nodes if used not in kept}
    dropped: dict[fx.Node, list[fx.Node]] = {}
    for used, call in last.items():
        dropped.setdefault(call, []).append(used)
    writer = _Writer(position)
    lines = [f"    {{{position[call]}}} = {writer.call(call)}{_drop([f'{{{position[d]}}}' for d in dropped.get(call, ())])}" for call in calls]
    return Template("\n".join(lines), len(form.inputs), len(calls), {index: position[node] for index, node in results.items()}, writer.scope)


def _drop(names: Sequence[str]) -> str:
    return "; " + " = ".join(names) + " = None" if names else ""


class _Writer:
    """Prints fx calls. What is no number, text or container of them goes into `scope` under a name of its own."""

    def __init__(self, position: Mapping[fx.Node, int]) -> None:
        self.scope: dict[str, Any] = {}
        self._position = position
        self._named: dict[int, str] = {}

    def call(self, node: fx.Node) -> str:
        args, kwargs = list(node.args), dict(node.kwargs)
        if node.op == "call_method":
            return f"{self._value(args[0])}.{node.target}({self._arguments(args[1:], kwargs)})"
        target: Any = node.target
        if not kwargs:
            if target in _INFIX and len(args) == 2:
                return f"{self._value(args[0])} {_INFIX[target]} {self._value(args[1])}"
            if target is operator.getitem:
                return f"{self._value(args[0])}[{self._value(args[1])}]"
            if target is getattr:
                return f"{self._value(args[0])}.{args[1]}"
        return f"{self._object(target)}({self._arguments(args, kwargs)})"

    def _arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        return ", ".join([*map(self._value, args), *(f"{k}={self._value(v)}" for k, v in kwargs.items())])

    def _value(self, value: Any) -> str:
        kind = type(value)
        if isinstance(value, fx.Node):
            return f"{{{self._position[value]}}}"
        if value is None or value is Ellipsis or kind in (bool, int) or kind is float and math.isfinite(value):
            text = repr(value)
            return f"({text})" if text.startswith("-") else text
        if kind is str:
            return repr(value).replace("{", "{{").replace("}", "}}")
        if isinstance(value, tuple) and kind in (tuple, torch.Size):
            return "(" + "".join(self._value(v) + ", " for v in value) + ")"
        if isinstance(value, list):
            return "[" + ", ".join(map(self._value, value)) + "]"
        if kind is slice:
            return f"slice({self._value(value.start)}, {self._value(value.stop)}, {self._value(value.step)})"
        if isinstance(value, dict):
            return "dict([" + ", ".join(f"({self._value(k)}, {self._value(v)})" for k, v in value.items()) + "])"
        return self._object(value)

    def _object(self, value: Any) -> str:
        name = self._named.get(id(value))
        if name is None:
            own = "".join(c for c in getattr(value, "__name__", "") if c.isalnum() or c == "_")
            name = self._named[id(value)] = f"_{own or type(value).__name__}_{next(_counter)}"
            self.scope[name] = value
        return name


class Source:
    """Collects nodes in topological order, then compiles the function `forward(*variables)`."""

    def __init__(self, variables: Sequence[Node], devices: Mapping[int, torch.device], kept: Sequence[tuple[object, int]] = ()) -> None:
        self._devices = devices
        self._values: dict[tuple[int, int], str] = {(id(v), 0): f"a{i}" for i, v in enumerate(variables)}
        self._values.update({(id(k), index): f"k{i}" for i, (k, index) in enumerate(kept)})  # further parameters
        self._parameters = list(self._values.values())
        self._steps: list[tuple[str, Sequence[str]]] = []  # (lines, values read)
        self._scope: dict[str, Any] = {}
        self._count = 0

    def add(self, node: Node, form: LoweredNode, needed: Iterable[int]) -> None:
        """Appends a node's lines."""
        template = template_of(form, needed)
        inputs = [self._input(e, node) for e in node.inputs]
        first, self._count = self._count, self._count + template.num_values
        names = [*inputs, *[f"v{i}" for i in range(first, self._count)]]
        self._scope.update(template.scope)
        key = id(node)
        for index, position in template.results.items():
            self._values[key, index] = names[position]
        if template.text:
            self._steps.append((template.text.format(*names), inputs))

    def add_step(self, node: Node, step: Step) -> None:
        """Appends a call that gives a node's first output."""
        inputs = [self._values[id(e[0]), e[1]] for e in step.inputs]
        result, name = f"v{self._count}", f"_step_{next(_counter)}"
        self._count += 1
        self._scope[name] = step.call
        self._values[id(node), 0] = result
        self._steps.append((f"    {result} = {name}({', '.join(inputs)})", inputs))

    def _input(self, entry: Entry, target: Node) -> str:
        value = self._values[id(entry.node), entry.index]
        device = self._devices[id(target)]
        if self._devices[id(entry.node)] is device or self._devices[id(entry.node)] == device:
            return value
        moved, name = f"m{len(self._steps)}", f"_device_{next(_counter)}"
        self._scope[name] = device
        self._steps.append((f"    {moved} = {value}.to({name})", [value]))
        return moved

    def compile(self, returned: Sequence[tuple[int, int]]) -> Any:
        """The function. returned: (id(node), result index) of each value that it returns."""
        results = [self._values[key] for key in returned]
        kept = {*results, *self._parameters}
        lines = [f"    return ({''.join(r + ', ' for r in results)})"]
        for text, read in reversed(self._steps):
            dropped = [name for name in dict.fromkeys(read) if name not in kept]
            kept.update(dropped)
            lines.append(text + _drop(dropped))
        lines.append(f"def forward({', '.join(self._parameters)}):")
        exec(compile("\n".join(reversed(lines)), "<bound graph>", "exec"), self._scope)  # noqa: S102 - lines printed above, from traced calls
        return self._scope.pop("forward")
