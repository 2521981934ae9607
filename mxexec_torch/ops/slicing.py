"""Parts of a tensor: slice, slice_axis, slice_like, Crop, SliceChannel, _split_v2 and assignment to a slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import torch

from ..errors import MXNetError
from ..infer.rules import free_inputs, normalize_axis, output_from
from ..infer.state import Shape as KnownShape
from ..infer.state import Shapes, complete, show
from ..registry import Attrs, Grad, Tensor, op
from ..values import Bool, Double, Int, OptInt, Shape, SliceDims
from ..values import Range as Bounds

__all__ = ["assign", "select", "slice_ranges"]

Range = tuple[int, int, int]


def _part(data: Tensor, axis: int, begin: int, end: int, step: int) -> Tensor:
    return data[(slice(None),) * axis + (slice(begin, end, step),)]


def select(data: Tensor, ranges: Sequence[Range]) -> Tensor:
    """data[b:e:s, ...] for (begin, end, step) of the leading axes. Steps may be negative, which torch's own slicing lacks."""
    for axis, (begin, end, step) in enumerate(ranges):
        n = len(range(begin, end, step))
        if n == 0:
            data = data.narrow(axis, 0, 0)
        elif step < 0:
            data = _part(data, axis, begin + (n - 1) * step, begin + 1, -step).flip(axis)
        elif step != 1 or n != data.shape[axis]:
            data = _part(data, axis, begin, end, step)
    return data


def assign(data: Tensor, value: Tensor | float, ranges: Sequence[Range], axis: int = 0) -> Tensor:
    """A copy of data with the selected part replaced by a tensor of the part's shape or by a number."""
    if axis == len(ranges):
        return value.to(data.dtype).expand_as(data) if isinstance(value, Tensor) else torch.full_like(data, value)
    begin, end, step = ranges[axis]
    n = len(range(begin, end, step))
    if n == 0:
        return data
    if step < 0:
        begin, end, step = begin + (n - 1) * step, begin + 1, -step
        value = value.flip(axis) if isinstance(value, Tensor) else value
    return torch.slice_scatter(data, assign(_part(data, axis, begin, end, step), value, ranges, axis + 1), axis, begin, end, step)


# -- slice --------------------------------------------------------------------------------------------------------------------
def slice_ranges(
    shape: KnownShape, begin: Sequence[int | None], end: Sequence[int | None], step: Sequence[int | None]
) -> list[Range | None]:
    """(begin, end, step) of each sliced axis, clipped to the axis as Python slices are; None where the dimension is unknown.

    Errors: ValueError (text) when the attributes do not fit each other or the shape.
    """
    if len(begin) != len(end) or (step and len(step) != len(begin)):
        raise ValueError(f"begin, end and step must have one length, got {len(begin)}, {len(end)}, {len(step)}")
    if len(begin) > len(shape):
        raise ValueError(f"{len(begin)} axes are sliced, but the input {show(shape)} has {len(shape)}")
    steps = [1 if x is None else x for x in (step or (1,) * len(begin))]
    if 0 in steps:
        raise ValueError("step cannot be 0")
    ranges: list[Range | None] = []
    for size, first, last, stride in zip(shape, begin, end, steps, strict=False):
        if size == -1:
            ranges.append(None)
            continue
        start, stop, stride = slice(first, last, stride).indices(size)
        ranges.append((start, stop, stride))
    return ranges


def _sliced(shape: KnownShape, ranges: list[Range | None]) -> KnownShape:
    taken = tuple(-1 if r is None else len(range(*r)) for r in ranges)
    return taken + shape[len(taken) :]


def _slice_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is not None:
        try:
            s.unify_out(_sliced(data, slice_ranges(data, a.begin, a.end, a.step or ())))
        except ValueError as error:
            raise s.fail(f"slice: {error}") from None


