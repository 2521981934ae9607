"""Deformable convolutions."""

from __future__ import annotations

from .conv_layers import *
