"""Arithmetic and comparison of NDArrays: operators of the class and the functions mx.nd.add, mx.nd.maximum, ...

Array with array broadcasts, array with number uses the scalar operators, which cast the number to the array's type.
Sums, differences and products of dense arrays outside of record() go straight to torch, where the semantics agree.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .. import ranges
from .slots import Slots
from .tape import state

__all__ = ["Arithmetic", "binary"]

_BOOL = torch.bool
_FLOAT = {torch.float32, torch.float64}
_PLAIN = (float, int)
_NUMBERS = (float, int, np.generic)
_new: Any = object.__new__


# Set by `bind` (invoke does: it needs the class, the class needs this module).
_dense: type[Any] = object
_array_class: type[Any] = object
_run1: Any = None
_run2: Any = None
_plan: Any = None
_plans: dict[Any, Any] = {}


def bind(cls: type, run1: Any, run2: Any, plan: Any) -> None:
    """Names the dense array class, the functions that run a plan on one and two arrays, and the one that makes a plan by operator name."""
    global _dense, _array_class, _run1, _run2, _plan
    _dense = _array_class = cls
    _run1, _run2, _plan = run1, run2, plan


def _unsupported(value: object) -> TypeError:
    return TypeError(f"type {type(value)} not supported")


def is_number(value: object) -> bool:
    """Whether a value counts as a number in arithmetic: Python's and NumPy's scalars, bools included."""
    return isinstance(value, _NUMBERS)


def binary(lhs: Any, rhs: Any, arrays: str, scalar: str, reflected: str | None, numbers: Callable[[Any, Any], Any]) -> Any:
    """The operator `arrays` of two arrays, `scalar` / `reflected` of an array and a number on its right / left, `numbers` of two numbers.

    reflected: None where the order does not matter. Errors: TypeError for other operand types, MXNetError for shapes and element types.
    """
    if isinstance(lhs, _array_class):
        if isinstance(rhs, _array_class):
            return _run2(_array_plan(arrays), lhs, rhs, None)
        if isinstance(rhs, _NUMBERS):
            return _run1(_scalar_plan(scalar, rhs), lhs, None)
        raise _unsupported(rhs)
    if not isinstance(lhs, _NUMBERS):
        raise _unsupported(lhs)
    if isinstance(rhs, _array_class):
        return _run1(_scalar_plan(reflected or scalar, lhs), rhs, None)
    if isinstance(rhs, _NUMBERS):
        return numbers(lhs, rhs)
    raise _unsupported(rhs)


class _Nothing:
    """No array has this class."""


@ranges.on_switch
def _profiling(on: bool) -> None:
    """While the profiler records, sums and products go through their operators: the short ways are for arrays of class `_dense` only."""
    global _dense
    _dense = _Nothing if on else _array_class


def _array_plan(name: str) -> Any:
    found = _plans.get(name)
    if found is None:
        found = _plans[name] = _plan(name, {})
    return found


def _scalar_plan(name: str, value: Any) -> Any:
    number = float(value)
    key = (name, number if number else str(number))  # 0.0 and -0.0 are equal as keys
    found = _plans.get(key)
    if found is None:
        found = _plan(name, {"scalar": number})
        if len(_plans) > 4096:
            _plans.clear()
        _plans[key] = found
    return found


def _in_place(array: Any, other: Any, verb: str, arrays: str, scalar: str, method: Callable[[torch.Tensor, torch.Tensor], Any] | None) -> Any:
    """`array op= other`. method: torch's in-place form, where it does the same on floating arrays."""
    if array._x is not None and not array.writable:
        raise ValueError(f"trying to {verb} a readonly NDArray")
    if other.__class__ is _dense and method is not None and array.__class__ is _dense and not state.recording:
        left, right = array._t, other._t
        if left.dtype is right.dtype and left.dtype in _FLOAT:
            try:
                method(left, right)
            except RuntimeError:
                return _run2(_array_plan(arrays), array, other, array)  # words the error
            return array
    if isinstance(other, _array_class):
        return _run2(_array_plan(arrays), array, other, array)
    if isinstance(other, _NUMBERS):
        return _run1(_scalar_plan(scalar, other), array, array)
    raise _unsupported(other)


