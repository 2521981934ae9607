"""MXNet 1.9.1's legacy API on PyTorch."""

from __future__ import annotations

from . import attribute, name, symbol
from . import symbol as sym
from .attribute import AttrScope
from .errors import MXNetError

__all__ = ["AttrScope", "MXNetError", "attribute", "name", "sym", "symbol"]
