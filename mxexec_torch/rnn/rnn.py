"""Checkpoints of recurrent models, with weights by gate so that fused and single cells read each other's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..model import load_checkpoint, save_checkpoint
from .base import BaseRNNCell

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]


def _listed(cells: Any) -> Any:
    return [cells] if isinstance(cells, BaseRNNCell) else cells


def rnn_unroll(cell: Any, length: int, inputs: Any = None, begin_state: Any = None, input_prefix: str = "", layout: str = "NTC") -> Any:
    """The older form of `cell.unroll`."""
    warnings.warn("rnn_unroll is deprecated. Please call cell.unroll directly.", stacklevel=2)
    return cell.unroll(length=length, inputs=inputs, begin_state=begin_state, layout=layout)


def save_rnn_checkpoint(cells: Any, prefix: str, epoch: int, symbol: Any, arg_params: Any, aux_params: Any) -> None:
    """`save_checkpoint` with the cells' weights unpacked."""
    for cell in _listed(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells: Any, prefix: str, epoch: int) -> tuple[Any, Any, Any]:
    """`load_checkpoint` with the cells' weights packed."""
    symbol, arguments, auxiliary = load_checkpoint(prefix, epoch)
    for cell in _listed(cells):
        arguments = cell.pack_weights(arguments)
    return symbol, arguments, auxiliary


def do_rnn_checkpoint(cells: Any, prefix: str, period: int = 1) -> Callable[..., None]:
    """A callback that saves such a checkpoint every `period` epochs."""
    every = int(max(1, period))

    def at_epoch_end(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % every == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return at_epoch_end
