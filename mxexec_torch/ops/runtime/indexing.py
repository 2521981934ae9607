"""Index checks and gradients that depend on data."""

from __future__ import annotations

import torch

from .leaf import leaf

__all__ = ["check_coordinates", "check_range"]


def _check(index: torch.Tensor, low: int, high: int, axis: int, size: int) -> None:
    if index.numel():
        smallest, largest = int(index.min()), int(index.max())
        if smallest < low or largest >= high:
            wrong = smallest if smallest < low else largest
            raise IndexError(f"IndexError: index {wrong} is out of bounds for axis {axis} with size {size}")


@leaf
def check_range(index: torch.Tensor, size: int, axis: int) -> torch.Tensor:
    """The indices themselves. Errors: IndexError when one is outside [0, size)."""
    if not index.is_meta:
        _check(index, 0, size, axis, size)
    return index.clone()


@leaf
def check_coordinates(index: torch.Tensor, sizes: tuple[int, ...]) -> torch.Tensor:
    """The coordinates in the columns, themselves. Errors: IndexError when one is outside [-size, size) of its axis."""
    if not index.is_meta:
        for axis, size in enumerate(sizes):
            _check(index[axis], -size, size, axis, size)
    return index.clone()
