"""mx.error: error classes by name, and the decorator that registers them."""

from __future__ import annotations

from .base import MXNetError
from .base import register_error as register

__all__ = ["InternalError", "MXNetError", "register"]


@register
class InternalError(MXNetError):
    """An error inside the library."""


for _builtin in (ValueError, TypeError, AttributeError, IndexError, NotImplementedError):
    register(_builtin)
