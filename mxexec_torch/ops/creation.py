"""Operators without tensor inputs: zeros, ones, full, eye, arange, linspace; and arange_like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import torch

from ..dtypes import CODE_TO_NAME, NAME_TO_CODE, name_of, torch_dtype
from ..errors import MXNetError
from ..infer.rules import any_dtype, attr_dtype
from ..infer.state import Dtypes, Shapes
from ..infer.state import Shape as KnownShape
from ..registry import Attrs, Device, Grad, Tensor, op
from ..semantics import is_np_shape
from ..values import (
    IGNORED,
    Bool,
    Double,
    Float,
    Int,
    Long,
    OneOf,
    OptDouble,
    OptInt,
    Shape,
    Str,
)
from ._numbers import cut

__all__: list[str] = []

# Where the result lives: read by imperative calls; in a graph the binding decides.
Ctx = Annotated[Str, IGNORED]
_TYPES = ("float16", "float32", "float64", "int32", "int64", "int8", "uint8")
_Dtype = Annotated[str, OneOf("bfloat16", *_TYPES)]
_DtypeOrBool = Annotated[str, OneOf("bfloat16", "bool", *_TYPES)]


def _given(shape: tuple[int, ...] | None) -> KnownShape | None:
    """The shape attribute as inference sees it: outside np_shape 0 stands for an unknown dimension and () for nothing."""
    if is_np_shape() or shape is None:
        return shape
    return tuple(-1 if d == 0 else d for d in shape) or None


def _attr_shape(a: Attrs, s: Shapes) -> None:
    s.unify_out(_given(a.shape))


def _decided(a: Attrs, shapes: Sequence[Any], dtypes: Sequence[Any]) -> Attrs:
    """The attributes with the shape that the graph's inference found."""
    return a if a.shape == shapes[0] else Attrs(a, shape=tuple(shapes[0]))


_RULES: dict[str, Any] = {"shape": _attr_shape, "dtype": attr_dtype(), "specialize": _decided}


@op("_zeros", **_RULES)
def zeros(*, shape: Shape = (), ctx: Ctx = "", dtype: _DtypeOrBool = "float32", device: Device) -> Tensor:
    """Zeros of a given shape; 0 dimensions are decided by what uses the result.

    -> shape. Source: src/operator/tensor/init_op.cc
    """
    return torch.zeros(shape, dtype=torch_dtype(dtype), device=device)


@op("_ones", **_RULES)
def ones(*, shape: Shape = (), ctx: Ctx = "", dtype: _DtypeOrBool = "float32", device: Device) -> Tensor:
    """Ones of a given shape; 0 dimensions are decided by what uses the result.

    -> shape. Source: src/operator/tensor/init_op.cc
    """
    return torch.ones(shape, dtype=torch_dtype(dtype), device=device)


@op("_full", aliases=("_npi_full",), **_RULES)
def full(*, shape: Shape = None, ctx: Ctx = "", dtype: _DtypeOrBool = "float32", value: Double, device: Device) -> Tensor:  # type: ignore[assignment]
    """A tensor filled with one number, cut to the element type.

    -> shape. Source: src/operator/tensor/init_op.cc
    """
    target = torch_dtype(dtype)
    return torch.full(shape, cut(value, target), dtype=target, device=device)


@op("_set_value", described={"src": "real_t"}, fills_out=True, dtype=any_dtype, grad=Grad.MISSING)
def set_value(*, src: Float, device: Device) -> Tensor:
    """The number that fills the array given as `out`.

    -> (), written everywhere. Source: src/ndarray/ndarray.cc
    """
    return torch.full((), src, device=device)


def _arange_length(start: float, stop: float | None, step: float, repeat: int) -> tuple[float, int]:
    """(first value, number of elements) of a range; one number alone is the end."""
    if stop is None:
        start, stop = 0.0, start
    if step == 0 or repeat <= 0:
        raise MXNetError(f"arange needs a step other than 0 and a positive repeat, got step={step}, repeat={repeat}")
    if (step > 0 and start >= stop) or (step < 0 and start <= stop):
        raise MXNetError(f"arange from {start} to {stop} does not contain any value in steps of {step}")
    return start, math.ceil((stop - start) / step) * repeat


def _arange_shape(a: Attrs, s: Shapes) -> None:
    if not (a.infer_range and a.stop is None):
        s.unify_out((_arange_length(a.start, a.stop, a.step, a.repeat)[1],))


def _arange_decided(a: Attrs, shapes: Sequence[Any], dtypes: Sequence[Any]) -> Attrs:
    if not (a.infer_range and a.stop is None):
        return a
    (length,) = shapes[0]
    return Attrs(a, stop=a.start + a.step * (length / a.repeat - 0.5))  # half a step short: rounding cannot add an element


