"""Further recurrent cells."""

from __future__ import annotations

from .conv_rnn_cell import *
from .rnn_cell import *
