"""mx.gluon.nn: layers."""

from __future__ import annotations

from ..block import Block, HybridBlock
from ..symbol_block import SymbolBlock
from .activations import *
from .activations import __all__ as _activations
from .basic_layers import *
from .basic_layers import __all__ as _basic
from .conv_layers import *
from .conv_layers import __all__ as _conv

__all__ = ["Block", "HybridBlock", "SymbolBlock", *_activations, *_basic, *_conv]
