"""mx.sym.random."""

from __future__ import annotations

from .functions import module_getattr

__getattr__ = module_getattr("random")
