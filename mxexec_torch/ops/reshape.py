"""Operators that change the shape and keep the elements in order or permute whole axes: Reshape, Flatten, transpose, expand_dims, ..."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..errors import MXNetError
from ..infer.rules import free_inputs, normalize_axis
from ..infer.state import Shape as KnownShape
from ..infer.state import Shapes, complete, show
from ..registry import Attrs, Tensor, op
from ..values import Bool, Int, OptInt, OptShape, Shape

__all__ = ["apply_codes", "fill_unknown"]


# -- Reshape ------------------------------------------------------------------------------------------------------------------
def apply_codes(codes: Sequence[int], source: KnownShape, reverse: bool = False) -> KnownShape:
    """The target shape of Reshape's codes: 0 keeps a dimension, -1 is inferred, -2 copies the rest, -3 merges two, -4 splits one.

    source may hold -1 for unknown dimensions; so may the result. Errors: ValueError (text) for codes that do not fit the source.
    """
    if reverse:  # the list is reversed as it stands: a split written (-4, a, b) is no split any more, as in MXNet
        return _match(codes[::-1], source[::-1])[::-1]
    return _match(codes, source)


def _match(codes: Sequence[int], source: KnownShape) -> KnownShape:
    target: list[int] = []
    inferred = -1
    position, i = 0, 0
    while i < len(codes):
        code = codes[i]
        if code == -2:
            target.extend(source[position:])
            position = max(position, len(source))
        elif code == -3:
            if position + 1 >= len(source):
                raise ValueError(f"code -3 at position {i} merges two dimensions, but the input {show(source)} has no two left")
            first, second = source[position : position + 2]
            target.append(-1 if -1 in (first, second) else first * second)
            position += 2
        elif code == -4:
            left, right = _split(codes, i, source, position)
            target += [left, right]
            position += 1
            i += 2
        elif code == 0:
            if position >= len(source):
                raise ValueError(f"code 0 at position {i} copies a dimension, but the input {show(source)} has none left")
            target.append(source[position])
            position += 1
        else:
            if code == -1:
                if inferred >= 0:
                    raise ValueError("one and only one dimension can be inferred (-1)")
                inferred = len(target)
            elif code < -4:
                raise ValueError(f"unknown code {code}")
            target.append(1 if code == -1 else code)
            position += 1
        i += 1
    if inferred >= 0:
        rest = prod(target)
        target[inferred] = -1 if -1 in source or -1 in target else prod(source) // rest if rest else 0
    return tuple(target)


def _split(codes: Sequence[int], i: int, source: KnownShape, position: int) -> tuple[int, int]:
    if i + 2 >= len(codes):
        raise ValueError("code -4 needs two dimensions after it")
    if position >= len(source):
        raise ValueError(f"code -4 at position {i} splits a dimension, but the input {show(source)} has none left")
    whole, left, right = source[position], codes[i + 1], codes[i + 2]
    if left == -1 and right == -1:
        raise ValueError("the two parts of a split (-4) cannot both be -1")
    if whole != -1:
        if left == -1:
            left = whole // right if right else 0
        elif right == -1:
            right = whole // left if left else 0
        if left * right != whole:
            raise ValueError(f"split parts {left}, {right} do not divide the dimension {whole}")
    return left, right


def fill_unknown(shape: KnownShape | None, total: KnownShape | None) -> KnownShape | None:
    """`shape` with its single unknown dimension computed from the element count of the complete shape `total`."""
    if shape is None or total is None or -1 in total or shape.count(-1) != 1:
        return shape
    rest = -prod(shape)
    return shape if rest == 0 else tuple(prod(total) // rest if d == -1 else d for d in shape)


def _legacy_target(target: KnownShape, source: KnownShape, keep_highest: bool) -> KnownShape:
    """The old target_shape form: one 0 is inferred, keep_highest copies the first dimension."""
    shape = [source[0], *target[1:]] if keep_highest else list(target)
    unknown = [i for i in range(int(keep_highest), len(shape)) if shape[i] == 0]
    if len(unknown) == 1:
        shape[unknown[0]] = -1
        rest = -prod(shape)
        shape[unknown[0]] = -1 if -1 in source else prod(source) // rest
    return tuple(shape)


def _target(source: KnownShape, shape: KnownShape | None, reverse: bool, target_shape: KnownShape | None, keep_highest: bool) -> KnownShape:
    if shape:
        return apply_codes(shape, source, reverse)
    if target_shape:
        return _legacy_target(target_shape, source, keep_highest)
    raise ValueError("neither shape nor target_shape is given")


def _reshape_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is None:
        return
    if not (a.shape or a.target_shape):
        s.unify_out(())  # without a target MXNet infers a scalar and finds out only when it runs
        return
    try:
        target = _target(data, a.shape, a.reverse, a.target_shape, a.keep_highest)
    except ValueError as error:
        raise s.fail(f"Reshape of {show(data)} to {show(tuple(a.shape or ()))}: {error}") from None
    s.unify("data", fill_unknown(data, target))
    s.unify_out(target)
    s.unify("data", fill_unknown(s.get(), s.out()))


@op("Reshape", aliases=("reshape",), shape=_reshape_shape)
def reshape(
    data: Tensor, /, *, shape: Shape = (), reverse: Bool = False, target_shape: Shape = (), keep_highest: Bool = False
) -> Tensor:
    """Another shape for the same elements, with codes 0, -1, -2, -3, -4 in `shape`; `reverse` matches them from the right.

    data any shape -> shape. target_shape and keep_highest are the form of 2015.
    Source: src/operator/tensor/matrix_op.cc, matrix_op-inl.h (InferReshapeShape)
    Deviations: a target of another size raises here; MXNet then returns foreign memory or cut data.
    """
    try:
        target = _target(tuple(data.shape), shape, reverse, target_shape, keep_highest)
    except ValueError as error:
        raise MXNetError(f"Reshape of {show(tuple(data.shape))} to {show(tuple(shape or ()))}: {error}") from None
    if prod(target) != data.numel():
        raise MXNetError(f"Reshape: cannot reshape array of size {data.numel()} (shape {show(tuple(data.shape))}) into shape {show(target)}")
    return data.reshape(target)


# -- Flatten ------------------------------------------------------------------------------------------------------------------
def _flatten_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if complete(data):
        s.unify_out((data[0], prod(data[1:])))


@op("Flatten", aliases=("flatten", "_npx_batch_flatten"), shape=_flatten_shape)
def flatten(data: Tensor, /) -> Tensor:
    """Keeps the first axis and merges all others. data (n, *k) -> (n, prod k). Source: src/operator/tensor/matrix_op.cc"""
    if data.ndim == 1:
        return data.unsqueeze(1)
    return data.reshape(data.shape[0], prod(data.shape[1:]))


# -- permuting axes -----------------------------------------------------------------------------------------------------------
def _transpose_shape(a: Attrs, s: Shapes) -> None:
    data, out = s.get(), s.out()
    known = data if data is not None else out
    if known is None:
        return
    axes = _axes(a.axes, len(known), s)
    if data is not None:
        s.unify_out(tuple(data[i] for i in axes))
    out = s.out()
    back: list[int] = [-1] * len(axes)
    for position, axis in enumerate(axes):
        back[axis] = out[position] if out is not None else -1
    s.unify("data", tuple(back))


def _axes(axes: KnownShape | None, ndim: int, s: Shapes) -> KnownShape:
    if ndim > 6:
        raise s.fail(f"transpose supports at most 6 dimensions, got {ndim}")
    if not axes:
        return tuple(range(ndim))[::-1]
    if len(axes) != ndim or sorted(axes) != list(range(ndim)):
        raise s.fail(f"axes {show(tuple(axes))} are no permutation of the {ndim} axes of the input")
    return axes


@op("transpose", shape=_transpose_shape)
def transpose(data: Tensor, /, *, axes: Shape = ()) -> Tensor:
    """Permutes the axes; without `axes` reverses them. data (d0, ..., dn) -> (d[axes[0]], ...).

    Source: src/operator/tensor/matrix_op.cc. Deviations: repeated axes raise here; they abort the process in MXNet.
    """
    return data.permute(axes or tuple(range(data.ndim))[::-1])


def _swap_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is None:
        return
    first, second = normalize_axis(s, a.dim1, len(data)), normalize_axis(s, a.dim2, len(data))
    swapped = list(data)
    swapped[first], swapped[second] = data[second], data[first]
    s.unify_out(tuple(swapped))


@op("SwapAxis", aliases=("swapaxes", "_npi_swapaxes"), shape=_swap_shape)
def swap_axis(data: Tensor, /, *, dim1: Int = 0, dim2: Int = 0) -> Tensor:
    """Exchanges two axes. data any shape -> the shape with dim1 and dim2 exchanged. Source: src/operator/swapaxis.cc"""
    return data.transpose(dim1, dim2)


# -- axes of length one -------------------------------------------------------------------------------------------------------
def _expand_shape(a: Attrs, s: Shapes) -> None:
    data, out = s.get(), s.out()
    if data is None and out is None:
        return
    ndim = len(data) if data is not None else len(out) - 1
    if not -ndim - 1 <= a.axis <= ndim:
        raise s.fail(f"axis must be in the range [{-ndim - 1}, {ndim}], got {a.axis}")
    axis = a.axis % (ndim + 1)
    if data is not None:
        s.unify_out((*data[:axis], 1, *data[axis:]))
    if out is not None:
        s.unify("data", (*out[:axis], *out[axis + 1 :]))


@op("expand_dims", aliases=("_npi_expand_dims",), shape=_expand_shape)
def expand_dims(data: Tensor, /, *, axis: Int) -> Tensor:
    """Inserts an axis of length one. data (*k) -> (*k) with a 1 at `axis`. Source: src/operator/tensor/matrix_op.cc"""
    return data.unsqueeze(axis)


def _squeezed(shape: KnownShape, axis: tuple[int, ...] | None) -> KnownShape:
    ndim = len(shape)
    if axis is None:
        kept = tuple(d for d in shape if d != 1)
    else:
        for i in axis:
            if not -ndim <= i < ndim:
                raise ValueError(f"axis {i} is out of bounds for array of dimension {ndim}")
            if shape[i] != 1:
                raise ValueError(f"cannot select an axis to squeeze out which has size={shape[i]} not equal to one")
        removed = {i % ndim for i in axis}
        if len(removed) != len(axis):
            raise ValueError(f"duplicate value in axis {show(tuple(axis))}")
        kept = tuple(d for i, d in enumerate(shape) if i not in removed)
    return kept or (1,)


def _squeeze_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if complete(data):
        try:
            s.unify_out(_squeezed(data, a.axis))
        except ValueError as error:
            raise s.fail(str(error)) from None


@op("squeeze", shape=_squeeze_shape)
def squeeze(data: Tensor, /, *, axis: OptShape = None) -> Tensor:
    """Removes axes of length one (all, or those given). data any shape -> without them, at least (1,).

    Source: src/operator/tensor/matrix_op.cc
    """
    try:
        return data.reshape(_squeezed(tuple(data.shape), axis))
    except ValueError as error:
        raise MXNetError(f"squeeze: {error}") from None


# -- reshape_like -------------------------------------------------------------------------------------------------------------
def _span(ndim: int, begin: int | None, end: int | None, side: str) -> tuple[int, int]:
    first = 0 if begin is None else begin + ndim if begin < 0 else begin
    last = ndim if end is None else end + ndim if end < 0 else end
    if not 0 <= first < last <= ndim:
        raise ValueError(f"invalid range [{first}, {last}) of {side} with {ndim} dimensions")
    return first, last


def _like_target(lhs: KnownShape, rhs: KnownShape, a: Attrs) -> KnownShape:
    left = _span(len(lhs), a.lhs_begin, a.lhs_end, "lhs")
    right = _span(len(rhs), a.rhs_begin, a.rhs_end, "rhs")
    return (*lhs[: left[0]], *rhs[right[0] : right[1]], *lhs[left[1] :])


def _reshape_like_shape(a: Attrs, s: Shapes) -> None:
    lhs, rhs = s.get(0), s.get(1)
    if lhs is None or rhs is None:
        return
    try:
        s.unify_out(_like_target(lhs, rhs, a))
    except ValueError as error:
        raise s.fail(str(error)) from None


@op("reshape_like", aliases=("_npx_reshape_like",), shape=_reshape_like_shape, dtype=free_inputs("rhs"), differentiable=("lhs",))
def reshape_like(
    lhs: Tensor, rhs: Tensor, /, *, lhs_begin: OptInt = None, lhs_end: OptInt = None, rhs_begin: OptInt = None, rhs_end: OptInt = None
) -> Tensor:
    """lhs in the shape of rhs, or with the dimensions [lhs_begin, lhs_end) replaced by rhs's [rhs_begin, rhs_end).

    lhs, rhs any shape -> as described. Source: src/operator/tensor/elemwise_unary_op_basic.cc
    """
    ranges = Attrs(lhs_begin=lhs_begin, lhs_end=lhs_end, rhs_begin=rhs_begin, rhs_end=rhs_end)
    try:
        target = _like_target(tuple(lhs.shape), tuple(rhs.shape), ranges)
    except ValueError as error:
        raise MXNetError(f"reshape_like: {error}") from None
    if prod(target) != lhs.numel():
        raise MXNetError(f"reshape_like: cannot reshape array of shape {show(tuple(lhs.shape))} into {show(target)}")
    return lhs.reshape(target)