def _ranges(data: Tensor, begin: Sequence[int | None], end: Sequence[int | None], step: Sequence[int | None]) -> list[Range]:
    try:
        return [r for r in slice_ranges(tuple(data.shape), begin, end, step) if r is not None]
    except ValueError as error:
        raise MXNetError(f"slice: {error}") from None


@op("slice", aliases=("crop", "_sparse_slice", "_npi_slice", "_npx_slice"), shape=_slice_shape)
def slice_(data: Tensor, /, *, begin: SliceDims, end: SliceDims, step: SliceDims = ()) -> Tensor:
    """data[begin:end:step] on the leading axes; None leaves a bound open, bounds clip, steps may be negative.

    data (d0, ..., dn) -> the selected part. Source: src/operator/tensor/matrix_op.cc
    """
    return select(data, tuple(_ranges(data, begin, end, step or ())))


def _assign_shape(a: Attrs, s: Shapes) -> None:
    output_from(0)(a, s)
    data = s.get(0)
    if data is not None and len(s.inputs) == 2:
        try:
            s.unify("rhs", _sliced(data, slice_ranges(data, a.begin, a.end, a.step or ())))
        except ValueError as error:
            raise s.fail(f"_slice_assign: {error}") from None


@op("_slice_assign", aliases=("_crop_assign", "_npi_slice_assign"), shape=_assign_shape, grad=Grad.MISSING)
def slice_assign(lhs: Tensor, rhs: Tensor, /, *, begin: SliceDims, end: SliceDims, step: SliceDims = ()) -> Tensor:
    """A copy of lhs with lhs[begin:end:step] replaced by rhs.

    lhs any shape, rhs the shape of the selected part -> lhs's shape. Source: src/operator/tensor/matrix_op.cc
    """
    return assign(lhs, rhs, tuple(_ranges(lhs, begin, end, step or ())))


@op("_slice_assign_scalar", aliases=("_crop_assign_scalar", "_npi_slice_assign_scalar"), shape=_assign_shape, grad=Grad.MISSING)
def slice_assign_scalar(data: Tensor, /, *, scalar: Double = 0.0, begin: SliceDims, end: SliceDims, step: SliceDims = ()) -> Tensor:
    """A copy of data with data[begin:end:step] set to a number. data any shape -> same. Source: src/operator/tensor/matrix_op.cc"""
    return assign(data, scalar, tuple(_ranges(data, begin, end, step or ())))


# -- slice_axis, slice_like, Crop ---------------------------------------------------------------------------------------------
def _axis_range(size: int, begin: int, end: int | None) -> tuple[int, int]:
    if size == 0:
        return 0, 0
    first = begin + size if begin < 0 else begin
    last = size if end is None else end + size if end < 0 else end
    if not 0 <= first < last <= size:
        raise ValueError(f"invalid begin={begin}, end={end} for an axis of size {size}")
    return first, last


def _slice_axis_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is None:
        return
    axis = normalize_axis(s, a.axis, len(data))
    size = -1
    if data[axis] != -1:
        try:
            first, last = _axis_range(data[axis], a.begin, a.end)
        except ValueError as error:
            raise s.fail(f"slice_axis: {error}") from None
        size = last - first
    s.unify_out((*data[:axis], size, *data[axis + 1 :]))


@op("slice_axis", shape=_slice_axis_shape)
def slice_axis(data: Tensor, /, *, axis: Int, begin: Int, end: OptInt) -> Tensor:
    """The elements begin..end-1 along one axis. data (d0, ..., dn) -> dimension `axis` becomes end - begin.

    Source: src/operator/tensor/matrix_op.cc
    """
    first, last = _axis_range(data.shape[axis], begin, end)
    return data.narrow(axis, first, last - first)


