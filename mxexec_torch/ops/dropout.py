"""Dropout."""

from __future__ import annotations

import math
from typing import Annotated

import torch

from ..infer.rules import normalize_axis
from ..infer.state import Shapes
from ..registry import Attrs, IsTrain, Tensor, op
from ..values import Float, IgnoredOptBool, OneOf, Range, Shape

__all__: list[str] = []


def _dropout_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is None:
        return
    s.unify_out(data, 0)
    shared = {normalize_axis(s, axis, len(data)) for axis in a.axes}
    s.unify_out(tuple(1 if i in shared else d for i, d in enumerate(data)), 1)


@op("Dropout", floats_only=True, aliases=("_npx_dropout",), outputs=("output", "mask"), visible=1, shape=_dropout_shape, random=True)
def dropout(
    data: Tensor, /, *, p: Annotated[Float, Range(0, 1)] = 0.5, mode: Annotated[str, OneOf("always", "training")] = "training",
    axes: Shape = (), cudnn_off: IgnoredOptBool = False, train: IsTrain,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Zeroes elements with probability p and scales the rest by 1 / (1 - p), in training or always; otherwise the identity.

    data any shape -> same shape; the mask is shared along `axes`. p = 1 gives NaN. Hidden output: the factors. Source: src/operator/nn/dropout-inl.h
    """
    ndim = data.ndim
    shape = [1 if i in {axis % ndim for axis in axes} else d for i, d in enumerate(data.shape)]
    if not (train or mode == "always") or p == 0:
        return data, data.new_ones(shape)
    if p == 1:  # MXNet scales zeros by 1 / 0
        mask = data.new_full(shape, math.nan)
        return data * mask, mask
    if axes:
        mask = (torch.rand(shape, dtype=torch.float32, device=data.device) < 1 - p).to(data.dtype) * (1 / (1 - p))
        return data * mask, mask
    out, kept = torch.native_dropout(data, p, True)
    return out, kept.to(data.dtype) * (1 / (1 - p))
