"""mx.random: the seed, and the functions of mx.nd.random."""

from __future__ import annotations

from typing import Any

import torch

from .base import check_call, integer_types
from .context import Context
from .ndarray.random import (
    exponential,
    gamma,
    generalized_negative_binomial,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)  # fmt: skip

__all__ = [
    "Context", "check_call", "exponential", "gamma", "generalized_negative_binomial", "multinomial", "negative_binomial", "normal",
    "poisson", "randint", "randn", "seed", "shuffle", "uniform",
]  # fmt: skip


def seed(seed_state: int, ctx: Any = "all") -> None:
    """Seeds the random numbers of all devices, or of one context. NumPy's generator is its own. Errors: ValueError unless an int is given."""
    if not isinstance(seed_state, integer_types):
        raise ValueError("seed_state must be int")
    number = int(seed_state)
    if ctx == "all":
        torch.manual_seed(number)
        return
    context = Context(ctx)
    if context.device_typeid == 2:
        with torch.cuda.device(context.device):
            torch.cuda.manual_seed(number)
    else:
        torch.default_generator.manual_seed(number)
