"""What operators do with the stored elements of sparse arrays alone, without making them dense. `HANDLERS` names them by operator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..errors import MXNetError
from ..infer.storage import ZERO_PRESERVING, output_stypes
from ..ops.slicing import slice_ranges
from ..semantics import is_np_shape
from .core import NDArray, wrap
from .plans import TORCH_ERRORS, owned, results_of
from .sparse import SPARSE_CLASSES, CSRNDArray, RowSparseNDArray

__all__ = ["HANDLERS", "Handler", "by_column", "handles", "lookup", "places", "product", "spread"]

Handler = Callable[[Any, Sequence[Any]], "NDArray | list[NDArray] | None"]  # (plan, inputs); None: not this combination
HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    def declare(function: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(names, function))
        return function

    return declare


def _apply(plan: Any, tensors: Sequence[torch.Tensor], ctx: Any) -> torch.Tensor:
    """The operator's body on tensors, its first output in memory of its own."""
    try:
        result = plan.apply(tensors, ctx.device)
    except TORCH_ERRORS as error:
        if isinstance(error, MXNetError):
            raise
        raise MXNetError(f"Error in operator {plan.op.name}: stored elements of a sparse input are not accepted: {error}") from error
    outputs, _ = results_of(result)
    return owned(outputs[0], tensors)


