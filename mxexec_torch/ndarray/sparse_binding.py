"""Sparse arrays in an executor: the graph runs on dense forms, which are kept in step with the user's sparse arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..context import Context
from ..errors import MXNetError
from ..graph import Entry, Node, topological
from ..infer.storage import EXACT_ONLY, can_be_sparse, forward_stypes, gradient_stypes, has_rule
from ..infer.variables import declared_stype
from .core import NDArray, wrap
from .invoke import Plan, run
from .sparse import SPARSE_CLASSES, to_storage
from .tape import state

__all__ = ["SparseBinding", "SparseOutputs", "declared_stypes", "requests", "zeros"]


class SparseBinding:
    """Dense stand-ins of the sparse arrays and gradients of one executor.

    arrays, grads: what the graph is bound to (stand-ins where the user's array is sparse).
    """

    def __init__(self, arrays: Sequence[Any], grads: Sequence[Any]) -> None:
        self.arrays = [_dense(a) for a in arrays]
        self.grads = [None if g is None else _dense(g) for g in grads]
        self._inputs = [(a, d) for a, d in zip(arrays, self.arrays, strict=True) if a is not d]
        self._grads: list[tuple[Any, Any]] = [(g, d) for g, d in zip(grads, self.grads, strict=True) if g is not d]

    @classmethod
    def of(cls, arrays: Sequence[Any], grads: Sequence[Any]) -> SparseBinding | None:
        """The binding, None when every array is dense."""
        if all(a is None or a.stype == "default" for a in (*arrays, *grads)):
            return None
        return cls(arrays, grads)

    def before_forward(self) -> None:
        """Takes over what the user wrote into sparse arguments."""
        for sparse, dense in self._inputs:
            dense._t.copy_(sparse._t)

    def before_backward(self) -> None:
        """Takes over the present content of sparse gradients ('add' starts from it)."""
        for sparse, dense in self._grads:
            dense._t.copy_(sparse._t)

    def after_backward(self) -> None:
        """Hands the gradients over."""
        for sparse, dense in self._grads:
            sparse._store(dense._t)


def _dense(array: Any) -> Any:
    return array if array.stype == "default" else wrap(array._t, array.context)


def requests(nodes: Sequence[Node], variables: Sequence[Node], arrays: Sequence[Any], reqs: Sequence[str]) -> list[str]:
    """Gradient requests without those that MXNet leaves unanswered: of csr matrices that are only multiplied with (src/operator/tensor/dot-inl.h)."""
    matrices = {id(v) for v, a in zip(variables, arrays, strict=True) if a.stype == "csr"}
    if matrices:
        for node in nodes:
            for position, entry in enumerate(node.inputs):
                if node.op is not None and (node.op.name != "dot" or position != 0):
                    matrices.discard(id(entry.node))
    return ["null" if id(v) in matrices else req for v, req in zip(variables, reqs, strict=True)]


class SparseOutputs:
    """Gives out the outputs of an executor in their storage types.

    Where only operators on stored elements lie between the arguments and a sparse output, they run once more, on the sparse arrays themselves:
    which elements a result stores cannot be read off its dense form. So they do, once for all outputs, below outputs of operators that are
    decided by what is stored (graph operators). Other sparse outputs are taken apart: their zeros are not stored.
    """

    def __init__(self, heads: Sequence[Entry], variables: Sequence[Node], arrays: Sequence[Any], stypes: Sequence[str]) -> None:
        self._heads, self._stypes = heads, stypes
        self._arrays = {id(v): a for v, a in zip(variables, arrays, strict=True)}
        self._plans: dict[int, Plan] = {}
        self._below = [self._exact(head, stype) for head, stype in zip(heads, stypes, strict=True)]

    @classmethod
    def of(cls, heads: Sequence[Entry], nodes: Sequence[Node], variables: Sequence[Node], arrays: Sequence[Any]) -> SparseOutputs | None:
        """None when all outputs are dense. Errors: MXNetError for a combination of storage types that an operator refuses."""
        if all(a.stype == "default" for a in arrays) and not can_be_sparse(nodes):
            return None
        known = forward_stypes(nodes, {id(v): a.stype for v, a in zip(variables, arrays, strict=True)})
        stypes = [known[id(head.node)][head.index] for head in heads]
        if all(s == "default" for s in stypes) and not any(_is_exact(n) for n in nodes):
            return None
        return cls(heads, variables, arrays, stypes)

    def _exact(self, head: Entry, stype: str) -> list[Node]:
        """The nodes below an output that must run on the sparse arrays; empty: its dense form is enough."""
        nodes = topological([head])
        stored = stype != "default" and all(n.op is None or has_rule(n.op) for n in nodes)
        if not stored and not any(_is_exact(n) for n in nodes):
            return []
        for node in nodes:
            if node.op is not None:
                given = {k: v for k, v in node.attrs.items() if k in node.op.attrs}
                self._plans[id(node)] = Plan(node.op, given, len(node.inputs))
        return nodes

    def make(self, tensors: Sequence[torch.Tensor], contexts: Sequence[Context]) -> list[NDArray]:
        """The outputs for the dense results of a forward pass."""
        values: dict[int, list[NDArray]] = {}
        results = []
        for head, stype, below, tensor, ctx in zip(self._heads, self._stypes, self._below, tensors, contexts, strict=True):
            self._evaluate(below, values)
            results.append(to_storage(values[id(head.node)][head.index] if below else wrap(tensor, ctx), stype))
        return results

    def _evaluate(self, nodes: Sequence[Node], values: dict[int, list[NDArray]]) -> None:
        recording, state.recording = state.recording, False
        try:
            for node in nodes:
                if id(node) in values:
                    continue
                if node.op is None:
                    values[id(node)] = [self._arrays[id(node)]]
                else:
                    result = run(self._plans[id(node)], [values[id(e.node)][e.index] for e in node.inputs])
                    values[id(node)] = result if isinstance(result, list) else [result]
        finally:
            state.recording = recording


def _is_exact(node: Node) -> bool:
    return node.op is not None and node.op.name in EXACT_ONLY


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
