"""mx.rnn.rnn_cell: all cells under one name."""

from __future__ import annotations

from .base import BaseRNNCell, RNNParams
from .cells import BaseConvRNNCell, ConvGRUCell, ConvLSTMCell, ConvRNNCell, GRUCell, LSTMCell, RNNCell
from .composite import BidirectionalCell, DropoutCell, FusedRNNCell, ModifierCell, ResidualCell, SequentialRNNCell, ZoneoutCell

__all__ = [
    "BaseConvRNNCell", "BaseRNNCell", "BidirectionalCell", "ConvGRUCell", "ConvLSTMCell", "ConvRNNCell", "DropoutCell", "FusedRNNCell", "GRUCell",
    "LSTMCell", "ModifierCell", "RNNCell", "RNNParams", "ResidualCell", "SequentialRNNCell", "ZoneoutCell",
]  # fmt: skip
