"""mx.optimizer.optimizer: all optimizers, `create`, `register` and updaters under one name."""

from __future__ import annotations

from ..ndarray import abs as NDabs  # noqa: N812 - MXNet's name
from .adaptive import FTML, LAMB, AdaDelta, AdaGrad, Adam, Adamax, Ftrl, Nadam, RMSProp, Test
from .base import Optimizer
from .sgd import DCASGD, LARS, LBSGD, NAG, SGD, SGLD, Signum, ccSGD
from .updater import Updater, get_updater

__all__ = [
    "DCASGD", "FTML", "LAMB", "LARS", "LBSGD", "NAG", "SGD", "SGLD", "AdaDelta", "AdaGrad", "Adam", "Adamax", "Ftrl", "NDabs", "Nadam",
    "Optimizer", "RMSProp", "Signum", "Test", "Updater", "ccSGD", "create", "get_updater", "register",
]  # fmt: skip

register = Optimizer.register
create = Optimizer.create_optimizer
