"""FullyConnected."""

from __future__ import annotations

import math
from typing import Annotated

import torch.nn.functional as F

from ..errors import MXNetError
from ..infer.state import Shapes, complete, show
from ..registry import Attrs, Tensor, op
from ..values import Bool, Int, Range

__all__: list[str] = []


def _fc_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    if a.flatten:
        features = math.prod(data[1:]) if complete(data[1:]) else -1
        s.unify_out((data[0], a.num_hidden))
    else:
        features = data[-1]
        s.unify_out((*data[:-1], a.num_hidden))
    s.unify("weight", (a.num_hidden, features))
    if s.get("bias") not in ((a.num_hidden, 1), (-1, 1)):  # a column is accepted too
        s.unify("bias", (a.num_hidden,))
    s.unify("data", (s.out()[0], *data[1:]))


@op(
    "FullyConnected", floats_only=True, present={"bias": lambda a: not a.no_bias}, shape=_fc_shape,
    aliases=("_npx_fully_connected", "_sparse_FullyConnected"),
)  # fmt: skip
def fully_connected(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, /, *, num_hidden: Annotated[Int, Range(1, None)], no_bias: Bool = False,
    flatten: Bool = True,
) -> Tensor:  # fmt: skip
    """y = x W^T + b.

    data (n, *k), weight (num_hidden, k), bias (num_hidden,) -> (n, num_hidden); with flatten=False (*n, k) -> (*n, num_hidden).
    Source: src/operator/nn/fully_connected.cc
    """
    x = data.reshape(data.shape[0], math.prod(data.shape[1:])) if flatten and data.ndim != 2 else data
    if tuple(weight.shape) != (num_hidden, x.shape[-1]):
        raise MXNetError(f"Shape inconsistent, Provided = {show(tuple(weight.shape))}, inferred shape=({num_hidden},{x.shape[-1]}) (input 'weight')")
    if bias is not None and bias.ndim != 1:
        bias = bias.reshape(-1)
    return F.linear(x, weight, bias)
