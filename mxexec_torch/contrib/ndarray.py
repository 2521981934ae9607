"""The module `mxnet.contrib.ndarray`: the functions of mx.nd.contrib under their older name."""

from __future__ import annotations

from typing import Any

from ..ndarray import contrib as _contrib


def __getattr__(name: str) -> Any:
    return getattr(_contrib, name)


def __dir__() -> list[str]:
    return dir(_contrib)
