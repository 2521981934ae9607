"""A bound graph with sparse arrays. Its nodes run one by one as recorded operations on NDArrays: no array becomes dense that need not.

Storage types, stored elements and gradients are those of the imperative operators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .context import Context
from .errors import MXNetError
from .graph import Entry, Node
from .infer.storage import can_be_sparse, forward_stypes, gradient_stypes
from .infer.variables import declared_stype
from .lower.bound import BoundGraph
from .lower.rng import replayed, rng_state
from .ndarray import gradients
from .ndarray.core import NDArray, wrap
from .ndarray.interpret import Interpreter
from .ndarray.sparse import SPARSE_CLASSES
from .ndarray.tape import leaves_of, records_below, state

__all__ = ["SparseGraph", "declared_stypes", "output_stypes", "stand_in", "zeros"]


_NOTHING = torch.empty(0)


class SparseGraph(BoundGraph):
    """arrays, grads: one per variable, sparse or dense. contexts: id(node) -> context. grouped: whether they differ. The rest as BoundGraph."""

    def __init__(
        self, heads: Sequence[Entry], nodes: Sequence[Node], variables: Sequence[Node], arrays: Sequence[Any], grads: Sequence[Any],
        reqs: Sequence[str], shapes: Mapping[int, list[Any]], dtypes: Mapping[int, list[Any]], devices: Mapping[int, torch.device],
        outputs: Sequence[torch.Tensor | None], contexts: Mapping[int, Context], grouped: bool, backend: str | None = None,
    ) -> None:  # fmt: skip
        self._arrays, self._grad_arrays = list(arrays), list(grads)
        self._contexts, self._grouped = contexts, grouped
        stypes = output_stypes(heads, nodes, variables, arrays)
        buffers = [buffer if stype == "default" else None for buffer, stype in zip(outputs, stypes, strict=True)]
        tensors, grad_tensors = [stand_in(a) for a in arrays], [None if g is None else stand_in(g) for g in grads]
        reqs = _answered(nodes, variables, arrays, reqs)
        super().__init__(heads, nodes, variables, tensors, grad_tensors, reqs, shapes, dtypes, devices, buffers, contexts if grouped else None, backend)
        self._wanted, self._integer = sorted([*self._wanted, *self._integer]), []  # the tape knows leaves of any type
        self._interpreter = Interpreter(self.nodes)
        self._made: list[NDArray] = []  # the heads of the last pass
        self._taped: tuple[list[NDArray], dict[int, Any]] | None = None  # heads and leaves of the last recorded pass
        self._train_mode = True

    def results(self, contexts: Sequence[Context]) -> list[NDArray]:
        """The outputs of the last forward pass; zeros before the first."""
        found = []
        for i, (entry, ctx) in enumerate(zip(self.heads, contexts, strict=True)):
            variable, buffer = self._head_variable[i], self.outputs[i]
            if variable is not None:
                found.append(self._arrays[variable])
            elif buffer is not None:
                found.append(wrap(buffer, ctx))
            elif self._made:
                found.append(self._made[i].detach())
            else:
                kind = output_stypes(self.heads, self.nodes, self.variables, self._arrays)[i]
                found.append(zeros(kind, self.shapes[id(entry.node)][entry.index], ctx, self.dtypes[id(entry.node)][entry.index]))
        return found

    def forward(self, train: bool, observe: Any = None) -> None:
        self._taped, self._last_train = None, train
        self._rng = rng_state(self.devices)
        heads, leaves = self._run(bool(train and self._wanted), observe)
        if leaves:
            self._taped = heads, leaves
        self._made = heads
        for i, (result, buffer) in enumerate(zip(self._dense(heads), self.outputs, strict=True)):
            if result is not _NOTHING:
                assert buffer is not None
                self._publish(i, result)
        self._output_versions = [-1 if buffer is None else buffer._version for buffer in self.outputs]

    def _dense(self, heads: Sequence[NDArray]) -> tuple[torch.Tensor, ...]:
        """The tensors of the heads that have dense buffers; nothing stands for the others."""
        return tuple(_NOTHING if b is None or v is not None else h._t for h, b, v in zip(heads, self.outputs, self._head_variable, strict=True))

    def _run(self, differentiable: bool, observe: Any) -> tuple[list[NDArray], dict[int, Any]]:
        """The heads of a pass over the current arrays and, if it is recorded, the leaves by variable."""
        inputs: dict[int, NDArray] = {}
        leaves: dict[int, Any] = {}
        for i, (node, array) in enumerate(zip(self.variables, self._arrays, strict=True)):
            inputs[id(node)] = fresh = array.detach()
            if differentiable and self.reqs[i] != "null":
                gradients.attach(fresh, self._grad_arrays[i], self.reqs[i])
                assert fresh._rec is not None
                leaves[i] = fresh._rec.leaf
        before = state.recording, state.training
        state.recording, state.training = differentiable, self._last_train
        try:
            values = self._interpreter.run(inputs, self._contexts if self._grouped else None, None if observe is None else _watch(observe))
        finally:
            state.recording, state.training = before
        return [values[id(e.node)][e.index] for e in self.heads], leaves

    def backward(self, head_grads: Sequence[torch.Tensor | None], train: bool = True, observe: Any = None) -> None:
        self._train_mode = train
        super().backward(head_grads, train, observe)

    def _backward_floating(self, given: Sequence[torch.Tensor | None], observe: Any) -> None:
        if self._taped is None:
            with replayed(self._rng, self.devices):
                self._taped = self._run(True, None)
        else:
            self._carry_back(self._dense(self._taped[0]), self._output_versions)
        arrays, leaves = self._taped
        chosen = {(id(e.node), e.index): i for i, e in enumerate(self.heads)}
        heads, seeds = [], []
        for i in sorted(chosen.values()):
            record = arrays[i]._rec
            if record is not None and not record.constant:
                grad = given[i]
                heads.append(arrays[i])
                seeds.append(None if grad is None else wrap(grad, arrays[i]._ctx))
        reached = {id(leaf) for leaf in leaves_of(records_below([h._rec for h in heads if h._rec is not None]))}
        if any(id(leaf) in reached for leaf in leaves.values()):
            gradients.backward(heads, seeds, False, self._train_mode)
        self._taped = None
        for i, leaf in leaves.items():
            if id(leaf) not in reached and leaf.req == "write" and i not in self._untouched:
                gradients.deliver(leaf, None)
        if observe is not None:
            observe.backward_ran(given)


def _watch(observe: Any) -> Any:
    """A monitor's hooks for operations on NDArrays."""

    def tapped(node: Node, inputs: Sequence[NDArray]) -> list[NDArray]:
        taps = observe.tapped(node, [a._ag if a._ag is not None else _NOTHING for a in inputs])
        result = []
        for array, tap in zip(inputs, taps, strict=True):
            copy = array.detach()
            copy._rec, copy._ag = array._rec, None if array._ag is None else tap
            result.append(copy)
        return result

    def ran(node: Node, inputs: Sequence[NDArray], outputs: Sequence[NDArray]) -> None:
        observe.node_ran(node, [a._t for a in inputs], [a._t for a in outputs])

    return tapped, ran


