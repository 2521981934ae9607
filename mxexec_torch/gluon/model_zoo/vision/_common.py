"""What the networks share: features followed by an output layer, and pretrained parameters."""

from __future__ import annotations

import os
from typing import Any

from .... import base
from ...block import HybridBlock
from ..model_store import get_model_file

__all__ = ["ROOT", "Network", "load_pretrained"]

ROOT = os.path.join(base.data_dir(), "models")


class Network(HybridBlock):
    """output(features(x))."""

    features: Any
    output: Any

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # type: ignore[override]
        return self.output(self.features(x))


def load_pretrained(net: Any, name: str, pretrained: bool, ctx: Any, root: str) -> Any:
    """The network, with the published parameters from `root` where they are wanted. Errors: MXNetError when they are not there."""
    if pretrained:
        net.load_parameters(get_model_file(name, root=root), ctx=ctx)
    return net
