"""mx.engine: bulk execution. Operations run at once on torch, so that the size is remembered and has no other effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .base import check_call

__all__ = ["bulk", "check_call", "set_bulk_size"]

_size = 15  # MXNet's default limit of operators in a bulk


def set_bulk_size(size: int) -> int:
    """Sets how many operations may be bulked; returns the previous number."""
    global _size
    previous, _size = _size, int(size)
    return previous


@contextmanager
def bulk(size: int) -> Iterator[None]:
    """`with bulk(n):` sets the bulk size inside."""
    previous = set_bulk_size(size)
    try:
        yield
    finally:
        set_bulk_size(previous)
