"""Pooling over one to three spatial dimensions."""

from __future__ import annotations

import math
from typing import Annotated

import torch
import torch.nn.functional as F

from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes
from ..registry import Attrs, Tensor, op
from ..values import Bool, IgnoredBool, OneOf, OptBool, OptInt, Shape
from . import layout as layouts
from .runtime.pooling import lp_root, max_pool, max_pool_all_ties

__all__ = ["out_size"]

Ints = tuple[int, ...]


def out_size(size: int, kernel: int, stride: int, pad: int, convention: str) -> int:
    """Number of windows along one axis."""
    if convention == "same":
        return -(-(size + 2 * pad) // stride)
    free = size + 2 * pad - kernel
    return 1 + (free // stride if convention == "valid" else math.ceil(free / stride))


def _has_workspace(a: Attrs) -> bool:
    """Whether MXNet's build gives the node a hidden second output (src/operator/nn/mkldnn/mkldnn_pooling-inl.h)."""
    return a.pool_type == "max" and len(a.kernel) in (1, 2, 3) and (a.layout is None or not layouts.is_channel_last(a.layout))


def _check(a: Attrs) -> None:
    n = len(a.kernel)
    if any(k == 0 for k in (*a.kernel, *a.stride)):
        raise MXNetError(f"kernel {list(a.kernel)} and stride {list(a.stride)} must not contain zeros")
    if n not in (1, 2, 3) and not a.global_pool:
        raise MXNetError(f"{n}D pooling not supported: kernel is {list(a.kernel)}")


def _pool_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is None:
        return
    n = len(data) - 2
    layout = a.get("layout")
    if a.pool_type == "lp" and a.p_value is None:
        raise s.fail("pool_type 'lp' needs p_value")
    if a.pooling_convention == "same":
        if n != 1:
            raise s.fail("pooling_convention 'same' supports 1-D pooling only: input data should be 3D in (batch, channel, x)")
        if any(a.pad):
            raise s.fail("Same pooling convention disables the use of pad parameter.")
    if n not in (1, 2, 3):
        raise s.fail(f"Pooling: Input data should be 3D, 4D or 5D (batch, channel and 1 to 3 spatial axes), got shape {list(data)}")
    if layout is not None and len(layout) != len(data):
        raise s.fail(f"layout {layout} does not fit data of shape {list(data)}")
    batch, channels, *sizes = layouts.channel_first_shape(data, layout)
    if a.global_pool:
        out = (batch, channels, *(1,) * n)
    else:
        if not a.kernel:
            raise s.fail("You need to set the kernel size if global pooling is not used")
        if len(a.kernel) != n:
            raise s.fail(f"Pooling: a kernel of {len(a.kernel)} dimensions needs {len(a.kernel) + 2}D data, got shape {list(data)}")
        stride = layouts.spatial(a.stride, n, 1)
        pad = (0,) * n if a.pooling_convention == "same" else layouts.spatial(a.pad, n, 0)
        for size, k, p in zip(sizes, a.kernel, pad, strict=True):
            if size != -1 and k > size + 2 * p:
                raise s.fail(f"kernel size ({k}) exceeds input ({size} padded to {size + 2 * p})")
        windows = [
            -1 if size == -1 else out_size(size, k, t, p, a.pooling_convention) for size, k, t, p in zip(sizes, a.kernel, stride, pad, strict=True)
        ]
        out = (batch, channels, *windows)
    for index in range(len(s.outputs)):
        s.unify_out(layouts.from_channel_first_shape(out, layout), index)


def _pool_dtype(a: Attrs, t: Dtypes) -> None:
    known = t.get() or t.out()
    t.unify(0, known)
    t.unify_out(known)
    if len(t.outputs) > 1:
        t.unify_out(torch.int32, 1)


def _counted(size: int, window: tuple[int, int, int], count: int, include_pad: bool) -> list[int]:
    """Positions that each window's average divides by along one axis; negative for a window beyond everything, as in MXNet."""
    kernel, stride, pad = window
    starts = [i * stride - pad for i in range(count)]
    if include_pad:
        return [min(start + kernel, size + pad) - start for start in starts]
    return [min(start + kernel, size) - max(start, 0) for start in starts]


def _average(x: Tensor, kernel: Ints, stride: Ints, pad: Ints, extra: Ints, ceil: bool, include_pad: bool) -> Tensor:
    pool = F.avg_pool2d if len(kernel) == 2 else F.avg_pool3d
    if not any(extra) and all(p <= k // 2 for p, k in zip(pad, kernel, strict=True)):
        return pool(x, kernel, stride, pad, ceil, include_pad)
    sums = _sum(x, kernel, stride, pad, extra)  # windows that torch does not place
    for axis, (size, *window) in enumerate(zip(x.shape[2:], kernel, stride, pad, strict=True), 2):
        counts = _counted(size, tuple(window), sums.shape[axis], include_pad)  # type: ignore[arg-type]
        if len(kernel) < 3:  # an empty window is 0; with three axes it is 0 / 0
            counts = [c or 1 for c in counts]
        sums = sums / sums.new_tensor(counts).reshape([-1 if i == axis else 1 for i in range(sums.ndim)])
    return sums


def _sum(x: Tensor, kernel: Ints, stride: Ints, pad: Ints, extra: Ints) -> Tensor:
    if any(pad) or any(extra):
        x = F.pad(x, [v for p, e in zip(reversed(pad), reversed(extra), strict=True) for v in (p, p + e)])
    pool = F.avg_pool2d if len(kernel) == 2 else F.avg_pool3d
    return pool(x, kernel, stride, 0, False, True, 1)


def _pool(x: Tensor, kernel: Ints, stride: Ints, pad: Ints, kind: str, convention: str, p_value: int, include_pad: bool) -> Tensor:
    """Pools channel-first data."""
    flat = x.ndim == 3
    if flat:  # one spatial axis runs as two
        x, kernel, stride, pad = x.unsqueeze(2), (1, *kernel), (1, *stride), (0, *pad)
    sizes = x.shape[2:]
    ends = [out_size(n, k, t, p, convention) for n, k, t, p in zip(sizes, kernel, stride, pad, strict=True)]
    if 0 in x.shape[:2]:
        out = x.new_zeros((*x.shape[:2], *ends))
        return out.squeeze(2) if flat else out
    over = tuple(max(0, (o - 1) * t + k - n - 2 * p) for o, n, k, t, p in zip(ends, sizes, kernel, stride, pad, strict=True))
    # torch's ceil_mode drops a last window that starts beyond the input; MXNet keeps it.
    torch_agrees = all((o - 1) * t < n + p for o, n, t, p in zip(ends, sizes, stride, pad, strict=True))
    ceil = any(over) and torch_agrees
    extra = (0,) * len(over) if ceil else over
    if kind == "max":
        out = max_pool(x, kernel, stride, pad, extra, ceil)
    elif kind == "avg":
        out = _average(x, kernel, stride, pad, extra, ceil, include_pad)
    elif kind == "sum" or p_value == 1:
        out = _sum(x, kernel, stride, pad, over)
    else:
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        out = lp_root(_sum(wide.pow(p_value), kernel, stride, pad, over), p_value).to(x.dtype)
    return out.squeeze(2) if flat else out


@op(
    "Pooling", aliases=("_npx_pooling",), shape=_pool_shape, dtype=_pool_dtype, check=_check,
    outputs=lambda a: ("output", "workspace") if _has_workspace(a) else ("output",), visible=1,
)  # fmt: skip
def pooling(
    data: Tensor, /, *, kernel: Shape = (), pool_type: Annotated[str, OneOf("avg", "lp", "max", "sum")] = "max", global_pool: Bool = False,
    cudnn_off: IgnoredBool = False, pooling_convention: Annotated[str, OneOf("full", "same", "valid")] = "valid", stride: Shape = (),
    pad: Shape = (), p_value: OptInt = None, count_include_pad: OptBool = None,
    layout: Annotated[str | None, OneOf(None, "NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC")] = None,
) -> Tensor | tuple[Tensor, ...]:  # fmt: skip
    """Maximum, average, sum or Lp norm over windows; `full` counts a partly covered last window too, even one in the padding only.

    data (n, c, *in) -> (n, c, *out), out = floor or ceil of (in + 2 pad - kernel) / stride, + 1; global_pool: out is 1 everywhere.
    Max pooling has a hidden int32 output as MXNet's CPU build has; it holds zeros here.
    Source: src/operator/nn/pooling.cc, pool.h
    """
    if pool_type == "lp" and p_value not in (1, 2, 3):
        raise MXNetError(f"p value of {p_value} is not supported: 1, 2 and 3 are")
    x = layouts.channel_first(data, layout)
    n = x.ndim - 2
    window = tuple(x.shape[2:]) if global_pool else kernel
    stride = (1,) * n if global_pool else layouts.spatial(stride, n, 1)
    pad = (0,) * n if global_pool or pooling_convention == "same" else layouts.spatial(pad, n, 0)
    convention = "valid" if global_pool else pooling_convention
    if global_pool and pool_type == "avg":
        out = x.mean(tuple(range(2, x.ndim)), keepdim=True)
    else:
        out = _pool(x, window, stride, pad, pool_type, convention, p_value or 1, count_include_pad is not False)
    out = layouts.from_channel_first(out, layout)
    hidden = pool_type == "max" and len(kernel) in (1, 2, 3) and not layouts.is_channel_last(layout)
    return (out, torch.zeros_like(out, dtype=torch.int32)) if hidden else out


def _pool_v1_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is None:
        return
    if len(data) not in (4, 5):
        raise s.fail(f"Pooling: Input data should be 4D in (batch, channel, y, x) or 5D in (batch, channel, d, y, x), got {list(data)}")
    _pool_shape(a, s)


@op("Pooling_v1", floats_only=True, shape=_pool_v1_shape)
def pooling_v1(
    data: Tensor, /, *, kernel: Shape = (), pool_type: Annotated[str, OneOf("avg", "max", "sum")] = "max", global_pool: Bool = False,
    pooling_convention: Annotated[str, OneOf("full", "valid")] = "valid", stride: Shape = (), pad: Shape = (),
) -> Tensor:  # fmt: skip
    """The older Pooling: padding counts as zeros for the maximum too, averages always divide by the whole kernel.

    data (n, c, h, w) -> (n, c, *out). Source: src/operator/pooling_v1-inl.h
    """
    if data.ndim != 4:
        raise MXNetError(f"Pooling_v1 runs on (batch, channel, y, x) data only, got shape {list(data.shape)}")
    window = tuple(data.shape[2:]) if global_pool else kernel
    stride = (1, 1) if global_pool else layouts.spatial(stride, 2, 1)
    pad = (0, 0) if global_pool else layouts.spatial(pad, 2, 0)
    convention = "valid" if global_pool else pooling_convention
    if pool_type != "max":
        out = _pool(data, window, stride, pad, "sum", convention, 1, True)
        return out / math.prod(window) if pool_type == "avg" else out
    sizes = data.shape[2:]
    ends = [out_size(n, k, t, p, convention) for n, k, t, p in zip(sizes, window, stride, pad, strict=True)]
    over = [max(0, (o - 1) * t + k - n - 2 * p) for o, n, k, t, p in zip(ends, sizes, window, stride, pad, strict=True)]
    x = F.pad(data, [v for p in reversed(pad) for v in (p, p)]) if any(pad) else data
    if any(over):
        x = F.pad(x, [v for e in reversed(over) for v in (0, e)], value=torch.finfo(x.dtype).min)
    return max_pool_all_ties(x, window, stride)
