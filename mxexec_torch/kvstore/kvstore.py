"""Key-value stores of one process: values summed over devices, kept, updated by an optimizer, copied back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch

from ..errors import MXNetError
from ..ndarray import sparse
from ..ndarray.core import NDArray, wrap
from ..ndarray.invoke import call
from ..optimizer import get_updater
from .base import KVStoreBase, _outs

__all__ = ["KVStore"]

_FOREIGN = "kvstore {kind!r} is not supported: use 'dist_sync' or 'dist_device_sync', which run over torch.distributed"


class _Compression:
    """2-bit gradient compression: each element sends -threshold, 0 or threshold and keeps the rest for the next time."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        unknown = sorted(set(params) - {"type", "threshold"})
        if unknown:
            raise MXNetError(f"set_gradient_compression: Cannot find argument {unknown[0]!r}, possible arguments: type, threshold")
        if "type" not in params:
            raise MXNetError("set_gradient_compression: Required parameter type of string is not presented")
        if str(params["type"]) != "2bit":
            raise MXNetError(f"Unknown type for gradient compression {params['type']}, expected 2bit")
        self.threshold = float(params.get("threshold", 0.5))
        if self.threshold <= 0:
            raise MXNetError(f"threshold must be greater than 0, got {self.threshold}")
        self._rest: dict[Any, torch.Tensor] = {}

    def __call__(self, place: Any, grad: torch.Tensor) -> torch.Tensor:
        """What arrives of a gradient; `place` identifies the key and the device."""
        rest = self._rest.get(place)
        total = grad if rest is None else rest + grad
        limit = self.threshold
        sent = (total >= limit).to(grad.dtype) * limit - (total <= -limit).to(grad.dtype) * limit
        self._rest[place] = total - sent
        return sent


