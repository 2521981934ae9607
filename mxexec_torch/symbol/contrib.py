"""Operators named `_contrib_*` (functions made from the registry on demand), control flow, and the candidate sampler."""

from __future__ import annotations

import math
from typing import Any

from .base import SymbolBase
from .functions import module_getattr

__all__ = ["rand_zipfian"]

_generated = module_getattr("contrib")
_CONTROL_FLOW = ("cond", "foreach", "while_loop")


def __getattr__(name: str) -> Any:
    if name in _CONTROL_FLOW:
        from . import control_flow  # needs Symbol, which needs this package

        globals()[name] = getattr(control_flow, name)
        return globals()[name]
    return _generated(name)


def rand_zipfian(true_classes: Any, num_sampled: int, range_max: int) -> tuple[Any, Any, Any]:
    """Draws classes of [0, range_max) with probability log((c + 2) / (c + 1)) / log(range_max + 1), for sampled losses.

    true_classes (n,) -> samples (num_sampled,) int64, expected counts of the true classes (n,) and of the samples, both float64.
    """
    from .random import uniform

    if not isinstance(true_classes, SymbolBase):
        raise AssertionError(f"true_classes must be a Symbol, got {type(true_classes)}")
    log_range = math.log(range_max + 1)
    samples = (uniform(0, log_range, shape=(num_sampled,), dtype="float64").exp() - 1).astype("int64") % range_max
    true: Any = true_classes
    true = true.astype("float64")
    count_true = ((true + 2.0) / (true + 1.0)).log() / log_range * num_sampled
    drawn = samples.astype("float64")
    count_drawn = ((drawn + 2.0) / (drawn + 1.0)).log() / log_range * num_sampled
    return samples, count_true, count_drawn
