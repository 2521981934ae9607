"""Sorting and counting: topk, sort, argsort, histogram. Equal elements keep the order of their indices, ascending and descending."""

from __future__ import annotations

from typing import Annotated

import torch

from ..dtypes import torch_dtype
from ..errors import MXNetError
from ..infer.rules import attr_dtype, normalize_axis
from ..infer.state import Dtypes, Shapes, complete, show
from ..registry import Attrs, Device, Grad, Tensor, op
from ..values import Bool, Int, OneOf, OptDoubleTuple, OptInt

__all__: list[str] = []

IndexType = Annotated[str, OneOf("float16", "float32", "float64", "int32", "int64", "uint8")]


def _ordered(data: Tensor, axis: int | None, ascending: bool) -> tuple[Tensor, Tensor, int]:
    """Sorted values, their indices and the axis; without an axis of the flattened input."""
    flat = data.reshape(-1) if axis is None else data
    values, indices = torch.sort(flat, dim=axis or 0, descending=not ascending, stable=True)
    return values, indices, axis or 0


def _best(data: Tensor, axis: int, k: int, ascending: bool, device: torch.device) -> Tensor | None:
    """Indices of the k first elements of the stable order, without sorting everything; None where that does not pay or work.

    Value and index are packed into one 64-bit key, so that no two keys are equal and torch.topk has nothing to choose.
    """
    size = data.shape[axis]
    if size < 256 or 4 * k > size or data.dtype in (torch.float64, torch.int64, torch.uint64):
        return None
    if data.is_floating_point():
        bits = (data.float() + 0.0).contiguous().view(torch.int32)  # + 0: the two zeros are equal
        value = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # as an integer it orders as the float does
    else:
        value = data
    order = torch.arange(size, device=device)
    order = (order if ascending else size - 1 - order).reshape(-1, *(1,) * (data.ndim - 1 - axis % data.ndim))
    return torch.topk(torch.add(order, value, alpha=2**32), k, dim=axis, largest=not ascending).indices


# -- topk ---------------------------------------------------------------------------------------------------------------------
def _topk_outputs(a: Attrs) -> tuple[str, ...]:
    return ("output0", "output1") if a.ret_typ in ("value", "both") else ("output",)


def _topk_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is None or (a.axis is None and not complete(data)):
        return
    axis = 0 if a.axis is None else normalize_axis(s, a.axis, len(data))
    shape = data if a.axis is not None else (torch.Size(data).numel(),)
    size, k = shape[axis], a.get("k", 0)
    if size != -1 and k > size:
        raise s.fail(f"k must not exceed the size {size} of axis {axis}, got k = {k}")
    if a.get("ret_typ") == "mask":
        s.unify_out(data)
        return
    for i in range(len(s.outputs)):
        s.unify_out((*shape[:axis], k if k > 0 else size, *shape[axis + 1 :]), i)


def _topk_dtype(a: Attrs, t: Dtypes) -> None:
    if a.ret_typ == "indices":
        t.unify_out(torch_dtype(a.dtype))
        return
    t.unify_out(t.get())
    t.unify(0, t.out())
    if len(t.outputs) == 2:
        t.unify_out(torch_dtype(a.dtype) if a.ret_typ == "both" else torch.int32, 1)


@op(
    "topk", aliases=("_npx_topk",), outputs=_topk_outputs, visible=lambda a: 2 if a.ret_typ == "both" else 1, shape=_topk_shape, dtype=_topk_dtype,
    head_grad=lambda a: a.ret_typ in ("value", "both"),
)  # fmt: skip
def topk(
    data: Tensor, /, *, axis: OptInt = -1, k: Int = 1, ret_typ: Annotated[str, OneOf("both", "indices", "mask", "value")] = "indices",
    is_ascend: Bool = False, dtype: IndexType = "float32", device: Device,
) -> Tensor | tuple[Tensor, ...]:
    """The k largest (or smallest) elements along an axis: their indices, values, both, or a mask over the input. k < 1 means all.

    data (d0, ..., dn) -> dimension `axis` becomes k; mask: data's shape; axis=None works on the flattened input.
    Indices have type `dtype`. The gradient flows through the values. Source: src/operator/tensor/ordering_op.cc
    """
    flat, dim = (data.reshape(-1), 0) if axis is None else (data, axis)
    size = flat.shape[dim]
    if k > size:
        raise MXNetError(f"topk: k must not exceed the size {size} of the axis, got k = {k}")
    best = _best(flat.detach(), dim, k, is_ascend, device) if k > 0 else None
    if best is not None:
        values, indices = flat.gather(dim, best), best
    else:
        values, indices, _ = _ordered(flat.detach() if ret_typ in ("indices", "mask") else flat, dim, is_ascend)
        if 0 < k < size:
            values, indices = values.narrow(dim, 0, k), indices.narrow(dim, 0, k)
    if ret_typ == "indices":
        return indices.to(torch_dtype(dtype))
    if ret_typ == "mask":
        return torch.zeros_like(flat).scatter(dim, indices, 1).reshape(data.shape)
    return values, indices.to(torch_dtype(dtype) if ret_typ == "both" else torch.int32)


