"""Operators whose name has no prefix; all of them are visible in mx.sym too. Functions are made from the registry on demand."""

from __future__ import annotations

from .functions import module_getattr

__getattr__ = module_getattr("op")
