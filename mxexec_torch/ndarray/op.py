"""The functions of all operators without a leading underscore: mx.nd.op.X, also visible as mx.nd.X."""

from __future__ import annotations

from .register import module_functions

__getattr__, __dir__ = module_functions("op")
