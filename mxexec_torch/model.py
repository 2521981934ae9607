"""mx.model: checkpoints (`prefix-symbol.json` and `prefix-0001.params`), updates of parameters, FeedForward."""

from __future__ import annotations

import importlib
import logging
import os
from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

from . import ndarray as nd
from . import symbol as sym
from .context import cpu

__all__ = ["BatchEndParam", "load_checkpoint", "load_params", "save_checkpoint"]

BatchEndParam = namedtuple("BatchEndParam", ["epoch", "nbatch", "eval_metric", "locals"])


def save_checkpoint(
    prefix: str, epoch: int, symbol: Any, arg_params: dict[str, Any], aux_params: dict[str, Any], remove_amp_cast: bool = True
) -> None:
    """Writes `prefix-symbol.json` (when a symbol is given) and `prefix-<epoch, four digits>.params`."""
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    target = f"{prefix}-{epoch:04d}.params"
    arrays = {f"arg:{name}": array.as_in_context(cpu()) for name, array in arg_params.items()}
    arrays.update({f"aux:{name}": array.as_in_context(cpu()) for name, array in aux_params.items()})
    nd.save(target, arrays)
    logging.info('Saved checkpoint to "%s"', target)


def load_params(prefix: str, epoch: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments and auxiliary states of `prefix-<epoch, four digits>.params`, by name.

    Errors: MXNetError when the file cannot be read, ValueError when its arrays are not named `arg:...` and `aux:...`.
    """
    path = f"{prefix}-{epoch:04d}.params"
    stored = nd.load(path)
    if not stored:
        logging.warning("Params file '%s' is empty", path)
        return {}, {}
    found: dict[str, dict[str, Any]] = {"arg": {}, "aux": {}}
    for key, array in stored.items() if isinstance(stored, dict) else {"(no names)": None}.items():
        kind, mark, name = key.partition(":")
        if not mark:
            raise ValueError(f"{path}: {key} is not 'arg:name' or 'aux:name': this file was not written by save_checkpoint")
        if kind in found:
            found[kind][name] = array
    return found["arg"], found["aux"]


def load_checkpoint(prefix: str, epoch: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """(symbol, arguments, auxiliary states) as `save_checkpoint` wrote them."""
    return (sym.load(f"{prefix}-symbol.json"), *load_params(prefix, epoch))


# -- parameters of modules ------------------------------------------------------------------------------------------------------
_LARGE = 1024 * 1024 * 16  # elements of a parameter from which a 'local' store leaves updates to the devices


def _create_kvstore(kvstore: Any, num_device: int, arg_params: Mapping[str, Any]) -> tuple[Any, bool]:
    """(store or None, whether it updates the parameters). One device needs no store. Errors: TypeError for other kinds."""
    from . import kvstore as stores

    update = bool(int(os.getenv("MXNET_UPDATE_ON_KVSTORE", "1")))
    if kvstore is None:
        return None, False
    if isinstance(kvstore, stores.KVStoreBase):
        store = kvstore
    elif not isinstance(kvstore, str):
        raise TypeError("kvstore must be KVStore, str or None")
    elif num_device == 1 and "dist" not in kvstore:
        return None, False
    else:
        store = stores.create(kvstore)
        if kvstore == "local" and max((p.size for p in arg_params.values()), default=0) > _LARGE:
            update = False
    return store, update and store.is_capable(stores.KVStoreBase.OPTIMIZER)


def _create_sparse_kvstore(kvstore: Any) -> tuple[Any, bool]:
    """(store, True) for row_sparse parameters, which a store must update. Errors: TypeError unless a store or its kind is given."""
    from . import kvstore as stores

    if not isinstance(kvstore, (stores.KVStore, str)):
        raise TypeError(f"Cannot create '{kvstore}' KVStore with row_sparse parameters. The type must be KVStore or str.")
    store = stores.create(kvstore) if isinstance(kvstore, str) else kvstore
    assert store.is_capable(stores.KVStoreBase.OPTIMIZER), f"row_sparse weights need a store with an optimizer, {store.type} has none"
    return store, True


def _initialize_kvstore(
    kvstore: Any, param_arrays: Sequence[Sequence[Any]], arg_params: Mapping[str, Any], param_names: Sequence[str], update_on_kvstore: bool
) -> None:
    """Gives the store the parameters; where it updates them the devices get its copies."""
    for name, arrays in zip(param_names, param_arrays, strict=True):
        if update_on_kvstore and arg_params[name].stype == "default":
            kvstore.broadcast(name, arg_params[name], out=arrays)
        else:
            kvstore.init(name, arg_params[name])


def _exchange(kvstore: Any, name: str, grads: Sequence[Any], targets: Sequence[Any], dense: bool, priority: int) -> None:
    """Sends gradients to the store and fetches its answer into `targets`."""
    if dense:
        kvstore.pushpull(name, grads, out=targets, priority=priority)
    else:
        kvstore.push(name, grads, priority=priority)
        kvstore.pull(name, out=targets, priority=priority)


def _update_params_on_kvstore(
    param_arrays: Sequence[Sequence[Any]], grad_arrays: Sequence[Sequence[Any]], kvstore: Any, param_names: Sequence[str]
) -> None:
    """The store sums the gradients and updates the parameters."""
    for index, (weights, grads) in enumerate(zip(param_arrays, grad_arrays, strict=True)):
        if grads[0] is not None:
            dense = grads[0].stype == weights[0].stype == "default"
            _exchange(kvstore, param_names[index], grads, weights, dense, -index)


def _update_params(
    param_arrays: Sequence[Sequence[Any]], grad_arrays: Sequence[Sequence[Any]], updater: Any, num_device: int, kvstore: Any = None,
    param_names: Sequence[str] | None = None,
) -> None:  # fmt: skip
    """Every device updates its parameters, with gradients summed by the store where there is one."""
    updates: list[tuple[list[int], list[Any], list[Any]]] = [([], [], []) for _ in range(num_device)]
    for index, (weights, grads) in enumerate(zip(param_arrays, grad_arrays, strict=True)):
        if grads[0] is None:
            continue
        if kvstore:
            assert param_names is not None
            dense = grads[0].stype == weights[0].stype == "default"
            _exchange(kvstore, param_names[index], grads, grads, dense, -index)
        for device, (weight, grad) in enumerate(zip(weights, grads, strict=True)):
            indices, its_grads, its_weights = updates[device]
            indices.append(index * num_device + device)
            its_grads.append(grad)
            its_weights.append(weight)
    for update in updates:
        if update[0]:
            updater(*update)


# Further names that old code reads here, and the modules that have them. They load when asked for: callbacks need this module.
_ELSEWHERE = {
    "FeedForward": "feedforward", "Context": "context", "DataDesc": "io", "DataParallelExecutorManager": "executor_manager",
    "LogValidationMetricsCallback": "callback", "Uniform": "initializer", "get_updater": "optimizer",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        return getattr(importlib.import_module(f"{__package__}.{_ELSEWHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
