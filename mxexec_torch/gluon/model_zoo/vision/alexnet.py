"""AlexNet."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from ._common import ROOT, Network, load_pretrained

__all__ = ["AlexNet", "alexnet"]

# channels, kernel, stride, padding, pooled afterwards
_CONVOLUTIONS = ((64, 11, 4, 2, True), (192, 5, 1, 2, True), (384, 3, 1, 1, False), (256, 3, 1, 1, False), (256, 3, 1, 1, True))


class AlexNet(Network):
    """AlexNet in the one-GPU form; images of 224 x 224."""

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                for channels, kernel, stride, padding, pooled in _CONVOLUTIONS:
                    self.features.add(nn.Conv2D(channels, kernel_size=kernel, strides=stride, padding=padding, activation="relu"))
                    if pooled:
                        self.features.add(nn.MaxPool2D(pool_size=3, strides=2))
                self.features.add(nn.Flatten())
                for _ in range(2):
                    self.features.add(nn.Dense(4096, activation="relu"), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


def alexnet(pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any) -> AlexNet:
    """AlexNet."""
    return load_pretrained(AlexNet(**kwargs), "alexnet", pretrained, ctx, root)  # type: ignore[no-any-return]
