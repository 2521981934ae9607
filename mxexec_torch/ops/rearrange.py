"""Operators that move, repeat or tile elements: reverse, repeat, tile, depth_to_space, diag, im2col, col2im, index_array."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
import torch.nn.functional as F

from ..errors import MXNetError
from ..infer.rules import elementwise, fixed_dtype, normalize_axis
from ..infer.state import Shape as KnownShape
from ..infer.state import Shapes, complete, show
from ..registry import Attrs, Device, Grad, Tensor, op
from ..semantics import is_np_shape
from ..values import Int, OptInt, OptShape, Shape

__all__: list[str] = []


# -- reverse, repeat, tile ----------------------------------------------------------------------------------------------------
@op("reverse", aliases=("flip",), shape=elementwise)
def reverse(data: Tensor, /, *, axis: Shape) -> Tensor:
    """The elements in opposite order along the given axes (an axis given twice is left as it is). data any shape -> same.

    Source: src/operator/tensor/matrix_op.cc
    """
    if any(not 0 <= i < data.ndim for i in axis):
        raise MXNetError(f"reverse: axes {show(axis)} must lie between 0 and {data.ndim - 1}")
    return data.flip([i for i in sorted(set(axis)) if axis.count(i) % 2])


def _repeat_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is None:
        return
    if a.repeats < 0:
        raise s.fail(f"repeat: repeats cannot be a negative number, got {a.repeats}")
    axis = None if a.axis is None else normalize_axis(s, a.axis, len(data))
    if a.repeats == 0:
        s.unify_out((0,))
    elif axis is not None:
        s.unify_out((*data[:axis], -1 if data[axis] == -1 else data[axis] * a.repeats, *data[axis + 1 :]))
    elif complete(data):
        s.unify_out((prod(data) * a.repeats,))


@op("repeat", aliases=("_np_repeat",), shape=_repeat_shape)
def repeat(data: Tensor, /, *, repeats: Int, axis: OptInt = None) -> Tensor:
    """Each element `repeats` times in a row, along an axis or of the flattened input.

    data (d0, ..., dn) -> dimension `axis` times repeats, without axis (prod d * repeats,); repeats=0 gives (0,).
    Source: src/operator/tensor/matrix_op.cc
    """
    if repeats == 0:
        return data.reshape(-1)[:0]
    return data.repeat_interleave(repeats, axis)


def _tile_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if not complete(data):
        return
    n = max(len(data), len(a.reps))
    sizes = (1,) * (n - len(data)) + data
    times = (1,) * (n - len(a.reps)) + tuple(a.reps)
    if 0 in times and not is_np_shape():
        return  # 0 stands for an unknown dimension
    s.unify_out(tuple(d * r for d, r in zip(sizes, times, strict=True)))


@op("tile", aliases=("_npi_tile",), shape=_tile_shape)
def tile(data: Tensor, /, *, reps: Shape) -> Tensor:
    """The whole tensor `reps` times along each axis; missing leading axes count as one, as in numpy.tile.

    data (d0, ..., dn) -> (d * reps). Source: src/operator/tensor/matrix_op.cc
    """
    if 0 in reps and not is_np_shape():
        raise MXNetError(f"tile: reps {show(reps)} give an array without elements, which needs NumPy shape semantics (np_shape)")
    return data.tile(reps)


# -- depth_to_space, space_to_depth -------------------------------------------------------------------------------------------
def _check_block(a: Attrs) -> None:
    if a.block_size == 0:
        raise MXNetError("block_size must be a positive integer value, got 0")


def _not_empty(data: Tensor) -> KnownShape:
    if data.numel() == 0:
        raise MXNetError(f"an image without elements cannot be rearranged: {show(tuple(data.shape))}")
    return tuple(data.shape)


def _depth_shape(a: Attrs, s: Shapes) -> None:
    data, b = s.get(), a.block_size
    if data is None:
        return
    if len(data) != 4:
        raise s.fail(f"depth_to_space needs 4 dimensions, got {show(data)}")
    n, c, h, w = data
    if c != -1 and (c == 0 or c % (b * b)):
        raise s.fail(f"dimension 1 (depth) must be a multiple of block_size^2 = {b * b}, got {show(data)}")
    s.unify_out((n, -1 if c == -1 else c // (b * b), -1 if h == -1 else h * b, -1 if w == -1 else w * b))


@op("depth_to_space", shape=_depth_shape, check=_check_block)
def depth_to_space(data: Tensor, /, *, block_size: Int) -> Tensor:
    """Moves blocks of channels into space: channel (i b + j) C + c goes to (y b + i, x b + j) of channel c.

    data (n, C b b, h, w) -> (n, C, h b, w b). Source: src/operator/tensor/matrix_op.cc
    """
    n, c, h, w = _not_empty(data)
    b = block_size
    return data.reshape(n, b, b, c // (b * b), h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)


def _space_shape(a: Attrs, s: Shapes) -> None:
    data, b = s.get(), a.block_size
    if data is None:
        return
    if len(data) != 4:
        raise s.fail(f"space_to_depth needs 4 dimensions, got {show(data)}")
    n, c, h, w = data
    if any(d != -1 and (d == 0 or d % b) for d in (h, w)):
        raise s.fail(f"dimensions 2 and 3 must be multiples of block_size = {b}, got {show(data)}")
    s.unify_out((n, -1 if c == -1 else c * b * b, -1 if h == -1 else h // b, -1 if w == -1 else w // b))


@op("space_to_depth", shape=_space_shape, check=_check_block)
def space_to_depth(data: Tensor, /, *, block_size: Int) -> Tensor:
    """The inverse of depth_to_space. data (n, c, h b, w b) -> (n, c b b, h, w). Source: src/operator/tensor/matrix_op.cc"""
    n, c, h, w = _not_empty(data)
    b = block_size
    return data.reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


# -- diag ---------------------------------------------------------------------------------------------------------------------
@op("diag")
def diag(data: Tensor, /, *, k: Int = 0, axis1: Int = 0, axis2: Int = 1) -> Tensor:
    """The k-th diagonal of two axes, or a matrix with the given vector on its k-th diagonal.

    data (n,) -> (n + |k|, n + |k|); (d0, ..., dn) -> the other axes, then the diagonal. Source: src/operator/tensor/diag_op.cc
    """
    if data.ndim == 1:
        return torch.diag_embed(data, k)
    if not all(-data.ndim <= axis < data.ndim for axis in (axis1, axis2)):
        raise MXNetError(f"diag: axis1={axis1}, axis2={axis2} are out of bounds for shape {show(tuple(data.shape))}")
    if axis1 % data.ndim == axis2 % data.ndim:
        raise MXNetError(f"diag: axis1 and axis2 cannot refer to the same axis {axis1}")
    rows, columns = data.shape[axis1], data.shape[axis2]
    if min(rows + min(k, 0), columns - max(k, 0)) < 0:
        raise MXNetError(f"diag: diagonal k={k} does not exist in an input of shape {show(tuple(data.shape))}")
    return data.diagonal(k, axis1, axis2)


# -- im2col, col2im -----------------------------------------------------------------------------------------------------------
Window = tuple[KnownShape, KnownShape, KnownShape, KnownShape]


def _window(what: str, kernel: KnownShape, stride: KnownShape, dilate: KnownShape, pad: KnownShape) -> Window:
    """Kernel, stride, dilation and padding with their defaults (1, 1, 0) filled in. Errors: MXNetError for other lengths."""
    n = len(kernel)
    full = (kernel, stride or (1,) * n, dilate or (1,) * n, pad or (0,) * n)
    if not 1 <= n <= 3 or any(len(part) != n for part in full):
        raise MXNetError(f"{what}: kernel must have 1 to 3 dimensions and stride, dilate, pad as many, got {full}")
    if any(x < 1 for part in full[:3] for x in part) or any(x < 0 for x in full[3]):
        raise MXNetError(f"{what}: kernel, stride and dilate must be positive and pad not negative, got {full}")
    return full


def _positions(image: KnownShape, window: Window) -> KnownShape:
    """How many windows fit along each spatial axis."""
    kernel, stride, dilate, pad = window
    return tuple((d + 2 * p - (k - 1) * e - 1) // s + 1 for d, k, s, e, p in zip(image, kernel, stride, dilate, pad, strict=True))


def _unfold(data: Tensor, window: Window) -> Tensor:
    """(n, c, *space) -> (n, c, *kernel, *positions): every window of the padded input."""
    kernel, stride, dilate, pad = window
    n = len(kernel)
    if any(pad):
        data = F.pad(data, [p for p in reversed(pad) for _ in range(2)])
    for i in range(n):
        data = data.unfold(2 + i, (kernel[i] - 1) * dilate[i] + 1, stride[i])[..., :: dilate[i]]
    return data.permute(0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))


@op("im2col", floats_only=True)
def im2col(data: Tensor, /, *, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = ()) -> Tensor:
    """The sliding windows of a convolution as columns.

    data (n, c, *space) with 1 to 3 spatial axes -> (n, c * prod kernel, number of positions). Source: src/operator/nn/im2col.cc
    """
    window = _window("im2col", kernel, stride, dilate, pad)
    if data.ndim != len(kernel) + 2:
        raise MXNetError(f"im2col: data must have {len(kernel) + 2} dimensions for kernel {kernel}, got {show(tuple(data.shape))}")
    positions = _positions(tuple(data.shape[2:]), window)
    if any(p < 1 for p in positions):
        raise MXNetError(f"im2col: kernel {kernel} with dilate {window[2]} exceeds the padded input {show(tuple(data.shape))}")
    return _unfold(data, window).reshape(data.shape[0], data.shape[1] * prod(kernel), prod(positions))


@op("col2im", floats_only=True)
def col2im(
    data: Tensor, /, *, output_size: Shape, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = (), device: Device
) -> Tensor:
    """Adds the columns of im2col back into an image: the adjoint of im2col.

    data (n, c * prod kernel, positions) -> (n, c, *output_size). Source: src/operator/nn/im2col.cc
    """
    window = _window("col2im", kernel, stride, dilate, pad)
    positions = _positions(output_size, window) if len(output_size) == len(kernel) else ()
    if data.ndim != 3 or prod(positions) != data.shape[2] or not positions or data.shape[1] % prod(kernel):
        raise MXNetError(f"col2im: data of shape {show(tuple(data.shape))} does not fit output_size={output_size}, kernel={kernel}")
    n, c = data.shape[0], data.shape[1] // prod(kernel)
    padded = tuple(d + 2 * p for d, p in zip(output_size, window[3], strict=True))
    where = _unfold(torch.arange(prod(padded), device=device).reshape(1, 1, *padded), (*window[:3], (0,) * len(kernel))).reshape(-1)
    image = data.new_zeros(n, c, prod(padded)).index_add(2, where, data.reshape(n, c, prod(kernel) * data.shape[2])).reshape(n, c, *padded)
    for i, (size, p) in enumerate(zip(output_size, window[3], strict=True)):
        image = image.narrow(2 + i, p, size)
    return image


# -- index_array --------------------------------------------------------------------------------------------------------------
def _index_array_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is not None:
        s.unify_out((*data, len(data) if a.axes is None else len(a.axes)))


@op("_contrib_index_array", shape=_index_array_shape, dtype=fixed_dtype(torch.int64), grad=Grad.ZERO)
def index_array(data: Tensor, /, *, axes: OptShape = None, device: Device) -> Tensor:
    """The coordinates of every element, of all axes or of those given.

    data (d0, ..., dn) -> (d0, ..., dn, number of axes) int64. Source: src/operator/contrib/index_array.cc
    """
    return coordinates(tuple(data.shape), axes, device)


def coordinates(shape: KnownShape, axes: Sequence[int] | None, device: torch.device) -> Tensor:
    """int64 coordinates of every element of a shape, in a new last axis."""
    chosen = range(len(shape)) if axes is None else [axis % len(shape) for axis in axes]
    grids = [torch.arange(shape[i], device=device).reshape(-1, *(1,) * (len(shape) - 1 - i)).expand(shape) for i in chosen]
    return torch.stack(grids, -1) if grids else torch.zeros((*shape, 0), dtype=torch.int64, device=device)
