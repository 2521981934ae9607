"""mx.dlpack: exchange of arrays with other libraries through shared memory."""

from __future__ import annotations

from .ndarray.creation import from_dlpack, from_numpy, to_dlpack_for_read, to_dlpack_for_write

__all__ = ["from_dlpack", "from_numpy", "to_dlpack_for_read", "to_dlpack_for_write"]
