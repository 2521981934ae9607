"""Key-value stores over several processes ('dist_sync', 'dist_device_sync'): gradients are summed with torch.distributed, no servers.

Start the workers with torchrun (`torchrun --nproc-per-node 2 -m mxexec_torch run train.py ...`): it sets RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT. Each worker keeps the stored values and the optimizer's states; every push is one all-reduce, so that they stay equal. All
workers must push the same keys in the same order. CPU values go through gloo, GPU values through nccl.

A worker that dies makes the others' next push fail at once when its connections close, and after MXEXEC_TORCH_DIST_TIMEOUT seconds
(300) when they do not.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from ..errors import MXNetError
from ..ndarray import sparse
from ..ndarray.core import wrap
from .kvstore import KVStore, _Compression

__all__ = ["DistKVStore"]

_KINDS = ("dist", "dist_sync", "dist_device_sync", "dist_sync_device")
_LAUNCHER = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_RANDOM_UPDATES = ("SGLD",)  # optimizers whose updates each worker would draw for itself
R = TypeVar("R")


def _timeout() -> timedelta:
    text = os.environ.get("MXEXEC_TORCH_DIST_TIMEOUT", "300")
    try:
        return timedelta(seconds=float(text))
    except ValueError:
        raise MXNetError(f"MXEXEC_TORCH_DIST_TIMEOUT is a number of seconds, got {text!r}") from None


def _join() -> None:
    """Joins the other workers, unless the program has done so. Errors: MXNetError outside of torchrun, or when they do not all come."""
    if dist.is_initialized():
        return
    missing = [name for name in _LAUNCHER if name not in os.environ]
    if missing:
        old = " (DMLC_ROLE is set: this is MXNet's launcher, whose servers are not needed here)" if "DMLC_ROLE" in os.environ else ""
        raise MXNetError(f"a distributed kvstore needs its workers started with torchrun: {', '.join(missing)} not set{old}")
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and dist.is_nccl_available() else "gloo"
    _guarded("joining the other workers", lambda: dist.init_process_group(backend, timeout=_timeout()))
    atexit.register(_leave)


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def _guarded(what: str, action: Callable[[], R]) -> R:
    """Runs a collective. Errors: MXNetError instead of torch's when a worker is gone."""
    try:
        return action()
    except (RuntimeError, ValueError) as error:  # torch's DistError is a RuntimeError
        if isinstance(error, MXNetError):
            raise
        rank = f"worker {dist.get_rank()} of {dist.get_world_size()}: " if dist.is_initialized() else ""
        raise MXNetError(f"{rank}{what} failed: another worker has died, is stuck, or pushes other keys ({error})") from error


class DistKVStore(KVStore):
    """A store of kind 'dist_sync' (sums over devices on the CPU or the stored value's device) or 'dist_device_sync'.

    Errors: MXNetError for 'dist_async', whose updates need servers, and for a worker that is gone.
    """

    def __init__(self, handle: str) -> None:
        if "async" in handle:
            raise MXNetError(f"kvstore {handle!r} is not supported: asynchronous updates need MXNet's parameter servers; use 'dist_sync'")
        if handle not in _KINDS:
            raise MXNetError(f"Unknown KVStore type {handle!r}: the distributed kinds are dist_sync and dist_device_sync")
        _join()
        super().__init__(handle)
        self._common_updates = True

    def init(self, key: Any, value: Any) -> None:
        """Gives keys their first values: those of worker 0 everywhere."""
        super().init(key, value)
        for one, _ in self._pairs(key, value):
            self._spread(one)

    def _spread(self, key: Any) -> None:
        """Worker 0's stored value to all."""
        stored = self._values[key]
        if stored.stype == "default":
            tensor = stored._t.contiguous()
            _guarded(f"broadcasting key {key}", lambda: dist.broadcast(tensor, 0))
            if tensor is not stored._t:
                stored._t.copy_(tensor)
            return
        sent: list[Any] = [stored.asnumpy() if self.rank == 0 else None]
        _guarded(f"broadcasting key {key}", lambda: dist.broadcast_object_list(sent, 0))
        self._values[key] = wrap(torch.from_numpy(sent[0]), stored.context).tostype(stored.stype)

    def _push(self, key: Any, arrays: list[Any]) -> None:
        super()._push(key, arrays)
        if not self._common_updates:
            self._spread(key)

    def _sum(self, key: Any, arrays: list[Any], stored: Any) -> Any:
        """The sum over devices and workers. Gradient compression applies to what a worker sends."""
        compression, self._compression = self._compression, None
        try:
            own = super()._sum(key, arrays, stored)
        finally:
            self._compression = compression
        if own.stype == "row_sparse":
            return self._sum_rows(key, own)
        total = own._t.clone() if own.stype == "default" else own.tostype("default")._t
        if compression is not None:
            total = compression((key, 0), total)
        total = total.contiguous()
        _guarded(f"pushing key {key}", lambda: dist.all_reduce(total))
        return wrap(total, stored.context)

    def _sum_rows(self, key: Any, own: Any) -> Any:
        """The sum of row_sparse values: the rows that any worker has, zeros where a worker lacks one."""
        rows, values = own.indices._t.to(torch.int64), own.data._t
        every: list[Any] = [None] * self.num_workers
        _guarded(f"pushing key {key}", lambda: dist.all_gather_object(every, rows.tolist()))
        union = torch.tensor(sorted({row for some in every for row in some}), dtype=torch.int64, device=rows.device)
        total = values.new_zeros((len(union), *own.shape[1:]))
        if len(rows):
            total[torch.searchsorted(union, rows)] = values
        if len(union):
            _guarded(f"pushing key {key}", lambda: dist.all_reduce(total))
        return sparse.row_sparse_array((wrap(total, own.context), wrap(union, own.context)), shape=own.shape, ctx=own.context, dtype=own.dtype)

    def set_optimizer(self, optimizer: Any) -> None:
        """Every worker updates its copy of the values with this optimizer."""
        super().set_optimizer(optimizer)
        self._common_updates = type(optimizer).__name__ not in _RANDOM_UPDATES

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Compresses what a worker sends: {'type': '2bit', 'threshold': 0.5}. The sums are MXNet's; the traffic is not reduced."""
        self._compression = _Compression(compression_params)

    @property
    def rank(self) -> int:
        return dist.get_rank()

    @property
    def num_workers(self) -> int:
        return dist.get_world_size()

    def _barrier(self) -> None:
        """Waits for the other workers."""
        one = torch.zeros(1)
        _guarded("waiting for the other workers", lambda: dist.all_reduce(one))
