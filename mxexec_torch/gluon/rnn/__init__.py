"""mx.gluon.rnn: recurrent cells and layers."""

from __future__ import annotations

from .rnn_cell import *
from .rnn_layer import *
