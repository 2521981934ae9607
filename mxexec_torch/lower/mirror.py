"""Gradient mirroring: outputs of marked nodes are dropped after forward and computed again when backward needs them.

MXNet's `force_mirroring` attribute and MXNET_BACKWARD_DO_MIRROR (src/executor/graph_executor.cc) trade time for memory. Here the tensors that
autograd would keep are watched: one that a marked node made is replaced by a note of where it came from. When backward asks for it, the
node runs again on its own inputs (which are kept, or noted in turn) and stays until the last note on it is used. Numbers, random draws and
statistics do not change: nodes that draw or call the user's code, and those whose output is an output of the graph, are never run twice.
Where marked nodes follow each other, an output is kept every few nodes: else the last one would bring all of them back at once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import torch
from torch import fx
from torch.autograd.graph import saved_tensors_hooks

from ..graph import Node
from .program import Program

__all__ = ["recomputing"]


class _Output(NamedTuple):
    """A note: this part of an output of a marked node."""

    key: int
    which: int
    size: torch.Size
    stride: tuple[int, ...]
    offset: int


class _Inner(NamedTuple):
    """A note: the n-th tensor that autograd saved inside a marked node."""

    key: int
    position: int


class _Call:
    """One marked node in one pass."""

    def __init__(self, module: fx.GraphModule, inputs: Sequence[torch.Tensor | _Output], tracked: Sequence[bool], storages: set[int]) -> None:
        self.module, self.inputs, self.tracked, self.storages = module, inputs, tracked, storages
        self.saved = 0  # tensors that autograd saved inside
        self.waiting = 0  # notes not used yet
        self.outputs: Sequence[torch.Tensor] | None = None
        self.inner: list[torch.Tensor] = []


class _Pass:
    """One forward pass and the backward pass after it."""

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}
        self._made: dict[int, tuple[weakref.ref[torch.Tensor], int, int]] = {}  # storage -> (output, node, index)
        self._inside: _Call | None = None
        self._key = 0

    def enter(self, key: int, module: fx.GraphModule, inputs: Sequence[torch.Tensor]) -> None:
        """A marked node is about to run."""
        kept = [self._note(t) or t.detach() for t in inputs]
        self._key, self._inside = key, _Call(module, kept, [t.requires_grad for t in inputs], {_storage(t) for t in inputs})
        self._calls[key] = self._inside

    def leave(self, key: int, outputs: Sequence[torch.Tensor]) -> None:
        """It has run."""
        self._inside = None
        for index, tensor in enumerate(outputs):
            if _storage(tensor):
                self._made[_storage(tensor)] = weakref.ref(tensor), key, index

    def _note(self, tensor: torch.Tensor) -> _Output | None:
        found = self._made.get(_storage(tensor))
        if found is None:
            return None
        made, key, index = found
        alive = made()
        if alive is None or _storage(alive) != _storage(tensor):  # freed: the memory is another tensor's now
            return None
        return _Output(key, index, tensor.shape, tensor.stride(), int(tensor.storage_offset()))

    def pack(self, tensor: torch.Tensor) -> Any:
        """What autograd keeps in place of a tensor."""
        note: _Output | _Inner | None = self._note(tensor)
        call = self._inside
        if note is None and call is not None and _storage(tensor) not in call.storages:
            note = _Inner(self._key, call.saved)
            call.saved += 1
        if note is None:
            return tensor.detach()  # a result that referred to its own history would never be freed
        self._calls[note.key].waiting += 1
        return note

    def unpack(self, kept: Any) -> torch.Tensor:
        """The tensor again."""
        if isinstance(kept, torch.Tensor):
            return kept
        call = self._calls[kept.key]
        outputs = self._again(call)
        tensor = call.inner[kept.position] if isinstance(kept, _Inner) else _part(outputs, kept)
        call.waiting -= 1
        if not call.waiting:
            call.outputs, call.inner = None, []
        return tensor

    def _again(self, call: _Call) -> Sequence[torch.Tensor]:
        """Runs a node a second time, unless its results are still there."""
        if call.outputs is None:
            inputs = [_part(self._again(self._calls[i.key]), i) if isinstance(i, _Output) else i for i in call.inputs]
            inputs = [t.detach().requires_grad_(tracked) for t, tracked in zip(inputs, call.tracked, strict=True)]
            storages = {_storage(t) for t in inputs}
            inner: list[torch.Tensor] = []

            def collect(tensor: torch.Tensor) -> None:
                if _storage(tensor) not in storages:
                    inner.append(tensor.detach())

            with torch.enable_grad(), saved_tensors_hooks(collect, _unused):
                call.outputs = [t.detach() for t in call.module.forward(*inputs)]
            call.inner = inner
        return call.outputs


def _unused(_: object) -> torch.Tensor:
    raise AssertionError("the history of a repeated node is not differentiated")


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _part(outputs: Sequence[torch.Tensor], note: _Output) -> torch.Tensor:
    return outputs[note.which].as_strided(note.size, note.stride, note.offset)


def recomputing(program: Program, marked: Collection[int]) -> Callable[..., tuple[torch.Tensor, ...]]:
    """The program's function, computing the marked nodes (ids) again in backward where that changes no number."""
    twice = _run_twice(program, marked)
    if program.interpreted or not twice:
        return program.run
    nested = program.nested()
    current: list[_Pass] = []

    for module in nested.children():
        key = id(module.mxnet_node)
        if key in twice:
            module.register_forward_pre_hook(lambda module, inputs, key=key: current[-1].enter(key, module, inputs))
            module.register_forward_hook(lambda _module, _inputs, outputs, key=key: current[-1].leave(key, outputs))

    def run(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        this = _Pass()
        current.append(this)
        try:
            with saved_tensors_hooks(this.pack, this.unpack):
                return nested(*tensors)  # type: ignore[no-any-return]
        finally:
            current.pop()

    return run


_TOGETHER = 4  # so many nodes are run again for one value, at most


def _run_twice(program: Program, marked: Collection[int]) -> set[int]:
    """The marked nodes whose outputs are dropped."""
    heads = {id(e.node) for e in program.heads}
    needed: dict[int, set[int]] = {}  # dropped node -> the dropped nodes to run for its outputs
    for node in program.nodes:
        if id(node) in marked and id(node) not in heads and _repeatable(node):
            again = {id(node)}.union(*(needed.get(id(e.node), ()) for e in node.inputs))
            if len(again) <= _TOGETHER:
                needed[id(node)] = again
    return set(needed)


def _repeatable(node: Node) -> bool:
    return node.op is not None and not node.op.random and node.op.bind is None and not node.op.eager_only