def _like_axes(data: KnownShape, like: KnownShape, axes: KnownShape | None) -> KnownShape:
    target = list(data)
    if not axes and len(data) != len(like):
        raise ValueError(f"without axes both inputs need one number of dimensions, got {show(data)} and {show(like)}")
    for axis in axes or range(len(data)):
        i = axis + len(data) if axis < 0 else axis
        if not (0 <= i < len(data) and i < len(like)):
            raise ValueError(f"axis {axis} is out of bounds for inputs of shapes {show(data)} and {show(like)}")
        if data[i] != -1 and like[i] > data[i]:
            raise ValueError(f"axis {i} with size {like[i]} exceeds the input's size {data[i]}")
        target[i] = like[i]
    return tuple(target)


def _slice_like_shape(a: Attrs, s: Shapes) -> None:
    data, like = s.get(0), s.get(1)
    if data is not None and like is not None:
        try:
            s.unify_out(_like_axes(data, like, a.axes))
        except ValueError as error:
            raise s.fail(f"slice_like: {error}") from None


@op("slice_like", shape=_slice_like_shape, dtype=free_inputs("shape_like"))
def slice_like(data: Tensor, shape_like: Tensor, /, *, axes: Shape = ()) -> Tensor:
    """The leading part of data with the size of shape_like on all or the given axes. Gradient of shape_like: zero.

    data (d0, ..., dn), shape_like -> data's shape with those dimensions replaced. Source: src/operator/tensor/matrix_op.cc
    """
    return select(data, tuple((0, size, 1) for size in _like_axes(tuple(data.shape), tuple(shape_like.shape), axes)))


def _crop_shape(a: Attrs, s: Shapes) -> None:
    data = s.get(0)
    if data is None:
        return
    if len(data) != 4:
        raise s.fail(f"Crop needs data of 4 dimensions (batch, channel, y, x), got {show(data)}")
    if a.num_args == 1:
        height, width = a.h_w
    else:
        like = s.get(1)
        if like is None:
            return
        height, width = like[2:4]
    if a.num_args == 1 and complete(data) and not (1 <= height <= data[2] and 1 <= width <= data[3]):
        raise s.fail(f"Crop: h_w {show(a.h_w)} must lie between 1 and the input's size {show(data[2:])}")
    s.unify_out((*data[:2], height, width))


@op(
    "Crop", key_var_num_args="num_args", input_texts={"data": "Symbol or Symbol[]"}, shape=_crop_shape,
    variadic_names=lambda a, n: ["data", "crop_like"][:n] if n > 1 else ["data"],
    added={"data": lambda a, content, grad: grad},  # written over what is there
)  # fmt: skip
def crop(*data: Tensor, num_args: Annotated[Int, Bounds(1, 3)], offset: Shape = (0, 0), h_w: Shape = (0, 0), center_crop: Bool = False) -> Tensor:
    """Cuts an (h, w) window, at `offset` or centred; with two inputs the window has the size of the second.

    data (n, c, h, w)[, crop_like (*, *, h', w')] -> (n, c, h', w'). Gradient of crop_like: zero. Source: src/operator/crop.cc
    """
    image = data[0]
    height, width = h_w if num_args == 1 else (data[1].shape[2], data[1].shape[3])
    y, x = offset
    if center_crop:
        y, x = (image.shape[2] - height) // 2, (image.shape[3] - width) // 2
    if y < 0 or x < 0 or y + height > image.shape[2] or x + width > image.shape[3]:
        raise MXNetError(f"Crop: window ({height}, {width}) at ({y}, {x}) leaves the image of size {tuple(image.shape[2:])}")
    return image.narrow(2, y, height).narrow(3, x, width)


# -- SliceChannel, _split_v2 --------------------------------------------------------------------------------------------------
def _numbered(n: int) -> tuple[str, ...]:
    return tuple(f"output{i}" for i in range(n))


