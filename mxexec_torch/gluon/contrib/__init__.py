"""mx.gluon.contrib: further layers and cells, and the Estimator. Submodules load when they are first used."""

from __future__ import annotations

import importlib
from typing import Any

from . import nn, rnn

_LAZY = ("cnn", "data", "estimator")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["nn", "rnn"]
