"""Compiles the bodies of control-flow operators: a subgraph becomes a callable over tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import MXNetError
from ..graph import topological
from ..infer.solver import infer_dtypes, infer_shapes
from ..ops.control_flow import install
from .program import Program, build_program

__all__ = ["Subgraph"]


class Subgraph:
    """A body on one device; lowered once per mode and set of input shapes. What its nodes make for themselves lasts as long as it does."""

    def __init__(self, graph: Any, device: torch.device) -> None:
        self._heads = list(graph._entries)
        self._nodes = topological(self._heads)
        self._variables = [n for n in self._nodes if n.op is None]
        self._devices = {id(n): device for n in self._nodes}
        self._known: dict[Any, tuple[Any, Any]] = {}
        self._programs: dict[Any, Program] = {}
        self._bindings: dict[int, Any] = {}

    def _inferred(self, inputs: Sequence[torch.Tensor]) -> tuple[Any, tuple[Any, Any]]:
        key = tuple((t.shape, t.dtype) for t in inputs)
        found = self._known.get(key)
        if found is None:
            shapes = infer_shapes(self._nodes, {id(v): tuple(t.shape) for v, t in zip(self._variables, inputs, strict=True)})
            dtypes = infer_dtypes(self._nodes, {id(v): t.dtype for v, t in zip(self._variables, inputs, strict=True)})
            found = self._known[key] = (shapes, dtypes)
        return key, found

    def describe(self, inputs: Sequence[torch.Tensor]) -> list[tuple[tuple[int, ...], torch.dtype]]:
        """Shape and type of the outputs. Errors: MXNetError when a shape depends on data."""
        _, (shapes, dtypes) = self._inferred(inputs)
        known = [(shapes[id(e.node)][e.index], dtypes[id(e.node)][e.index]) for e in self._heads]
        for entry, (shape, dtype) in zip(self._heads, known, strict=True):
            if shape is None or dtype is None:
                raise MXNetError(f"shape or type of {entry.node.name} in the body of a control-flow operator is unknown")
        return known

    def __call__(self, inputs: Sequence[torch.Tensor], train: bool) -> list[torch.Tensor]:
        key, (shapes, dtypes) = self._inferred(inputs)
        program = self._programs.get((key, train))
        if program is None:
            program = build_program(self._heads, self._variables, shapes, dtypes, self._devices, train, self._bindings)
            self._programs[key, train] = program
        results = program.run(*inputs)
        with torch.no_grad():
            for variable, index in program.writes:
                inputs[variable].data.copy_(results[index])
        outputs = list(results[: program.num_heads])
        if train and program.backward_writes:
            self._write_in_backward(program, inputs, results, outputs)
        return outputs

    def _write_in_backward(
        self, program: Program, inputs: Sequence[torch.Tensor], results: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]
    ) -> None:
        """Auxiliary states (moving statistics) change when backward passes this step."""
        first = next((o for o in outputs if o.requires_grad), None)
        if first is None:
            return
        updates = [(u, [results[k].detach() for k in u.results]) for u in program.backward_writes]
        states = [t.data for t in inputs]

        def write(_: torch.Tensor) -> None:
            with torch.no_grad():
                for update, tensors in updates:
                    node = update.node
                    if node.op is not None and node.op.backward_writes is not None:
                        named = {name: states[v] for name, v in update.variables.items()}
                        for name, value in node.op.backward_writes(node.params, named, tensors).items():
                            if name in update.variables:
                                states[update.variables[name]].copy_(value)

        first.register_hook(write)


install(Subgraph)
