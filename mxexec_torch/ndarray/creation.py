"""Functions that make arrays: array, zeros, ones, full, empty, arange, linspace, eye, from_numpy, from_dlpack, concatenate, ..."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .. import ranges
from ..context import Context, current_context
from ..dtypes import BFLOAT16, array_dtype
from ..errors import MXNetError
from ..foreign import mark_foreign
from ..semantics import is_np_shape
from .core import NDArray, wrap
from .invoke import call

__all__ = [
    "arange", "array", "concatenate", "empty", "eye", "from_dlpack", "from_numpy", "full", "histogram", "imdecode", "linspace", "moveaxis",
    "onehot_encode", "ones", "split_v2", "to_dlpack_for_read", "to_dlpack_for_write", "waitall", "zeros",
]  # fmt: skip

mx_real_t = np.float32


def _context(ctx: Any) -> Context:
    if ctx is None:
        return current_context()
    if isinstance(ctx, Context):
        return ctx
    from .invoke import context_argument

    return context_argument(ctx)


def _shape(shape: Any, operator: str) -> tuple[int, ...]:
    """A shape argument as a tuple. Errors: MXNetError for unknown (0, without np_shape) and negative dimensions."""
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else shape
    if not isinstance(sizes, (tuple, list)) or not all(isinstance(d, (int, np.integer)) for d in sizes):
        raise MXNetError(f"Invalid Parameter format for shape expect Shape(tuple) but value='{shape}', in operator {operator}")
    dims = tuple(int(d) for d in sizes)
    known = all(d >= 0 for d in dims) if is_np_shape() else bool(dims) and all(d > 0 for d in dims)
    if not known:
        text = "has unknown or negative dimensions (0 means unknown without np_shape)"
        raise MXNetError(f"Operator {operator} inferring shapes failed: shape {dims} {text}")
    return dims


def _fill_into(out: NDArray, value: float, shape: tuple[int, ...], dtype: torch.dtype, operator: str) -> NDArray:
    from .invoke import store

    store(out, torch.full(shape, value, dtype=dtype, device=out._t.device), operator)
    return out


def empty(shape: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array with arbitrary contents (zeros here)."""
    ctx = _context(ctx)
    dims = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if any(d < 0 for d in dims):
        raise OverflowError(f"cannot make an array of shape {dims}: negative dimension")
    return wrap(torch.zeros(dims, dtype=array_dtype(dtype), device=ctx.device), ctx)


