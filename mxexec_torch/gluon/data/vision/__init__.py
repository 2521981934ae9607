"""mx.gluon.data.vision: image data sets and transforms."""

from __future__ import annotations

from . import transforms
from .datasets import *
