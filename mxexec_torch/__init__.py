"""MXNet 1.9.1's legacy API on PyTorch: `import mxexec_torch as mx`, then as before."""

from __future__ import annotations

from . import (
    attribute,
    autograd,
    base,
    context,
    contrib,
    dlpack,
    engine,
    error,
    executor,
    executor_manager,
    library,
    model,
    monitor,
    name,
    ndarray,
    operator,
    random,
    runtime,
    symbol,
    test_utils,
    util,
    visualization,
)
from . import monitor as mon
from . import ndarray as nd
from . import random as rnd
from . import symbol as sym
from . import visualization as viz
from .attribute import AttrScope
from .base import __version__  # MXNet's, which legacy code compares with; the package's own is in its metadata
from .context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus
from .errors import MXNetError
from .util import is_np_array, is_np_shape, np_array, np_shape, set_np_shape, use_np, use_np_array, use_np_shape

__all__ = [
    "AttrScope", "Context", "MXNetError", "__version__", "attribute", "autograd", "base", "context", "contrib", "cpu", "cpu_pinned",
    "current_context", "dlpack", "engine", "error", "executor", "executor_manager", "gpu", "is_np_array", "is_np_shape", "library", "model",
    "mon", "monitor", "name", "nd", "ndarray", "np_array", "np_shape", "num_gpus", "operator", "random", "rnd", "runtime", "set_np_shape",
    "sym", "symbol", "test_utils", "use_np", "use_np_array", "use_np_shape", "util", "visualization", "viz",
]  # fmt: skip
