"""mx.nd.contrib: the functions of the `_contrib_` operators and imperative control flow."""

from __future__ import annotations

from .register import module_functions

__getattr__, __dir__ = module_functions("contrib")
