"""Monitors: forward hooks on the per-node modules of a program's nested form, and gradients caught at each node's inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import torch

from ..data import data_text
from ..graph import Node
from ..registry import lookup
from .gradient_graph import GradEntry, GradientGraph, GradNode, build_gradient_graph
from .program import Program

__all__ = ["Monitored", "input_label"]

Run = Callable[..., tuple[torch.Tensor, ...]]


class Monitored:
    """A callback attached to a bound graph. Calling it with a program gives the watched form to run instead of the flat one.

    callback(name, tensor) fires once per output of each operator node, in topological order; with inputs_too, for inputs first.
    """

    def __init__(self, bound: Any, callback: Callable[[str, torch.Tensor], None], inputs_too: bool) -> None:
        self._bound, self._callback, self._inputs_too = bound, callback, inputs_too
        self._forms: dict[int, Run] = {}
        self._silent = False
        self._gradients: dict[tuple[int, int], torch.Tensor] = {}  # (id(node), input position) -> gradient, of the last backward pass
        self._outputs: dict[tuple[int, int], torch.Tensor] = {}
        self._graph: GradientGraph | None = None

    def rebound(self, bound: Any) -> Monitored:
        """The same callback for another bound graph (Executor.reshape)."""
        return Monitored(bound, self._callback, self._inputs_too)

    def __call__(self, program: Program) -> Run:
        self._silent = False
        form = self._forms.get(id(program))
        if form is None:
            form = self._forms[id(program)] = self._watch(program)
        return form

    def silently(self, program: Program) -> Run:
        """The watched form for a repeated pass: catches gradients and reports nothing."""
        form = self(program)
        self._silent = True
        return form

    # -- forward ----------------------------------------------------------------------------------------------------------
    def _watch(self, program: Program) -> Run:
        if program.interpreted:
            program.watch = self.node_ran
            return program.run
        nested = program.nested()
        for module in nested.children():
            node = module.mxnet_node
            module.register_forward_pre_hook(lambda _module, inputs, node=node: self.tapped(node, inputs))
            module.register_forward_hook(lambda _module, inputs, outputs, node=node: self.node_ran(node, inputs, outputs))
        return nested

    def tapped(self, node: Node, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """The inputs, each on an edge of its own of the autograd graph, so that its gradient can be told from that of other uses."""
        result = []
        for position, tensor in enumerate(inputs):
            if tensor.requires_grad and torch.is_grad_enabled():
                tensor = tensor.view_as(tensor)
                tensor.register_hook(partial(self._gradients.__setitem__, (id(node), position)))
            result.append(tensor)
        return tuple(result)

    def node_ran(self, node: Node, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
        assert node.op is not None
        if self._inputs_too or id(node) in self._bound.mirrored:
            self._outputs.update({(id(node), k): t.detach() for k, t in enumerate(outputs)})
            self._outputs.update({(id(e.node), 0): t.detach() for e, t in zip(node.inputs, inputs, strict=True) if e.node.op is None})
        if self._silent:
            return
        if self._inputs_too:
            for position, (entry, tensor) in enumerate(zip(node.inputs, inputs, strict=True)):
                if entry.node.op is None:
                    self._callback(entry.node.name, tensor)
                self._callback(f"{node.name}_{input_label(node, position)}", tensor)
        for name, tensor in zip(node.op.output_names(node.params), outputs, strict=False):
            self._callback(f"{node.name}_{name}", tensor)

    # -- backward ---------------------------------------------------------------------------------------------------------
    def backward_ran(self, head_grads: Sequence[torch.Tensor | None]) -> None:
        """Reports the backward nodes under MXNet's names: the gradients caught, head gradients and sums."""
        bound = self._bound
        if self._graph is None:
            wanted = [v for v, req in zip(bound.variables, bound.reqs, strict=True) if req != "null"]
            self._graph = build_gradient_graph(bound.heads, bound.nodes, wanted, bound.mirrored)
        values: dict[tuple[int, int], torch.Tensor] = {}
        nodes = {id(n): n for n in bound.nodes}
        for (key, position), entry in self._graph.input_grads.items():
            grad = self._gradients.get((key, position))
            source = nodes[key].inputs[position]
            if grad is None and bound.shapes[id(source.node)][source.index] is not None:
                grad = torch.zeros(bound.shapes[id(source.node)][source.index], dtype=bound.dtypes[id(source.node)][source.index])
            if grad is not None:
                values.setdefault((id(entry.node), entry.index), grad)
        for node in self._graph.order():
            if isinstance(node, GradNode) and node.op_name is not None:
                if node.of is not None and node.name == f"{node.of.name}_mirror":  # recomputed: the forward pass's values
                    values.update({(id(node), k): self._outputs[id(node.of), k] for k in range(node.num_outputs) if (id(node.of), k) in self._outputs})
                self._report(node, values, head_grads)
        self._gradients.clear()
        self._outputs.clear()

    def _report(self, node: GradNode, values: dict[tuple[int, int], torch.Tensor], head_grads: Sequence[torch.Tensor | None]) -> None:
        if node.of is None:
            value = self._plain_value(node, values, head_grads)
            if value is not None:
                values[id(node), 0] = value
        if self._inputs_too:
            for k, entry in enumerate(node.inputs):
                tensor = self._input_value(entry, values, head_grads)
                if tensor is not None:
                    if _is_variable(entry.node):
                        self._callback(entry.node.name, tensor)
                    self._callback(f"{node.name}_{_backward_input(node, k)}", tensor)
        for k in range(node.num_outputs):
            tensor = values.get((id(node), k))
            if tensor is not None:
                label = _backward_output(node, k)
                self._callback(f"{node.name}_{label}" if node.name else label, tensor)

    def _input_value(
        self, entry: GradEntry, values: dict[tuple[int, int], torch.Tensor], head_grads: Sequence[torch.Tensor | None]
    ) -> torch.Tensor | None:
        key = (id(entry.node), entry.index)
        if key in values:
            return values[key]
        if isinstance(entry.node, GradNode):
            return self._head_grad(int(entry.node.name.removeprefix("_head_grad_")), head_grads) if entry.node.op_name is None else None
        return self._bound.value_of(entry.node) if entry.node.op is None else self._outputs.get(key)

    def _head_grad(self, index: int, head_grads: Sequence[torch.Tensor | None]) -> torch.Tensor:
        grad, head = head_grads[index], self._bound.heads[index]
        return grad if grad is not None else torch.ones(self._bound.shapes[id(head.node)][head.index])

    def _plain_value(
        self, node: GradNode, values: dict[tuple[int, int], torch.Tensor], head_grads: Sequence[torch.Tensor | None]
    ) -> torch.Tensor | None:
        """The value of a node that belongs to no operator: a head gradient, a copy or a sum."""
        if node.op_name == "_identity_with_attr_like_rhs":
            return self._head_grad(int(node.name.split("_")[3]), head_grads)
        if node.op_name == "_zeros_without_dtype":
            return torch.zeros(1)
        parts = [values[id(e.node), e.index] for e in node.inputs if (id(e.node), e.index) in values]
        if not parts:
            return None
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total


