"""Comparing arrays: tolerances by element type and assertions that say where two arrays differ most."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ndarray import NDArray

__all__ = [
    "almost_equal", "assert_allclose", "assert_almost_equal", "assert_almost_equal_ignore_nan", "assert_almost_equal_with_err",
    "assert_exception", "checkShapes", "collapse_sum_like", "compare_ndarray_tuple", "default_atols", "default_dtype",
    "default_numeric_eps", "default_rtols", "effective_dtype", "get_atol", "get_etol", "get_rtol", "get_tolerance", "get_tols",
    "locationError", "np_reduce", "same", "same_array",
]  # fmt: skip

_WHOLE = (np.bool_, np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64)
Tolerance = float | Mapping[Any, float] | None


def _by_type(half: float, single: float, double: float) -> dict[np.dtype[Any], float]:
    return {np.dtype(np.float16): half, np.dtype(np.float32): single, np.dtype(np.float64): double, **{np.dtype(t): 0 for t in _WHOLE}}


def default_dtype() -> type:
    """float32."""
    return np.float32


def default_rtols() -> dict[np.dtype[Any], float]:
    """Relative tolerances by element type."""
    return _by_type(1e-2, 1e-4, 1e-5)


def default_atols() -> dict[np.dtype[Any], float]:
    """Absolute tolerances by element type."""
    return _by_type(1e-1, 1e-3, 1e-20)


def default_numeric_eps() -> dict[np.dtype[Any], float]:
    """Steps of finite differences by element type: powers of two, so that adding them loses no bits."""
    return {np.dtype(np.float16): 2.0**-6, np.dtype(np.float32): 2.0**-9, np.dtype(np.float64): 2.0**-14}


def effective_dtype(dat: Any) -> np.dtype[Any]:
    """The type whose tolerance suits an array: float16 for float32 arrays on GPUs that multiply in TF32."""
    import torch

    dtype: np.dtype[Any] = np.dtype(dat.dtype)
    context = getattr(dat, "context", None)
    if dtype == np.float32 and context is not None and context.device_type == "gpu" and os.environ.get("NVIDIA_TF32_OVERRIDE") != "0":
        tf32 = torch.backends.cuda.matmul.allow_tf32 or torch.backends.cudnn.allow_tf32
        if tf32 and torch.cuda.get_device_capability(context.device)[0] >= 8:
            return np.dtype(np.float16)
    return dtype


def get_tolerance(dat: Any, tol: Tolerance, default_tol: Mapping[Any, float]) -> float:
    """The tolerance for an array: `tol` itself, or the entry for the array's type in `tol` or `default_tol`."""
    if tol is not None and not isinstance(tol, Mapping):
        return float(tol)
    dtype = effective_dtype(dat)
    return tol[dtype] if tol is not None and dtype in tol else default_tol[dtype]


def get_tols(x: Any, y: Any, rtol: Tolerance, atol: Tolerance) -> tuple[float, float]:
    """(rtol, atol) for comparing two arrays or numbers: the larger of what each of them needs."""
    pair = [np.array(v) if isinstance(v, numbers.Number) else v for v in (x, y)]
    relative = max(get_tolerance(v, rtol, default_rtols()) for v in pair)
    return relative, max(get_tolerance(v, atol, default_atols()) for v in pair)


def get_atol(atol: float | None = None, dtype: Any = np.dtype(np.float64)) -> float:  # noqa: B008 - a constant
    """atol, or the default of the type."""
    return default_atols()[np.dtype(dtype)] if atol is None else atol


def get_rtol(rtol: float | None = None, dtype: Any = np.dtype(np.float64)) -> float:  # noqa: B008 - a constant
    """rtol, or the default of the type."""
    return default_rtols()[np.dtype(dtype)] if rtol is None else rtol


def get_etol(etol: float | None = None) -> float:
    """The share of elements that may differ; 0 by default."""
    return 0 if etol is None else etol


def _plain(value: Any) -> Any:
    return value.asnumpy() if isinstance(value, NDArray) else value


def same(a: Any, b: Any) -> bool:
    """Whether two NumPy arrays have the same shape and elements."""
    return np.array_equal(a, b)


def checkShapes(a: Any, b: Any) -> None:
    """AssertionError unless the shapes are equal."""
    if a.shape != b.shape:
        raise AssertionError(f"a.shape = {a.shape} and b.shape = {b.shape} are not equal")


def almost_equal(a: Any, b: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = False, use_broadcast: bool = True) -> bool:
    """Whether |a - b| <= atol + rtol |b| everywhere; the defaults are those of float64."""
    if not use_broadcast:
        checkShapes(a, b)
    return bool(np.allclose(a, b, rtol=get_rtol(rtol), atol=get_atol(atol), equal_nan=equal_nan))


def locationError(a: Any, b: Any, index: Any, names: Sequence[str], maxError: bool = False) -> str:
    """A line that shows both arrays at an index."""
    place = tuple(int(i) for i in index)
    return f"Location of {'maximum ' if maxError else ''}error: {place}, {names[0]}={a[index]:.8f}, {names[1]}={b[index]:.8f}"


