"""Correlation of two feature maps over displacements."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .leaf import leaf

__all__ = ["correlate"]

Tensor = torch.Tensor


@leaf
def correlate(first: Tensor, second: Tensor, kernel: int, reach: int, stride: int, step: int, multiply: bool, height: int, width: int) -> Tensor:
    """Means over kernel windows and channels of products (or absolute differences) of two padded maps, a channel per displacement."""
    radius = reach // step
    count = (2 * radius + 1) ** 2
    if first.is_meta:
        return first.new_empty((first.shape[0], count, height, width))
    rows, columns = (height - 1) * stride + kernel, (width - 1) * stride + kernel
    # An even kernel may reach past the padded maps: MXNet reads what lies there, these are zeros.
    over_y, over_x = max(0, 2 * reach + rows - first.shape[2]), max(0, 2 * reach + columns - first.shape[3])
    if over_y or over_x:
        first, second = F.pad(first, (0, over_x, 0, over_y)), F.pad(second, (0, over_x, 0, over_y))
    fixed = first[:, :, reach : reach + rows, reach : reach + columns]
    results = []
    for dy in range(-radius * step, radius * step + 1, step):
        for dx in range(-radius * step, radius * step + 1, step):
            moved = second[:, :, reach + dy : reach + dy + rows, reach + dx : reach + dx + columns]
            both = fixed * moved if multiply else torch.where(fixed >= moved, fixed - moved, moved - fixed)
            results.append(both.sum(1))
    sums = torch.stack(results, 1)
    if not first.shape[1]:
        return F.avg_pool2d(sums, kernel, stride) * torch.nan  # a mean of nothing
    return F.avg_pool2d(sums, kernel, stride, divisor_override=kernel * kernel * first.shape[1])
