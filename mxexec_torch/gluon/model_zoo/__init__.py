"""mx.gluon.model_zoo: ready-made networks."""

from __future__ import annotations

from . import model_store, vision

__all__ = ["model_store", "vision"]
