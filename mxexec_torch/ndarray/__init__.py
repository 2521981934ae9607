"""mx.nd: arrays, the functions that make them, and every operator as a function. Operator functions are made when first used."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from . import _internal, contrib, image, linalg, ndarray, op, random, sparse, sparse_graphs, sparse_ops, utils  # noqa: F401 - sparse_* take over operators with sparse inputs
from .arithmetic import (
    add,
    divide,
    equal,
    greater,
    greater_equal,
    lesser,
    lesser_equal,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    modulo,
    multiply,
    not_equal,
    power,
    subtract,
    true_divide,
)  # fmt: skip
from .core import NDArray
from .creation import (
    arange,
    concatenate,
    eye,
    from_dlpack,
    from_numpy,
    full,
    histogram,
    imdecode,
    linspace,
    moveaxis,
    onehot_encode,
    ones,
    split_v2,
    to_dlpack_for_read,
    to_dlpack_for_write,
    waitall,
)  # fmt: skip
from .indexing import get_indexing_dispatch_code, get_oshape_of_gather_nd_op, indexing_key_expand_implicit_axes
from .ndarray import _DTYPE_MX_TO_NP, _DTYPE_NP_TO_MX, _GRAD_REQ_MAP, _new_empty_handle
from .register import function_of, names_of
from .sparse import CSRNDArray
from .utils import array, empty, load, load_frombuffer, save, zeros

_MODULES = ("contrib", "image", "linalg", "random", "sparse")
_FUNCTIONS = [name for name, value in globals().items() if isinstance(value, FunctionType) and value not in (function_of, names_of)]
__all__ = ["NDArray", *_MODULES, *_FUNCTIONS, *names_of("op")]


def published_function(name: str) -> Callable[..., Any]:
    """mx.nd.<name>: a function of this package or an operator's. Errors: AttributeError."""
    found = globals().get(name)
    return found if found is not None else __getattr__(name)  # type: ignore[no-any-return]


def __getattr__(name: str) -> Any:
    if name == "CachedOp":
        from ..cached_op import CachedOp

        return CachedOp
    operator = names_of("op").get(name)
    if operator is None:
        raise AttributeError(f"module 'mxexec_torch.ndarray' has no attribute {name!r}")
    function = globals()[name] = function_of(operator, name)
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *names_of("op")})
