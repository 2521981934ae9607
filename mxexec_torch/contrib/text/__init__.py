"""mx.contrib.text: counting tokens, vocabularies and pretrained token embeddings."""

from __future__ import annotations

from . import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]
