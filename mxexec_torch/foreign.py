"""Memory that other libraries may write: torch counts no such write, so nothing computed from it is kept (see lower.fuse)."""

from __future__ import annotations

import torch

__all__ = ["is_foreign", "mark_foreign"]

_storages: set[int] = set()  # addresses; one that is used again for other memory only costs speed


def mark_foreign(tensor: torch.Tensor) -> torch.Tensor:
    """Notes that the tensor's memory is shared with another library. Returns the tensor."""
    if tensor.device.type == "cpu":
        _storages.add(tensor.untyped_storage().data_ptr())
    return tensor


def is_foreign(tensor: torch.Tensor) -> bool:
    """Whether the tensor's memory has been shared with another library."""
    return bool(_storages) and tensor.untyped_storage().data_ptr() in _storages
