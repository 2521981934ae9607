"""Further samplers and text data sets."""

from __future__ import annotations

from . import text
from .sampler import *
