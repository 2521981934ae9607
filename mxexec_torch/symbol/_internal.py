"""Operators whose registered name starts with an underscore. Functions are made from the registry on demand."""

from __future__ import annotations

from .functions import module_getattr

__getattr__ = module_getattr("_internal")
