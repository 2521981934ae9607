"""What an NDArray holds. The parts of the class (arithmetic, indexing, fluent methods) are written against this."""

from __future__ import annotations

from typing import Any

import torch

from ..context import Context
from .tape import Record

__all__ = ["Slots"]


class Slots:
    """The memory of an array; see `core.NDArray`."""

    __slots__ = ("__weakref__", "_ag", "_ctx", "_rec", "_t", "_x")

    _t: torch.Tensor  # the data
    _ctx: Context
    _ag: torch.Tensor | None  # the data with torch's history
    _rec: Record | None  # the place on the tape
    _x: Any  # rarely used things (core._Extra)
