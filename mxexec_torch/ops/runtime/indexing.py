"""Index checks and gradients that depend on data."""

from __future__ import annotations

import torch

from .leaf import leaf

__all__ = ["check_range"]


@leaf
def check_range(index: torch.Tensor, size: int, what: str) -> torch.Tensor:
    """The indices themselves. Errors: IndexError when one is outside [-size, size)."""
    if index.is_meta or not index.numel():
        return index.clone()
    low, high = int(index.min()), int(index.max())
    if low < 0 or high >= size:
        raise IndexError(f"{what}: index {low if low < 0 else high} is out of bounds for axis of size {size}")
    return index.clone()
