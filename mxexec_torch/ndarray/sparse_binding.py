"""Sparse arrays in an executor: the graph runs on dense forms, which are kept in step with the user's sparse arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..context import Context
from ..errors import MXNetError
from ..graph import Entry, Node
from ..infer.storage import can_be_sparse, forward_stypes, gradient_stypes
from ..infer.variables import declared_stype
from .core import NDArray, wrap
from .sparse import SPARSE_CLASSES, to_storage

__all__ = ["SparseBinding", "declared_stypes", "output_stypes", "sparse_output", "zeros"]


class SparseBinding:
    """Dense stand-ins of the sparse arrays and gradients of one executor.

    arrays, grads: what the graph is bound to (stand-ins where the user's array is sparse).
    """

    def __init__(self, arrays: Sequence[Any], grads: Sequence[Any]) -> None:
        self.arrays = [_dense(a) for a in arrays]
        self.grads = [None if g is None else _dense(g) for g in grads]
        self._inputs = [(a, d) for a, d in zip(arrays, self.arrays, strict=True) if a is not d]
        self._grads = [(g, d) for g, d in zip(grads, self.grads, strict=True) if g is not d]

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


def output_stypes(heads: Sequence[Entry], nodes: Sequence[Node], variables: Sequence[Node], arrays: Sequence[Any]) -> list[str] | None:
    """Storage types of the outputs for the arrays bound; None when all are dense.

    Errors: MXNetError for a combination of storage types that an operator refuses.
    """
    if all(a.stype == "default" for a in arrays) and not can_be_sparse(nodes):
        return None
    known = forward_stypes(nodes, {id(v): a.stype for v, a in zip(variables, arrays, strict=True)})
    stypes = [known[id(head.node)][head.index] for head in heads]
    return stypes if any(s != "default" for s in stypes) else None


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
    return SPARSE_CLASSES[stype]._zeros(shape, ctx, dtype)  # type: ignore[no-any-return]


def sparse_output(stype: str, tensor: torch.Tensor, ctx: Context) -> NDArray:
    """An output of the given storage type with a dense tensor's values."""
    return to_storage(wrap(tensor, ctx), stype)
