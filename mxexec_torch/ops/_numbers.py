"""Numbers given as attributes, cut to the element type they meet, as C++ conversion does it on x86-64."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

__all__ = ["cut", "through_double", "through_float"]

Tensor = torch.Tensor
_BITS = {torch.int64: 64, torch.int32: 32, torch.int16: 16, torch.int8: 8, torch.uint8: 8}


def cut(value: float, dtype: torch.dtype) -> float | int | bool:
    """`value` as an element of `dtype`: too large floats are infinite, 2.7 -> 2 for integers, narrow ones wrap, what int32 cannot hold becomes its minimum."""
    if dtype.is_floating_point:
        return math.copysign(math.inf, value) if abs(value) > torch.finfo(dtype).max * (1 + torch.finfo(dtype).eps / 4) else value
    if dtype is torch.bool:
        return bool(value)
    bits = _BITS[dtype]
    register = max(bits, 32)
    limit = 1 << (register - 1)
    whole = math.trunc(value) if math.isfinite(value) else -limit
    if not -limit <= whole < limit:
        whole = -limit
    if bits < register:
        whole &= (1 << bits) - 1
        if dtype.is_signed and whole >= 1 << (bits - 1):
            whole -= 1 << bits
    return whole


def through_double(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """A real function of integers: computed in float64, cut back to the type (MXNet keeps the element type)."""
    return function(x.double()).to(x.dtype)


def through_float(function: Callable[[Tensor, Tensor], Tensor], lhs: Tensor, rhs: Tensor) -> Tensor:
    """A real function of two integer tensors, computed in float32, cut back to the type."""
    return function(lhs.float(), rhs.float()).to(lhs.dtype)
