"""Monitors: forward hooks on the per-node modules of a program's nested form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..graph import Node
from .program import Program

__all__ = ["Monitored"]


class Monitored:
    """A callback attached to a bound graph. Calling it with a program gives the watched form to run instead of the flat one."""

    def __init__(self, bound: Any, callback: Callable[[str, torch.Tensor], None], inputs_too: bool) -> None:
        self._bound, self._callback, self._inputs_too = bound, callback, inputs_too
        self._forms: dict[int, Callable[..., tuple[torch.Tensor, ...]]] = {}

    def rebound(self, bound: Any) -> Monitored:
        """The same callback for another bound graph (Executor.reshape)."""
        return Monitored(bound, self._callback, self._inputs_too)

    def __call__(self, program: Program) -> Callable[..., tuple[torch.Tensor, ...]]:
        form = self._forms.get(id(program))
        if form is None:
            form = self._forms[id(program)] = self._watch(program)
        return form

    def _watch(self, program: Program) -> Callable[..., tuple[torch.Tensor, ...]]:
        if program.graph_module is None:
            program.watch = self._node_ran
            return program.run
        nested = program.nested()
        for module in nested.children():
            node = module.mxnet_node
            module.register_forward_hook(lambda _module, inputs, outputs, node=node: self._node_ran(node, inputs, outputs))
        return nested

    def _node_ran(self, node: Node, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
        assert node.op is not None
        if self._inputs_too:
            for position, (entry, tensor) in enumerate(zip(node.inputs, inputs, strict=True)):
                if entry.node.op is None:
                    self._callback(entry.node.name, tensor)
                self._callback(f"{node.name}_{input_label(node, position)}", tensor)
        for name, tensor in zip(node.op.output_names(node.params), outputs, strict=False):
            self._callback(f"{node.name}_{name}", tensor)


def input_label(node: Node, position: int) -> str:
    """The name monitors give to an input: its own, or `input<k>` for operators that MXNet registers without input names."""
    assert node.op is not None
    return node.input_specs()[position].name if node.op.lists_inputs else f"input{position}"
