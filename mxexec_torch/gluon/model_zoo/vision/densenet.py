"""DenseNet."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from ...contrib.nn import HybridConcurrent, Identity
from ._common import ROOT, Network, load_pretrained

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]

# first channels, channels that a layer adds, layers of each block
densenet_spec = {
    121: (64, 32, [6, 12, 24, 16]), 161: (96, 48, [6, 12, 36, 24]), 169: (64, 32, [6, 12, 32, 32]), 201: (64, 32, [6, 12, 48, 32])
}  # fmt: skip


def _preactivated(chain: Any, *layers: Any) -> None:
    chain.add(nn.BatchNorm(), nn.Activation("relu"), *layers)


def _layer(growth_rate: int, bn_size: int, dropout: float) -> Any:
    """The input beside what two convolutions make of it."""
    new, out = nn.HybridSequential(prefix=""), HybridConcurrent(axis=1, prefix="")
    _preactivated(new, nn.Conv2D(bn_size * growth_rate, kernel_size=1, use_bias=False))
    _preactivated(new, nn.Conv2D(growth_rate, kernel_size=3, padding=1, use_bias=False))
    if dropout:
        new.add(nn.Dropout(dropout))
    out.add(Identity(), new)
    return out


class DenseNet(Network):
    """Blocks of layers that each see all outputs before them, halved in size between blocks."""

    def __init__(
        self, num_init_features: int, growth_rate: int, block_config: Any, bn_size: int = 4, dropout: float = 0, classes: int = 1000, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        channels, last = num_init_features, len(block_config)
        with self.name_scope():
            features = self.features = nn.HybridSequential(prefix="")
            features.add(nn.Conv2D(channels, kernel_size=7, strides=2, padding=3, use_bias=False))
            _preactivated(features, nn.MaxPool2D(pool_size=3, strides=2, padding=1))
            for stage, count in enumerate(block_config, 1):
                block = nn.HybridSequential(prefix=f"stage{stage}_")
                with block.name_scope():
                    for _ in range(count):
                        block.add(_layer(growth_rate, bn_size, dropout))
                features.add(block)
                channels += count * growth_rate
                if stage != last:
                    channels //= 2
                    transition = nn.HybridSequential(prefix="")
                    _preactivated(transition, nn.Conv2D(channels, kernel_size=1, use_bias=False), nn.AvgPool2D(pool_size=2, strides=2))
                    features.add(transition)
            _preactivated(features, nn.AvgPool2D(pool_size=7), nn.Flatten())
            self.output = nn.Dense(classes)


def get_densenet(num_layers: int, pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any) -> DenseNet:
    """DenseNet of 121, 161, 169 or 201 layers. Errors: KeyError for other numbers."""
    return load_pretrained(DenseNet(*densenet_spec[num_layers], **kwargs), f"densenet{num_layers}", pretrained, ctx, root)  # type: ignore[no-any-return]


def densenet121(**kwargs: Any) -> DenseNet:
    """DenseNet of 121 layers."""
    return get_densenet(121, **kwargs)


def densenet161(**kwargs: Any) -> DenseNet:
    """DenseNet of 161 layers."""
    return get_densenet(161, **kwargs)


def densenet169(**kwargs: Any) -> DenseNet:
    """DenseNet of 169 layers."""
    return get_densenet(169, **kwargs)


def densenet201(**kwargs: Any) -> DenseNet:
    """DenseNet of 201 layers."""
    return get_densenet(201, **kwargs)
