"""Element types: MXNet's codes, NumPy's type classes and torch's dtypes, in one table."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .errors import MXNetError

__all__ = ["CODE_TO_NAME", "NAME_TO_CODE", "NAME_TO_TORCH", "TORCH_TO_NAME", "array_dtype", "name_of", "numpy_type", "torch_dtype"]

# Codes as stored in .params files and in the `__dtype__` attribute (include/mxnet/base.h, 3rdparty/mshadow).
CODE_TO_NAME: dict[int, str] = {
    0: "float32", 1: "float64", 2: "float16", 3: "uint8", 4: "int32", 5: "int8", 6: "int64", 7: "bool",
    8: "int16", 9: "uint16", 10: "uint32", 11: "uint64", 12: "bfloat16",
}  # fmt: skip
NAME_TO_CODE: dict[str, int] = {name: code for code, name in CODE_TO_NAME.items()}
NAME_TO_TORCH: dict[str, torch.dtype] = {name: getattr(torch, name) for name in CODE_TO_NAME.values() if hasattr(torch, name)}
TORCH_TO_NAME: dict[torch.dtype, str] = {dtype: name for name, dtype in NAME_TO_TORCH.items()}

_NUMPY: dict[str, type] = {name: np.dtype(name).type for name in CODE_TO_NAME.values() if name != "bfloat16"}
# The usual forms at the price of a look-up: NumPy takes microseconds to say a dtype's name.
_NAMES: dict[Any, str] = {
    **{name: name for name in NAME_TO_CODE}, **TORCH_TO_NAME, **{kind: name for name, kind in _NUMPY.items()},
    **{np.dtype(name): name for name in _NUMPY},
}  # fmt: skip
# MXNet hands out bfloat16 arrays under the structured type np.dtype([("bfloat16", np.uint16)]).
BFLOAT16 = np.dtype([("bfloat16", np.uint16)])


def name_of(dtype: Any) -> str:
    """The name ('float32', ...) of anything that denotes an element type; TypeError when it denotes none that MXNet has."""
    try:
        return _NAMES[dtype]
    except (KeyError, TypeError):  # TypeError: not hashable
        pass
    if isinstance(dtype, torch.dtype):
        raise TypeError(f"element type {dtype} does not exist in MXNet")
    if dtype is BFLOAT16 or (isinstance(dtype, np.dtype) and dtype.names == ("bfloat16",)):
        return "bfloat16"
    if not isinstance(dtype, (str, type, np.dtype)) and getattr(dtype, "dtype", None) is not None:
        return name_of(dtype.dtype)  # `x.astype(y)`: an array stands for its type
    name = str(np.dtype(dtype).name)
    if name not in NAME_TO_CODE:
        raise TypeError(f"element type {name} does not exist in MXNet")
    return name


_CLASSES: dict[type, torch.dtype] = {kind: NAME_TO_TORCH[name] for name, kind in _NUMPY.items() if name in NAME_TO_TORCH}


def torch_dtype(dtype: Any) -> torch.dtype:
    """The torch dtype of anything `name_of` understands. Errors: TypeError (no such type), MXNetError (torch lacks it)."""
    if isinstance(dtype, torch.dtype):
        return dtype
    if dtype.__class__ is type and dtype in _CLASSES:  # np.float32
        return _CLASSES[dtype]
    name = name_of(dtype)
    try:
        return NAME_TO_TORCH[name]
    except KeyError:
        raise MXNetError(f"element type {name} does not exist in torch {torch.__version__}") from None


_PYTHONS = frozenset(CODE_TO_NAME[code] for code in (*range(8), 12))  # the types that MXNet's Python layer knows


def array_dtype(dtype: Any) -> torch.dtype:
    """The torch dtype of a `dtype` argument, float32 for None. Errors: TypeError for what is no type, KeyError for one that arrays cannot have."""
    if dtype is None:
        return torch.float32
    try:
        found = torch_dtype(dtype)
    except TypeError:
        raise KeyError(np.dtype(dtype).type) from None
    if TORCH_TO_NAME[found] not in _PYTHONS:
        raise KeyError(_NUMPY[TORCH_TO_NAME[found]])
    return found


def numpy_type(dtype: Any) -> Any:
    """The NumPy type class (np.float32, ...) that MXNet reports for an element type."""
    name = name_of(dtype)
    return BFLOAT16 if name == "bfloat16" else _NUMPY[name]
