"""Operators that change spatial sizes: UpSampling, Pad, adaptive average pooling and bilinear resizing."""

from __future__ import annotations

from typing import Annotated

import torch
import torch.nn.functional as F

from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes, complete, show
from ..registry import Attrs, Tensor, op
from ..values import Bool, Double, IgnoredLong, Int, OneOf, OptFloat, Range, Shape

__all__: list[str] = []

Dims = tuple[int, ...]


# -- UpSampling ----------------------------------------------------------------------------------------------------------------
def _upsampled_shape(shapes: list[Dims], scale: int, sample_type: str, mode: str) -> Dims:
    """Output shape for complete input shapes. Errors: MXNetError."""
    if any(len(shape) != 4 for shape in shapes):
        raise MXNetError(f"UpSampling: Input data should be 4D in (batch, channel, y, x), got {[list(x) for x in shapes]}")
    n, channels, height, width = shapes[0]
    height, width = height * scale, width * scale
    if sample_type == "nearest":
        for shape in shapes:
            if not shape[2] or not shape[3] or height % shape[2] or width % shape[3]:
                raise MXNetError(f"UpSamplingNearest: input size {show(shape[2:])} does not divide output size [{height},{width}]")
        if mode == "sum" and any(shape[1] != channels for shape in shapes):
            raise MXNetError("Number of channels must be the same when multi_input_mode==sum")
        if mode == "concat":
            channels = sum(shape[1] for shape in shapes)
    return n, channels, height, width


def _upsampling_shape(a: Attrs, s: Shapes) -> None:
    data = s.get(0)
    if a.sample_type == "bilinear":
        if not complete(data):
            return
        kernel = 2 * a.scale - a.scale % 2
        if len(data) == 4:
            s.unify("weight", (data[1], 1, kernel, kernel))
        shapes = [data]
    elif all(complete(x) for x in s.inputs):
        shapes = s.inputs
    else:
        return
    try:
        s.unify_out(_upsampled_shape(shapes, a.scale, a.sample_type, a.multi_input_mode))
    except MXNetError as error:
        raise s.fail(str(error)) from None


