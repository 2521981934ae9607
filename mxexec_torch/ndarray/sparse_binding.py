"""Sparse arrays in an executor: the graph runs on dense forms, which are kept in step with the user's sparse arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..context import Context
from ..errors import MXNetError
from ..graph import Entry, Node
from ..infer import variables as _variables
from ..infer.storage import graph_stypes
from .core import NDArray, wrap

__all__ = ["SparseBinding", "declared_stype", "zeros"]


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
    return array if array.stype == "default" else wrap(array._t.clone(), array.context)


def output_stypes(heads: Sequence[Entry], variables: Sequence[Node], arrays: Sequence[Any]) -> list[str]:
    """Storage types of the outputs for the arrays bound."""
    return graph_stypes(heads, {v.name: a.stype for v, a in zip(variables, arrays, strict=True)})


def declared_stype(node: Node, stypes: Mapping[str, Any], gradient: bool, nodes: Sequence[Node]) -> str:
    """Storage type of the array (or gradient) that simple_bind allocates for a variable.

    Errors: MXNetError for a type that does not exist.
    """
    if gradient:
        return "row_sparse" if _sparse_gradient(node, nodes) else "default"
    stype = stypes.get(node.name) or _variables.declared_stype(node)
    if stype not in ("default", "row_sparse", "csr"):
        raise MXNetError(f"InferStorageType pass cannot decide the storage type of argument {node.name!r}: {stype!r} is none of default, row_sparse, csr")
    return str(stype)


def _sparse_gradient(variable: Node, nodes: Sequence[Node]) -> bool:
    """Whether MXNet infers a row_sparse gradient: the weight of an Embedding with sparse_grad."""
    for node in nodes:
        if node.op is not None and node.op.name in ("Embedding", "_contrib_SparseEmbedding"):
            sparse = node.op.name == "_contrib_SparseEmbedding" or node.params.sparse_grad
            if sparse and len(node.inputs) > 1 and node.inputs[1].node is variable:
                return True
    return False


def zeros(stype: str, shape: tuple[int, ...], ctx: Context, dtype: torch.dtype) -> NDArray:
    """An empty sparse array."""
    from .sparse import CSRNDArray, RowSparseNDArray

    return CSRNDArray._zeros(shape, ctx, dtype) if stype == "csr" else RowSparseNDArray._zeros(shape, ctx, dtype)


def sparse_output(stype: str, tensor: torch.Tensor, ctx: Context) -> NDArray:
    """An output of the given storage type with a dense tensor's values."""
    from .sparse import CSRNDArray, RowSparseNDArray

    if stype == "default":
        return wrap(tensor, ctx)
    return CSRNDArray._of(tensor, ctx) if stype == "csr" else RowSparseNDArray._of(tensor, ctx)
