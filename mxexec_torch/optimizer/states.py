"""Optimizer states as bytes: pickles that MXNet 1.9.1 reads and writes, loaded by an unpickler that makes nothing but states.

Classes are written under MXNet's module names. On loading only arrays, optimizers, schedulers, NumPy values and plain containers are made;
any other class is refused, so that a file cannot run code.
"""

from __future__ import annotations

import collections
import io
import pickle
import sys
from typing import Any

import numpy as np

from ..lr_scheduler import LRScheduler
from ..misc import LearningRateScheduler
from ..ndarray import sparse
from ..ndarray.core import NDArray
from .base import Optimizer

__all__ = ["dump_states", "load_states"]

_OURS, _THEIRS = __name__.partition(".")[0], "mxnet"
_ARRAYS: dict[str, type] = {"NDArray": NDArray, "CSRNDArray": sparse.CSRNDArray, "RowSparseNDArray": sparse.RowSparseNDArray}
_BUILTINS: dict[str, Any] = {
    "bytearray": bytearray, "bytes": bytes, "complex": complex, "set": set, "frozenset": frozenset, "slice": slice, "range": range, "int": int,
    "float": float, "bool": bool, "str": str, "list": list, "tuple": tuple, "dict": dict,
}  # fmt: skip


def _their_module(klass: type) -> str:
    """Where MXNet has a class of ours."""
    if klass.__name__ in _ARRAYS and _ARRAYS[klass.__name__] is klass:
        return f"{_THEIRS}.ndarray.{'ndarray' if klass is NDArray else 'sparse'}"
    module = klass.__module__
    if module.startswith(f"{_OURS}.optimizer.") and not module.endswith(".contrib"):
        return f"{_THEIRS}.optimizer.optimizer"
    return _THEIRS + module[len(_OURS) :]


_Base: Any = pickle._Pickler  # the Python form: the C form cannot rename classes


class _Pickler(_Base):  # type: ignore[misc]
    """Writes our classes under MXNet's names."""

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if isinstance(obj, type) and obj.__module__.startswith(f"{_OURS}."):
            self.save(_their_module(obj))
            self.save(obj.__qualname__)
            self.write(pickle.STACK_GLOBAL)
            self.memoize(obj)
        else:
            super().save_global(obj, name)

    dispatch = dict(_Base.dispatch)
    dispatch[type] = save_global


def _numpy_parts() -> dict[tuple[str, str], Any]:
    """What pickled NumPy scalars and arrays refer to, in NumPy 1 and 2."""
    scalar = np.float64(0).__reduce__()[0]
    reconstruct = np.zeros(1).__reduce__()[0]
    found: dict[tuple[str, str], Any] = {("numpy", "dtype"): np.dtype, ("numpy", "ndarray"): np.ndarray}
    for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        found[module, "scalar"] = scalar
        found[module, "_reconstruct"] = reconstruct
    return found


class _Unpickler(pickle.Unpickler):
    """Makes states only. Errors: pickle.UnpicklingError for any other class."""

    _numpy = _numpy_parts()

    def find_class(self, module: str, name: str) -> Any:
        found = self._find(module, name)
        if found is None:
            raise pickle.UnpicklingError(f"{module}.{name} has no place in optimizer states: refused")
        return found

    def _find(self, module: str, name: str) -> Any:
        if module in ("builtins", "__builtin__"):
            return _BUILTINS.get(name)
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("_codecs", "encode"):
            return _encode
        if (module, name) in self._numpy:
            return self._numpy[module, name]
        if module == "numpy" and isinstance(getattr(np, name, None), type) and issubclass(getattr(np, name), np.generic):
            return getattr(np, name)
        top = module.partition(".")[0]
        if top in (_THEIRS, _OURS) and name in _ARRAYS and ".ndarray" in module:
            return _ARRAYS[name]
        ours = sys.modules.get(_OURS + module[len(top) :] if top == _THEIRS else module)  # classes of users: only those already loaded
        klass = getattr(ours, name, None) if ours is not None else None
        allowed = (Optimizer, LRScheduler, LearningRateScheduler)
        return klass if isinstance(klass, type) and issubclass(klass, allowed) else None


def _encode(text: Any, encoding: str = "latin1") -> bytes:
    """Bytes as protocol 2 writes them: text and the encoding latin1."""
    if encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError(f"bytes in encoding {encoding!r}: refused")
    return bytes(text, "latin1")


def dump_states(states: Any) -> bytes:
    """States (and the optimizer, where it is among them) as MXNet pickles them."""
    stream = io.BytesIO()
    _Pickler(stream, protocol=4).dump(states)
    return stream.getvalue()


def load_states(data: bytes) -> Any:
    """The reverse of `dump_states`, also for bytes that MXNet wrote. Errors: pickle.UnpicklingError for anything but states."""
    return _Unpickler(io.BytesIO(data), encoding="latin1").load()
