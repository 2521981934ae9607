"""mx.contrib: the contrib operators under their older names and the first autograd interface."""

from __future__ import annotations

from . import autograd, ndarray, symbol
from . import ndarray as nd
from . import symbol as sym

__all__ = ["autograd", "nd", "ndarray", "sym", "symbol"]
