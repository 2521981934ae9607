"""Functions of mx.sym that are not operators themselves: constants, ranges and two-sided arithmetic."""

from __future__ import annotations

import operator
from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np

from . import _internal
from .base import SymbolBase

__all__ = ["arange", "eye", "full", "histogram", "hypot", "linspace", "maximum", "minimum", "ones", "pow", "power", "split_v2", "zeros"]


def _two_sided(left: Any, right: Any, both: str, scalar: str, reflected: str, numbers: Callable[[Any, Any], Any]) -> Any:
    """A binary operator on symbols and numbers in any combination."""
    left_is, right_is = isinstance(left, SymbolBase), isinstance(right, SymbolBase)
    if left_is and right_is:
        return getattr(_internal, both)(left, right)
    if left_is and isinstance(right, Number):
        return getattr(_internal, scalar)(left, scalar=right)
    if isinstance(left, Number) and right_is:
        return getattr(_internal, reflected)(right, scalar=left)
    if isinstance(left, Number) and isinstance(right, Number):
        return numbers(left, right)
    raise TypeError(f"types ({type(left)}, {type(right)}) not supported")


def pow(base: Any, exp: Any) -> Any:
    """base ** exp, elementwise; symbols of one shape or numbers."""
    return _two_sided(base, exp, "_Power", "_PowerScalar", "_RPowerScalar", operator.pow)


def power(base: Any, exp: Any) -> Any:
    """The same as `pow`."""
    return pow(base, exp)


def maximum(left: Any, right: Any) -> Any:
    """The greater of both, elementwise; symbols of one shape or numbers."""
    return _two_sided(left, right, "_Maximum", "_MaximumScalar", "_MaximumScalar", lambda a, b: a if a > b else b)


def minimum(left: Any, right: Any) -> Any:
    """The smaller of both, elementwise; symbols of one shape or numbers."""
    return _two_sided(left, right, "_Minimum", "_MinimumScalar", "_MinimumScalar", lambda a, b: a if a < b else b)


def hypot(left: Any, right: Any) -> Any:
    """sqrt(left^2 + right^2), elementwise; symbols of one shape or numbers."""
    return _two_sided(left, right, "_Hypot", "_HypotScalar", "_HypotScalar", np.hypot)


def eye(N: int, M: int = 0, k: int = 0, dtype: Any = None, **kwargs: Any) -> Any:
    """An (N, M) matrix (M = 0: square) with ones on diagonal k; float32 by default."""
    return _internal._eye(N, M, k, dtype=np.float32 if dtype is None else dtype, **kwargs)


def zeros(shape: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """Zeros of the given shape; float32 by default."""
    return _internal._zeros(shape=shape, dtype=np.float32 if dtype is None else dtype, **kwargs)


def ones(shape: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """Ones of the given shape; float32 by default."""
    return _internal._ones(shape=shape, dtype=np.float32 if dtype is None else dtype, **kwargs)


def full(shape: Any, val: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """The given shape filled with `val`; float32 by default."""
    return _internal._full(shape=shape, dtype=np.float32 if dtype is None else dtype, value=float(val), **kwargs)


def arange(
    start: Any, stop: Any = None, step: float = 1.0, repeat: int = 1, infer_range: bool = False, name: str | None = None, dtype: Any = None
) -> Any:
    """start, start + step, ... below stop (with stop None: 0 .. start), each `repeat` times; float32 by default."""
    dtype = np.float32 if dtype is None else dtype
    return _internal._arange(start=start, stop=stop, step=step, repeat=repeat, infer_range=infer_range, name=name, dtype=dtype)


def linspace(start: Any, stop: Any, num: int, endpoint: bool = True, name: str | None = None, dtype: Any = None) -> Any:
    """`num` evenly spaced numbers from start to stop, stop included unless endpoint=False; float32 by default."""
    dtype = np.float32 if dtype is None else dtype
    return _internal._linspace(start=start, stop=stop, num=num, endpoint=endpoint, name=name, dtype=dtype)


def histogram(a: Any, bins: Any = 10, range: Any = None, **kwargs: Any) -> Any:
    """Counts and bin edges of all elements; bins is a number (then range=(low, high) is needed) or a symbol of edges.

    Errors: ValueError for other bins or a missing range.
    """
    if isinstance(bins, SymbolBase):
        return _internal._histogram(data=a, bins=bins, **kwargs)
    if isinstance(bins, (int, np.integer)):
        if range is None:
            raise ValueError("null range is not supported in symbol mode")
        return _internal._histogram(data=a, bin_cnt=bins, range=range, **kwargs)
    raise ValueError("bins argument should be either an integer or a Symbol")


def split_v2(ary: Any, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Any:
    """Splits along an axis into a number of equal parts, or before the indices of a tuple. Errors: ValueError for other types."""
    indices: list[int] = []
    sections = 0
    if isinstance(indices_or_sections, int):
        sections = indices_or_sections
    elif isinstance(indices_or_sections, tuple):
        indices = [0, *indices_or_sections]
    else:
        raise ValueError("indices_or_sections must either int or tuple of ints")
    return _internal._split_v2(ary, indices, axis, squeeze_axis, sections)
