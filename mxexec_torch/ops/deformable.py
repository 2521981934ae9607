"""Deformable convolutions."""

from __future__ import annotations

from typing import Annotated

from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes, complete, show
from ..registry import Attrs, Tensor, op
from ..values import Bool, IgnoredLong, Int, NonNegInt, OneOf, Range, Shape
from .convolution import check_kernel, to_spatial
from .runtime.sampling import deformable_columns

__all__: list[str] = []

Dims = tuple[int, ...]
Layout = Annotated[str | None, OneOf(None, "NCW", "NCHW", "NCDHW")]


def _check(a: Attrs) -> None:
    check_kernel(a)
    if len(a.kernel) != 2:
        raise MXNetError(f"deformable convolution has two spatial dimensions, kernel is {list(a.kernel)}")


def _out_size(a: Attrs, data: Dims) -> list[int]:
    strides, pads, dilates = to_spatial(a.stride, a.pad, a.dilate, 2)
    pairs = zip(data[2:], a.kernel, strides, pads, dilates, strict=True)
    return [-1 if n == -1 else (n + 2 * p - (d * (k - 1) + 1)) // t + 1 for n, k, t, p, d in pairs]


def _deformable_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    if len(data) != 4:
        raise s.fail(f"Input data should be 4D in batch-num_filter-y-x, got shape {show(data)}")
    if a.num_group < 1 or a.num_deformable_group < 1 or a.num_filter % a.num_group:
        raise s.fail(f"num_filter {a.num_filter} must divide into {a.num_group} groups")
    channels = data[1]
    if channels != -1 and (channels % a.num_group or channels % a.num_deformable_group):
        raise s.fail(f"{channels} channels must divide into {a.num_group} groups and {a.num_deformable_group} deformable groups")
    s.unify("weight", (a.num_filter, -1 if channels == -1 else channels // a.num_group, *a.kernel))
    s.unify("bias", (a.num_filter,))
    out = _out_size(a, data)
    taps = a.kernel[0] * a.kernel[1] * a.num_deformable_group
    for name, factor in (("offset", 2), ("mask", 1)):
        given = s.get(name)
        if given is not None and complete(given) and complete(tuple(out)) and given[1:] != (factor * taps, *out):
            raise s.fail(f"{name} should have shape [{data[0]},{factor * taps},{out[0]},{out[1]}], got {show(given)}")
    s.unify_out((data[0], a.num_filter, *out))


def _deformable_dtype(a: Attrs, t: Dtypes) -> None:
    known = next((d for d in (*t.inputs, *t.outputs) if d is not None), None)
    for position in range(len(t.inputs)):
        t.unify(position, known)
    t.unify_out(known)


def _convolve(
    data: Tensor, offset: Tensor, mask: Tensor | None, weight: Tensor, bias: Tensor | None, a: Attrs
) -> Tensor:
    """Matrix product of the sampled columns with the weights, group by group."""
    strides, pads, dilates = to_spatial(a.stride, a.pad, a.dilate, 2)
    n = data.shape[0]
    out = _out_size(a, tuple(data.shape))
    taps = a.kernel[0] * a.kernel[1]
    if tuple(offset.shape) != (n, 2 * taps * a.num_deformable_group, *out):
        raise MXNetError(f"offset should have shape [{n},{2 * taps * a.num_deformable_group},{out[0]},{out[1]}], got {list(offset.shape)}")
    columns = deformable_columns(data, offset, mask, a.kernel, strides, pads, dilates, a.num_deformable_group)
    groups = a.num_group
    columns = columns.reshape(n, groups, data.shape[1] // groups * taps, out[0] * out[1])
    result = (weight.reshape(groups, a.num_filter // groups, -1) @ columns).reshape(n, a.num_filter, *out)
    return result if bias is None else result + bias.reshape(1, -1, 1, 1)


@op(
    "_contrib_DeformableConvolution", present={"bias": lambda a: not a.no_bias}, shape=_deformable_shape, dtype=_deformable_dtype, check=_check,
)  # fmt: skip
def deformable_convolution(
    data: Tensor, offset: Tensor, weight: Tensor, bias: Tensor | None = None, /, *, kernel: Shape, stride: Shape = (), dilate: Shape = (),
    pad: Shape = (), num_filter: Annotated[Int, Range(1, None)], num_group: Int = 1, num_deformable_group: Int = 1, workspace: IgnoredLong = 1024,
    no_bias: Bool = False, layout: Layout = None,
) -> Tensor:  # fmt: skip
    """Convolution whose kernel positions are moved by learnt offsets; samples outside the map are zero.

    data (n, c, h, w), offset (n, num_deformable_group * 2 * kernel positions, *out) of (y, x), weight (num_filter, c / num_group, *kernel),
    bias (num_filter,) -> (n, num_filter, *out). Source: src/operator/contrib/deformable_convolution-inl.h
    """
    a = Attrs(
        kernel=kernel, stride=stride, dilate=dilate, pad=pad, num_filter=num_filter, num_group=num_group, num_deformable_group=num_deformable_group
    )  # fmt: skip
    return _convolve(data, offset, None, weight, bias, a)


@op(
    "_contrib_ModulatedDeformableConvolution", present={"bias": lambda a: not a.no_bias}, shape=_deformable_shape, dtype=_deformable_dtype,
    check=_check,
)  # fmt: skip
def modulated_deformable_convolution(
    data: Tensor, offset: Tensor, mask: Tensor, weight: Tensor, bias: Tensor | None = None, /, *, kernel: Shape, stride: Shape = (),
    dilate: Shape = (), pad: Shape = (), num_filter: Annotated[NonNegInt, Range(1, None)], num_group: NonNegInt = 1,
    num_deformable_group: NonNegInt = 1, workspace: IgnoredLong = 1024, no_bias: Bool = False, im2col_step: NonNegInt = 64, layout: Layout = None,
) -> Tensor:  # fmt: skip
    """Deformable convolution with a learnt factor per kernel position; samples fade to zero over the border.

    As DeformableConvolution, with mask (n, num_deformable_group * kernel positions, *out).
    Source: src/operator/contrib/modulated_deformable_convolution-inl.h
    Deviations: gradients run on CPU too, where MXNet raises.
    """
    if data.shape[0] > im2col_step and data.shape[0] % im2col_step:
        raise MXNetError(f"input batchsize {data.shape[0]} must be smaller than or divide im2col_step {im2col_step}")
    taps = kernel[0] * kernel[1] * num_deformable_group
    if mask.ndim != 4 or mask.shape[1] != taps or mask.shape[2:] != offset.shape[2:]:
        raise MXNetError(f"mask should have {taps} channels and offset's size {list(offset.shape[2:])}, got shape {list(mask.shape)}")
    a = Attrs(
        kernel=kernel, stride=stride, dilate=dilate, pad=pad, num_filter=num_filter, num_group=num_group, num_deformable_group=num_deformable_group
    )  # fmt: skip
    return _convolve(data, offset, mask, weight, bias, a)