def _ramp(count: int, start: float, step: float, repeat: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """start, start + step, ... each `repeat` times; start and step are cut to the element type first."""
    index = torch.arange(count, device=device)
    if repeat != 1:
        index = torch.div(index, repeat, rounding_mode="trunc")
    if dtype.is_floating_point:
        return (index.to(torch.float64 if dtype is torch.float64 else torch.float32) * step + start).to(dtype)
    return (index * cut(step, torch.int64) + cut(start, torch.int64)).to(dtype)


@op("_arange", shape=_arange_shape, dtype=attr_dtype(), specialize=_arange_decided)
def arange(
    *, start: Double, stop: OptDouble = None, step: Double = 1.0, repeat: Int = 1, infer_range: Bool = False, ctx: Ctx = "",
    dtype: _Dtype = "float32", device: Device,
) -> Tensor:  # fmt: skip
    """start, start + step, ... below stop, each value `repeat` times; with infer_range the result's use decides the length.

    -> (n,). Source: src/operator/tensor/init_op.cc
    """
    first, count = _arange_length(start, stop, step, repeat)
    return _ramp(count, first, step, repeat, torch_dtype(dtype), device)


def _eye_shape(a: Attrs, s: Shapes) -> None:
    s.unify_out((a.N, a.M if a.M > 0 else a.N))


@op("_eye", shape=_eye_shape, dtype=attr_dtype())
def eye(
    *, N: Long, M: Long = 0, k: Long = 0, ctx: Ctx = "", dtype: Annotated[str, OneOf(*_TYPES)] = "float32", device: Device
) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere.

    -> (N, M), M defaults to N. Source: src/operator/tensor/init_op.cc
    """
    columns = M if M > 0 else N
    rows = torch.arange(N, device=device).unsqueeze(1)
    return (torch.arange(columns, device=device).unsqueeze(0) - rows == k).to(torch_dtype(dtype))


def _linspace_shape(a: Attrs, s: Shapes) -> None:
    if a.num < 0:
        raise s.fail(f"linspace: the number of values must not be negative, got {a.num}")
    s.unify_out((a.num,))


_RANGE_ROWS = (  # MXNet lists _arange's attributes here
    ("start", "double, required"), ("stop", "double or None, optional, default=None"), ("step", "double, optional, default=1"),
    ("repeat", "int, optional, default='1'"), ("infer_range", "boolean, optional, default=0"), ("ctx", "string, optional, default=''"),
    ("dtype", "{'bfloat16', 'float16', 'float32', 'float64', 'int32', 'int64', 'int8', 'uint8'},optional, default='float32'"),
)  # fmt: skip


@op("_linspace", aliases=("_npi_linspace",), shape=_linspace_shape, dtype=attr_dtype(), listed=_RANGE_ROWS)
def linspace(
    *, start: Double, stop: Double, num: Int, endpoint: Bool = True, ctx: Ctx = "", dtype: _Dtype = "float32", device: Device
) -> Tensor:
    """`num` evenly spaced values from start to stop, stop included unless endpoint is false.

    -> (num,). Source: src/operator/tensor/init_op.cc
    """
    intervals = num - 1 if endpoint else num
    step = (stop - start) / intervals if intervals > 0 else 0.0
    return (torch.arange(num, device=device).double() * step + start).to(torch_dtype(dtype))


def _untyped_dtype(a: Attrs, t: Dtypes) -> None:
    if a.dtype != -1:
        t.unify_out(torch_dtype(CODE_TO_NAME[a.dtype]))


def _untyped_decided(a: Attrs, shapes: Sequence[Any], dtypes: Sequence[Any]) -> Attrs:
    return Attrs(a, shape=tuple(shapes[0]), dtype=NAME_TO_CODE[name_of(dtypes[0])])


@op("_zeros_without_dtype", shape=_attr_shape, dtype=_untyped_dtype, specialize=_untyped_decided)
def zeros_without_dtype(*, shape: Shape = None, ctx: Ctx = "", dtype: Int = -1, device: Device) -> Tensor:  # type: ignore[assignment]
    """Zeros whose element type (code; -1: unknown) is decided by what uses the result, float32 when nothing does.

    -> shape. Source: src/operator/tensor/init_op.cc
    """
    return torch.zeros(shape, dtype=torch.float32 if dtype == -1 else torch_dtype(CODE_TO_NAME[dtype]), device=device)


def _like_axis(a: Attrs, s: Shapes, data: KnownShape) -> int | None:
    if a.axis is None:
        return None
    if not -len(data) <= a.axis < len(data):
        raise s.fail(f"arange_like: axis {a.axis} is out of bounds for an array of {len(data)} dimensions")
    return int(a.axis % len(data))


def _arange_like_shape(a: Attrs, s: Shapes) -> None:
    data = s.get(0)
    if data is not None:
        axis = _like_axis(a, s, data)
        s.unify_out(data if axis is None else (data[axis],))


@op("_contrib_arange_like", aliases=("_npx_arange_like",), shape=_arange_like_shape, grad=Grad.ZERO, head_grad=False)
def arange_like(data: Tensor, /, *, start: Double = 0.0, step: Double = 1.0, repeat: Int = 1, ctx: Ctx = "", axis: OptInt = None) -> Tensor:
    """start, start + step, ... (each `repeat` times) in data's shape, or as long as one of its axes.

    data any shape -> same shape, or (size of axis,). Source: src/operator/tensor/init_op.cc
    """
    count = data.numel() if axis is None else data.shape[axis]
    ramp = _ramp(count, start, step, repeat, data.dtype, data.device)
    return ramp.reshape(data.shape) if axis is None else ramp