class Arithmetic(Slots):
    """The operators of NDArray."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        cls = self.__class__
        if not state.recording and cls is _dense:
            left = self._t
            if other.__class__ is cls:
                right = other._t
                if left.dtype is right.dtype and left.dtype is not _BOOL:
                    try:
                        total = left + right
                    except RuntimeError:
                        return _add(self, other)  # words the error
                    result = _new(cls)
                    result._t, result._ctx, result._ag, result._rec, result._x = total, self._ctx, None, None, None
                    return result
            elif other.__class__ in _PLAIN and left.dtype in _FLOAT:
                result = _new(cls)
                result._t, result._ctx, result._ag, result._rec, result._x = left + other, self._ctx, None, None, None
                return result
        return _add(self, other)

    def __radd__(self, other: Any) -> Any:
        return self.__add__(other)

    def __sub__(self, other: Any) -> Any:
        cls = self.__class__
        if not state.recording and cls is _dense:
            left = self._t
            if other.__class__ is cls:
                right = other._t
                if left.dtype is right.dtype and left.dtype is not _BOOL:
                    try:
                        total = left - right
                    except RuntimeError:
                        return _subtract(self, other)
                    result = _new(cls)
                    result._t, result._ctx, result._ag, result._rec, result._x = total, self._ctx, None, None, None
                    return result
            elif other.__class__ in _PLAIN and left.dtype in _FLOAT:
                result = _new(cls)
                result._t, result._ctx, result._ag, result._rec, result._x = left - other, self._ctx, None, None, None
                return result
        return _subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return _subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        cls = self.__class__
        if not state.recording and cls is _dense:
            left = self._t
            if other.__class__ is cls:
                right = other._t
                if left.dtype is right.dtype and left.dtype is not _BOOL:
                    try:
                        total = left * right
                    except RuntimeError:
                        return _multiply(self, other)
                    result = _new(cls)
                    result._t, result._ctx, result._ag, result._rec, result._x = total, self._ctx, None, None, None
                    return result
            elif other.__class__ in _PLAIN and left.dtype in _FLOAT:
                result = _new(cls)
                result._t, result._ctx, result._ag, result._rec, result._x = left * other, self._ctx, None, None, None
                return result
        return _multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.__mul__(other)

    def __truediv__(self, other: Any) -> Any:
        cls = self.__class__
        if not state.recording and cls is _dense and other.__class__ is cls:
            left, right = self._t, other._t
            if left.dtype is right.dtype and left.dtype in _FLOAT:
                try:
                    ratio = left / right
                except RuntimeError:
                    return _divide(self, other)
                result = _new(cls)
                result._t, result._ctx, result._ag, result._rec, result._x = ratio, self._ctx, None, None, None
                return result
        return _divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _divide(other, self)

    __div__, __rdiv__ = __truediv__, __rtruediv__

    def __mod__(self, other: Any) -> Any:
        return _modulo(self, other)

    def __rmod__(self, other: Any) -> Any:
        return _modulo(other, self)

    def __pow__(self, other: Any) -> Any:
        return _power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return _power(other, self)

    def __neg__(self) -> Any:
        return _run1(_array_plan("negative"), self, None)

    def __abs__(self) -> Any:
        return _run1(_array_plan("abs"), self, None)

    def __iadd__(self, other: Any) -> Any:
        return _in_place(self, other, "add to", "broadcast_add", "_plus_scalar", torch.Tensor.add_)

    def __isub__(self, other: Any) -> Any:
        return _in_place(self, other, "subtract from", "broadcast_sub", "_minus_scalar", torch.Tensor.sub_)

    def __imul__(self, other: Any) -> Any:
        return _in_place(self, other, "multiply to", "broadcast_mul", "_mul_scalar", torch.Tensor.mul_)

    def __itruediv__(self, other: Any) -> Any:
        return _in_place(self, other, "divide from", "broadcast_div", "_div_scalar", torch.Tensor.div_)

    __idiv__ = __itruediv__

    def __imod__(self, other: Any) -> Any:
        return _in_place(self, other, "take modulo from", "broadcast_mod", "_mod_scalar", None)

    def __eq__(self, other: object) -> Any:
        return equal(self, other)

    def __ne__(self, other: object) -> Any:
        return not_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return greater_equal(self, other)

    def __lt__(self, other: Any) -> Any:
        return lesser(self, other)

    def __le__(self, other: Any) -> Any:
        return lesser_equal(self, other)

    def __hash__(self) -> int:
        return id(self) >> 4


def _add(lhs: Any, rhs: Any) -> Any:
    return binary(lhs, rhs, "broadcast_add", "_plus_scalar", None, operator.add)


def _subtract(lhs: Any, rhs: Any) -> Any:
    return binary(lhs, rhs, "broadcast_sub", "_minus_scalar", "_rminus_scalar", operator.sub)


def _multiply(lhs: Any, rhs: Any) -> Any:
    return binary(lhs, rhs, "broadcast_mul", "_mul_scalar", None, operator.mul)


def _divide(lhs: Any, rhs: Any) -> Any:
    return binary(lhs, rhs, "broadcast_div", "_div_scalar", "_rdiv_scalar", operator.truediv)


def _modulo(lhs: Any, rhs: Any) -> Any:
    return binary(lhs, rhs, "broadcast_mod", "_mod_scalar", "_rmod_scalar", operator.mod)


def _power(lhs: Any, rhs: Any) -> Any:
    return binary(lhs, rhs, "broadcast_power", "_power_scalar", "_rpower_scalar", operator.pow)


def add(lhs: Any, rhs: Any) -> Any:
    """Sum of two arrays (broadcast) or of an array and a number."""
    return _add(lhs, rhs)


def subtract(lhs: Any, rhs: Any) -> Any:
    """Difference of two arrays (broadcast) or of an array and a number, in either order."""
    return _subtract(lhs, rhs)


def multiply(lhs: Any, rhs: Any) -> Any:
    """Product of two arrays (broadcast) or of an array and a number."""
    return _multiply(lhs, rhs)


def divide(lhs: Any, rhs: Any) -> Any:
    """Quotient; integers stay integers."""
    return _divide(lhs, rhs)


def modulo(lhs: Any, rhs: Any) -> Any:
    """Remainder with the divisor's sign; 0 for the divisor 0."""
    return _modulo(lhs, rhs)


