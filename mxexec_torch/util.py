"""mx.util: NumPy shape and array semantics as scopes and decorators, environment variables, GPU queries."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import torch

from . import semantics
from .base import c_str, check_call, py_str
from .context import Context, gpu_memory_info
from .context import num_gpus as get_gpu_count

__all__ = [
    "c_str", "check_call", "get_cuda_compute_capability", "get_gpu_count", "get_gpu_memory", "getenv", "is_np_array", "is_np_shape", "makedirs",
    "np_array", "np_shape", "np_ufunc_legal_option", "py_str", "reset_np", "set_module", "set_np", "set_np_shape", "setenv", "use_np",
    "use_np_array", "use_np_shape", "wrap_np_binary_func", "wrap_np_unary_func",
]  # fmt: skip

F = TypeVar("F")
_NumpyArrayScope = semantics.NumpyArrayScope  # old code reads it here
is_np_shape = semantics.is_np_shape
is_np_array = semantics.is_np_array


def makedirs(d: str) -> None:
    """Makes a directory with its parents; it may exist."""
    os.makedirs(os.path.expanduser(d), exist_ok=True)


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """(free, total) bytes of a GPU's memory."""
    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Context) -> int:
    """A GPU's compute capability as one number: 70 for sm_70. Errors: ValueError for a CPU context."""
    if ctx.device_type != "gpu":
        raise ValueError(f"Expecting a gpu context to get cuda compute capability, while received ctx {ctx}")
    major, minor = torch.cuda.get_device_capability(ctx.device)
    return major * 10 + minor


def getenv(name: str) -> str | None:
    """An environment variable, or None."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Sets an environment variable; None removes it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


# -- semantics ----------------------------------------------------------------------------------------------------------------
def set_np_shape(active: bool) -> bool:
    """Switches NumPy shape semantics (shape () is a scalar, 0 a dimension); returns the previous state.

    Errors: ValueError when they are switched off while array semantics are on.
    """
    if not active and is_np_array():
        raise ValueError("Deactivating NumPy shape semantics while NumPy array semantics is still active is not allowed: call npx.reset_np()")
    return semantics.set_np_shape(int(active))


class _NumpyShapeScope:
    """A `with` block that sets NumPy shape semantics and puts back what was."""

    def __init__(self, is_np_shape: bool) -> None:
        self._enter_is_np_shape = is_np_shape
        self._previous: list[bool] = []

    def __enter__(self) -> _NumpyShapeScope:
        self._previous.append(semantics.set_np_shape(int(self._enter_is_np_shape)))
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        semantics.set_np_shape(int(self._previous.pop()))


def np_shape(active: bool = True) -> _NumpyShapeScope:
    """`with np_shape():` NumPy shape semantics inside."""
    return _NumpyShapeScope(active)


def np_array(active: bool = True) -> _NumpyArrayScope:
    """`with np_array():` Gluon uses mx.np arrays inside."""
    return _NumpyArrayScope(active)


def _scoped(func: Any, scope: Callable[[], Any], name: str) -> Any:
    """A function, or all methods and properties of a class, run inside a scope. Errors: TypeError for anything else."""
    if inspect.isclass(func):
        for key, member in inspect.getmembers(func, lambda m: inspect.isfunction(m) or inspect.ismethod(m) or isinstance(m, property)):
            if isinstance(member, property):
                getter = _scoped(member.__get__, scope, name)
                setattr(func, key, property(getter, member.__set__, member.__delattr__, member.__doc__))
            else:
                setattr(func, key, _scoped(member, scope, name))
        return func
    if not callable(func):
        raise TypeError(f"{name} can only decorate classes and callable objects, while received a {type(func)}")

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        with scope():
            return func(*args, **kwargs)

    return call


def use_np_shape(func: F) -> F:
    """Decorator: a function or class that runs with NumPy shape semantics."""
    return _scoped(func, np_shape, "use_np_shape")  # type: ignore[no-any-return]


def use_np_array(func: F) -> F:
    """Decorator: a function or class that runs with NumPy array semantics."""
    return _scoped(func, np_array, "use_np_array")  # type: ignore[no-any-return]


def use_np(func: F) -> F:
    """Decorator: a function or class that runs with NumPy shape and array semantics."""
    return use_np_shape(use_np_array(func))


def set_np(shape: bool = True, array: bool = True) -> None:
    """Switches both semantics. Errors: ValueError for array semantics without shape semantics."""
    if not shape and array:
        raise ValueError("NumPy Shape semantics is required in using NumPy array semantics.")
    semantics.set_np_array(bool(array))
    set_np_shape(shape)


def reset_np() -> None:
    """Switches both semantics off."""
    set_np(shape=False, array=False)


# -- for functions with NumPy's signatures --------------------------------------------------------------------------------------
_UFUNC_DEFAULTS: dict[str, Any] = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}
_UFUNC_DTYPES = ("int8", "uint8", "int32", "int64", "float16", "float32", "float64")


def np_ufunc_legal_option(key: str, value: Any) -> bool:
    """Whether NumPy's ufuncs know the keyword with that value."""
    if key == "where":
        return True
    if key == "casting":
        return value in ("no", "equiv", "safe", "same_kind", "unsafe")
    if key == "order":
        return isinstance(value, str)
    if key == "dtype":
        return value in _UFUNC_DTYPES or value in [np.dtype(d).type for d in _UFUNC_DTYPES]
    return key == "subok" and isinstance(value, bool)


def _check_ufunc_keywords(name: str, kwargs: dict[str, Any]) -> None:
    for key, value in kwargs.items():
        if key not in _UFUNC_DEFAULTS:
            raise TypeError(f"{key} is an invalid keyword to function '{name}'")
        if value != _UFUNC_DEFAULTS[key]:
            if np_ufunc_legal_option(key, value):
                raise NotImplementedError(f"{key}={value} is not implemented yet for operator {name}")
            raise TypeError(f"{key}={value} not understood for operator {name}")


def wrap_np_unary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function f(x, out) that takes NumPy's ufunc keywords at their defaults and refuses other values."""

    @functools.wraps(func)
    def call(x: Any, out: Any = None, **kwargs: Any) -> Any:
        _check_ufunc_keywords(func.__name__, kwargs)
        return func(x, out=out)

    return call


def wrap_np_binary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: as `wrap_np_unary_func`, for f(x1, x2, out)."""

    @functools.wraps(func)
    def call(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        _check_ufunc_keywords(func.__name__, kwargs)
        return func(x1, x2, out=out)

    return call


def set_module(module: str | None) -> Callable[[F], F]:
    """Decorator that sets `__module__`."""

    def decorate(func: F) -> F:
        if module is not None:
            func.__module__ = module
        return func

    return decorate