# -- sort, argsort ------------------------------------------------------------------------------------------------------------
def _sort_dtype(a: Attrs, t: Dtypes) -> None:
    t.unify_out(t.get())
    t.unify(0, t.out())
    t.unify_out(torch.int32, 1)


@op("sort", aliases=("_npi_sort",), outputs=("output0", "output1"), visible=1, shape=_topk_shape, dtype=_sort_dtype)
def sort(data: Tensor, /, *, axis: OptInt = -1, is_ascend: Bool = True) -> tuple[Tensor, Tensor]:
    """Sorts along an axis, or the flattened input. A second, hidden output holds the indices.

    data (d0, ..., dn) -> same; axis=None: (prod d,). Source: src/operator/tensor/ordering_op.cc
    Deviations: with `axis` left out MXNet defines no gradient, this operator does.
    """
    values, indices, _ = _ordered(data, axis, is_ascend)
    return values, indices.to(torch.int32)


@op("argsort", aliases=("_npi_argsort",), shape=_topk_shape, dtype=attr_dtype(), grad=Grad.ZERO)
def argsort(data: Tensor, /, *, axis: OptInt = -1, is_ascend: Bool = True, dtype: IndexType = "float32") -> Tensor:
    """The indices that sort along an axis, or the flattened input, in type `dtype` (float32 unless said otherwise).

    data (d0, ..., dn) -> same; axis=None: (prod d,). Source: src/operator/tensor/ordering_op.cc
    """
    return _ordered(data, axis, is_ascend)[1].to(torch_dtype(dtype))


# -- histogram ----------------------------------------------------------------------------------------------------------------
def _histogram_dtype(a: Attrs, t: Dtypes) -> None:
    t.unify_out(torch.int64, 0)
    t.unify_out(t.get("data"), 1)


def _histogram_shape(a: Attrs, s: Shapes) -> None:
    if (a.bin_cnt is None) != (a.range is None):
        raise s.fail("_histogram: bin_cnt and range must be given both or neither")
    if a.bin_cnt is not None:
        if a.bin_cnt < 1 or len(a.range) != 2 or a.range[0] >= a.range[1]:
            raise s.fail(f"_histogram: bin_cnt must be positive and range increasing, got bin_cnt={a.bin_cnt}, range={a.range}")
        s.unify_out((a.bin_cnt,), 0)
        s.unify_out((a.bin_cnt + 1,), 1)
        return
    bins = s.known("bins")
    if bins is not None:
        if len(bins) != 1 or bins[0] < 2:
            raise s.fail(f"_histogram: bins must be a vector of at least 2 edges, got shape {show(bins)}")
        s.unify_out((bins[0] - 1,), 0)
        s.unify_out(bins, 1)


@op("_histogram", aliases=("_npi_histogram",), present={"bins": lambda a: a.bin_cnt is None}, outputs=("output0", "output1"),
    shape=_histogram_shape, dtype=_histogram_dtype, grad=Grad.MISSING, described={"range": ", optional, default=None"})  # fmt: skip
def histogram(
    data: Tensor, bins: Tensor | None = None, /, *, bin_cnt: OptInt = None, range: OptDoubleTuple = None, device: Device
) -> tuple[Tensor, Tensor]:
    """Counts per bin and the bin edges; bins are half open, the last one closed. Edges come from `bins` or from bin_cnt and range.

    data any shape, bins (b + 1,) -> counts (b,) int64, edges (b + 1,) of data's type. Source: src/operator/tensor/histogram.cc
    """
    flat = data.reshape(-1)
    if bins is not None:
        edges, count = bins.to(data.dtype), bins.shape[0] - 1
        inside = (flat >= edges[0]) & (flat <= edges[count])
        target = (torch.searchsorted(edges, flat.contiguous(), right=True) - 1).clamp(0, count - 1)
    else:
        assert bin_cnt is not None and range is not None
        count, (low, high) = bin_cnt, range
        steps = torch.arange(count + 1, device=device, dtype=torch.float64)
        edges = ((steps * high + (count - steps) * low) / count).to(data.dtype)
        inside = (flat >= low) & (flat <= high)
        target = torch.where(inside, (flat.double() - low) * count / (high - low), 0.0).to(torch.int64).clamp(0, count - 1)
        target = target - (flat < edges[target]).to(torch.int64)  # rounding may have put an element one bin too high or low
        target = target + ((flat >= edges[target + 1]) & (target != count - 1)).to(torch.int64)
    where = torch.where(inside, target, count)
    ones = torch.ones_like(where)
    return torch.zeros(count + 1, dtype=torch.int64, device=device).index_add(0, where, ones)[:count], edges