def zeros(shape: Any, ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """An array of zeros. `out=`: fill that array instead. Errors: MXNetError for shapes with unknown dimensions."""
    return _constant(0, "_zeros", shape, ctx, dtype, kwargs)


def ones(shape: Any, ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """An array of ones."""
    return _constant(1, "_ones", shape, ctx, dtype, kwargs)


def _constant(value: int, operator: str, shape: Any, ctx: Context | None, dtype: Any, kwargs: dict[str, Any]) -> NDArray:
    dims, out = _shape(shape, operator), kwargs.get("out")
    try:
        kind = array_dtype(dtype)
    except KeyError as error:
        raise MXNetError(f"Invalid Input: '{dtype}', in operator {operator}: no element type of MXNet") from error
    if out is not None:
        return _fill_into(out, value, dims, kind, operator)
    ctx = _context(ctx)
    make = torch.ones if value else torch.zeros
    with ranges.named(operator):
        return wrap(make(dims, dtype=kind, device=ctx.device), ctx)


def full(shape: Any, val: Any, ctx: Context | None = None, dtype: Any = mx_real_t, out: NDArray | None = None) -> NDArray:
    """An array filled with one value; what `out[:] = val` accepts is accepted."""
    out = empty(shape, ctx, dtype) if out is None else out
    out[:] = val
    return out


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array from numbers, sequences or NumPy arrays: float32 unless `dtype` is given; from an NDArray it keeps the type. Always a copy.

    Errors: TypeError for what is not array-like.
    """
    ctx = _context(ctx)
    if isinstance(source_array, NDArray):
        wanted = source_array._t.dtype if dtype is None else array_dtype(dtype)
        from .core import _converted

        return wrap(_converted(source_array._t, wanted).to(ctx.device), ctx)
    return wrap(_tensor_of(source_array, array_dtype(dtype), ctx.device), ctx)


def _tensor_of(source: Any, wanted: torch.dtype, device: torch.device) -> torch.Tensor:
    if not isinstance(source, np.ndarray):
        try:
            source = _as_numpy(_to_numpy(source), _numpy_of(wanted))
        except (TypeError, ValueError, OverflowError):
            raise TypeError("source_array must be array like object") from None
    if source.dtype == BFLOAT16:
        bits = torch.from_numpy(np.ascontiguousarray(source).view(np.int16).copy())
        return bits.view(torch.bfloat16).reshape(source.shape).to(device=device, dtype=wanted)
    with np.errstate(all="ignore"):  # values out of range wrap or become inf, silently as in C
        values = source.astype(_numpy_of(wanted), order="C", copy=True)
    return torch.from_numpy(values).to(device=device, dtype=wanted)


def _as_numpy(source: Any, dtype: Any) -> Any:
    """np.array(source, dtype); numbers out of range wrap or become inf, as they did in NumPy 1."""
    with np.errstate(all="ignore"):
        try:
            return np.array(source, dtype=dtype)
        except OverflowError:
            return np.array(source).astype(dtype)


def _numpy_of(dtype: torch.dtype) -> Any:
    """The NumPy type that carries values of a torch type (float32 for bfloat16)."""
    return np.float32 if dtype is torch.bfloat16 else np.dtype(str(dtype).removeprefix("torch."))


def _to_numpy(source: Any) -> Any:
    """Sequences with NDArrays in them as nested NumPy data."""
    if isinstance(source, NDArray):
        return source.asnumpy()
    if isinstance(source, (list, tuple)) and any(isinstance(item, (NDArray, list, tuple)) for item in source):
        return [_to_numpy(item) for item in source]
    return source


def arange(
    start: float, stop: float | None = None, step: float = 1.0, repeat: int = 1, infer_range: bool | None = None,
    ctx: Context | None = None, dtype: Any = mx_real_t,
) -> NDArray:  # fmt: skip
    """start, start + step, ... below stop, each `repeat` times; with one number 0 up to it."""
    if infer_range is not None:
        warnings.warn("`infer_range` argument has been deprecated", DeprecationWarning, stacklevel=2)
    attrs = {"start": start, "stop": stop, "step": step, "repeat": repeat, "infer_range": False}
    result: NDArray = call("_arange", **attrs, dtype=np.dtype(dtype).name, ctx=str(_context(ctx)))
    return result


def linspace(start: float, stop: float, num: int, endpoint: bool = True, ctx: Context | None = None, dtype: Any = mx_real_t) -> NDArray:
    """num evenly spaced values from start to stop, which belongs to them when `endpoint`."""
    result: NDArray = call("_linspace", start=start, stop=stop, num=num, endpoint=endpoint, dtype=np.dtype(dtype).name, ctx=str(_context(ctx)))
    return result


def eye(N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:  # noqa: N803 - MXNet's names
    """Ones on the k-th diagonal of an N x M matrix (M = 0: square)."""
    result: NDArray = call("_eye", N=N, M=M, k=k, ctx=str(_context(ctx)), dtype=np.dtype(dtype or mx_real_t).name, **kwargs)
    return result


def from_numpy(ndarray: Any, zero_copy: bool = True, array_cls: type[NDArray] = NDArray) -> NDArray:
    """An array of a NumPy array's type; with zero_copy it shares the memory and the NumPy array becomes read-only.

    Errors: ValueError for zero_copy of an array that is not C-contiguous.
    """
    if not zero_copy:
        return array(ndarray, dtype=ndarray.dtype)
    if not ndarray.flags["C_CONTIGUOUS"]:
        raise ValueError("Only c-contiguous arrays are supported for zero-copy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about read-only memory
        result = wrap(mark_foreign(torch.from_numpy(ndarray)))
    ndarray.flags["WRITEABLE"] = False
    return result if array_cls is NDArray else array_cls(result.handle)


def from_dlpack(dlpack: Any) -> NDArray:
    """An array over the memory of a DLPack capsule (or of an object with `__dlpack__`)."""
    assert hasattr(dlpack, "__dlpack__") or type(dlpack).__name__ == "PyCapsule", f"a DLPack capsule is needed, not {type(dlpack).__name__}"
    return wrap(mark_foreign(torch.from_dlpack(dlpack)))


def to_dlpack_for_read(data: NDArray) -> Any:
    """A DLPack capsule of the array's memory."""
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray) -> Any:
    """A DLPack capsule of the array's memory, to be written through."""
    return data.to_dlpack_for_write()


def waitall() -> None:
    """Returns when all operations on all devices have finished."""
    if torch.cuda.is_initialized():
        for index in range(torch.cuda.device_count()):
            torch.cuda.synchronize(index)


def concatenate(arrays: list[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Arrays joined along an axis (older name of concat); one array alone is returned itself unless always_copy."""
    assert isinstance(arrays, list) and len(arrays) > 0 and isinstance(arrays[0], NDArray)
    if not always_copy and len(arrays) == 1:
        return arrays[0]
    first = arrays[0]
    for other in arrays[1:]:
        assert first.shape[:axis] == other.shape[:axis] and first.shape[axis + 1 :] == other.shape[axis + 1 :] and first.dtype == other.dtype
    return wrap(torch.cat([a._t.to(first._t.device) for a in arrays], dim=axis), first._ctx)


def moveaxis(tensor: NDArray, source: int | Sequence[int], destination: int | Sequence[int]) -> NDArray:
    """The axes `source` moved to the positions `destination`, the others in order. Errors: ValueError for axes out of range or repeated."""
    sources, targets = _axes(source, tensor.ndim, "Source"), _axes(destination, tensor.ndim, "Destination")
    if len(sources) != len(targets):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(tensor.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    result: NDArray = call("transpose", tensor, axes=tuple(order))
    return result


def _axes(axes: int | Sequence[int], ndim: int, what: str) -> list[int]:
    given = [axes] if isinstance(axes, int) else list(axes)
    for axis in given:
        if not -ndim <= axis < ndim:
            raise ValueError(f"{what} should verify 0 <= {what.lower()} < tensor.ndim ({ndim}). Got {axis}")
    normal = [axis % ndim for axis in given]
    if len(set(normal)) != len(normal):
        raise ValueError(f"repeated axis in `{what.lower()}`")
    return normal


def split_v2(ary: NDArray, indices_or_sections: int | tuple[int, ...], axis: int = 0, squeeze_axis: bool = False) -> Any:
    """The array cut along an axis into equal parts (int) or before the given indices (tuple).

    Errors: ValueError when the length is not divisible, or for another kind of second argument.
    """
    size = ary.shape[axis]
    if isinstance(indices_or_sections, int):
        if size % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
        step = size // indices_or_sections
        indices: tuple[int, ...] = tuple(i * step for i in range(indices_or_sections))
    elif isinstance(indices_or_sections, tuple):
        indices = (0, *indices_or_sections)
    else:
        raise ValueError("indices_or_sections must either int or tuple of ints")
    return call("_split_v2", ary, indices=indices, axis=axis, squeeze_axis=squeeze_axis)


def histogram(a: NDArray, bins: Any = 10, range: tuple[float, float] | None = None) -> Any:  # noqa: A002 - MXNet's name
    """Counts of the values in equal bins over `range` (default: the values' own), or between given edges; returns counts and edges.

    Errors: ValueError unless bins is an int or an NDArray of edges.
    """
    if isinstance(bins, NDArray):
        return call("_histogram", a, bins)
    if not isinstance(bins, (int, np.integer)):
        raise ValueError("bins argument should be either an integer or an NDArray")
    if range is None:
        warnings.warn("range is not specified, using numpy's result to ensure consistency with numpy", stacklevel=2)
        counts, edges = np.histogram(a.asnumpy(), bins=bins)
        return array(counts), array(edges)
    return call("_histogram", a, bin_cnt=int(bins), range=range)


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Writes the one-hot rows of `indices` into `out` (older form of one_hot)."""
    result: NDArray = call("_onehot_encode", indices, out, out=out)
    return result


def imdecode(
    str_img: bytes, clip_rect: Sequence[int] = (0, 0, 0, 0), out: NDArray | None = None,
    index: int = 0, channels: int = 3, mean: NDArray | None = None,
) -> NDArray:
    """Decodes an image to (channels, height, width), cut to the rectangle x0, y0, x1, y1, less `mean` (older form of image.imdecode).

    out: an array (c, h, w), or (n, c, h, w) of which the image becomes the index-th.
    """
    from ..image import imdecode as decode

    pixels = decode(str_img, flag=1 if channels == 3 else 0)._t.permute(2, 0, 1).float()
    x0, y0, x1, y1 = clip_rect
    if x1 > x0 and y1 > y0:
        pixels = pixels[:, y0:y1, x0:x1]
    if mean is not None:
        pixels = pixels - mean._t
    if out is None:
        return wrap(pixels.contiguous(), current_context())
    (out._t[index] if out.ndim == 4 else out._t).copy_(pixels)
    return out