def input_label(node: Node, position: int) -> str:
    """The name monitors give to an input: its own, or `input<k>` for operators that MXNet registers without input names."""
    assert node.op is not None
    return f"input{position}" if node.op.name in _unnamed() else node.input_specs()[position].name


def _is_variable(node: Node | GradNode) -> bool:
    return (node.op_name if isinstance(node, GradNode) else node.op) is None


def _backward_input(node: GradNode, position: int) -> str:
    """The name of an input of a backward node: what its operator is registered with, else `input<k>`."""
    name = node.op_name or ""
    forward = lookup(name)
    if forward is not None and name not in _unnamed():
        return forward.node_inputs(forward.parse({k: v for k, v in node.attrs.items() if k in forward.attrs}), len(node.inputs))[position].name
    if name == "_identity_with_attr_like_rhs" or name.removeprefix("_backward_") in _backward_names()["inputs"]:
        return ("lhs", "rhs")[position]
    return f"input{position}"


def _backward_output(node: GradNode, index: int) -> str:
    if node.of is not None and node.of.op is not None and node.of.op.name in _backward_names()["outputs"] and not node.name.endswith("_mirror"):
        return node.of.input_specs()[index].name
    return "output" + (str(index) if node.num_outputs > 1 else "")


@lru_cache(maxsize=1)
def _backward_names() -> dict[str, frozenset[str]]:
    rows = (line.partition("\t") for line in data_text("backward_names.txt").splitlines() if not line.startswith("#"))
    return {kind: frozenset(names.split()) for kind, _, names in rows}


@lru_cache(maxsize=1)
def _unnamed() -> frozenset[str]:
    return frozenset(line for line in data_text("unnamed_inputs.txt").splitlines() if not line.startswith("#"))