class KVStore(KVStoreBase):
    """A store of kind 'local' or 'device'. Keys are ints or strings, not both.

    push: the values given for a key are summed; the optimizer (or updater) then changes the stored value, without one the sum replaces
    it. pull: copies the stored value. Lists of keys take lists of values, and each value may be a list over devices.
    Errors: MXNetError for keys that were never initialised, initialised twice, or of the other kind.
    """

    def __init__(self, handle: str) -> None:
        assert isinstance(handle, str), "use mx.kv.create to make a store"
        if "horovod" in handle or "byteps" in handle:
            raise MXNetError(_FOREIGN.format(kind=handle))
        self.handle = handle
        self._values: dict[Any, Any] = {}
        self._key_type: type | None = None
        self._updater: Any = None
        self._update: Callable[[Any, Any, Any], None] | None = None
        self._compression: _Compression | None = None

    # -- keys -----------------------------------------------------------------------------------------------------------------
    def _pairs(self, key: Any, value: Any) -> Iterator[tuple[Any, list[Any]]]:
        """(key, list of arrays), equal keys together, in the order of their first mention."""
        found: dict[Any, list[Any]] = {}
        if isinstance(key, (list, tuple)):
            assert len(key) == len(value), f"{len(key)} keys for {len(value)} values"
            for one, arrays in zip(key, value, strict=True):
                found.setdefault(self._checked(one), []).extend(_outs(arrays))
        else:
            found[self._checked(key)] = list(_outs(value))
        for arrays in found.values():
            assert all(isinstance(a, NDArray) for a in arrays), "values must be NDArrays"
        yield from found.items()

    def _checked(self, key: Any) -> Any:
        if isinstance(key, np.integer):
            key = int(key)
        assert isinstance(key, (int, str)), f"unexpected type for keys: {type(key)}"
        kind = str if isinstance(key, str) else int
        if self._key_type is None:
            self._key_type = kind
        if self._key_type is not kind:
            raise MXNetError(f"key {key!r}: this store's keys are of type {self._key_type.__name__}, mixed types are not allowed")
        return key

    def _stored(self, key: Any) -> Any:
        value = self._values.get(key)
        if value is None:
            raise MXNetError(f"key {key} has not been inited")
        return value

    # -- values ---------------------------------------------------------------------------------------------------------------
    def init(self, key: Any, value: Any) -> None:
        """Gives keys their first values; each key once."""
        for one, arrays in self._pairs(key, value):
            if one in self._values or len(arrays) > 1:
                raise MXNetError(f"duplicate init of key {one}")
            self._values[one] = arrays[0].copy()

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Sums the values of each key over devices and updates the stored value."""
        for one, arrays in self._pairs(key, value):
            self._push(one, arrays)

    def _push(self, key: Any, arrays: list[Any]) -> None:
        stored = self._stored(key)
        total = self._sum(key, arrays, stored)
        if self._update is not None:
            self._update(key, total, stored)
        elif stored.stype == "default":
            dense = total if total.stype == "default" else total.tostype("default")
            stored._t.copy_(dense._t.reshape(stored._t.shape))
        else:
            self._values[key] = total.copy()

    def _sum(self, key: Any, arrays: list[Any], stored: Any) -> Any:
        """The sum over devices, on the stored value's context."""
        ctx = stored.context
        if any(a.stype != "default" for a in arrays):
            total = arrays[0].as_in_context(ctx)
            for more in arrays[1:]:
                total = sparse.add(total, more.as_in_context(ctx))
            return total
        device = stored._t.device if stored.stype == "default" else ctx.device
        tensors = [a._t.to(device) for a in arrays]
        for tensor in tensors:
            if tensor.shape != stored._t.shape and stored.stype == "default":
                raise MXNetError(f"key {key}: pushed shape {tuple(tensor.shape)}, the stored value has {stored.shape}")
        if self._compression is not None:
            tensors = [self._compression((key, i), t) for i, t in enumerate(tensors)]
        result = tensors[0]
        for tensor in tensors[1:]:
            result = result + tensor
        return wrap(result, ctx)

    def pull(self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copies stored values to `out`. ignore_sparse: row_sparse outputs are left out (use row_sparse_pull)."""
        assert out is not None, "pull needs out"
        for one, targets in self._pairs(key, out):
            stored = self._stored(one)
            for target in targets:
                if target.stype != "default" and ignore_sparse:
                    warnings.warn(f"pull ignores outputs of key {one} that are {target.stype}: use row_sparse_pull", stacklevel=2)
                else:
                    _copy(stored, target)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """`push`, then `pull` to `out`, or back to `value`."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """`init`, then `pull`."""
        self.init(key, value)
        self.pull(key, out, priority)

    def row_sparse_pull(self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None) -> None:
        """Copies the rows `row_ids` of row_sparse values; one set of rows serves all of `out`, otherwise one each."""
        assert out is not None, "row_sparse_pull needs out"
        assert row_ids is not None, "row_sparse_pull needs row_ids"
        if isinstance(key, (list, tuple)):
            ids = row_ids if isinstance(row_ids, (list, tuple)) and len(row_ids) == len(key) else [row_ids] * len(key)
            for one, targets, rows in zip(key, out, ids, strict=True):
                self.row_sparse_pull(one, targets, priority, rows)
            return
        stored, targets = self._stored(self._checked(key)), _outs(out)
        wanted = [row_ids] if isinstance(row_ids, NDArray) else row_ids
        assert isinstance(wanted, list), "row_ids should be NDArray or list of NDArray"
        if len(wanted) == 1:
            wanted = wanted * len(targets)
        assert len(wanted) == len(targets), "the number of row_ids doesn't match the number of values"
        if stored.stype != "row_sparse":
            raise MXNetError(f"PullRowSparse expects row_sparse values, key {key} has stype {stored.stype}")
        for target, rows in zip(targets, wanted, strict=True):
            if target.stype != "row_sparse":
                raise MXNetError(f"PullRowSparse expects row_sparse outputs, got stype {target.stype} for key {key}")
            unique = torch.unique(rows._t.reshape(-1).to(torch.int64))
            if unique.numel() and not 0 <= int(unique[0]) <= int(unique[-1]) < stored.shape[0]:
                raise MXNetError(f"row_sparse_pull: key {key} has rows 0 to {stored.shape[0] - 1}, asked for {int(unique[0])} to {int(unique[-1])}")
            kept = call("_sparse_retain", stored, wrap(unique.to(stored.context.device), stored.context))
            _copy(kept, target)

    # -- optimizer --------------------------------------------------------------------------------------------------------------
    def is_capable(self, capability: str) -> bool:
        if capability.lower() == KVStoreBase.OPTIMIZER:
            return True
        raise ValueError(f"Unknown capability: {capability}")

    def set_optimizer(self, optimizer: Any) -> None:
        """Pushed values are gradients from now on, and this optimizer updates the stored weights."""
        self._set_updater(get_updater(optimizer))

    def _set_updater(self, updater: Callable[[Any, Any, Any], None]) -> None:
        """A function (key, pushed sum, stored value) that changes the stored value in place."""
        self._updater = self._update = updater

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Compresses pushed gradients: {'type': '2bit', 'threshold': 0.5}. Errors: Exception for stores of kind 'local'."""
        if "device" not in self.type:
            raise Exception("Gradient compression is not supported for this type of kvstore")  # noqa: TRY002 - MXNet's class
        self._compression = _Compression(compression_params)

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        assert self._updater is not None, "Cannot save states: the store has no optimizer"
        with open(fname, "wb") as file:
            file.write(self._updater.get_states(dump_optimizer))

    def load_optimizer_states(self, fname: str) -> None:
        assert self._updater is not None, "Cannot load states: the store has no optimizer"
        with open(fname, "rb") as file:
            self._updater.set_states(file.read())

    # -- description ------------------------------------------------------------------------------------------------------------
    @property
    def type(self) -> str:
        return self.handle

    @property
    def rank(self) -> int:
        return 0

    @property
    def num_workers(self) -> int:
        return 1

    def _barrier(self) -> None:
        """Waits for the other workers, of which there are none."""

    def _send_command_to_servers(self, head: int, body: str) -> None:
        """Sends nothing: there are no servers."""


def _copy(source: Any, target: Any) -> None:
    """Copies between arrays of any storage type and context."""
    if source.stype == target.stype == "default":
        target._t.copy_(source._t)
    else:
        source.as_in_context(target.context).copyto(target)