def stand_in(array: Any) -> torch.Tensor:
    """The tensor of a dense array; for a sparse one a tensor of its shape and type that holds nothing."""
    return array._t if array.stype == "default" else array._placeholder()  # type: ignore[no-any-return]


def _answered(nodes: Sequence[Node], variables: Sequence[Node], arrays: Sequence[Any], reqs: Sequence[str]) -> list[str]:
    """Gradient requests without those that MXNet leaves unanswered: of csr matrices that are only multiplied with (src/operator/tensor/dot-inl.h)."""
    matrices = {id(v) for v, a in zip(variables, arrays, strict=True) if a.stype == "csr"}
    if matrices:
        for node in nodes:
            for position, entry in enumerate(node.inputs):
                if node.op is not None and (node.op.name != "dot" or position != 0):
                    matrices.discard(id(entry.node))
    return ["null" if id(v) in matrices else req for v, req in zip(variables, reqs, strict=True)]


def output_stypes(heads: Sequence[Entry], nodes: Sequence[Node], variables: Sequence[Node], arrays: Sequence[Any]) -> list[str]:
    """The storage types of a graph's outputs. Errors: MXNetError for a combination of storage types that an operator refuses."""
    if all(a.stype == "default" for a in arrays) and not can_be_sparse(nodes):
        return ["default"] * len(heads)
    known = forward_stypes(nodes, {id(v): a.stype for v, a in zip(variables, arrays, strict=True)})
    return [known[id(head.node)][head.index] for head in heads]


def declared_stypes(
    heads: Sequence[Entry], nodes: Sequence[Node], variables: Sequence[Node], given: Mapping[str, Any]
) -> tuple[dict[int, str], dict[int, str]]:
    """Storage types of the arrays and gradients that simple_bind allocates, by id(variable); empty where all are dense.

    given: `stype_dict`, which goes before the variables' own attributes. Errors: MXNetError for a type that does not exist.
    """
    stypes: dict[int, str] = {}
    for node in variables:
        stype = given.get(node.name) or declared_stype(node)
        if stype not in ("default", "row_sparse", "csr"):
            raise MXNetError(f"InferStorageType pass cannot decide the storage type of argument {node.name!r}: {stype!r} is none of default, row_sparse, csr")
        if stype != "default":
            stypes[id(node)] = stype
    if not stypes and not can_be_sparse(nodes):
        return {}, {}
    return stypes, gradient_stypes(heads, nodes, forward_stypes(nodes, stypes))


def zeros(stype: str, shape: tuple[int, ...], ctx: Context, dtype: torch.dtype) -> NDArray:
    """A sparse array of zeros. Errors: MXNetError for csr arrays that are no matrices."""
    if stype == "csr" and len(shape) != 2:
        raise MXNetError(f"csr storage is for matrices, got shape {shape}")
    made: NDArray = SPARSE_CLASSES[stype]._zeros(shape, ctx, dtype)
    return made
