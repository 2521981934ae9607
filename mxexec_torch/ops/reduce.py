"""Reductions over axes: sum, mean, prod, max, min, norm, moments, argmax and argmin.

`axis` None or () means all axes; `exclude` means all others. Reducing everything gives shape (1,), under np_shape too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Annotated, Any

import torch

from ..dtypes import torch_dtype
from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes
from ..infer.state import Shape as KnownShape
from ..registry import Attrs, Grad, Tensor, op
from ..values import Bool, Int, OneOf, OptInt, OptShape
from .runtime import reduce as rt

__all__ = ["reduced", "reduced_axes", "reduced_shape"]

Dims = tuple[int, ...]
Reduction = Callable[[Tensor, Dims, bool], Tensor]


@functools.lru_cache(maxsize=1024)
def reduced_axes(ndim: int, axis: tuple[int, ...] | None, exclude: bool = False) -> Dims:
    """The axes that go, sorted. Errors: MXNetError for an axis out of range or given twice."""
    if not axis:
        return tuple(range(ndim))
    for a in axis:
        if not -ndim <= a < ndim:
            raise MXNetError(f"axis {a} is out of bounds for an array of {ndim} dimensions")
    axes = sorted(a % ndim for a in axis)
    if len(set(axes)) != len(axes):
        raise MXNetError(f"axis {tuple(axis)} names a dimension twice")
    return tuple(d for d in range(ndim) if d not in axes) if exclude else tuple(axes)


def reduced_shape(shape: KnownShape, dims: Dims, keepdims: bool) -> KnownShape:
    """The shape of the result."""
    if keepdims:
        return tuple(1 if d in dims else size for d, size in enumerate(shape))
    left = tuple(size for d, size in enumerate(shape) if d not in dims)
    return left or (1,)


def reduced(function: Reduction, data: Tensor, dims: Dims, keepdims: bool) -> Tensor:
    """Runs a reduction: the result of reducing everything has shape (1,)."""
    if not keepdims and len(dims) == data.ndim:
        return function(data if data.ndim == 1 else data.reshape(-1), (0,), True)
    return function(data, dims, keepdims)


def _shape(a: Attrs, s: Shapes) -> None:
    data = s.get(0)
    if data is not None:
        s.unify_out(reduced_shape(data, reduced_axes(len(data), a.axis, a.exclude), a.keepdims))


def _sum(x: Tensor, dims: Dims, keep: bool) -> Tensor:
    return torch.sum(x, dims, keepdim=keep, dtype=x.dtype)


def _mean(x: Tensor, dims: Dims, keep: bool) -> Tensor:
    if x.is_floating_point():
        return torch.mean(x, dims, keepdim=keep)
    count = 1
    for d in dims:
        count *= x.shape[d]
    total = torch.sum(x, dims, keepdim=keep, dtype=x.dtype)
    return total if x.dtype is torch.bool else torch.div(total, count, rounding_mode="trunc")


def _nansum(x: Tensor, dims: Dims, keep: bool) -> Tensor:
    return torch.nansum(x, dims, keepdim=keep, dtype=x.dtype) if x.is_floating_point() else _sum(x, dims, keep)


def _max(x: Tensor, dims: Dims, keep: bool) -> Tensor:
    return rt.extremum(x, dims, keep, True)


def _min(x: Tensor, dims: Dims, keep: bool) -> Tensor:
    return rt.extremum(x, dims, keep, False)


def _row(name: str, function: Reduction, text: str, source: str, aliases: str = "", limits: tuple[str, ...] = (), added: Any = None) -> None:
    """Declares one reduction over several axes."""

    def body(data: Tensor, /, *, axis: OptShape = None, keepdims: Bool = False, exclude: Bool = False) -> Tensor:
        dims = reduced_axes(data.ndim, axis, exclude)
        if not dims:
            return data if data.ndim or keepdims else data.reshape(1)
        return reduced(function, data, dims, keepdims)

    doc = (
        f"{text}\n\ndata any shape -> the shape without the reduced axes (size 1 with keepdims); (1,) when all are reduced. "
        f"Integers keep their type. Source: src/operator/tensor/broadcast_reduce_{source}.cc"
    )
    op(name, aliases=aliases.split(), shape=_shape, doc=doc, source=source, limits=limits, added=added or {})(body)


_row("sum", _sum, "The sum over axes.", "sum_value", "sum_axis _sparse_sum")
def _mean_added(a: Attrs, content: Tensor, grad: Tensor) -> Tensor:
    """MXNet adds the gradient of the sum, then divides the whole array by the number of elements."""
    dims = reduced_axes(grad.ndim, a.axis, a.exclude)
    return content / math.prod(grad.shape[d] for d in dims) + grad


_row("mean", _mean, "The mean over axes; of integers truncated.", "sum_value", "_sparse_mean", added={"data": _mean_added})
_row("nansum", _nansum, "The sum over axes, NaN skipped.", "sum_value", limits=("a row with an infinite element gives it; MXNet's compensated sum gives NaN",))
_row("prod", rt.prod, "The product over axes; its gradient is product / element.", "prod_value")
_row("nanprod", rt.nanprod, "The product over axes, NaN skipped.", "prod_value")
_row("max", _max, "The maximum over axes; every tied element gets the whole gradient.", "minmax_value", "max_axis")
_row("min", _min, "The minimum over axes; every tied element gets the whole gradient.", "minmax_value", "min_axis")


def _norm_shape(a: Attrs, s: Shapes) -> None:
    data = s.get(0)
    if data is not None:
        s.unify_out(reduced_shape(data, reduced_axes(len(data), a.axis), a.keepdims))


def _norm_dtype(a: Attrs, t: Dtypes) -> None:
    if a.out_dtype is not None:
        t.unify_out(torch_dtype(a.out_dtype))
    else:
        t.unify(0, t.out())
        t.unify_out(t.get(0))


@op(
    "norm", aliases=("_sparse_norm",), shape=_norm_shape, dtype=_norm_dtype,
    limits=("several infinite elements give infinity; MXNet's compensated sum gives NaN",),
)  # fmt: skip
def norm(
    data: Tensor, /, *, ord: Int = 2, axis: OptShape = None,
    out_dtype: Annotated[str | None, OneOf(None, "float16", "float32", "float64", "int32", "int64", "int8")] = None, keepdims: Bool = False,
) -> Tensor:  # fmt: skip
    """Sum of magnitudes (ord=1) or Euclidean norm (ord=2) over axes; its gradient is NaN where a Euclidean norm is 0.

    data any shape -> the shape without the reduced axes. Source: src/operator/tensor/broadcast_reduce_norm_value.cc
    """
    if ord not in (1, 2):
        raise MXNetError(f"norm only supports ord=1 and ord=2, got ord={ord}")
    dims = reduced_axes(data.ndim, axis)
    x = data if out_dtype is None else data.to(torch_dtype(out_dtype))
    if x.dtype is torch.bool:
        return reduced(_max, x, dims, keepdims)
    function = rt.norm if x.is_floating_point() else rt.whole_norm
    if not dims:
        return function(x.reshape(1), (0,), True, ord).reshape(x.shape if keepdims else (1,))
    return reduced(lambda t, d, keep: function(t, d, keep, ord), x, dims, keepdims)


def _moments_shape(a: Attrs, s: Shapes) -> None:
    data = s.get(0)
    if not a.axes:
        raise s.fail("moments: empty axes are not supported, name all axes for moments over everything")
    if data is not None:
        shape = reduced_shape(data, reduced_axes(len(data), a.axes), a.keepdims)
        s.unify_out(shape, 0)
        s.unify_out(shape, 1)


@op("moments", outputs=("output0", "output1"), shape=_moments_shape)
def moments(data: Tensor, /, *, axes: OptShape = None, keepdims: Bool = False) -> tuple[Tensor, Tensor]:
    """Mean and (biased) variance over axes.

    data any shape -> twice the shape without the reduced axes. Source: src/operator/nn/moments.cc
    """
    dims = reduced_axes(data.ndim, axes)
    mean = _mean(data, dims, True)
    variance = reduced(_mean, torch.square(data - mean), dims, keepdims)
    return mean.reshape(variance.shape), variance


def _index_shape(a: Attrs, s: Shapes) -> None:
    data = s.get(0)
    if data is not None:
        s.unify_out(reduced_shape(data, reduced_axes(len(data), None if a.axis is None else (a.axis,)), a.keepdims))


def _indices(function: Callable[..., Tensor], data: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    if data.dtype is torch.bool:
        raise MXNetError("argmax and argmin do not accept bool")
    if axis is not None:
        return function(data, axis, keepdim=keepdims or data.ndim == 1).to(data.dtype)
    index = function(data.flatten()).to(data.dtype)
    return index.reshape((1,) * data.ndim if keepdims else (1,))


@op("argmax", shape=_index_shape, grad=Grad.ZERO, head_grad=False)
def argmax(data: Tensor, /, *, axis: OptInt = None, keepdims: Bool = False) -> Tensor:
    """Index of the (first) maximum along an axis or of the flattened tensor, in data's element type; the first NaN wins.

    data any shape -> the shape without the axis. Source: src/operator/tensor/broadcast_reduce_op_index.cc
    """
    return _indices(torch.argmax, data, axis, keepdims)


@op("argmin", shape=_index_shape, grad=Grad.ZERO, head_grad=False)
def argmin(data: Tensor, /, *, axis: OptInt = None, keepdims: Bool = False) -> Tensor:
    """Index of the (first) minimum along an axis or of the flattened tensor, in data's element type; the first NaN wins.

    data any shape -> the shape without the axis. Source: src/operator/tensor/broadcast_reduce_op_index.cc
    """
    return _indices(torch.argmin, data, axis, keepdims)


def _channel_shape(a: Attrs, s: Shapes) -> None:
    data = s.get(0)
    if data is not None:
        s.unify_out(reduced_shape(data, reduced_axes(len(data), (1,)), False))


@op("argmax_channel", shape=_channel_shape, grad=Grad.MISSING)
def argmax_channel(data: Tensor, /) -> Tensor:
    """Index of the (first) maximum along axis 1, in data's element type.

    data (n, c, *k) -> (n, *k). Source: src/operator/tensor/broadcast_reduce_op_index.cc
    """
    return _indices(torch.argmax, data, 1, False)


def _cumsum_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if a.axis is not None:
        s.unify_out(data)
        s.unify(0, s.out())
        return
    if data is None or -1 in data:
        raise s.fail(f"cumsum over all axes needs the shape of its input, got {data}")
    s.unify_out((math.prod(data),))


def _cumsum_dtype(a: Attrs, d: Dtypes) -> None:
    if a.dtype is not None:
        d.unify_out(torch_dtype(a.dtype))
    elif d.get() is torch.bool:
        d.unify_out(torch.int64)
    else:
        d.unify_out(d.get())
        d.unify(0, d.out())


@op("_np_cumsum", aliases=("cumsum",), shape=_cumsum_shape, dtype=_cumsum_dtype)
def cumsum(
    a: Tensor, /, *, axis: OptInt = None, dtype: Annotated[str | None, OneOf("float16", "float32", "float64", "int32", "int64", "int8", None)] = None
) -> Tensor:
    """Running sums along an axis, or of the flattened tensor.

    a any shape -> the same shape, or (size,) without an axis. dtype: as asked for, else that of a (bool: int64).
    Errors: MXNetError for an axis out of range, a negative one included. Source: src/operator/numpy/np_cumsum-inl.h
    """
    if axis is not None and not 0 <= axis < a.ndim:
        raise MXNetError(f"axis value {axis} out of range: from 0 to {a.ndim - 1}")
    kind = torch_dtype(dtype) if dtype is not None else torch.int64 if a.dtype is torch.bool else a.dtype
    result = a.reshape(-1).cumsum(0, dtype=kind) if axis is None else a.cumsum(axis, dtype=kind)
    return result
