"""Layers between normalization and loss: local response normalization and the sparseness penalty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import torch
import torch.nn.functional as F

from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes, complete
from ..registry import Attrs, Aux, Tensor, op
from ..values import Float, NonNegInt, Range
from .runtime.regularization import attach_sparseness_penalty, moved_average

__all__: list[str] = []


def _lrn_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if complete(data):
        s.unify_out(data, 0)
        s.unify_out(data, 1)


@op("LRN", outputs=("output", "tmp_norm"), visible=1, shape=_lrn_shape)
def lrn(data: Tensor, /, *, alpha: Float = 9.99999975e-05, beta: Float = 0.75, knorm: Float = 2.0, nsize: NonNegInt) -> tuple[Tensor, Tensor]:
    """x / (knorm + alpha / nsize * sum of squares over nsize neighbouring channels) ^ beta. Hidden output: the bracket.

    data (n, c, h, w) -> same shape. Source: src/operator/nn/lrn-inl.h
    """
    if data.ndim != 4 or nsize % 2 != 1:
        raise MXNetError(f"LRN needs data (batch, channel, y, x) and an odd nsize, got shape {list(data.shape)} and nsize {nsize}")
    n, c, h, w = data.shape
    if data.numel() == 0:
        return data * 1.0, data + knorm
    squares = F.pad(data.square().reshape(n, 1, c, h * w), (0, 0, nsize // 2, (nsize - 1) // 2))
    norm = F.avg_pool2d(squares, (nsize, 1), 1).reshape(n, c, h, w) * alpha + knorm
    return data * norm.pow(-beta), norm


def _penalty_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    s.unify_out(data)
    if data is not None and len(data) > 1:
        s.unify("moving_avg", (data[1],))


def _moving_average(a: Attrs, inputs: Mapping[str, Tensor], tensors: Sequence[Tensor]) -> dict[str, Tensor]:
    return {"moving_avg": moved_average(inputs["data"], inputs["moving_avg"], a.momentum)}


def _penalty_dtype(a: Attrs, t: Dtypes) -> None:
    """MXNet's old operator interface knows float32 here."""
    t.unify("data", torch.float32)
    t.unify("moving_avg", torch.float32)
    t.unify_out(torch.float32)


@op(
    "IdentityAttachKLSparseReg", shape=_penalty_shape, dtype=_penalty_dtype, backward_writes=_moving_average,
    table=("data", "sparseness_target", "penalty", "momentum"), init={"moving_avg": '["zero", {}]'},
)  # fmt: skip
def identity_attach_kl_sparse_reg(
    data: Tensor, moving_avg: Aux, /, *, sparseness_target: Annotated[Float, Range(0, 1)] = 0.1, penalty: Float = 0.00100000005,
    momentum: Annotated[Float, Range(0, 1)] = 0.899999976,
) -> Tensor:  # fmt: skip
    """Identity whose gradient adds the KL divergence of the mean activation from sparseness_target; for outputs of a sigmoid.

    data (n, c, ...), moving_avg (c,), the running mean that backward updates -> data's shape.
    Source: src/operator/identity_attach_KL_sparse_reg-inl.h
    """
    return attach_sparseness_penalty(data, moving_avg, sparseness_target, penalty, momentum)
