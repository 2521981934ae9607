"""The interface of key-value stores and the registry of their kinds."""

from __future__ import annotations

import warnings
from typing import Any

from ..ndarray.core import NDArray

__all__ = ["KVStoreBase", "create"]


class KVStoreBase:
    """What training loops need of a store: broadcast once, pushpull for each gradient, optionally an optimizer inside."""

    OPTIMIZER = "optimizer"
    kv_registry: dict[str, type[KVStoreBase]] = {}

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Sets the value of a key and copies it to all of `out`."""
        raise NotImplementedError

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Sums `value` over devices (and workers) and writes the result to `out`, or back to `value`."""
        raise NotImplementedError

    def set_optimizer(self, optimizer: Any) -> None:
        """Lets the store update weights by itself."""
        raise NotImplementedError

    def is_capable(self, capability: str) -> bool:
        """Whether the store can do something: 'optimizer'. Errors: ValueError for other words."""
        raise NotImplementedError

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Writes the optimizer's states to a file."""
        raise NotImplementedError

    def load_optimizer_states(self, fname: str) -> None:
        """Reads the optimizer's states from a file."""
        raise NotImplementedError

    @property
    def type(self) -> str:
        """The kind."""
        raise NotImplementedError

    @property
    def rank(self) -> int:
        """This worker's number."""
        raise NotImplementedError

    @property
    def num_workers(self) -> int:
        """How many workers there are."""
        raise NotImplementedError

    @staticmethod
    def register(klass: Any) -> Any:
        """Class decorator: makes a kind of store known to `create` by its lower-case class name."""
        assert isinstance(klass, type), f"only classes can be registered, not {klass!r}"
        name = klass.__name__.lower()
        old = KVStoreBase.kv_registry.get(name)
        if old is not None:
            text = f"WARNING: New kvstore {klass.__module__}.{klass.__name__} is overriding existing kvstore {old.__module__}.{old.__name__}"
            warnings.warn(text, stacklevel=2)
        KVStoreBase.kv_registry[name] = klass
        return klass


def _outs(out: Any) -> Any:
    return out if isinstance(out, (list, tuple)) else [out]


@KVStoreBase.register
class TestStore(KVStoreBase):
    """A store that keeps nothing: sums and copies, for tests of the interface."""

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        for target in _outs(out):
            target[:] = value

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        if isinstance(value, NDArray):
            total, targets = value, out
        else:
            first = value[0].context
            total = value[0].copy()
            for more in value[1:]:
                total += more.as_in_context(first)
            targets = value if out is None else out
        for target in _outs(targets) if targets is not None else ():
            target[:] = total

    def is_capable(self, capability: str) -> bool:
        if capability.lower() == KVStoreBase.OPTIMIZER:
            return False
        raise ValueError(f"Unknown capability: {capability}")

    @property
    def type(self) -> str:
        return "teststore"

    @property
    def rank(self) -> int:
        return 0

    @property
    def num_workers(self) -> int:
        return 1


def create(name: str = "local") -> Any:
    """A store: 'local' and 'device' (one process), 'dist_sync' and 'dist_device_sync' (several, see `dist`), or a registered kind.

    Errors: TypeError, MXNetError for kinds not supported.
    """
    if not isinstance(name, str):
        raise TypeError("name must be a string")
    kind = KVStoreBase.kv_registry.get(name.lower())
    if kind is not None:
        return kind()
    if name.lower().startswith("dist"):
        from .dist import DistKVStore

        return DistKVStore(name.lower())
    from .kvstore import KVStore

    return KVStore(name.lower())
