"""mx.kvstore.kvstore_server: parameter servers, of which this package has none."""

from __future__ import annotations

from typing import Any

from ..errors import MXNetError

__all__ = ["KVStoreServer"]


class KVStoreServer:
    """Stands for the loop of a parameter server. Errors: MXNetError when it is to run."""

    def __init__(self, kvstore: Any) -> None:
        self.kvstore = kvstore

    def run(self) -> None:
        """Refused."""
        raise MXNetError("parameter servers are not supported")
