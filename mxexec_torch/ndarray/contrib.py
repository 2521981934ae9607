"""mx.nd.contrib: the functions of the `_contrib_` operators, imperative control flow and a few functions over operators."""

from __future__ import annotations

from .contrib_control_flow import cond, foreach, while_loop
from .contrib_functions import (
    adamw_update,
    isfinite,
    isinf,
    isnan,
    mp_adamw_update,
    multi_adamw_update,
    multi_lamb_update,
    multi_mp_adamw_update,
    multi_mp_lamb_update,
    rand_zipfian,
)  # fmt: skip
from .register import module_functions

__all__ = [
    "adamw_update", "cond", "foreach", "isfinite", "isinf", "isnan", "mp_adamw_update", "multi_adamw_update", "multi_lamb_update",
    "multi_mp_adamw_update", "multi_mp_lamb_update", "rand_zipfian", "while_loop",
]  # fmt: skip

__getattr__, _names = module_functions("contrib")


def __dir__() -> list[str]:
    return sorted({*_names(), *__all__})
