"""Image resizing with OpenCV's sampling rules, (*b, h, w, c) images. uint8 bilinear uses OpenCV's fixed-point arithmetic."""

from __future__ import annotations

import math
from functools import lru_cache

import torch

from .leaf import leaf

__all__ = ["border_positions", "resize_image"]

Tensor = torch.Tensor
_FIXED = 2048  # OpenCV's INTER_RESIZE_COEF_SCALE


@leaf
def resize_image(data: Tensor, height: int, width: int, interpolation: int) -> Tensor:
    """Images (*b, h, w, c) resized to (*b, height, width, c). interpolation: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos.

    Element types as OpenCV: uint8, int16, uint16, float32, float64.
    """
    *batch, h, w, c = data.shape
    if data.is_meta:
        return data.new_empty((*batch, height, width, c))
    if interpolation == 1 and h == 2 * height and w == 2 * width:
        interpolation = 3
    if interpolation == 3 and height <= h and width <= w:
        return _area(data, height, width)
    rows = _Axis(h, height, interpolation, False, data)
    columns = _Axis(w, width, interpolation, True, data)
    if interpolation == 0:
        return data.index_select(-3, rows.positions[0]).index_select(-2, columns.positions[0])
    if data.dtype == torch.uint8:
        return _fixed_point(data, rows, columns)
    work = data if data.dtype == torch.float64 else data.float()
    across = _combine(work, columns.positions, columns.weights.to(work.dtype), -2)
    return _rounded(_combine(across, rows.positions, rows.weights.to(work.dtype), -3), data.dtype)


class _Axis:
    """Source positions (taps, wanted) and weights of each output position along one axis, on the device of the image."""

    def __init__(self, size: int, wanted: int, interpolation: int, across: bool, like: Tensor) -> None:
        positions, weights = _taps(size, wanted, interpolation, across)
        self.positions, self.weights = positions.to(like.device), weights.to(like.device)


def _combine(data: Tensor, positions: Tensor, weights: Tensor, axis: int) -> Tensor:
    if axis == -2:  # rows of whole lines are gathered many times faster than columns of single pixels
        return _combine(data.transpose(-3, -2).contiguous(), positions, weights, -3).transpose(-3, -2).contiguous()
    shape = [-1] + [1] * (-axis - 1)
    total: Tensor = data.index_select(axis, positions[0]) * weights[0].reshape(shape)
    for place, weight in zip(positions[1:], weights[1:], strict=True):
        part, weight = data.index_select(axis, place), weight.reshape(shape)
        # whole numbers may be fused; with fractions the product is rounded before the sum, as in OpenCV
        total = total + part * weight if data.dtype.is_floating_point else torch.addcmul(total, part, weight)
    return total


def _rounded(value: Tensor, dtype: torch.dtype) -> Tensor:
    if dtype.is_floating_point:
        return value.to(dtype)
    limits = torch.iinfo(dtype)
    return value.round().clamp(limits.min, limits.max).to(dtype)


def _fixed_point(data: Tensor, rows: _Axis, columns: _Axis) -> Tensor:
    across = _combine(data.int(), columns.positions, (columns.weights * _FIXED).round().int(), -2)
    weights = (rows.weights * _FIXED).round().int()
    if len(weights) == 2:
        first, second = [(w[:, None, None] * (across.index_select(-3, p) >> 4)) >> 16 for w, p in zip(weights, rows.positions, strict=True)]
        total: Tensor = first + second
        return ((total + 2) >> 2).to(torch.uint8)
    return ((_combine(across, rows.positions, weights, -3) + (1 << 21)) >> 22).clamp(0, 255).to(torch.uint8)


