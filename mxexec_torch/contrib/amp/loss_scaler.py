"""`LossScaler`: the factor of the loss in mixed precision, halved after an overflow and doubled after a long run without one."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from ... import autograd as ag
from ... import ndarray as _ndarray
from ...ndarray import ndarray as nd

__all__ = ["LossScaler", "ag", "nd"]

_FIRST, _MOST = 2.0**16, 2.0**24
_PATIENCE = 2000  # steps without an overflow before the factor doubles
_CHUNK = 200  # gradients checked by one call


class LossScaler:
    """`loss_scale` is the factor in force; `has_overflow` checks a step's gradients and decides the next one."""

    def __init__(self) -> None:
        self._loss_scale = _FIRST
        self._next_loss_scale = _FIRST
        self._max_loss_scale = _MOST
        self._scale_seq_len = _PATIENCE
        self._unskipped = 0

    @property
    def loss_scale(self) -> float:
        """The current factor."""
        return self._loss_scale

    def has_overflow(self, params: Iterable[Any]) -> bool:
        """Whether a gradient (on the first context) of the parameters is infinite or NaN; the factor decided last step comes into force."""
        gradients = [p._grad[0] for p in params if p._grad is not None]
        with ag.pause():
            chunks = [gradients[start : start + _CHUNK] for start in range(0, len(gradients), _CHUNK)]
            overflow = not all(_ndarray.multi_all_finite(*chunk, num_arrays=len(chunk)).asscalar() for chunk in chunks)
        self._loss_scale = self._next_loss_scale
        if overflow:
            self._next_loss_scale = self._loss_scale / 2.0
            self._unskipped = 0
            logging.info("AMP: gradients overflowed, the loss scale falls to %f", self._next_loss_scale)
            return True
        self._unskipped += 1
        if self._unskipped == self._scale_seq_len:
            self._unskipped = 0
            self._next_loss_scale = min(self._max_loss_scale, self._loss_scale * 2.0)
            logging.info("AMP: no overflow for %d steps, the loss scale rises to %f", self._scale_seq_len, self._next_loss_scale)
        return False
