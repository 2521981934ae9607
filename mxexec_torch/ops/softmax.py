"""softmax, softmin, log_softmax, SoftmaxActivation and L2Normalization."""

from __future__ import annotations

from typing import Annotated, Any

import torch

from ..dtypes import torch_dtype
from ..errors import MXNetError
from ..infer.rules import elementwise
from ..infer.state import Dtypes, Shapes, show
from ..registry import Attrs, Tensor, op
from ..values import Float, Int, OneOf, OptBool, OptDouble
from .runtime import reduce as rt
from .runtime.normalization import l2_normalize

__all__: list[str] = []

_Dtype = Annotated[str | None, OneOf(None, "float16", "float32", "float64")]


def _axis(ndim: int, axis: int) -> int:
    if not -ndim <= axis < ndim:
        raise MXNetError(f"axis {axis} is out of bounds for an array of {ndim} dimensions")
    return axis % ndim


def _shape(a: Attrs, s: Shapes) -> None:
    s.unify(0, s.out())
    s.unify_out(s.get(0))
    data = s.get(0)
    if data is not None and s.has("length"):
        axis = _axis(len(data), a.axis)
        s.unify("length", (*data[:axis], *data[axis + 1 :]))


def _dtype(a: Attrs, t: Dtypes) -> None:
    data = t.get(0)
    if data is not None and not data.is_floating_point:
        raise t.fail(f"{t.op.name} only supports floating point types, not {show(data)}")
    if a.dtype is not None:
        t.unify_out(torch_dtype(a.dtype))
    else:
        t.unify(0, t.out())
        t.unify_out(t.get(0))


def _refuse_length(use_length: bool | None, name: str) -> None:
    if use_length:
        raise MXNetError(f"{name} has no length input: use_length is for softmax")


def _scaled(data: Tensor, temperature: float | None) -> Tensor:
    return data if temperature is None or temperature == 1.0 else data / temperature


def _typed(result: Tensor, dtype: str | None) -> Tensor:
    """MXNet computes in data's type and converts the result."""
    return result if dtype is None else result.to(torch_dtype(dtype))


def _outside(data: Tensor, length: Tensor, axis: int) -> Tensor:
    """True at the positions along `axis` that lie beyond each row's length."""
    steps = torch.arange(data.shape[axis], device=data.device)
    return steps.view([-1 if d == axis else 1 for d in range(data.ndim)]) >= length.unsqueeze(axis)


_RULES: dict[str, Any] = {"shape": _shape, "dtype": _dtype}


@op("softmax", aliases=("_npx_softmax",), present={"length": lambda a: bool(a.use_length)}, differentiable=("data",), **_RULES)
def softmax(
    data: Tensor, length: Tensor | None = None, /, *, axis: Int = -1, temperature: OptDouble = None, dtype: _Dtype = None,
    use_length: OptBool = False,
) -> Tensor:  # fmt: skip
    """e^(x/t) over its sum along an axis; with use_length only the first `length` positions of each row take part, the rest is 0.

    data any shape -> same shape; length: data's shape without the axis, int32 or int64. dtype: the result's type.
    Source: src/operator/nn/softmax.cc
    """
    x = _scaled(data, temperature)
    axis = _axis(data.ndim, axis)
    if length is None:
        return _typed(torch.softmax(x, axis), dtype)
    if length.is_floating_point():
        raise MXNetError(f"softmax: length must be of an integer type, not {show(length.dtype)}")
    outside = _outside(x, length, axis)
    return _typed(torch.softmax(x.masked_fill(outside, -torch.inf), axis).masked_fill(outside, 0.0), dtype)


@op("softmin", **_RULES)
def softmin(
    data: Tensor, /, *, axis: Int = -1, temperature: OptDouble = None, dtype: _Dtype = None, use_length: OptBool = False
) -> Tensor:
    """softmax of -data.

    data any shape -> same shape. Errors: MXNetError for use_length. Source: src/operator/nn/softmin.cc
    """
    _refuse_length(use_length, "softmin")
    return _typed(torch.softmax(-_scaled(data, temperature), _axis(data.ndim, axis)), dtype)


@op("log_softmax", aliases=("_npx_log_softmax",), **_RULES)
def log_softmax(
    data: Tensor, /, *, axis: Int = -1, temperature: OptDouble = None, dtype: _Dtype = None, use_length: OptBool = False
) -> Tensor:
    """The logarithm of softmax.

    data any shape -> same shape. Errors: MXNetError for use_length. Source: src/operator/nn/log_softmax.cc
    """
    _refuse_length(use_length, "log_softmax")
    return _typed(torch.log_softmax(_scaled(data, temperature), _axis(data.ndim, axis)), dtype)


@op("SoftmaxActivation", shape=elementwise)
def softmax_activation(data: Tensor, /, *, mode: Annotated[str, OneOf("channel", "instance")] = "instance") -> Tensor:
    """softmax over the last axis (mode instance) or over axis 1 (mode channel).

    data (n, c, *k) -> same shape. The gradient sums over axis 1 in both modes, which for instance and more than two dimensions is not the
    derivative (so in MXNet). Source: src/operator/nn/softmax_activation.cc
    """
    if mode == "channel" and data.ndim < 3:
        raise MXNetError(f"SoftmaxActivation: mode channel needs at least 3 dimensions, got {show(tuple(data.shape))}")
    return torch.softmax(data, 1) if mode == "channel" or data.ndim == 2 else rt.last_axis_softmax(data)


def _norm_shape(a: Attrs, s: Shapes) -> None:
    data = s.get(0)
    if data is None:
        return
    if a.mode != "instance" and len(data) < 3:
        raise s.fail(f"L2Normalization: mode {a.mode} needs at least 3 dimensions, got {show(data)}")
    s.unify_out(data)
    s.unify_out({"instance": data[:1], "channel": (data[0], 1, *data[2:]), "spatial": data[:2]}[a.mode], 1)


@op("L2Normalization", floats_only=True, outputs=("output", "norm"), visible=1, shape=_norm_shape)
def l2_normalization(
    data: Tensor, /, *, eps: Float = 1e-10, mode: Annotated[str, OneOf("channel", "instance", "spatial")] = "instance"
) -> tuple[Tensor, Tensor]:
    """data over its L2 norm sqrt(sum of squares + eps), taken per instance, over channels (axis 1) or over positions (axes 2 and up).

    data (n, c, *k) -> same shape. Source: src/operator/l2_normalization.cc
    """
    dims = (1,) if mode == "channel" else tuple(range(1 if mode == "instance" else 2, data.ndim))
    out, norm = l2_normalize(data, eps, dims)
    return out, norm if mode == "channel" or not dims else norm.flatten(0 if mode == "instance" else 1)
