"""mx.contrib: the contrib operators under their older names, the first autograd interface, and parts that load when first used."""

from __future__ import annotations

import importlib
from types import ModuleType

from . import autograd, ndarray, symbol
from . import ndarray as nd
from . import symbol as sym

__all__ = ["autograd", "nd", "ndarray", "sym", "symbol"]

_LAZY = {
    "amp": "amp", "io": "io", "quant": "quantization", "quantization": "quantization", "svrg_optimization": "svrg_optimization",
    "tensorboard": "tensorboard", "text": "text",
}  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    if name in _LAZY:
        full = f"{__name__}.{_LAZY[name]}"
        try:
            return importlib.import_module(full)
        except ModuleNotFoundError as error:
            if error.name != full:
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
