"""Arithmetic of 8-bit layers: exact integer products, rescaling with rounding to the nearest even number, calibration by entropy.

Scales follow MXNet's oneDNN kernels (what its CPU build runs): 127.5 and 255.5 levels for one and no sign.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .leaf import leaf

__all__ = ["INT8_RANGE", "UINT8_RANGE", "calibrate_entropy", "exact_convolution", "exact_linear", "largest", "levels", "product_range", "ratio", "to_integers"]

Tensor = torch.Tensor
INT8_RANGE, UINT8_RANGE, INT32_RANGE = 127.5, 255.5, 2147483647.0
_EXACT_IN_FLOAT = 2**24
_CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def largest(low: Tensor, high: Tensor) -> Tensor:
    """The larger magnitude of a range."""
    return torch.maximum(low.abs(), high.abs())


def levels(dtype: torch.dtype) -> float:
    """How many levels cover the magnitude of a range."""
    return UINT8_RANGE if dtype == torch.uint8 else INT8_RANGE if dtype == torch.int8 else INT32_RANGE


def ratio(number: float, divisor: Tensor) -> Tensor:
    """number / divisor, correctly rounded: torch multiplies a Python number with the reciprocal, which differs in the last bit."""
    return torch.full_like(divisor, number) / divisor


def to_integers(value: Tensor, dtype: torch.dtype) -> Tensor:
    """Rounded to the nearest (even) integer and cut to the range of the type."""
    limits = torch.iinfo(dtype)
    wide = value.double() if dtype == torch.int32 else value
    return wide.round().clamp(limits.min, limits.max).to(dtype)


def product_range(data: Tensor, weight: Tensor, unsigned: bool) -> Tensor:
    """The magnitude that the largest 32-bit product of two 8-bit ranges stands for."""
    return data / (255.0 if unsigned else 127.0) * (weight / 127.0) * INT32_RANGE


def _wide(terms: int) -> torch.dtype:
    """A floating type that holds sums of so many 8-bit products exactly."""
    return torch.float32 if terms * 255 * 128 < _EXACT_IN_FLOAT else torch.float64


def exact_linear(data: Tensor, weight: Tensor) -> Tensor:
    """data @ weight.T of integer tensors, as floating numbers without rounding."""
    wide = _wide(data.shape[-1])
    return F.linear(data.to(wide), weight.to(wide))


def exact_convolution(
    data: Tensor, weight: Tensor, stride: tuple[int, ...], pad: tuple[int, ...], dilate: tuple[int, ...], groups: int
) -> Tensor:
    """Convolution of integer tensors, as floating numbers without rounding."""
    terms = 1
    for d in weight.shape[1:]:
        terms *= d
    wide = _wide(terms)
    result: Tensor = _CONV[data.ndim - 2](data.to(wide), weight.to(wide), None, stride, pad, dilate, groups)
    return result


@leaf
def calibrate_entropy(hist: Tensor, edges: Tensor, bins: int) -> tuple[Tensor, Tensor]:
    """The threshold (1,) whose quantised histogram diverges least from the original, and that divergence (1,)."""
    if hist.is_meta:
        return hist.new_empty((1,)), hist.new_empty((1,))
    counts = hist.double()
    middle = counts.numel() // 2
    totals = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    best, threshold = torch.inf, 0.0
    for reach in range(bins // 2, middle + 1):
        start, stop = middle - reach, middle + reach + 1
        inside = counts[start:stop].clone()
        p = inside.clone()
        p[0] = totals[start + 1]
        p[-1] += totals[-1] - totals[stop]
        inside[0] = 0.0
        found = _divergence(p, inside.trunc(), bins)
        if found < best:
            best, threshold = found, float(edges[stop])
    return hist.new_tensor([threshold]), hist.new_tensor([best])


def _divergence(p: Tensor, inside: Tensor, bins: int) -> float:
    """Kullback-Leibler divergence of a histogram from itself merged into `bins` bins and spread again over its filled places."""
    size = inside.numel()
    merged = size // bins
    place = (torch.arange(size, device=p.device) // merged).clamp_max(bins - 1)
    sums = inside.new_zeros(bins).index_add_(0, place, inside)
    filled = inside.new_zeros(bins).index_add_(0, place, (inside != 0).to(inside.dtype))
    spread = torch.where(filled > 0, sums / filled, 0.0)[place]
    q = _smooth(torch.where(p != 0, spread, 0.0))
    smoothed = _smooth(p)
    if q is None or smoothed is None:
        return torch.inf
    first, second = smoothed / smoothed.sum(), q / q.sum()
    return float((first * (first / second).log()).sum())


def _smooth(p: Tensor, eps: float = 0.0001) -> Tensor | None:
    """Zeros lifted to eps at the expense of the others; None when that is impossible."""
    zero = p == 0
    filled = int((~zero).sum())
    if filled == 0:
        return None
    taken = eps * (p.numel() - filled) / filled
    return None if taken >= 1.0 else p + torch.where(zero, eps, -taken)