def _violations(a: Any, b: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    """How far each element is outside the tolerance; more than 1 is outside. NaN counts as infinitely far from everything else."""
    with np.errstate(invalid="ignore", over="ignore"):
        wide = np.promote_types(np.result_type(a, b), np.float64) if np.result_type(a, b).kind in "fiub" else np.complex128
        x, y = np.broadcast_arrays(np.asarray(a).astype(wide), np.asarray(b).astype(wide))
        distance = np.where(np.equal(x, y), 0, np.abs(x - y)) / (atol + rtol * np.abs(y) + 1e-20)
    unlike = np.isnan(x) != np.isnan(y) if equal_nan else np.isnan(x) | np.isnan(y)
    return x, y, np.where(unlike, np.inf, np.nan_to_num(distance, nan=0.0, posinf=np.inf))


def _difference(a: Any, b: Any, rtol: float, atol: float, names: Sequence[str], equal_nan: bool, mismatches: Sequence[int]) -> AssertionError:
    x, y, violation = _violations(a, b, rtol, atol, equal_nan)
    worst = np.argsort(-violation, axis=None, kind="stable")
    count = int((violation > 1).sum())
    text = [f"Error {violation.max():f} exceeds tolerance rtol={rtol:e}, atol={atol:e} (mismatch {100 * count / max(violation.size, 1):f}%)."]
    for position in worst[: max(1, min(mismatches[0], count))]:
        place = np.unravel_index(position, violation.shape)
        text.append(locationError(x, y, place, names, maxError=len(text) == 1))
    text += [f" {names[0]}: {np.array2string(np.asarray(a), threshold=20)}", f" {names[1]}: {np.array2string(np.asarray(b), threshold=20)}"]
    return AssertionError("\n".join(text))


def assert_almost_equal(
    a: Any, b: Any, rtol: Tolerance = None, atol: Tolerance = None, names: Sequence[str] = ("a", "b"), equal_nan: bool = False,
    use_broadcast: bool = True, mismatches: Sequence[int] = (10, 10),
) -> None:  # fmt: skip
    """AssertionError unless |a - b| <= atol + rtol |b| everywhere.

    a, b: NumPy arrays, NDArrays or numbers. rtol, atol: a number, a dict by element type, or None for the defaults of the less precise
    type. names, mismatches[0]: how the arrays are called in the error and how many differing elements it shows.
    """
    if not use_broadcast:
        checkShapes(a, b)
    relative, absolute = get_tols(a, b, rtol, atol)
    a, b = _plain(a), _plain(b)
    if getattr(a, "dtype", None) == np.bool_ and getattr(b, "dtype", None) == np.bool_:
        np.testing.assert_equal(a, b)
    elif not almost_equal(a, b, relative, absolute, equal_nan=equal_nan):
        raise _difference(a, b, relative, absolute, names, equal_nan, mismatches)


def assert_allclose(a: Any, b: Any, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True) -> None:
    """`assert_almost_equal` with NumPy's defaults."""
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: Any, b: Any, rtol: Tolerance = None, atol: Tolerance = None, etol: float | None = None, names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False, mismatches: Sequence[int] = (10, 10),
) -> None:  # fmt: skip
    """`assert_almost_equal` that lets a share `etol` of the elements differ."""
    share = get_etol(etol)
    if not share > 0:
        assert_almost_equal(a, b, rtol=rtol, atol=atol, names=names, equal_nan=equal_nan, mismatches=mismatches)
        return
    relative, absolute = get_tols(a, b, rtol, atol)
    a, b = _plain(a), _plain(b)
    equal = np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=equal_nan)
    if 1 - np.count_nonzero(equal) / equal.size > share:
        raise _difference(a, b, relative, absolute, names, equal_nan, mismatches)


def assert_almost_equal_ignore_nan(a: Any, b: Any, rtol: Tolerance = None, atol: Tolerance = None, names: Sequence[str] = ("a", "b")) -> None:
    """`assert_almost_equal` of the elements that are NaN in neither array."""
    a, b = np.copy(_plain(a)), np.copy(_plain(b))
    skipped = np.isnan(a) | np.isnan(b)
    a[skipped] = b[skipped] = 0
    assert_almost_equal(a, b, rtol, atol, names)


def assert_exception(f: Callable[..., Any], exception_type: Any, *args: Any, **kwargs: Any) -> None:
    """AssertionError unless `f(*args, **kwargs)` raises that exception."""
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{getattr(f, '__name__', f)} did not raise {exception_type}")


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Whether two NDArrays are the same memory: a change of one shows in the other."""
    array1[:] += 1
    try:
        if not same(array1.asnumpy(), array2.asnumpy()):
            return False
    finally:
        array1[:] -= 1
    return same(array1.asnumpy(), array2.asnumpy())


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Tolerance = None, atol: Tolerance = None) -> None:
    """`assert_almost_equal` of two nested tuples of NDArrays; None compares with anything."""
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple):
        for one, two in zip(t1, t2, strict=False):
            compare_ndarray_tuple(one, two, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)


def collapse_sum_like(a: Any, shape: Sequence[int]) -> Any:
    """The sum of a NumPy array over the axes along which an array of that shape would be broadcast to it."""
    assert a.ndim >= len(shape), f"shape {tuple(shape)} has more dimensions than the array {a.shape}"
    if np.prod(shape) == 0 or a.size == 0:
        return np.zeros(shape, dtype=a.dtype)
    extra = a.ndim - len(shape)
    spread = [i + extra for i, size in enumerate(shape) if size != a.shape[i + extra]]
    assert all(shape[i - extra] == 1 for i in spread), f"shape {tuple(shape)} cannot be broadcast to {a.shape}"
    return a.sum(axis=(*range(extra), *spread)).reshape(shape)


def np_reduce(dat: Any, axis: Any, keepdims: bool, numpy_reduce_func: Callable[..., Any]) -> Any:
    """Reduces a NumPy array over one axis, several or all (None) with a function that takes one axis."""
    axes = [axis] if isinstance(axis, int) else list(range(dat.ndim) if axis is None else axis)
    result = dat
    for i in sorted(axes, reverse=True):
        result = numpy_reduce_func(result, axis=i)
    if not keepdims:
        return result
    shape = list(dat.shape)
    for i in axes:
        shape[i] = 1
    return result.reshape(shape)
