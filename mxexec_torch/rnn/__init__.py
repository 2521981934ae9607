"""mx.rnn: recurrent cells for symbols, sentence iterators and checkpoints."""

from __future__ import annotations

from . import io, rnn, rnn_cell
from .io import BucketSentenceIter, encode_sentences
from .rnn import do_rnn_checkpoint, load_rnn_checkpoint, rnn_unroll, save_rnn_checkpoint
from .rnn_cell import *  # noqa: F403
from .rnn_cell import __all__ as _cells

__all__ = [
    "BucketSentenceIter", "do_rnn_checkpoint", "encode_sentences", "io", "load_rnn_checkpoint", "rnn", "rnn_cell", "rnn_unroll",
    "save_rnn_checkpoint", *_cells,
]  # fmt: skip
