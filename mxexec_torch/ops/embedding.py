"""Embedding: rows of a weight by index."""

from __future__ import annotations

from typing import Annotated

import torch.nn.functional as F

from ..dtypes import torch_dtype
from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes
from ..registry import Attrs, Tensor, op
from ..values import Bool, IgnoredBool, Int, OneOf, Range
from .runtime.embedding import sparse_lookup

__all__: list[str] = []

Size = Annotated[Int, Range(1, None)]
WeightType = Annotated[str, OneOf("bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8")]


def _embedding_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    s.unify("weight", (a.input_dim, a.output_dim))
    s.unify_out((*data, a.output_dim))


def _embedding_dtype(a: Attrs, t: Dtypes) -> None:
    known = t.get("weight") or t.out()
    if known is None:
        if t.get("data") is None:
            return
        known = torch_dtype(a.dtype)
    t.unify("weight", known)
    t.unify_out(known)


def _lookup(data: Tensor, weight: Tensor, input_dim: int, output_dim: int, sparse: bool) -> Tensor:
    if tuple(weight.shape) != (input_dim, output_dim):
        raise MXNetError(f"Shape inconsistent, Provided = {list(weight.shape)}, inferred shape=({input_dim},{output_dim}) (input 'weight')")
    index = data.long().clamp(0, input_dim - 1)
    if not weight.is_floating_point():
        return weight[index]
    return sparse_lookup(index, weight) if sparse else F.embedding(index, weight)


@op(
    "Embedding", aliases=("_npx_embedding", "_sparse_Embedding"), shape=_embedding_shape, dtype=_embedding_dtype,
    differentiable=("weight",), refused_grads=("data",),
)  # fmt: skip
def embedding(data: Tensor, weight: Tensor, /, *, input_dim: Size, output_dim: Size, dtype: WeightType = "float32", sparse_grad: Bool = False) -> Tensor:
    """Rows of weight by index; indices are truncated to integers and clipped into range.

    data (*n) of any type, weight (input_dim, output_dim) -> (*n, output_dim) in weight's type. Indices have no gradient.
    Source: src/operator/tensor/indexing_op.cc
    """
    return _lookup(data, weight, input_dim, output_dim, sparse_grad)


_LISTED = (  # the table lists Embedding's attributes, but the operator reads others
    ("input_dim", "int, required"), ("output_dim", "int, required"),
    ("dtype", "{'bfloat16', 'float16', 'float32', 'float64', 'int32', 'int64', 'int8', 'uint8'},optional, default='float32'"),
    ("sparse_grad", "boolean, optional, default=0"),
)  # fmt: skip


@op(
    "_contrib_SparseEmbedding", shape=_embedding_shape, dtype=_embedding_dtype, differentiable=("weight",), refused_grads=("data",), listed=_LISTED,
)  # fmt: skip
def sparse_embedding(
    data: Tensor, weight: Tensor, /, *, input_dim: Size, output_dim: Size, dtype: WeightType = "float32", deterministic: IgnoredBool = False
) -> Tensor:
    """Embedding whose weight gradient is row_sparse.

    data (*n) of any type, weight (input_dim, output_dim) -> (*n, output_dim). Source: src/operator/tensor/indexing_op.cc
    """
    return _lookup(data, weight, input_dim, output_dim, True)
