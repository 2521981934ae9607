"""Contexts: where an array lives. Every `cpu(i)` is torch's one CPU, the id is only remembered; `gpu(i)` is `cuda:i`."""

from __future__ import annotations

import threading
import warnings
from math import trunc
from types import TracebackType
from typing import Any, ClassVar

import torch

from .base import check_call, classproperty, with_metaclass
from .errors import MXNetError

__all__ = [
    "Context", "check_call", "classproperty", "cpu", "cpu_pinned", "current_context", "gpu", "gpu_memory_info", "num_gpus", "with_metaclass",
]  # fmt: skip

_CPU = torch.device("cpu")


class _DefaultContext(type):
    """Gives the class the settable property `Context.default_ctx`."""

    @property
    def default_ctx(cls) -> Context:
        """The context of arrays created without one (deprecated name of `current_context()`)."""
        warnings.warn("Context.default_ctx is deprecated: use current_context()", DeprecationWarning, stacklevel=2)
        return current_context()

    @default_ctx.setter
    def default_ctx(cls, value: Context) -> None:
        warnings.warn("Context.default_ctx is deprecated: use test_utils.set_default_context", DeprecationWarning, stacklevel=2)
        Context._default_ctx.value = value


class Context(metaclass=_DefaultContext):
    """A device and its number; `with ctx:` makes it the default of new arrays.

    device_type: 'cpu', 'gpu', 'cpu_pinned', 'cpu_shared' or another Context (copied). Errors: KeyError for other names.
    """

    __slots__ = ("__dict__", "_device", "_old_ctx", "device_id", "device_typeid")

    device_typeid: int
    device_id: int
    _default_ctx: ClassVar[Any] = threading.local()
    devtype2str: ClassVar[dict[int, str]] = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type: ClassVar[dict[str, int]] = {name: code for code, name in devtype2str.items()}

    def __init__(self, device_type: str | Context, device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            self.device_typeid, self.device_id = device_type.device_typeid, device_type.device_id
        else:
            self.device_typeid, self.device_id = Context.devstr2type[device_type], trunc(device_id)
        self._old_ctx: Context | None = None
        self._device: torch.device | None = _CPU if self.device_typeid != 2 else None

    @property
    def device_type(self) -> str:
        """'cpu', 'gpu', 'cpu_pinned' or 'cpu_shared'."""
        return Context.devtype2str[self.device_typeid]

    @property
    def device(self) -> torch.device:
        """The torch device. Errors: MXNetError for a GPU that this machine does not have."""
        if self._device is None:
            self._device = _cuda_device(self.device_id)
        return self._device

    def __hash__(self) -> int:
        return hash((self.device_typeid, self.device_id))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Context) and self.device_typeid == other.device_typeid and self.device_id == other.device_id)

    def __str__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    __repr__ = __str__

    def __getstate__(self) -> tuple[int, int]:
        return self.device_typeid, self.device_id

    def __setstate__(self, state: tuple[int, int]) -> None:
        self.__init__(Context.devtype2str[state[0]], state[1])  # type: ignore[misc]

    def __enter__(self) -> Context:
        self._old_ctx = current_context()
        Context._default_ctx.value = self
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        Context._default_ctx.value = self._old_ctx

    def empty_cache(self) -> None:
        """Gives unused GPU memory of torch's allocator back; nothing to do on the CPU."""
        if self.device_typeid == 2:
            with torch.cuda.device(self.device):
                torch.cuda.empty_cache()


def _cuda_device(device_id: int) -> torch.device:
    count = torch.cuda.device_count()
    if count == 0:
        raise MXNetError(f"gpu({device_id}) is not available: torch {torch.__version__} finds no CUDA device (GPU is not enabled)")
    if not 0 <= device_id < count:
        raise MXNetError(f"gpu({device_id}) is not available: this machine has {count} (invalid device ordinal)")
    return torch.device("cuda", device_id)


def context_of(device: torch.device) -> Context:
    """The context of a torch device."""
    return Context("gpu", device.index or 0) if device.type == "cuda" else Context("cpu", 0)


def current_context() -> Context:
    """The default context of this thread: `cpu(0)` unless inside `with ctx:`."""
    try:
        return Context._default_ctx.value  # type: ignore[no-any-return]
    except AttributeError:
        Context._default_ctx.value = Context("cpu", 0)
        return Context._default_ctx.value  # type: ignore[no-any-return]


def cpu(device_id: int = 0) -> Context:
    """A CPU context."""
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """A context for page-locked memory; ordinary CPU memory here."""
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """A GPU context. It may be made without such a device; using it then is an MXNetError."""
    return Context("gpu", device_id)


def num_gpus() -> int:
    """Number of CUDA devices that torch finds."""
    return torch.cuda.device_count()


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """(free, total) bytes of a GPU's memory. Errors: MXNetError when it does not exist."""
    free, total = torch.cuda.mem_get_info(_cuda_device(device_id))
    return free, total
