"""mx.gluon: networks as blocks with parameters, trained imperatively; hybridized blocks run as one lowered graph."""

from __future__ import annotations

import importlib
from typing import Any

from . import block, nn, parameter, utils
from .block import Block, HybridBlock
from .parameter import Constant, DeferredInitializationError, Parameter, ParameterDict
from .symbol_block import SymbolBlock
from .trainer import Trainer

_LAZY = ("contrib", "data", "loss", "model_zoo", "rnn")

__all__ = [
    "Block", "Constant", "DeferredInitializationError", "HybridBlock", "Parameter", "ParameterDict", "SymbolBlock", "Trainer", "block", "contrib",
    "data", "loss", "model_zoo", "nn", "parameter", "rnn", "utils",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
