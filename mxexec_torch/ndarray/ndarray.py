"""The module `mxnet.ndarray.ndarray`: the NDArray class and the functions on dense arrays, under the names that code imports from here."""

from __future__ import annotations

import ctypes
from typing import Any

from ..base import NDArrayHandle, integer_types, mx_real_t, numeric_types  # noqa: F401 - imported from here by other code
from ..dtypes import CODE_TO_NAME, numpy_type
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
    array,
    concatenate,
    empty,
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
    zeros,
)  # fmt: skip
from .gradients import GRAD_REQ as _GRAD_REQ_MAP
from .indexing import get_indexing_dispatch_code, get_oshape_of_gather_nd_op, indexing_key_expand_implicit_axes

__all__ = [
    "NDArray", "_DTYPE_MX_TO_NP", "_DTYPE_NP_TO_MX", "_GRAD_REQ_MAP", "_new_empty_handle", "add", "arange", "array", "concatenate", "divide",
    "empty", "equal", "eye", "from_dlpack", "from_numpy", "full", "get_indexing_dispatch_code", "get_oshape_of_gather_nd_op", "greater",
    "greater_equal", "histogram", "imdecode", "indexing_key_expand_implicit_axes", "lesser", "lesser_equal", "linspace", "logical_and",
    "logical_or", "logical_xor", "maximum", "minimum", "modulo", "moveaxis", "multiply", "mx_real_t", "not_equal", "onehot_encode", "ones",
    "power", "split_v2", "subtract", "to_dlpack_for_read", "to_dlpack_for_write", "true_divide", "waitall", "zeros",
]  # fmt: skip

py_slice = slice

_STORAGE_TYPE_UNDEFINED, _STORAGE_TYPE_DEFAULT, _STORAGE_TYPE_ROW_SPARSE, _STORAGE_TYPE_CSR = -1, 0, 1, 2
_STORAGE_TYPE_STR_TO_ID = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
_STORAGE_TYPE_ID_TO_STR = {code: name for name, code in _STORAGE_TYPE_STR_TO_ID.items()}
# the types that MXNet's Python layer knows; bfloat16's is structured and stands for itself
_DTYPE_MX_TO_NP: dict[int, Any] = {-1: None, **{code: numpy_type(CODE_TO_NAME[code]) for code in (*range(8), 12)}}
_DTYPE_NP_TO_MX: dict[Any, int] = {kind: code for code, kind in _DTYPE_MX_TO_NP.items()}


def _new_empty_handle() -> ctypes.c_void_p:
    """The handle of an array without memory."""
    return NDArrayHandle()


def _storage_type(handle: Any) -> int:
    """The storage type code of the array that a handle stands for."""
    return _STORAGE_TYPE_STR_TO_ID[NDArray(handle).stype]