@op(
    "UpSampling", floats_only=True,
    key_var_num_args="num_args", shape=_upsampling_shape, count=lambda a: a.num_args if a.sample_type == "nearest" else 2,
    variadic_names=lambda a, n: [f"arg{i}" for i in range(n)] if a.sample_type == "nearest" else ["data", "weight"],
    init={"weight": '["bilinear", {}]'},
)  # fmt: skip
def upsampling(
    *data: Tensor, scale: Annotated[Int, Range(1, None)], num_filter: Int = 0, sample_type: Annotated[str, OneOf("bilinear", "nearest")],
    multi_input_mode: Annotated[str, OneOf("concat", "sum")] = "concat", num_args: Annotated[Int, Range(1, None)], workspace: IgnoredLong = 512,
) -> Tensor:  # fmt: skip
    """Enlarges height and width by `scale`: nearest neighbour, or bilinear as a transposed convolution with a trained weight.

    nearest: inputs (n, c_i, h_i, w_i), each enlarged to the first one's size times scale, then concatenated or summed;
    bilinear: data (n, c, h, w), weight (c, 1, k, k) with k = 2 scale - scale % 2. Source: src/operator/nn/upsampling.cc
    """
    if sample_type == "bilinear":
        x, weight = data
        if x.shape[1] != num_filter:
            raise MXNetError(f"UpSampling: num_filter={num_filter} must be the number of channels, got data of shape {show(tuple(x.shape))}")
        return F.conv_transpose2d(x, weight, None, scale, scale // 2, groups=num_filter)
    height = _upsampled_shape([tuple(x.shape) for x in data], scale, sample_type, multi_input_mode)[2]
    grown = [F.interpolate(x, size=(x.shape[2] * (height // x.shape[2]), x.shape[3] * (height // x.shape[2]))) for x in data]
    if len(grown) == 1:
        return grown[0]
    if multi_input_mode == "concat":
        return torch.cat(grown, 1)
    total = grown[0]
    for other in grown[1:]:
        total = total + other
    return total


# -- Pad -----------------------------------------------------------------------------------------------------------------------
def _check_pad(data: Dims, mode: str, pad_width: Dims) -> None:
    if len(data) not in (4, 5):
        raise MXNetError(f"Current implementation only supports 4-D or 5-D input, got shape {show(data)}")
    if len(pad_width) != 2 * len(data):
        raise MXNetError(f"Input shape vs padding spec mismatch: {show(data)} needs {2 * len(data)} widths, got {show(pad_width)}")
    if any(pad_width[:4]):
        raise MXNetError(f"Current implementation expects padding on the first two axes to be zero, got {show(pad_width)}")
    if mode == "reflect" and any(w >= data[i // 2] != -1 for i, w in enumerate(pad_width)):
        raise MXNetError("Current implementation of reflection padding only supports padding sizes smaller than the input size.")


def _pad_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is None:
        return
    try:
        _check_pad(data, a.mode, a.pad_width)
    except MXNetError as error:
        raise s.fail(str(error)) from None
    s.unify_out(tuple(-1 if d == -1 else d + a.pad_width[2 * i] + a.pad_width[2 * i + 1] for i, d in enumerate(data)))


@op("Pad", floats_only=True, aliases=("pad",), shape=_pad_shape)
def pad(data: Tensor, /, *, mode: Annotated[str, OneOf("constant", "edge", "reflect")], pad_width: Shape, constant_value: Double = 0.0) -> Tensor:
    """Pads the spatial axes with a constant, the edge values or the reflection about the edges.

    data (n, c, h, w) or (n, c, d, h, w) -> sizes grown by pad_width (before_1, after_1, before_2, ...). Source: src/operator/pad.cc
    """
    _check_pad(tuple(data.shape), mode, pad_width)
    widths = [w for axis in range(data.ndim - 1, 1, -1) for w in pad_width[2 * axis : 2 * axis + 2]]
    if mode == "constant":
        return F.pad(data, widths, value=constant_value)
    return F.pad(data, widths, mode="replicate" if mode == "edge" else "reflect")


# -- Adaptive pooling, bilinear resize ---------------------------------------------------------------------------------------------
def _adaptive_size(output_size: Dims) -> tuple[int, int]:
    if len(output_size) == 1:
        return output_size[0], output_size[0]
    return (output_size[0], output_size[1]) if len(output_size) == 2 else (1, 1)


def _adaptive_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if complete(data) and len(data) == 4:
        s.unify_out((*data[:2], *_adaptive_size(a.output_size)))
    elif complete(data):
        raise s.fail(f"AdaptiveAvgPooling2D needs data (batch, channel, y, x), got shape {show(data)}")


@op("_contrib_AdaptiveAvgPooling2D", shape=_adaptive_shape)
def adaptive_avg_pooling(data: Tensor, /, *, output_size: Shape = ()) -> Tensor:
    """Averages over a grid of windows that covers the input; output_size is (h, w), one number for both, or empty for 1.

    data (n, c, h, w) -> (n, c, *output_size). Source: src/operator/contrib/adaptive_avg_pooling-inl.h
    """
    if data.ndim != 4:
        raise MXNetError(f"AdaptiveAvgPooling2D needs data (batch, channel, y, x), got shape {list(data.shape)}")
    return F.adaptive_avg_pool2d(data, _adaptive_size(output_size))


def _parity(size: int, odd: bool, step: int) -> int:
    return size if size % 2 == int(odd) else size + step


def _resized(a: Attrs, data: Dims, like: Dims | None) -> Dims:
    """(height, width) of the result."""
    sizes = data[2:]
    if a.mode == "like":
        assert like is not None
        return like[2:4]
    if a.mode == "odd_scale":
        if a.scale_height is None or a.scale_width is None:
            raise MXNetError("mode 'odd_scale' needs scale_height and scale_width")
        scales = (a.scale_height, a.scale_width)
        return tuple(int(n * f) if n % 2 == 0 else int((n - 1) * f) + 1 for n, f in zip(sizes, scales, strict=True))
    if a.mode == "size":
        if a.scale_height is None:
            return a.height, a.width
        if a.scale_width is None:
            raise MXNetError("scale_height needs scale_width")
        return int(a.scale_height * sizes[0]), int(a.scale_width * sizes[1])
    _, parity, direction = a.mode.split("_")
    return tuple(_parity(n, parity == "odd", 1 if direction == "up" else -1) for n in sizes)


def _resize_shape(a: Attrs, s: Shapes) -> None:
    data, like = s.get("data"), s.get("like")
    if not complete(data) or (a.mode == "like" and not complete(like)):
        return
    if len(data) != 4 or (like is not None and len(like) != 4):
        raise s.fail(f"BilinearResize2D needs data (batch, channel, y, x), got shape {show(data)}")
    s.unify_out((*data[:2], *_resized(a, data, like)))


def _resize_dtype(a: Attrs, t: Dtypes) -> None:
    known = next((d for d in (*t.inputs, *t.outputs) if d is not None), None)
    for position in range(len(t.inputs)):
        t.unify(position, known)
    t.unify_out(known)


@op("_contrib_BilinearResize2D", floats_only=True, shape=_resize_shape, dtype=_resize_dtype, present={"like": lambda a: a.mode == "like"})
def bilinear_resize(
    data: Tensor, like: Tensor | None = None, /, *, height: Annotated[Int, Range(1, None)] = 1, width: Annotated[Int, Range(1, None)] = 1,
    scale_height: OptFloat = None, scale_width: OptFloat = None,
    mode: Annotated[str, OneOf("like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up")] = "size",
    align_corners: Bool = True,
) -> Tensor:  # fmt: skip
    """Bilinear interpolation to a new height and width, corners aligned by default.

    data (n, c, h, w) -> (n, c, *size); size from height and width, the scales, the shape of `like`, or the next even or odd number.
    Source: src/operator/contrib/bilinear_resize-inl.h
    """
    if data.ndim != 4:
        raise MXNetError(f"BilinearResize2D needs data (batch, channel, y, x), got shape {list(data.shape)}")
    a = Attrs(height=height, width=width, scale_height=scale_height, scale_width=scale_width, mode=mode)
    size = _resized(a, tuple(data.shape), None if like is None else tuple(like.shape))
    if 0 in data.shape or 0 in size:
        return data.new_zeros((*data.shape[:2], *size))
    return F.interpolate(data, size=size, mode="bilinear", align_corners=align_corners)