def power(base: Any, exp: Any) -> Any:
    """base to the power exp."""
    return _power(base, exp)


true_divide = divide


def maximum(lhs: Any, rhs: Any) -> Any:
    """The larger of both, elementwise."""
    return binary(lhs, rhs, "broadcast_maximum", "_maximum_scalar", None, lambda x, y: max(x, y))


def minimum(lhs: Any, rhs: Any) -> Any:
    """The smaller of both, elementwise."""
    return binary(lhs, rhs, "broadcast_minimum", "_minimum_scalar", None, lambda x, y: min(x, y))


def equal(lhs: Any, rhs: Any) -> Any:
    """1 where both are equal, else 0, in the operands' type."""
    return binary(lhs, rhs, "broadcast_equal", "_equal_scalar", None, lambda x, y: 1 if x == y else 0)


def not_equal(lhs: Any, rhs: Any) -> Any:
    """1 where both differ, else 0."""
    return binary(lhs, rhs, "broadcast_not_equal", "_not_equal_scalar", None, lambda x, y: 1 if x != y else 0)


def greater(lhs: Any, rhs: Any) -> Any:
    """1 where lhs > rhs, else 0."""
    return binary(lhs, rhs, "broadcast_greater", "_greater_scalar", "_lesser_scalar", lambda x, y: 1 if x > y else 0)


def greater_equal(lhs: Any, rhs: Any) -> Any:
    """1 where lhs >= rhs, else 0."""
    return binary(lhs, rhs, "broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar", lambda x, y: 1 if x >= y else 0)


def lesser(lhs: Any, rhs: Any) -> Any:
    """1 where lhs < rhs, else 0."""
    return binary(lhs, rhs, "broadcast_lesser", "_lesser_scalar", "_greater_scalar", lambda x, y: 1 if x < y else 0)


def lesser_equal(lhs: Any, rhs: Any) -> Any:
    """1 where lhs <= rhs, else 0."""
    return binary(lhs, rhs, "broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar", lambda x, y: 1 if x <= y else 0)


def logical_and(lhs: Any, rhs: Any) -> Any:
    """1 where both are nonzero, else 0."""
    return binary(lhs, rhs, "broadcast_logical_and", "_logical_and_scalar", None, lambda x, y: 1 if x and y else 0)


def logical_or(lhs: Any, rhs: Any) -> Any:
    """1 where one of both is nonzero, else 0."""
    return binary(lhs, rhs, "broadcast_logical_or", "_logical_or_scalar", None, lambda x, y: 1 if x or y else 0)


def logical_xor(lhs: Any, rhs: Any) -> Any:
    """1 where exactly one of both is nonzero, else 0."""
    return binary(lhs, rhs, "broadcast_logical_xor", "_logical_xor_scalar", None, lambda x, y: 1 if bool(x) ^ bool(y) else 0)