def _split_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is None:
        return
    axis = normalize_axis(s, a.axis, len(data))
    size, n = data[axis], a.num_outputs
    if size != -1 and size % n:
        raise s.fail(f"axis {axis} of the input {show(data)} does not divide into num_outputs={n} parts of one size")
    if a.squeeze_axis and size not in (-1, n):
        raise s.fail(f"squeeze_axis needs an axis of size num_outputs={n}, got {show(data)}, axis={axis}")
    middle = () if a.squeeze_axis else (-1 if size == -1 else size // n,)
    for i in range(n):
        s.unify_out((*data[:axis], *middle, *data[axis + 1 :]), i)
        part = s.out(i)
        cut = n if a.squeeze_axis else -1 if part[axis] == -1 else part[axis] * n
        s.unify("data", (*part[:axis], cut, *part[axis + len(middle) :]))


@op("SliceChannel", aliases=("split",), outputs=lambda a: _numbered(a.num_outputs), shape=_split_shape)
def slice_channel(data: Tensor, /, *, num_outputs: Annotated[Int, Bounds(1)], axis: Int = 1, squeeze_axis: Bool = False) -> tuple[Tensor, ...]:
    """Cuts an axis into parts of one size; squeeze_axis drops the axis when the parts have size one.

    data (d0, ..., dn) -> num_outputs tensors with dimension `axis` divided. Source: src/operator/slice_channel.cc
    """
    size, n = data.shape[axis], num_outputs
    if size % n or (squeeze_axis and size != n):
        raise MXNetError(f"SliceChannel: axis {axis} of size {size} cannot be cut into {n} parts (squeeze_axis={squeeze_axis})")
    parts = data.split(size // n, axis) if size else (data,) * n
    return tuple(part.squeeze(axis) if squeeze_axis else part for part in parts)


def _sections(size: int, indices: KnownShape, sections: int) -> list[tuple[int, int]]:
    """[begin, end) of each part; equal sections give the first parts one element more, as numpy.array_split does."""
    if sections > 0:
        small, extra = divmod(size, sections)
        starts = [i * small + min(i, extra) for i in range(sections)]
    else:
        starts = list(indices)
    bounds = list(zip(starts, [*starts[1:], size], strict=True))
    for begin, end in bounds:
        if begin > end or end > size:
            raise ValueError(f"part [{begin}, {end}) does not fit an axis of size {size}")
    return bounds


def _split_v2_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is None:
        return
    axis = normalize_axis(s, a.axis, len(data))
    n = len(_split_v2_outputs(a))
    if data[axis] == -1:
        return
    try:
        bounds = _sections(data[axis], a.indices, a.sections)
    except ValueError as error:
        raise s.fail(str(error)) from None
    if a.squeeze_axis and any(end - begin != 1 for begin, end in bounds):
        raise s.fail(f"squeeze_axis needs parts of size 1, got {[end - begin for begin, end in bounds]}")
    for i in range(n):
        middle = () if a.squeeze_axis else (bounds[i][1] - bounds[i][0],)
        s.unify_out((*data[:axis], *middle, *data[axis + 1 :]), i)
        part = s.out(i)
        s.unify("data", (*part[:axis], -1, *part[axis + len(middle) :]))
    if bounds[0][0] != 0:
        raise s.fail(f"the parts must cover the axis: indices {show(a.indices)} have to start with 0")


def _split_v2_outputs(a: Attrs) -> tuple[str, ...]:
    parts = a.sections if a.sections > 0 else len(a.indices)
    return ("output",) if parts == 1 else _numbered(parts)


@op("_split_v2", aliases=("_npi_split",), outputs=_split_v2_outputs, shape=_split_v2_shape)
def split_v2(data: Tensor, /, *, indices: Shape, axis: Int = 1, squeeze_axis: Bool = False, sections: Int = 0) -> tuple[Tensor, ...]:
    """Cuts an axis at `indices` (the first is 0) or into `sections` nearly equal parts.

    data (d0, ..., dn) -> one tensor a part. Source: src/operator/tensor/matrix_op.cc
    """
    try:
        bounds = _sections(data.shape[axis], indices, sections)
    except ValueError as error:
        raise MXNetError(f"_split_v2: {error}") from None
    parts = tuple(data.narrow(axis, begin, end - begin) for begin, end in bounds)
    return tuple(part.squeeze(axis) for part in parts) if squeeze_axis else parts

