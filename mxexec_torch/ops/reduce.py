"""Reductions over axes: sum, mean, prod, max, min, norm, argmax and their kin.

`axis` None or () means all axes; `exclude` means all others. Reducing everything gives shape (1,), under np_shape ().
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..errors import MXNetError
from ..infer.state import Shape as KnownShape
from ..infer.state import Shapes
from ..registry import Attrs, Tensor, op
from ..semantics import is_np_shape
from ..values import Bool, OptShape
from .runtime import reduce as rt

__all__ = ["reduced_axes", "reduced_shape", "squeezed"]

Dims = tuple[int, ...]


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
    return left if left or is_np_shape() else (1,)


def squeezed(kept: Tensor, dims: Dims, keepdims: bool) -> Tensor:
    """From a result that kept its reduced axes to the result asked for."""
    if keepdims:
        return kept
    return kept.reshape(1) if len(dims) == kept.ndim and not is_np_shape() else kept.squeeze(dims)


def _shape(a: Attrs, s: Shapes) -> None:
    data = s.get(0)
    if data is not None:
        s.unify_out(reduced_shape(data, reduced_axes(len(data), a.axis, a.exclude), a.keepdims))


def _sum(x: Tensor, dims: Dims) -> Tensor:
    return torch.sum(x, dims, keepdim=True, dtype=x.dtype)


def _mean(x: Tensor, dims: Dims) -> Tensor:
    if x.is_floating_point():
        return torch.mean(x, dims, keepdim=True)
    count = 1
    for d in dims:
        count *= x.shape[d]
    total = torch.sum(x, dims, keepdim=True, dtype=x.dtype)
    return total if x.dtype is torch.bool else torch.div(total, count, rounding_mode="trunc")


def _nansum(x: Tensor, dims: Dims) -> Tensor:
    return rt.nansum(x, dims) if x.is_floating_point() else _sum(x, dims)  # type: ignore[no-any-return]


def _max(x: Tensor, dims: Dims) -> Tensor:
    return rt.extremum(x, dims, True)  # type: ignore[no-any-return]


def _min(x: Tensor, dims: Dims) -> Tensor:
    return rt.extremum(x, dims, False)  # type: ignore[no-any-return]


def _row(name: str, function: Callable[[Tensor, Dims], Tensor], text: str, source: str, aliases: str = "") -> None:
    """Declares one reduction over several axes."""

    def body(data: Tensor, /, *, axis: OptShape = None, keepdims: Bool = False, exclude: Bool = False) -> Tensor:
        dims = reduced_axes(data.ndim, axis, exclude)
        if not dims:
            return data
        return squeezed(function(data, dims), dims, keepdims)

    doc = (
        f"{text}\n\ndata any shape -> the shape without the reduced axes (size 1 with keepdims); (1,) when all are reduced. "
        f"Integers keep their type. Source: src/operator/tensor/broadcast_reduce_{source}.cc"
    )
    op(name, aliases=aliases.split(), shape=_shape, doc=doc, source=source)(body)


_row("sum", _sum, "The sum over axes.", "sum_value", "sum_axis _sparse_sum")
_row("mean", _mean, "The mean over axes; of integers truncated.", "sum_value", "_sparse_mean")
_row("nansum", _nansum, "The sum over axes, NaN skipped.", "sum_value")
_row("prod", rt.prod, "The product over axes; its gradient is product / element.", "prod_value")
_row("nanprod", rt.nanprod, "The product over axes, NaN skipped.", "prod_value")
_row("max", _max, "The maximum over axes; every tied element gets the whole gradient.", "minmax_value", "max_axis")
_row("min", _min, "The minimum over axes; every tied element gets the whole gradient.", "minmax_value", "min_axis")
