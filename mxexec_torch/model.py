"""Checkpoints: `prefix-symbol.json` and `prefix-0001.params`."""

from __future__ import annotations

import logging
from collections import namedtuple
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
