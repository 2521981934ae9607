"""Bilinear samples of feature maps at computed positions, and the operators built on them."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .leaf import leaf

__all__ = ["bilinear_taps", "deformable_columns", "grid_sample", "round_half_away", "weighted_rows"]

Tensor = torch.Tensor
Ints = tuple[int, ...]


def round_half_away(x: Tensor) -> Tensor:
    """C's round(): halves away from zero."""
    return x.sign() * (x.abs() + 0.5).floor()


def bilinear_taps(y: Tensor, x: Tensor, height: int, width: int, inside: Tensor, clamp: bool) -> tuple[Tensor, Tensor]:
    """(positions, weights) of the four neighbours, on a new last axis of 4; position = row * width + column.

    inside: where a sample counts at all. clamp: coordinates are moved into the map first; else neighbours outside weigh 0.
    Weights carry the gradient to y and x.
    """
    if clamp:
        y, x = y.clamp(0, height - 1), x.clamp(0, width - 1)
    low_y, low_x = y.detach().floor(), x.detach().floor()
    part_y, part_x = y - low_y, x - low_x
    positions, weights = [], []
    for step_y, weight_y in ((0, 1 - part_y), (1, part_y)):
        for step_x, weight_x in ((0, 1 - part_x), (1, part_x)):
            row, column = low_y + step_y, low_x + step_x
            held = inside & (row >= 0) & (row < height) & (column >= 0) & (column < width)
            positions.append(torch.where(held, row * width + column, torch.zeros_like(row)).long())
            weights.append(torch.where(held, weight_y * weight_x, torch.zeros_like(row)))
    return torch.stack(positions, -1), torch.stack(weights, -1)


def weighted_rows(table: Tensor, index: Tensor, weight: Tensor) -> Tensor:
    """Sums of weighted rows: table (rows, c), index and weight (n, k) -> (n, c)."""
    kind = torch.float32 if table.dtype in (torch.float16, torch.bfloat16) else table.dtype
    rows = table.to(kind).contiguous()  # of one image it is a view, for which torch has a loop that is 50 times slower
    return F.embedding_bag(index, rows, mode="sum", per_sample_weights=weight.to(kind)).to(table.dtype)


@leaf
def grid_sample(data: Tensor, grid: Tensor) -> Tensor:
    """Bilinear samples at grid (n, 2, h, w) of x and y in [-1, 1], zero outside (corners are the outermost pixels)."""
    if data.is_meta:
        return data.new_empty((*data.shape[:2], *grid.shape[2:]))
    if data.numel() == 0 or grid.numel() == 0:  # nothing to sample, or nowhere: zeros, which depend on nothing
        return data.new_zeros((*data.shape[:2], *grid.shape[2:])) + (data.sum() + grid.sum()) * 0.0
    kind = torch.float32 if data.dtype in (torch.float16, torch.bfloat16) else data.dtype
    places = grid.permute(0, 2, 3, 1).to(kind)
    return F.grid_sample(data.to(kind), places, mode="bilinear", padding_mode="zeros", align_corners=True).to(data.dtype)


@leaf
def deformable_columns(data: Tensor, offset: Tensor, mask: Tensor | None, kernel: Ints, stride: Ints, pad: Ints, dilate: Ints, groups: int) -> Tensor:
    """Columns (n, c, kernel positions, out positions) of a deformable convolution.

    offset (n, groups * kernel positions * 2, h, w): shifts (y, x) of each kernel position. With a mask (second version) samples are
    scaled by it and fade to zero over the border; without, samples outside the map are zero and the border is held.
    """
    n, c, height, width = data.shape
    out_h, out_w = offset.shape[2:]
    taps = kernel[0] * kernel[1]
    if data.is_meta:
        return data.new_empty((n, c, taps, out_h * out_w))
    shift = offset.reshape(n, groups, taps, 2, out_h, out_w)
    base_y = torch.arange(out_h, device=data.device, dtype=data.dtype) * stride[0] - pad[0]
    base_x = torch.arange(out_w, device=data.device, dtype=data.dtype) * stride[1] - pad[1]
    tap_y = torch.arange(kernel[0], device=data.device, dtype=data.dtype).mul(dilate[0]).repeat_interleave(kernel[1])
    tap_x = torch.arange(kernel[1], device=data.device, dtype=data.dtype).mul(dilate[1]).repeat(kernel[0])
    y = base_y.view(1, 1, 1, -1, 1) + tap_y.view(1, 1, -1, 1, 1) + shift[:, :, :, 0]
    x = base_x.view(1, 1, 1, 1, -1) + tap_x.view(1, 1, -1, 1, 1) + shift[:, :, :, 1]
    if mask is None:
        inside = (y >= 0) & (x >= 0) & (y < height) & (x < width)
    else:
        inside = (y > -1) & (x > -1) & (y < height) & (x < width)
    position, weight = bilinear_taps(y, x, height, width, inside, clamp=mask is None)
    if mask is not None:
        weight = weight * mask.reshape(n, groups, taps, out_h, out_w, 1)
    table = data.reshape(n * groups, c // groups, height * width).transpose(1, 2).reshape(-1, c // groups)
    start = torch.arange(n * groups, device=data.device).view(n, groups, 1, 1, 1, 1) * (height * width)
    rows = weighted_rows(table, (position + start).reshape(-1, 4), weight.reshape(-1, 4))
    columns = rows.reshape(n, groups, taps, out_h * out_w, c // groups)
    return columns.permute(0, 1, 4, 2, 3).reshape(n, c, taps, out_h * out_w)
