"""mx.nd.image: the functions of the `_image_` operators."""

from __future__ import annotations

from .register import module_functions

__getattr__, __dir__ = module_functions("image")
