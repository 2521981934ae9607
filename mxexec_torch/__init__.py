"""MXNet 1.9.1's legacy API on PyTorch: `import mxexec_torch as mx`, then as before.

Arrays, symbols and contexts load with the package; the other modules (`mx.mod`, `mx.io`, ...) load when they are first used.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from . import attribute, autograd, base, context, executor, name, ndarray, random, symbol, util
from . import ndarray as nd
from . import random as rnd
from . import symbol as sym
from .attribute import AttrScope
from .base import __version__  # MXNet's, which legacy code compares with; the package's own is in its metadata
from .context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus
from .errors import MXNetError
from .util import is_np_array, is_np_shape, np_array, np_shape, set_np_shape, use_np, use_np_array, use_np_shape

# Name in `mx` -> module, for the modules that load on first use.
_LAZY = {
    **{
        module: module
        for module in (
            "callback", "contrib", "dlpack", "engine", "error", "executor_manager", "gluon", "image", "initializer", "io", "kvstore", "library",
            "log", "lr_scheduler", "metric", "misc", "model", "module", "monitor", "operator", "optimizer", "profiler", "recordio", "registry",
            "rnn", "runtime", "test_utils", "visualization",
        )
    },
    "img": "image", "init": "initializer", "kv": "kvstore", "mod": "module", "mon": "monitor", "viz": "visualization",
    # MXNet's, not written here: asking for one says so
    "libinfo": "libinfo", "np": "numpy", "npx": "numpy_extension", "numpy": "numpy", "numpy_extension": "numpy_extension", "onnx": "onnx",
    "rtc": "rtc", "th": "torch", "torch": "torch",
}  # fmt: skip

__all__ = [
    "AttrScope", "Context", "MXNetError", "__version__", "attribute", "autograd", "base", "context", "cpu", "cpu_pinned", "current_context",
    "executor", "gpu", "is_np_array", "is_np_shape", "name", "nd", "ndarray", "np_array", "np_shape", "num_gpus", "random", "rnd",
    "set_np_shape", "sym", "symbol", "use_np", "use_np_array", "use_np_shape", "util",
]  # fmt: skip


def __getattr__(attribute_name: str) -> ModuleType:
    target = _LAZY.get(attribute_name)
    if target is not None:
        full = f"{__name__}.{target}"
        try:
            found = importlib.import_module(full)
        except ModuleNotFoundError as error:
            if error.name != full:
                raise
        else:
            globals()[attribute_name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {attribute_name!r}")


def __dir__() -> list[Any]:
    return sorted({*globals(), *_LAZY})
