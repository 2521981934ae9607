"""Further layers."""

from __future__ import annotations

from .basic_layers import *
