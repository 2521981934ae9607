"""Reading and writing at index tensors: take, pick, gather_nd, scatter_nd, one_hot, index_copy, boolean_mask, ravel and unravel.

Indices come as numbers of any element type; fractions are cut. Out of range they are clipped or wrapped, never an error by default.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated

import torch

from ..dtypes import torch_dtype
from ..errors import MXNetError
from ..infer.rules import attr_dtype, free_inputs, normalize_axis, output_from
from ..infer.state import Dtypes, Shapes, complete, show
from ..infer.state import Shape as KnownShape
from ..registry import Attrs, Device, Grad, Tensor, op
from ..values import Bool, Double, Int, OneOf, OptInt, Shape
from .runtime.indexing import check_coordinates, check_range

__all__ = ["as_index", "flat_positions"]


def as_index(index: Tensor, size: int, mode: str) -> Tensor:
    """int64 indices into an axis of `size` elements; mode 'clip' or 'wrap' (the remainder with the divisor's sign)."""
    whole = index.to(torch.int64)
    if mode == "wrap":
        return torch.remainder(whole, max(size, 1))
    return whole.clamp(0, max(size - 1, 0))


def _take_shape(a: Attrs, s: Shapes) -> None:
    data, index = s.get(0), s.get(1)
    if data is None or index is None:
        return
    axis = normalize_axis(s, a.axis, len(data))
    s.unify_out((*data[:axis], *index, *data[axis + 1 :]))


@op("take", aliases=("_npi_take",), shape=_take_shape, dtype=free_inputs("indices"))
def take(a: Tensor, indices: Tensor, /, *, axis: Int = 0, mode: Annotated[str, OneOf("clip", "raise", "wrap")] = "clip") -> Tensor:
    """Slices of `a` along an axis at the given indices.

    a (*k, d, *m), indices (*i), any type -> (*k, *i, *m). The gradient adds up over repeated indices; that of indices is zero.
    Errors: MXNetError for an index out of range with mode='raise'. Source: src/operator/tensor/indexing_op.cc
    """
    axis = axis % a.ndim
    if mode == "raise":
        indices = check_range(indices, a.shape[axis], axis)
    index = as_index(indices, a.shape[axis], mode)
    if a.shape[axis] == 0 and index.numel():
        raise MXNetError("take: cannot take from an axis of size 0")
    picked = a.index_select(axis, index.reshape(-1))
    return picked if index.ndim == 1 else picked.reshape((*a.shape[:axis], *index.shape, *a.shape[axis + 1 :]))


# -- pick, batch_take ---------------------------------------------------------------------------------------------------------
def _pick_shape(a: Attrs, s: Shapes) -> None:
    data, index = s.get(0), s.get(1)
    if data is None:
        return
    if a.axis is None:
        raise s.fail("pick: axis=None is not supported, an axis must be given")
    axis = normalize_axis(s, a.axis, len(data))
    kept, removed = (*data[:axis], 1, *data[axis + 1 :]), (*data[:axis], *data[axis + 1 :]) or (1,)
    s.unify_out(kept if a.keepdims else removed)
    s.unify(1, kept if index is not None and len(index) == len(data) else removed)


@op("pick", aliases=("choose_element_0index", "_npx_pick"), shape=_pick_shape, dtype=free_inputs("index"), differentiable=("data",))
def pick(
    data: Tensor, index: Tensor, /, *, axis: OptInt = -1, keepdims: Bool = False,
    mode: Annotated[str, OneOf("clip", "wrap")] = "clip",
) -> Tensor:
    """One element along an axis at each position of the other axes.

    data (*k, d, *m), index (*k, *m) or (*k, 1, *m), any type -> (*k, *m), with keepdims (*k, 1, *m).
    Source: src/operator/tensor/broadcast_reduce_op_index.cc
    """
    assert axis is not None
    axis %= data.ndim
    kept = (*data.shape[:axis], 1, *data.shape[axis + 1 :])
    picked = data.gather(axis, as_index(index, data.shape[axis], mode).reshape(kept))
    return picked if keepdims else picked.reshape((*data.shape[:axis], *data.shape[axis + 1 :]) or (1,))


def _batch_take_shape(a: Attrs, s: Shapes) -> None:
    output_from(1)(a, s)
    data, index = s.known(0), s.known(1)
    if data is not None and index is not None and (len(data) < 2 or prod(data[:-1]) != prod(index)):
        raise s.fail(f"batch_take needs one index for each row of the last axis, got data {show(data)} and indices {show(index)}")


def _batch_take_dtype(a: Attrs, t: Dtypes) -> None:
    t.unify(1, torch.int32)
    t.unify_out(t.get(0))
    t.unify(0, t.out())


@op("batch_take", shape=_batch_take_shape, dtype=_batch_take_dtype, grad=Grad.MISSING)
def batch_take(a: Tensor, indices: Tensor, /) -> Tensor:
    """One element of each row of the last axis, clipped to it. a (*k, d), indices (*k) int32 -> (*k).

    Source: src/operator/tensor/indexing_op.cc
    """
    return a.reshape(-1, a.shape[-1]).gather(1, as_index(indices, a.shape[-1], "clip").reshape(-1, 1)).reshape(indices.shape)


# -- gather_nd, scatter_nd ----------------------------------------------------------------------------------------------------
def flat_positions(indices: Tensor, sizes: Sequence[int], wrap: bool) -> Tensor:
    """Row-major positions of index columns. indices (m, *k), sizes of the m axes -> (*k) int64."""
    where = indices.new_zeros(indices.shape[1:], dtype=torch.int64)
    for i, size in enumerate(sizes):
        column = indices[i].to(torch.int64)
        where = where * size + (torch.remainder(column, max(size, 1)) if wrap else column)
    return where


def _gather_shape(a: Attrs, s: Shapes) -> None:
    data, index = s.get(0), s.get(1)
    if data is None or index is None or index[0] == -1:
        return
    if len(index) < 2:
        raise s.fail(f"gather_nd requires an index tensor of at least 2 dimensions, got {show(index)}")
    if index[0] > len(data):
        raise s.fail(f"gather_nd: {index[0]} indices exceed the {len(data)} dimensions of data {show(data)}")
    s.unify_out((*index[1:], *data[index[0] :]) or (1,))


@op("gather_nd", aliases=("_npi_gather_nd", "_npx_gather_nd"), shape=_gather_shape, dtype=free_inputs("indices"), differentiable=("data",))
def gather_nd(data: Tensor, indices: Tensor, /) -> Tensor:
    """Elements (or slices) at the coordinates in the columns of indices; negative ones count from the end. The gradient adds up.

    data (d0, ..., dn), indices (m, *k), any type -> (*k, d[m], ..., dn). Source: src/operator/tensor/indexing_op.cc
    Errors: IndexError for a coordinate beyond its axis.
    """
    m = indices.shape[0]
    sizes = tuple(data.shape[:m])
    where = flat_positions(check_coordinates(indices, sizes), sizes, wrap=True)
    rows = data.reshape(prod(data.shape[:m]), *data.shape[m:])
    return rows.index_select(0, where.reshape(-1)).reshape(*indices.shape[1:], *data.shape[m:])


def _check_scatter(data: KnownShape, index: KnownShape, out: KnownShape, what: str) -> None:
    if len(index) < 2:
        raise ValueError(f"{what} requires an index tensor of at least 2 dimensions, got {show(index)}")
    if index[0] > len(out):
        raise ValueError(f"{what}: {index[0]} indices exceed the {len(out)} dimensions of the output {show(out)}")
    if data != (*index[1:], *out[index[0] :]):
        raise ValueError(f"Invalid data, indices, and output shape combination for {what}: {show(data)}, {show(index)}, {show(out)}")


def _scatter_shape(a: Attrs, s: Shapes) -> None:
    s.unify_out(tuple(a.shape))
    values, index = ("data", "indices") if s.op.name != "_scatter_set_nd" else ("rhs", "indices")
    s.unify("lhs", s.out())
    data, where = s.get(values), s.get(index)
    if complete(data) and complete(where) and complete(s.out()):
        try:
            _check_scatter(data, where, s.out(), s.op.name)
        except ValueError as error:
            raise s.fail(str(error)) from None


def _scatter(target: Tensor, data: Tensor, indices: Tensor, shape: KnownShape) -> Tensor:
    """target (flattened to rows of the indexed axes) with data written at the coordinates; of equal coordinates one wins."""
    m = indices.shape[0]
    where = flat_positions(indices, shape[:m], wrap=False).reshape(-1)
    rows = target.reshape(prod(shape[:m]), *shape[m:])
    return rows.index_put((where,), data.reshape(where.shape[0], *shape[m:])).reshape(shape)


@op("scatter_nd", shape=_scatter_shape, dtype=free_inputs("indices"), differentiable=("data",))
def scatter_nd(data: Tensor, indices: Tensor, /, *, shape: Shape) -> Tensor:
    """Zeros with data written at the coordinates in the columns of indices; of equal coordinates the result is undefined.

    data (*k, *rest), indices (m, *k), any type -> shape = (m dimensions, *rest). Source: src/operator/tensor/indexing_op.cc
    """
    return _scatter(data.new_zeros(shape), data, indices, tuple(shape))


@op("_backward_gather_nd", shape=_scatter_shape, dtype=free_inputs("indices"), grad=Grad.MISSING)
def backward_gather_nd(data: Tensor, indices: Tensor, /, *, shape: Shape) -> Tensor:
    """scatter_nd that adds up at equal coordinates: the adjoint of gather_nd, called by its name in old code.

    data (*k, *rest), indices (m, *k), any type -> shape = (m dimensions, *rest). Source: src/operator/tensor/indexing_op.cc
    """
    m = indices.shape[0]
    where = flat_positions(indices, shape[:m], wrap=True).reshape(-1)
    rows = data.new_zeros(prod(shape[:m]), *shape[m:])
    return rows.index_add(0, where, data.reshape(where.shape[0], *shape[m:])).reshape(shape)


@op("_scatter_set_nd", aliases=("_npi_scatter_set_nd",), shape=_scatter_shape, dtype=free_inputs("indices"), grad=Grad.MISSING)
def scatter_set_nd(lhs: Tensor, rhs: Tensor, indices: Tensor, /, *, shape: Shape) -> Tensor:
    """lhs with rhs written at the coordinates in the columns of indices. lhs shape, rhs (*k, *rest), indices (m, *k) -> shape.

    Source: src/operator/tensor/indexing_op.cc
    """
    return _scatter(lhs, rhs, indices, tuple(shape))


# -- one_hot and the old element functions ------------------------------------------------------------------------------------
def _one_hot_shape(a: Attrs, s: Shapes) -> None:
    if s.get() is not None:
        s.unify_out((*s.get(), a.depth))


@op("one_hot", aliases=("_npx_one_hot",), shape=_one_hot_shape, dtype=attr_dtype(), grad=Grad.ZERO)
def one_hot(
    indices: Tensor, /, *, depth: Int, on_value: Double = 1.0, off_value: Double = 0.0,
    dtype: Annotated[str, OneOf("bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8")] = "float32",
    device: Device,
) -> Tensor:
    """on_value at each index of a new last axis, off_value elsewhere; an index out of range gives a row of off_value.

    indices (*k) -> (*k, depth) of type `dtype`. Source: src/operator/tensor/indexing_op.cc
    """
    hot = indices.to(torch.int64).unsqueeze(-1) == torch.arange(depth, device=device)
    on, off = (torch.full((), value, dtype=torch_dtype(dtype), device=device) for value in (on_value, off_value))
    return torch.where(hot, on, off)


@op("_onehot_encode", input_texts={"lhs": "NDArray", "rhs": "NDArray"}, shape=output_from("rhs"), grad=Grad.MISSING, lists_inputs=False)
def onehot_encode(lhs: Tensor, rhs: Tensor, /, *, device: Device) -> Tensor:
    """Rows of zeros with a one at each index. lhs (n,), rhs (n, depth) gives shape and type -> (n, depth).

    Source: src/ndarray/ndarray_function.cc
    """
    return (lhs.to(torch.int64).unsqueeze(1) == torch.arange(rhs.shape[1], device=device)).to(rhs.dtype)


@op("fill_element_0index", input_texts={"lhs": "NDArray", "mhs": "NDArray", "rhs": "NDArray"}, shape=output_from("lhs"), grad=Grad.MISSING,
    lists_inputs=False)  # fmt: skip
def fill_element_0index(lhs: Tensor, mhs: Tensor, rhs: Tensor, /) -> Tensor:
    """lhs with mhs[i] written at [i, rhs[i]]. lhs (n, d), mhs, rhs (n,) -> (n, d). Source: src/ndarray/ndarray_function.cc"""
    return lhs.scatter(1, as_index(rhs, lhs.shape[1], "clip").unsqueeze(1), mhs.unsqueeze(1))


# -- index_copy, boolean_mask -------------------------------------------------------------------------------------------------
def _index_copy_shape(a: Attrs, s: Shapes) -> None:
    old, index, new = s.get(0), s.get(1), s.get(2)
    output_from(0)(a, s)
    if old is None or index is None or new is None:
        return
    if len(index) != 1 or len(old) != len(new) or old[1:] != new[1:] or index[0] != new[0] or new[0] > old[0]:
        raise s.fail(f"index_copy: shapes old {show(old)}, index {show(index)}, new {show(new)} do not fit each other")


@op(
    "_contrib_index_copy", shape=_index_copy_shape, dtype=free_inputs("index_vector"), differentiable=("old_tensor", "new_tensor"),
    untouched_grads=("index_vector",),
)  # fmt: skip
def index_copy(old_tensor: Tensor, index_vector: Tensor, new_tensor: Tensor, /) -> Tensor:
    """old_tensor with the rows at index_vector replaced by those of new_tensor.

    old (n, *k), index (m,), new (m, *k) -> (n, *k). Source: src/operator/contrib/index_copy.cc
    """
    return old_tensor.index_copy(0, index_vector.to(torch.int64), new_tensor)


def _check_mask(a: Attrs) -> None:
    if a.axis != 0:
        raise MXNetError(f"boolean_mask: only axis=0 is supported, got axis={a.axis}")


@op("_contrib_boolean_mask", aliases=("_npi_boolean_mask",), dtype=free_inputs("index"), eager_only=True, check=_check_mask, differentiable=("data",))
def boolean_mask(data: Tensor, index: Tensor, /, *, axis: Int = 0) -> Tensor:
    """The rows whose entry in index is not zero. data (n, *k), index (n,) -> (number of non-zeros, *k).

    Source: src/operator/contrib/boolean_mask.cc
    """
    if index.ndim != 1 or index.shape[0] != data.shape[0]:
        raise MXNetError(f"boolean_mask: index must have shape [{data.shape[0]}], got {show(tuple(index.shape))}")
    return data[index != 0]


# -- ravel, unravel -----------------------------------------------------------------------------------------------------------
def _need_shape(a: Attrs, s: Shapes) -> None:
    if not a.shape:
        raise s.fail(f"{s.op.name} needs a shape with at least one dimension")


def _ravel_shape(a: Attrs, s: Shapes) -> None:
    _need_shape(a, s)
    data, out = s.get(), s.out()
    if data is not None:
        if len(data) != 2 or data[0] not in (-1, len(a.shape)):
            raise s.fail(f"ravel needs an input of shape [{len(a.shape)}, n] for shape {show(a.shape)}, got {show(data)}")
        s.unify_out(data[1:])
    if out is not None:
        s.unify(0, (len(a.shape), out[0]))


@op("_ravel_multi_index", aliases=("ravel_multi_index",), shape=_ravel_shape, grad=Grad.ZERO)
def ravel_multi_index(data: Tensor, /, *, shape: Shape | None = None) -> Tensor:
    """Row-major positions of the coordinates in the columns. data (m, n), shape of m dimensions -> (n,).

    Source: src/operator/tensor/ravel.cc
    """
    assert shape is not None  # see _need_shape
    return flat_positions(data, shape, wrap=False).to(data.dtype)


def _unravel_shape(a: Attrs, s: Shapes) -> None:
    _need_shape(a, s)
    data, out = s.get(), s.out()
    if data is not None:
        s.unify_out((len(a.shape), data[0]))
    if out is not None:
        if len(out) != 2:
            raise s.fail(f"unravel has an output of two dimensions, got {show(out)}")
        if data is None:
            s.unify(0, out[1:])


@op("_unravel_index", aliases=("unravel_index",), shape=_unravel_shape, grad=Grad.ZERO)
def unravel_index(data: Tensor, /, *, shape: Shape | None = None) -> Tensor:
    """The coordinates of row-major positions, one column each; the first dimension of shape may be -1.

    data (n,), shape of m dimensions -> (m, n). Source: src/operator/tensor/ravel.h
    Deviations: MXNet is meant for vectors; of (n, b) it takes the first m / b dimensions, where b does not divide m this raises.
    """
    assert shape is not None  # see _need_shape
    m, n = len(shape), data.shape[0]
    if data.numel() == 0 or (m * n) % data.numel():
        raise MXNetError(f"unravel needs a vector of positions, got {show(tuple(data.shape))} for shape {show(shape)}")
    position = data.to(torch.int64).reshape(-1)
    rows: list[Tensor] = []
    for size in reversed(shape[1 : m * n // data.numel()]):
        whole = torch.div(position, size, rounding_mode="trunc")
        rows.append(position - whole * size)
        position = whole
    return torch.stack([position, *reversed(rows)]).to(data.dtype).reshape(m, n)
