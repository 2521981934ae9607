"""mx.kvstore / mx.kv: sums of gradients over devices, with an optimizer inside if wanted."""

from __future__ import annotations

from . import base, kvstore, kvstore_server
from .base import KVStoreBase, TestStore, create
from .kvstore import KVStore
from .kvstore_server import KVStoreServer

__all__ = ["KVStore", "KVStoreBase", "KVStoreServer", "TestStore", "base", "create", "kvstore", "kvstore_server"]
