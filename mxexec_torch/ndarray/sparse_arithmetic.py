"""mx.nd.sparse.add, subtract, multiply and divide: like those of mx.nd, but two arrays of one shape meet in the element-wise operators."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .core import NDArray
from .invoke import call

__all__ = ["add", "divide", "multiply", "subtract"]

NUMBERS = (int, float, np.generic)


def _binary(elementwise: str, broadcast: str, scalar: str, reversed_scalar: str, both: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A function of two operands: same shapes take the element-wise operator (which keeps sparse results sparse), others broadcast."""

    def apply(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, NDArray) and isinstance(rhs, NDArray):
            return call(elementwise if lhs.shape == rhs.shape else broadcast, lhs, rhs)
        if isinstance(lhs, NDArray) and isinstance(rhs, NUMBERS):
            return call(scalar, lhs, scalar=float(rhs))
        if isinstance(rhs, NDArray) and isinstance(lhs, NUMBERS):
            return call(reversed_scalar, rhs, scalar=float(lhs))
        if isinstance(lhs, NUMBERS) and isinstance(rhs, NUMBERS):
            return both(lhs, rhs)
        raise TypeError(f"types ({type(lhs)}, {type(rhs)}) not supported")

    return apply


_add = _binary("elemwise_add", "broadcast_add", "_plus_scalar", "_plus_scalar", operator.add)
_subtract = _binary("elemwise_sub", "broadcast_sub", "_minus_scalar", "_rminus_scalar", operator.sub)
_multiply = _binary("elemwise_mul", "broadcast_mul", "_mul_scalar", "_mul_scalar", operator.mul)
_divide = _binary("elemwise_div", "broadcast_div", "_div_scalar", "_rdiv_scalar", operator.truediv)


def add(lhs: Any, rhs: Any) -> Any:
    """Element-wise sum with broadcasting; two arrays of one sparse type and shape give that type."""
    return _add(lhs, rhs)


def subtract(lhs: Any, rhs: Any) -> Any:
    """Element-wise difference with broadcasting; two arrays of one sparse type and shape give that type."""
    return _subtract(lhs, rhs)


def multiply(lhs: Any, rhs: Any) -> Any:
    """Element-wise product with broadcasting; one sparse factor of the same shape is enough for a sparse result."""
    return _multiply(lhs, rhs)


def divide(lhs: Any, rhs: Any) -> Any:
    """Element-wise quotient with broadcasting; sparse / number stays sparse."""
    return _divide(lhs, rhs)
