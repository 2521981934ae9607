"""The border module `mxnet.base`: error classes, placeholder and ctypes names that old code imports from it. No C library is behind it."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .errors import MXNetError, NotImplementedForSymbol, NotSupportedForSparseNDArray  # noqa: F401 - mxnet.base has all three

__all__ = ["MXNetError"]  # what `from mxnet.base import *` gives; the other names are imported one by one

__version__ = "1.9.1"  # the MXNet version whose API this is

integer_types = (int, np.int32, np.int64)
numeric_types = (float, int, np.generic)
string_types = (str,)

mx_real_t = np.float32
mx_int, mx_uint, mx_float = ctypes.c_int, ctypes.c_uint, ctypes.c_float
mx_int64 = ctypes.c_int64
mx_float_p = ctypes.POINTER(mx_float)
NDArrayHandle = FunctionHandle = OpHandle = CachedOpHandle = SymbolHandle = ExecutorHandle = ctypes.c_void_p
DataIterCreatorHandle = DataIterHandle = KVStoreHandle = RecordIOHandle = RtcHandle = ctypes.c_void_p
CudaModuleHandle = CudaKernelHandle = ProfileHandle = DLPackHandle = ctypes.c_void_p


class _NullType:
    """An argument that was not given, where None is a value of its own."""

    def __repr__(self) -> str:
        return "_Null"

    def __bool__(self) -> bool:
        return False


_Null = _NullType()


class MXCallbackList(ctypes.Structure):
    """The layout of MXNet's callback lists; only its name is of use here."""

    _fields_ = (
        ("num_callbacks", ctypes.c_int),
        ("callbacks", ctypes.POINTER(ctypes.CFUNCTYPE(ctypes.c_int))),
        ("contexts", ctypes.POINTER(ctypes.c_void_p)),
    )


error_types: dict[str, type[BaseException]] = {}


def register_error(func_name: str | type[BaseException] | None = None, cls: type[BaseException] | None = None) -> Any:
    """Registers an exception class under its name (or `func_name`); usable as decorator."""
    if callable(func_name):
        cls, func_name = func_name, func_name.__name__

    def register(registered: type[BaseException]) -> type[BaseException]:
        error_types[str(func_name or registered.__name__)] = registered
        return registered

    return register(cls) if cls is not None else register


def py_str(x: bytes | str) -> str:
    """Bytes of the C API as str."""
    return x.decode("utf-8") if isinstance(x, bytes) else x


def c_str(string: str) -> ctypes.c_char_p:
    """A C string."""
    return ctypes.c_char_p(string.encode("utf-8"))


def c_str_array(strings: Sequence[str]) -> Any:
    """A C array of strings."""
    return (ctypes.c_char_p * len(strings))(*[s.encode("utf-8") for s in strings])


def c_array(ctype: Any, values: Sequence[Any]) -> Any:
    """A C array of the given type."""
    return (ctype * len(values))(*values)


def c_array_buf(ctype: Any, buf: Any) -> Any:
    """A C array over a buffer."""
    return (ctype * len(buf)).from_buffer(buf)


def c_handle_array(objs: Iterable[Any]) -> Any:
    """A C array of the objects' handles."""
    handles = [getattr(o.handle, "value", o.handle) for o in objs]
    return (ctypes.c_void_p * len(handles))(*handles)


def ctypes2buffer(cptr: Any, length: int) -> bytearray:
    """A copy of C memory."""
    if not isinstance(cptr, ctypes.POINTER(ctypes.c_char)):
        raise TypeError("expected char pointer")
    return bytearray(ctypes.string_at(cptr, length))


def ctypes2numpy_shared(cptr: Any, shape: Sequence[int]) -> Any:
    """A float32 NumPy array over C memory."""
    if not isinstance(cptr, ctypes.POINTER(mx_float)):
        raise RuntimeError("expected float pointer")
    size = 1
    for d in shape:
        size *= d
    memory = memoryview((mx_float * size).from_address(ctypes.addressof(cptr.contents))).cast("B")
    return np.frombuffer(memory, dtype=np.float32).reshape(shape)


def check_call(ret: int) -> None:
    """Raises when a call of the C API failed; there is none here, so that `ret` is 0 in working code. Errors: MXNetError otherwise."""
    if ret != 0:
        raise MXNetError(f"a call of the C API returned {ret}")


def data_dir_default() -> str:
    """Where downloads go unless MXNET_HOME says otherwise."""
    if sys.platform == "win32":
        return os.path.join(os.environ.get("APPDATA", os.path.expanduser("~")), "mxnet")
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """Where downloads go: MXNET_HOME or the default."""
    return os.getenv("MXNET_HOME", data_dir_default())


def _as_list(obj: Any) -> list[Any] | tuple[Any, ...]:
    """Lists and tuples as they are, anything else in a list."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def with_metaclass(meta: type, *bases: type) -> type:
    """A base class with that metaclass (from Python 2 days)."""
    made: type = meta("temporary_class", bases, {})
    return made


class _ClassProperty:
    """A property of the class itself, read only."""

    def __init__(self, getter: Callable[[Any], Any]) -> None:
        self._getter = getter

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self._getter(owner if owner is not None else type(instance))


def classproperty(func: Callable[[Any], Any]) -> _ClassProperty:
    """Decorator: a property of the class."""
    return _ClassProperty(func)


def build_param_doc(arg_names: Sequence[str], arg_types: Sequence[str], arg_descs: Sequence[str], remove_dup: bool = True) -> str:
    """A "Parameters" section for a docstring."""
    rows, seen = [], set()
    for name, kind, text in zip(arg_names, arg_types, arg_descs, strict=True):
        if (remove_dup and name in seen) or name == "num_args":
            continue
        seen.add(name)
        rows.append(f"{name} : {kind}" + (f"\n    {text}" if text else ""))
    return "Parameters\n----------\n" + "\n".join(rows) + "\n"


__reexported__ = (NotImplementedForSymbol,)
