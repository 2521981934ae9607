"""mx.gluon.data: datasets, samplers and the DataLoader."""

from __future__ import annotations

from . import vision
from .dataloader import *
from .dataset import *
from .sampler import *
