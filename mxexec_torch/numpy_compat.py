"""NumPy 1.x names (`np.bool`, `np.int`, `np.float_`, `np.product`, ...) for scripts written before they were removed.

`mxexec-torch run` and `pytest -p mxexec_torch.as_mxnet` restore them unless told `--no-numpy-compat`. Elsewhere they are off unless asked for:
the environment variable `MXEXEC_TORCH_NUMPY_COMPAT=1`, or `mxexec_torch.numpy_compat.restore()`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

__all__ = ["ENVIRONMENT", "restore"]

ENVIRONMENT = "MXEXEC_TORCH_NUMPY_COMPAT"

_BUILTINS: dict[str, Any] = {"bool": bool, "int": int, "float": float, "complex": complex, "object": object, "str": str, "long": int, "unicode": str}
_RENAMED = {
    "float_": "float64", "complex_": "complex128", "unicode_": "str_", "string_": "bytes_", "bool8": "bool_", "object0": "object_", "int0": "intp",
    "uint0": "uintp", "Inf": "inf", "Infinity": "inf", "PINF": "inf", "infty": "inf", "NaN": "nan", "product": "prod", "cumproduct": "cumprod",
    "sometrue": "any", "alltrue": "all", "round_": "round", "row_stack": "vstack", "trapz": "trapezoid", "in1d": "isin", "mat": "asmatrix",
    "cfloat": "complex128", "singlecomplex": "complex64", "longfloat": "longdouble",
}  # fmt: skip
_EXCEPTIONS = ("AxisError", "ComplexWarning", "RankWarning", "VisibleDeprecationWarning")


def _asscalar(array: Any) -> Any:
    return np.asarray(array).item()


def _asfarray(array: Any, dtype: Any = np.float64) -> Any:
    return np.asarray(array, dtype=dtype)


def _msort(array: Any) -> Any:
    return np.sort(array, axis=0)


def _refuses_binary_text() -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            getattr(np, "fromstring")(b"\x01", dtype=np.uint8)  # noqa: B009 - gone from the type stubs
        except ValueError:
            return True
    return False


def _restore_fromstring() -> None:
    """NumPy 2.3 took away fromstring's reading of bytes, with which old scripts read idx and cifar files."""
    text: Any = np.fromstring

    def fromstring(string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", **kwargs: Any) -> Any:
        if sep:
            return text(string, dtype=dtype, count=count, sep=sep, **kwargs)
        return np.frombuffer(string.encode("latin1") if isinstance(string, str) else string, dtype=dtype, count=count).copy()

    setattr(np, "fromstring", fromstring)  # noqa: B010 - a wider type than NumPy's


def restore() -> list[str]:
    """Adds the names that this NumPy lacks (those it has stay as they are, but fromstring reads bytes again); returns the names added."""
    if _refuses_binary_text():
        _restore_fromstring()
    wanted = dict(_BUILTINS)
    wanted.update({old: getattr(np, new) for old, new in _RENAMED.items() if hasattr(np, new)})
    wanted.update({"NINF": -np.inf, "asscalar": _asscalar, "asfarray": _asfarray, "msort": _msort, "math": math})
    wanted.update({name: getattr(np.exceptions, name) for name in _EXCEPTIONS if hasattr(np.exceptions, name)})
    present = set(dir(np))
    missing = [name for name in wanted if name not in present]
    for name in missing:
        setattr(np, name, wanted[name])
    return missing