# ------------------------------------------------------------------------------------------------------------- one operand
@handles(
    *(name for name in ZERO_PRESERVING if name != "zeros_like"), "_mul_scalar", "_div_scalar", "_plus_scalar", "_minus_scalar", "_scatter_plus_scalar",
    "_scatter_minus_scalar", "_equal_scalar", "_not_equal_scalar", "_greater_scalar", "_greater_equal_scalar", "_lesser_scalar",
    "_lesser_equal_scalar", "clip", "_contrib_quadratic",
)  # fmt: skip
def _on_stored(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    (x,) = inputs
    if output_stypes(plan.op, plan.attrs, [x.stype]) != [x.stype]:
        return None
    return x._with(_apply(plan, [x._values], x._ctx))  # type: ignore[no-any-return]


@handles("zeros_like")
def _zeros_like(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    (x,) = inputs
    return type(x)._zeros(x.shape, x._ctx, x._values.dtype)  # type: ignore[no-any-return]


@handles("cast_storage")
def _cast_storage(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    (x,) = inputs
    target = plan.attrs.stype
    if target == x.stype:
        return wrap(x._t.clone(), x._ctx) if target == "default" else x.copyto(x._ctx)
    if target == "default":
        return wrap(x._t, x._ctx)
    if x.stype != "default":
        raise MXNetError(f"cast_storage from {x.stype} to {target} is not supported")
    if target == "csr" and x.ndim != 2:
        raise MXNetError(f"csr storage is for matrices, got shape {x.shape}")
    return SPARSE_CLASSES[target]._of(x._t, x._ctx)  # type: ignore[no-any-return]


@handles("slice")
def _slice(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    (x,) = inputs
    a = plan.attrs
    if not isinstance(x, CSRNDArray) or output_stypes(plan.op, a, ["csr"]) != ["csr"]:
        return None
    try:
        ranges = slice_ranges(x.shape, a.begin, a.end, ())
    except ValueError as error:
        raise MXNetError(f"slice: {error}") from None
    bounds = [(r[0], max(r[0], r[1])) for r in ranges if r is not None]
    (top, bottom), (left, right) = bounds[0], bounds[1] if len(bounds) > 1 else (0, x.shape[1])
    first, last = int(x._indptr[top]), int(x._indptr[bottom])
    offsets = x._indptr[top : bottom + 1] - first
    values, columns = x._values[first:last], x._indices[first:last]
    if (left, right) != (0, x.shape[1]):
        kept = (columns >= left) & (columns < right)
        counts = torch.cat([kept.new_zeros(1, dtype=torch.int64), kept.cumsum(0)])
        offsets, values, columns = counts[offsets], values[kept], columns[kept] - left
    return CSRNDArray._new(values.clone(), columns.clone(), offsets.clone(), (bottom - top, right - left), x._ctx)


@handles("sum", "mean")
def _sum(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    (x,) = inputs
    a = plan.attrs
    axis = a.axis if a.axis is None or isinstance(a.axis, tuple) else (a.axis,)
    if not isinstance(x, CSRNDArray) or a.get("exclude") or (axis and len(axis) > 1) or not x._values.is_floating_point() or is_np_shape():
        return None
    rows, columns = x.shape
    if not axis:
        total, count, kept = x._values.sum().reshape(1), rows * columns, (1, 1)
    elif axis[0] % 2 == 0:
        total, count, kept = x._values.new_zeros(columns).index_add(0, x._indices, x._values), rows, (1, columns)
    else:
        total, count, kept = x._values.new_zeros(rows).index_add(0, x._rows(), x._values), columns, (rows, 1)
    result = total / count if plan.op.name == "mean" else total
    return wrap(result.reshape(kept) if a.keepdims else result, x._ctx)


@handles("norm")
def _norm(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    (x,) = inputs
    if plan.attrs.axis is not None or plan.attrs.keepdims or x.ndim != 2:
        return None
    return wrap(_apply(plan, [x._values], x._ctx), x._ctx)


@handles("_square_sum")
def _square_sum(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    (x,) = inputs
    a = plan.attrs
    if not (isinstance(x, RowSparseNDArray) and x.ndim == 2 and a.axis in ((0,), (1,)) and not a.exclude):
        raise MXNetError(f"_square_sum is defined for axis 0 or 1 of row_sparse matrices, got axis={a.axis} of a {x.stype} array of shape {x.shape}")
    squares = x._values.square()
    if a.axis == (0,):
        return wrap(squares.sum(0, keepdim=a.keepdims), x._ctx)
    if a.keepdims:
        return RowSparseNDArray._new(squares.sum(1, keepdim=True), x._indices, (x.shape[0], 1), x._ctx)
    return wrap(squares.new_zeros(x.shape[0]).index_copy(0, x._indices, squares.sum(1)), x._ctx)


@handles("_contrib_getnnz")
def _getnnz(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    (x,) = inputs
    if plan.attrs.axis not in (None, 1):
        raise MXNetError(f"getnnz is defined for axis None and 1, got {plan.attrs.axis}")
    counts = x._indptr[1:] - x._indptr[:-1]
    return wrap(counts if plan.attrs.axis == 1 else counts.sum().reshape(1), x._ctx)


# ------------------------------------------------------------------------------------------------------------ two operands
def places(x: RowSparseNDArray, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Where the given rows are stored, and which of them are (None: all). Rows that are not stored get any place."""
    known, order = x._indices, None
    if not bool((known[1:] >= known[:-1]).all()):
        known, order = known.sort()
    if known.numel() == x.shape[0]:  # every row is stored
        place, found = rows, None
    else:
        place = torch.searchsorted(known, rows).clamp_(max=max(known.numel() - 1, 0))
        found = known[place] == rows
        if bool(found.all()):
            found = None
    return (place if order is None else order[place]), found


def lookup(x: RowSparseNDArray, rows: torch.Tensor) -> torch.Tensor:
    """The given rows of a row_sparse array; rows that are not stored are zero."""
    if x._indices.numel() == 0:
        return x._values.new_zeros((rows.numel(), *x.shape[1:]))
    place, found = places(x, rows)
    values = x._values[place]
    if found is None:
        return values
    return torch.where(found.reshape(-1, *[1] * (x.ndim - 1)), values, torch.zeros((), dtype=values.dtype, device=rows.device))


def _keys(x: CSRNDArray) -> torch.Tensor:
    """The position of each stored element in the flattened matrix."""
    return x._rows() * x.shape[1] + x._indices


def spread(positions: torch.Tensor, own: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Values put at their places among sorted positions, zeros between them."""
    return values.new_zeros((positions.numel(), *values.shape[1:])).index_add(0, torch.searchsorted(positions, own), values)


def _csr_at(positions: torch.Tensor, values: torch.Tensor, like: CSRNDArray) -> CSRNDArray:
    """A csr matrix of values at sorted positions of the flattened matrix; zeros are not stored."""
    kept = values != 0
    positions, values = positions[kept], values[kept]
    rows, columns = like.shape
    counts = torch.bincount(positions // max(columns, 1), minlength=rows)
    offsets = torch.cat([positions.new_zeros(1), counts.cumsum(0)])
    return CSRNDArray._new(values, positions % max(columns, 1), offsets, like.shape, like._ctx)


@handles("elemwise_add", "elemwise_sub", "elemwise_mul", "_maximum", "_minimum", "_hypot", "_grad_add")
def _elementwise(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    lhs, rhs = inputs
    if lhs.shape != rhs.shape or lhs.dtype != rhs.dtype:
        return None  # worded by the dense operator
    if lhs.stype == rhs.stype == "row_sparse":
        rows = torch.cat([lhs._indices, rhs._indices]).unique()
        values = _apply(plan, [spread(rows, x._indices, x._values) for x in (lhs, rhs)], lhs._ctx)
        return RowSparseNDArray._new(values, rows, lhs.shape, lhs._ctx)
    if lhs.stype == rhs.stype == "csr":
        left, right = _keys(lhs), _keys(rhs)
        positions = torch.cat([left, right]).unique()
        values = _apply(plan, [spread(positions, left, lhs._values), spread(positions, right, rhs._values)], lhs._ctx)
        return _csr_at(positions, values, lhs)
    if plan.op.name == "elemwise_mul" and "default" in (lhs.stype, rhs.stype):
        sparse, dense = (rhs, lhs) if lhs.stype == "default" else (lhs, rhs)
        return sparse._with(_at_stored(plan, sparse, dense._t, lhs is dense))  # type: ignore[no-any-return]
    return None


def _at_stored(plan: Any, sparse: Any, dense: torch.Tensor, dense_first: bool = False) -> torch.Tensor:
    """The operator on stored elements and the elements of a dense array of the same shape at their places."""
    at = dense[sparse._indices] if isinstance(sparse, RowSparseNDArray) else dense[sparse._rows(), sparse._indices]
    return _apply(plan, [at, sparse._values] if dense_first else [sparse._values, at], sparse._ctx)


@handles("broadcast_mul", "broadcast_div")
def _broadcast(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    lhs, rhs = inputs
    if not isinstance(lhs, CSRNDArray) or rhs.stype != "default" or rhs.dtype != lhs.dtype:
        return None
    if rhs.shape == lhs.shape and plan.op.name == "broadcast_div" and 1 not in lhs.shape:
        raise MXNetError("broadcast_div of a csr and a dense array of the same shape is not supported: use elemwise_div")
    try:
        dense = rhs._t.expand(lhs.shape)
    except RuntimeError:
        return None
    return lhs._with(_at_stored(plan, lhs, dense))


@handles("_scatter_elemwise_div")
def _scatter_div(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    lhs, rhs = inputs
    if not isinstance(lhs, RowSparseNDArray) or rhs.shape != lhs.shape:
        return None
    at = lookup(rhs, lhs._indices) if isinstance(rhs, RowSparseNDArray) else rhs._t[lhs._indices]
    return lhs._with(_apply(plan, [lhs._values, at], lhs._ctx))


@handles("_sparse_retain")
def _retain(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    data, indices = inputs
    rows = indices._t.to(torch.int64)
    if not isinstance(data, RowSparseNDArray):
        raise MXNetError(f"retain is defined for row_sparse arrays, got {data.stype}")
    return RowSparseNDArray._new(lookup(data, rows), rows.clone(), data.shape, data._ctx)


@handles("Embedding", "_contrib_SparseEmbedding")
def _embedding(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    data, weight = inputs
    a = plan.attrs
    if not isinstance(weight, RowSparseNDArray) or data.stype != "default" or weight.shape != (a.input_dim, a.output_dim):
        return None
    index = data._t.long().clamp(0, a.input_dim - 1)
    return wrap(lookup(weight, index.reshape(-1)).reshape(*index.shape, a.output_dim), weight._ctx)


@handles("take")
def _take(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    data, indices = inputs
    if not isinstance(data, CSRNDArray) or indices.stype != "default" or indices.ndim != 1 or plan.attrs.axis != 0:
        return None
    rows = indices._t.to(torch.int64)
    limit = data.shape[0]
    if plan.attrs.mode == "raise" and rows.numel() and (int(rows.min()) < -limit or int(rows.max()) >= limit):
        raise MXNetError(f"take index contains indices out of bound: indices must be from {-limit} to {limit - 1}")
    rows = rows % limit if plan.attrs.mode in ("wrap", "raise") else rows.clamp(0, limit - 1)
    counts = (data._indptr[1:] - data._indptr[:-1])[rows]
    offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    stored = torch.arange(int(offsets[-1]), device=rows.device) + torch.repeat_interleave(data._indptr[rows] - offsets[:-1], counts)
    return CSRNDArray._new(data._values[stored], data._indices[stored], offsets, (rows.numel(), data.shape[1]), data._ctx)


@handles("add_n")
def _add_n(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    if any(x.stype != "row_sparse" or x.shape != inputs[0].shape for x in inputs):
        return None
    rows = torch.cat([x._indices for x in inputs]).unique()
    total = sum(spread(rows, x._indices, x._values) for x in inputs)
    return RowSparseNDArray._new(total, rows, inputs[0].shape, inputs[0]._ctx)  # type: ignore[arg-type]


@handles("Concat")
def _concat(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    if any(not isinstance(x, CSRNDArray) or x.shape[1] != inputs[0].shape[1] for x in inputs) or plan.attrs.dim != 0:
        return None
    offsets = [inputs[0]._indptr[:1]]
    for x in inputs:
        offsets.append(x._indptr[1:] + offsets[-1][-1])
    shape = (sum(x.shape[0] for x in inputs), inputs[0].shape[1])
    values, columns = torch.cat([x._values for x in inputs]), torch.cat([x._indices for x in inputs])
    return CSRNDArray._new(values, columns, torch.cat(offsets), shape, inputs[0]._ctx)


# --------------------------------------------------------------------------------------------------------------------- dot
_MULTIPLIED = {torch.float32, torch.float64}  # the types of which torch multiplies csr matrices
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch says once that its csr layout is in beta; only the product is used here
    torch.sparse_csr_tensor([0, 0], [], torch.empty(0), (1, 1))


def product(indptr: torch.Tensor, columns: torch.Tensor, values: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    """A matrix in csr form times a dense one."""
    rows = indptr.numel() - 1
    if values.numel() == 0:
        return dense.new_zeros((rows, dense.shape[1]))
    if values.dtype in _MULTIPLIED:
        matrix = torch.sparse_csr_tensor(indptr, columns, values, (rows, dense.shape[0]), check_invariants=False)
        result: torch.Tensor = matrix @ dense
        return result
    of = torch.repeat_interleave(torch.arange(rows, device=indptr.device), indptr[1:] - indptr[:-1])
    return dense.new_zeros((rows, dense.shape[1])).index_add(0, of, values[:, None] * dense[columns])


def by_column(rows: torch.Tensor, columns: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """A transposed matrix, given by coordinates, without its empty rows: (numbers of the others, indptr, columns, values)."""
    columns, order = columns.sort(stable=True)
    stored, counts = columns.unique_consecutive(return_counts=True)
    return stored, torch.cat([counts.new_zeros(1), counts.cumsum(0)]), rows[order], values[order]


@handles("dot")
def _dot(plan: Any, inputs: Sequence[Any]) -> NDArray | None:
    lhs, rhs = inputs
    a = plan.attrs
    if lhs.dtype != rhs.dtype:
        return None
    if isinstance(lhs, CSRNDArray) and not a.transpose_b and rhs.stype != "csr":
        return _csr_dot(lhs, rhs, a.transpose_a)
    if isinstance(rhs, CSRNDArray) and lhs.stype == "default" and not a.transpose_a and lhs.ndim == 2:
        if lhs.shape[1] != rhs.shape[1 if a.transpose_b else 0]:
            return None
        dense = lhs._t.T.contiguous()
        if a.transpose_b:
            result = product(rhs._indptr, rhs._indices, rhs._values, dense)
        else:
            stored, indptr, columns, values = by_column(rhs._rows(), rhs._indices, rhs._values)
            result = dense.new_zeros((rhs.shape[1], dense.shape[1])).index_copy(0, stored, product(indptr, columns, values, dense))
        return wrap(result.T.contiguous(), lhs._ctx)
    return None


def _csr_dot(lhs: CSRNDArray, rhs: Any, transposed: bool) -> NDArray | None:
    outer, inner = lhs.shape[::-1] if transposed else lhs.shape
    if rhs.shape[0] != inner or rhs.ndim > 2:
        return None
    if isinstance(rhs, RowSparseNDArray) and (rhs.ndim != 2 or rhs._indices.numel() == 0):
        return RowSparseNDArray._zeros((outer, *rhs.shape[1:]), lhs._ctx, lhs._values.dtype)
    dense = rhs._values if isinstance(rhs, RowSparseNDArray) else rhs._t if rhs.ndim == 2 else rhs._t[:, None]
    if transposed:
        rows, columns, values = lhs._rows(), lhs._indices, lhs._values
        if isinstance(rhs, RowSparseNDArray):
            rows, found = places(rhs, rows)
            if found is not None:
                rows, columns, values = rows[found], columns[found], values[found]
        stored, indptr, columns, values = by_column(rows, columns, values)
        result = product(indptr, columns, values, dense)
    else:
        columns, values = lhs._indices, lhs._values
        if isinstance(rhs, RowSparseNDArray):
            columns, found = places(rhs, columns)
            values = values if found is None else values * found
        result = product(lhs._indptr, columns, values, dense)
    if not transposed:
        return wrap(result if rhs.ndim == 2 else result[:, 0].contiguous(), lhs._ctx)
    if rhs.ndim == 2:
        return RowSparseNDArray._new(result, stored, (outer, dense.shape[1]), lhs._ctx)
    return wrap(result.new_zeros(outer).index_copy(0, stored, result[:, 0]), lhs._ctx)
