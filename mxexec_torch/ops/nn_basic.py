"""FullyConnected, Activation, Flatten and the other plain layers."""

from __future__ import annotations

from typing import Annotated

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention

from ..infer.rules import elementwise
from ..infer.state import Shapes, complete
from ..registry import Attrs, Tensor, op
from ..values import Bool, Int, OneOf

__all__: list[str] = []


def _fc_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    features: int = -1
    if a.flatten:
        if complete(data[1:]):
            features = 1
            for d in data[1:]:
                features *= d
        s.unify_out((data[0], a.num_hidden))
    else:
        features = data[-1]
        s.unify_out((*data[:-1], a.num_hidden))
    s.unify("weight", (a.num_hidden, features))
    s.unify("bias", (a.num_hidden,))
    out = s.out()
    if out is not None and out[0] != -1:
        s.unify("data", (out[0], *data[1:]))


@op("FullyConnected", present={"bias": lambda a: not a.no_bias}, shape=_fc_shape, aliases=("_npx_fully_connected",))
def fully_connected(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, /, *, num_hidden: Int, no_bias: Bool = False, flatten: Bool = True
) -> Tensor:
    """y = x W^T + b.

    data (n, *k), weight (num_hidden, k), bias (num_hidden,) -> (n, num_hidden); with flatten=False (*n, k) -> (*n, num_hidden).
    Source: src/operator/nn/fully_connected.cc
    """
    return F.linear(data.flatten(1) if flatten and data.ndim != 2 else data, weight, bias)


_ACTIVATIONS = {"relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "softrelu": F.softplus, "softsign": F.softsign}


@op("Activation", shape=elementwise, aliases=("_npx_activation",))
def activation(data: Tensor, /, *, act_type: Annotated[str, OneOf("relu", "sigmoid", "softrelu", "softsign", "tanh")]) -> Tensor:
    """Elementwise relu, sigmoid, tanh, softrelu = log(1 + e^x) or softsign = x / (1 + |x|).

    data any shape -> same shape. Source: src/operator/nn/activation.cc
    """
    return _ACTIVATIONS[act_type](data)  # type: ignore[operator]
