"""Activation and LeakyReLU."""

from __future__ import annotations

from typing import Annotated

import torch
import torch.nn.functional as F

from ..errors import MXNetError
from ..infer.rules import elementwise
from ..infer.state import Shapes, show
from ..registry import Attrs, IsTrain, Tensor, op
from ..values import Float, OneOf
from .runtime.activation import selu

__all__: list[str] = []

_ACTIVATIONS = {"relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "softrelu": F.softplus, "softsign": F.softsign}


@op("Activation", floats_only=True, shape=elementwise, aliases=("_npx_activation",))
def activation(data: Tensor, /, *, act_type: Annotated[str, OneOf("relu", "sigmoid", "softrelu", "softsign", "tanh")]) -> Tensor:
    """Elementwise relu, sigmoid, tanh, softrelu = log(1 + e^x) or softsign = x / (1 + |x|). relu has gradient 0 at 0.

    data any shape -> same shape. Source: src/operator/nn/activation.cc
    """
    return _ACTIVATIONS[act_type](data)


def _leaky_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    if a.act_type == "prelu" and s.get("gamma") is None and len(data) > 1:
        s.unify("gamma", (data[1],))
    for index in range(len(s.outputs)):
        s.unify_out(data, index)


def _spread(gamma: Tensor, data: Tensor) -> Tensor:
    """gamma reshaped to broadcast over data's first two axes (src/operator/leaky_relu-inl.h, expand_shape)."""
    if gamma.shape == data.shape:
        return gamma
    shape = [1] * data.ndim
    left = list(gamma.shape)
    for axis in (1, 0) if data.ndim > 1 else (0,):
        if left and left[-1] in (1, data.shape[axis]):
            shape[axis] = left.pop()
    if left:
        raise MXNetError(f"Cannot broadcast gamma to data. gamma: {show(tuple(gamma.shape))}, data: {show(tuple(data.shape))}")
    return gamma.reshape(shape)


@op(
    "LeakyReLU", aliases=("_npx_leaky_relu",), present={"gamma": lambda a: a.act_type == "prelu"}, shape=_leaky_shape, random=True,
    init={"gamma": '["Constant", {"value": 0.25}]'},
    limits=("gelu of +inf in float32 is NaN on CPU, as torch's kernel has it; MXNet gives inf (a formula that does takes 2.5 times as long)",),
    outputs=lambda a: ("output", "mask") if a.act_type == "rrelu" else ("output",),
)  # fmt: skip
def leaky_relu(
    data: Tensor, gamma: Tensor | None = None, /, *, act_type: Annotated[str, OneOf("elu", "gelu", "leaky", "prelu", "rrelu", "selu")] = "leaky",
    slope: Float = 0.25, lower_bound: Float = 0.125, upper_bound: Float = 0.333999991, train: IsTrain,
) -> Tensor | tuple[Tensor, ...]:  # fmt: skip
    """x for x > 0; below, x * slope (leaky), x * gamma (prelu), x * a random slope (rrelu), slope (e^x - 1) (elu); selu and exact gelu.

    data (n, c, ...), gamma (c,) or broadcastable to (n, c) -> data's shape. rrelu also returns the slopes it drew; in inference
    it uses the middle of the bounds and returns zeros. At 0 the gradient is the slope. Source: src/operator/leaky_relu-inl.h
    """
    if act_type == "prelu":
        assert gamma is not None
        if gamma.ndim == 1 and data.ndim > 1 and gamma.shape[0] in (1, data.shape[1]):
            return F.prelu(data, gamma)
        return torch.where(data > 0, data, data * _spread(gamma, data))
    if act_type == "rrelu":
        if not train:
            return F.leaky_relu(data, (lower_bound + upper_bound) / 2), torch.zeros_like(data)
        slopes = torch.rand_like(data) * (upper_bound - lower_bound) + lower_bound
        return torch.where(data > 0, data, data * slopes), slopes
    if act_type == "leaky":
        return F.leaky_relu(data, slope)
    if act_type == "elu":
        return F.elu(data, slope)
    return selu(data) if act_type == "selu" else F.gelu(data)
