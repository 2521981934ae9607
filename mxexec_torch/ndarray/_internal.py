"""The functions of operators with a leading underscore: mx.nd._internal._plus_scalar, ..."""

from __future__ import annotations

from .register import module_functions

__getattr__, __dir__ = module_functions("_internal")