@lru_cache(maxsize=256)
@torch.inference_mode(False)  # kept for calls that are differentiated
def _taps(size: int, wanted: int, interpolation: int, across: bool) -> tuple[Tensor, Tensor]:
    """Positions and weights (taps, wanted) along one axis; OpenCV stops the linear kernel at the border of rows only (`across`)."""
    scale = size / wanted
    place = torch.arange(wanted, dtype=torch.float64)
    if interpolation == 0:
        return (place * scale).floor().long().clamp_max(size - 1)[None], torch.ones(1, wanted)
    if interpolation == 3:  # enlarging by area
        low = (place * scale).floor()
        part = ((place + 1) - (low + 1) / scale).float()
        part = torch.where(part <= 0, 0.0, part - part.floor())
    else:
        centre = ((place + 0.5) * scale - 0.5).float()
        low = centre.floor()
        part = centre - low
    start = low.long()
    if interpolation in (1, 3):
        if across:
            part = torch.where((start < 0) | (start >= size - 1), 0.0, part)
            start = start.clamp(0, size - 1)
        weights = torch.stack([1.0 - part, part])
    elif interpolation == 2:
        weights, start = _cubic(part), start - 1
    else:
        weights, start = _lanczos(part), start - 3
    return torch.stack([(start + k).clamp(0, size - 1) for k in range(len(weights))]), weights


def _cubic(x: Tensor) -> Tensor:
    a = -0.75
    first = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a
    second = ((a + 2) * x - (a + 3)) * x * x + 1
    third = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1
    return torch.stack([first, second, third, 1.0 - first - second - third])


def _lanczos(x: Tensor) -> Tensor:
    root = math.sqrt(0.5)
    turns = ((1.0, 0.0), (-root, -root), (0.0, 1.0), (root, -root), (-1.0, 0.0), (root, root), (0.0, -1.0), (-root, root))
    whole = x < torch.finfo(torch.float32).eps
    wide = torch.where(whole, 0.5, x).double()
    angle = -(wide + 3) * math.pi * 0.25
    lines = [((p * angle.sin() + q * angle.cos()) / ((wide + 3 - i) * math.pi * 0.25).square()).float() for i, (p, q) in enumerate(turns)]
    weights = torch.stack(lines)
    weights = weights * (1.0 / weights.sum(0))
    return torch.where(whole, torch.eye(8)[3][:, None], weights)


def _area(data: Tensor, height: int, width: int) -> Tensor:
    """Averages over the source area of each output pixel."""
    h, w = data.shape[-3:-1]
    if h % height == 0 and w % width == 0:
        blocks = data.reshape(*data.shape[:-3], height, h // height, width, w // width, data.shape[-1])
        if not data.dtype.is_floating_point and h == 2 * height and w == 2 * width:
            return ((blocks.int().sum((-2, -4)) + 2) >> 2).to(data.dtype)
        work = blocks if blocks.dtype == torch.float64 else blocks.float()
        return _rounded(work.sum((-2, -4)) * (1.0 / ((h // height) * (w // width))), data.dtype)
    work = data if data.dtype == torch.float64 else data.float()
    down = torch.einsum("yh,...hwc->...ywc", _shares(h, height).to(work), work)
    return _rounded(torch.einsum("xw,...ywc->...yxc", _shares(w, width).to(work), down), data.dtype)


@lru_cache(maxsize=256)
@torch.inference_mode(False)
def _shares(size: int, wanted: int) -> Tensor:
    """The share of every source position in every output position (wanted, size); shares below 1/1000 of a pixel do not count."""
    scale = size / wanted
    table = torch.zeros(wanted, size, dtype=torch.float64)
    for place in range(wanted):
        start, end = place * scale, min((place + 1) * scale, float(size))
        cell = min(scale, size - start)
        first, last = math.ceil(start), min(math.floor(end), size - 1)
        first = min(first, last)
        if first - start > 1e-3:
            table[place, first - 1] += (first - start) / cell
        table[place, first:last] += 1.0 / cell
        if end - last > 1e-3:
            table[place, last] += min(min(end - last, 1.0), cell) / cell
    return table


def border_positions(size: int, before: int, after: int, kind: int) -> list[int]:
    """Source position of every position of a padded axis. kind: 1 edge, 2 mirror with the edge, 3 wrap around, 4 mirror without it."""
    places = []
    for p in range(-before, size + after):
        if kind == 1 or size == 1:
            places.append(min(max(p, 0), size - 1))
        elif kind == 3:
            places.append(p % size)
        else:
            period = 2 * size if kind == 2 else 2 * size - 2
            q = p % period
            places.append(q if q < size else period - q - (kind == 2))
    return places
