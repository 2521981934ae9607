"""mx.library: loading of compiled operator libraries, which needs MXNet's C++ engine."""

from __future__ import annotations

from .base import MXNetError, check_call
from .errors import UnsupportedError

__all__ = ["MXNetError", "check_call", "load"]


def load(path: str, verbose: bool = True) -> None:
    """Refuses: operators compiled for MXNet's engine cannot run on torch. Errors: UnsupportedError, which names the way out."""
    raise UnsupportedError(f"cannot load {path}: operator libraries need MXNet's C++ engine. Write the operator as mx.operator.CustomOp instead")
