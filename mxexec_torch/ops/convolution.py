"""Convolution and Deconvolution in one, two and three spatial dimensions."""

from __future__ import annotations

from typing import Annotated

import torch.nn.functional as F

from ..errors import MXNetError
from ..infer.state import Shape as Dims
from ..infer.state import Shapes
from ..registry import Attrs, Tensor, op
from ..values import IGNORED, Bool, IgnoredBool, IgnoredLong, NonNegInt, OneOf, Range, Shape
from . import layout as layouts

__all__ = ["ConvLayout", "check_kernel", "conv_shape", "deconv_padding", "to_spatial"]

_TUNE = OneOf(None, "fastest", "limited_workspace", "off")
Tune = Annotated[str | None, _TUNE, IGNORED]
ConvLayout = Annotated[str | None, OneOf(None, "NCW", "NCHW", "NCDHW", "NHWC", "NDHWC")]
Filters = Annotated[NonNegInt, Range(1, 2**32 - 1)]
_CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_DECONV = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
_LAYOUTS = {1: ("NCW",), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def check_kernel(a: Attrs) -> None:
    """Attribute checks at creation: 1 to 3 kernel entries, stride, dilate and pad of the same length, none of them None."""
    for name in ("kernel", "stride", "dilate", "pad", "adj"):
        if name in a and a[name] is None:
            raise MXNetError(f"{name} must have the same number of dimensions with kernel_size, but it is None")
    if len(a.kernel) not in (1, 2, 3):
        raise MXNetError(f"{len(a.kernel)}D convolution not supported: kernel is {list(a.kernel)}")
    for name, what in (("stride", "Stride"), ("dilate", "Dilate"), ("pad", "Padding")):
        if a[name] and len(a[name]) != len(a.kernel):
            text = f"{what} must have the same number of dimensions with kernel_size, but kernel_size is set to {list(a.kernel)} while it is {list(a[name])}"
            raise MXNetError(text)


def _dilated(a: Attrs) -> list[int]:
    return [1 + (k - 1) * d for k, d in zip(a.kernel, layouts.spatial(a.dilate, len(a.kernel), 1), strict=True)]


def _check_group_sizes(a: Attrs, s: Shapes, channels: int) -> None:
    if a.num_group < 1 or (channels != -1 and channels % a.num_group):
        raise s.fail(f"input num_filter must divide group size: {channels} channels, {a.num_group} groups")
    if a.num_filter % a.num_group:
        raise s.fail(f"output num_filter must divide group size: {a.num_filter} filters, {a.num_group} groups")
    for name in ("kernel", "stride", "dilate"):
        if any(v <= 0 for v in a[name]):
            raise s.fail(f"incorrect {name} size: {list(a[name])}")


def _check_data(a: Attrs, s: Shapes, data: Dims) -> None:
    n = len(a.kernel)
    if len(data) != n + 2:
        raise s.fail(f"Input data should be {n + 2}D in batch-num_filter-{('x', 'y-x', 'depth-y-x')[n - 1]}, got shape {list(data)}")
    if a.get("layout") and a.layout not in _LAYOUTS[n]:
        raise s.fail(f"layout {a.layout} does not fit a kernel of {n} dimensions")


def conv_shape(a: Attrs, s: Shapes) -> None:
    """Weight, bias and output from data; batch and (at stride 1) spatial sizes of data from the output.

    Weight (num_filter, channels / num_group, *kernel), its axes after the first permuted like the data's.
    """
    data = s.get("data")
    if data is None:
        return
    n = len(a.kernel)
    layout = a.get("layout")
    _check_data(a, s, data)
    stride, pad = layouts.spatial(a.stride, n, 1), layouts.spatial(a.pad, n, 0)
    batch, channels, *sizes = layouts.channel_first_shape(data, layout)
    _check_group_sizes(a, s, channels)
    weight = (a.num_filter, -1 if channels == -1 else channels // a.num_group, *a.kernel)
    s.unify("weight", layouts.from_channel_first_shape(weight, layout))
    s.unify("bias", (a.num_filter,))
    kernel = _dilated(a)
    for size, k, p in zip(sizes, kernel, pad, strict=True):
        if size != -1 and size + 2 * p < k:
            raise s.fail(f"kernel size exceed input: kernel {k} (dilated), input {size} padded to {size + 2 * p}")
    out = [-1 if size == -1 else (size + 2 * p - k) // t + 1 for size, k, t, p in zip(sizes, kernel, stride, pad, strict=True)]
    s.unify_out(layouts.from_channel_first_shape((batch, a.num_filter, *out), layout))
    batch, _, *out = layouts.channel_first_shape(s.out(), layout)
    back = [o + k - 1 - 2 * p if t == 1 and o != -1 else size for size, o, k, t, p in zip(sizes, out, kernel, stride, pad, strict=True)]
    s.unify("data", layouts.from_channel_first_shape((batch, channels, *back), layout))


def to_spatial(stride: tuple[int, ...], pad: tuple[int, ...], dilate: tuple[int, ...], n: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Stride, pad and dilate with MXNet's defaults filled in."""
    return layouts.spatial(stride, n, 1), layouts.spatial(pad, n, 0), layouts.spatial(dilate, n, 1)


@op("Convolution", floats_only=True, aliases=("_npx_convolution",), present={"bias": lambda a: not a.no_bias}, shape=conv_shape, check=check_kernel)
def convolution(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, /, *, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = (),
    num_filter: Filters, num_group: NonNegInt = 1, workspace: IgnoredLong = 1024, no_bias: Bool = False, cudnn_tune: Tune = None,
    cudnn_off: IgnoredBool = False, layout: ConvLayout = None,
) -> Tensor:  # fmt: skip
    """Cross-correlation with 1 to 3 spatial dimensions.

    data (n, c, *in), weight (num_filter, c / num_group, *kernel), bias (num_filter,) -> (n, num_filter, *out) with
    out = floor((in + 2 pad - dilate (kernel - 1) - 1) / stride) + 1; channel-last layouts permute all three alike.
    Source: src/operator/nn/convolution.cc
    Deviations: channel-last layouts also run on CPU.
    """
    n = len(kernel)
    strides, pads, dilates = to_spatial(stride, pad, dilate, n)
    x, w = layouts.channel_first(data, layout), layouts.channel_first(weight, layout)
    return layouts.from_channel_first(_CONV[n](x, w, bias, strides, pads, dilates, num_group), layout)


@op("Convolution_v1", floats_only=True, present={"bias": lambda a: not a.no_bias}, shape=conv_shape, check=check_kernel)
def convolution_v1(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, /, *, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = (),
    num_filter: Filters, num_group: NonNegInt = 1, workspace: IgnoredLong = 1024, no_bias: Bool = False, cudnn_tune: Tune = None,
    cudnn_off: IgnoredBool = False, layout: Annotated[str | None, OneOf(None, "NCHW", "NCDHW", "NHWC", "NDHWC")] = None,
) -> Tensor:  # fmt: skip
    """The older form of Convolution, two and three spatial dimensions.

    data (n, c, *in), weight (num_filter, c / num_group, *kernel), bias (num_filter,) -> (n, num_filter, *out).
    Source: src/operator/convolution_v1.cc
    """
    n = len(kernel)
    strides, pads, dilates = to_spatial(stride, pad, dilate, n)
    x, w = layouts.channel_first(data, layout), layouts.channel_first(weight, layout)
    return layouts.from_channel_first(_CONV[n](x, w, bias, strides, pads, dilates, num_group), layout)


# -- Deconvolution -----------------------------------------------------------------------------------------------------------
def deconv_padding(a: Attrs, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(pad, adj) in force: `target_shape` overrides both (src/operator/nn/deconvolution-inl.h, InferPad)."""
    n = len(a.kernel)
    if not any(a.target_shape):
        return layouts.spatial(a.pad, n, 0), layouts.spatial(a.adj, n, 0)
    stride = layouts.spatial(a.stride, n, 1)
    pad, adj = [], []
    for size, k, t, target in zip(sizes, _dilated(a), stride, a.target_shape, strict=True):
        total = t * (size - 1) + k - target
        if size != -1 and total < 0:
            raise MXNetError(f"too big target shape: {target} from an input of {size} (at most {t * (size - 1) + k})")
        adj.append(total % 2 if size != -1 else 0)
        pad.append((total + 1) // 2 if size != -1 else 0)
    return tuple(pad), tuple(adj)


def _check_deconv(a: Attrs) -> None:
    check_kernel(a)
    for name in ("adj", "target_shape"):
        if a[name] and len(a[name]) != len(a.kernel):
            raise MXNetError(f"{name} {list(a[name])} must have {len(a.kernel)} entries, as many as kernel {list(a.kernel)}")


def _deconv_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    n = len(a.kernel)
    _check_data(a, s, data)
    batch, channels, *sizes = layouts.channel_first_shape(data, a.layout)
    _check_group_sizes(a, s, channels)
    s.unify("weight", layouts.from_channel_first_shape((channels, a.num_filter // a.num_group, *a.kernel), a.layout))
    s.unify("bias", (a.num_filter,))
    stride, kernel = layouts.spatial(a.stride, n, 1), _dilated(a)
    if n == 3 and any(d != 1 for d in a.dilate):
        raise s.fail("Dilate is not supported in 3d deconvolution")
    try:
        pad, adj = deconv_padding(a, tuple(sizes))
    except MXNetError as error:
        raise s.fail(str(error)) from None
    if any(j > t - 1 for j, t in zip(adj, stride, strict=True)):
        raise s.fail(f"adj {list(adj)} must be smaller than stride {list(stride)}")
    out = [-1 if size == -1 else t * (size - 1) + k - 2 * p + j for size, k, t, p, j in zip(sizes, kernel, stride, pad, adj, strict=True)]
    for o, target in zip(out, a.target_shape, strict=False):
        if target > 0 and o not in (-1, target):
            raise s.fail(f"target_shape {list(a.target_shape)} was not reasonable, please set it carefully")
    s.unify_out(layouts.from_channel_first_shape((batch, a.num_filter, *out), a.layout))


@op("Deconvolution", aliases=("_npx_deconvolution",), present={"bias": lambda a: not a.no_bias}, shape=_deconv_shape, check=_check_deconv)
def deconvolution(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, /, *, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = (),
    adj: Shape = (), target_shape: Shape = (), num_filter: Filters, num_group: NonNegInt = 1, workspace: IgnoredLong = 512,
    no_bias: Bool = True, cudnn_tune: Tune = None, cudnn_off: IgnoredBool = False, layout: ConvLayout = None,
) -> Tensor:  # fmt: skip
    """Transposed convolution with 1 to 3 spatial dimensions; no bias by default.

    data (n, c, *in), weight (c, num_filter / num_group, *kernel), bias (num_filter,) -> (n, num_filter, *out) with
    out = stride (in - 1) + dilate (kernel - 1) + 1 - 2 pad + adj; target_shape replaces pad and adj.
    Source: src/operator/nn/deconvolution.cc
    """
    n = len(kernel)
    x, w = layouts.channel_first(data, layout), layouts.channel_first(weight, layout)
    strides, _, dilates = to_spatial(stride, pad, dilate, n)
    a = Attrs(kernel=kernel, stride=stride, dilate=dilate, pad=pad, adj=adj, target_shape=target_shape)
    pads, extra = deconv_padding(a, tuple(x.shape[2:]))
    return layouts.from_channel_first(_DECONV[n](x, w, bias, strides, pads, extra, num_group, dilates), layout)
