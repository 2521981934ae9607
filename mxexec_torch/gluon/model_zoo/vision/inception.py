"""Inception v3."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from ...contrib.nn import HybridConcurrent
from ._common import ROOT, Network, load_pretrained

__all__ = ["Inception3", "inception_v3"]

# A convolution is (channels, kernel, stride, padding); a branch is a list of them, which may begin with a pooling.
_AVG, _MAX = "avg", "max"
_WIDE, _TALL = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))


def _conv(channels: int, kernel: Any, stride: Any = 1, padding: Any = 0) -> Any:
    out = nn.HybridSequential(prefix="")
    out.add(nn.Conv2D(channels, kernel_size=kernel, strides=stride, padding=padding, use_bias=False), nn.BatchNorm(epsilon=0.001), nn.Activation("relu"))
    return out


def _branch(parts: Any) -> Any:
    out = nn.HybridSequential(prefix="")
    for part in parts:
        if part == _AVG:
            out.add(nn.AvgPool2D(pool_size=3, strides=1, padding=1))
        elif part == _MAX:
            out.add(nn.MaxPool2D(pool_size=3, strides=2))
        else:
            out.add(_conv(*part))
    return out


def _split(lead: Any) -> Any:
    """A branch that ends in two convolutions side by side."""
    out, ends = nn.HybridSequential(prefix=""), HybridConcurrent(axis=1, prefix="")
    out.add(_branch(lead))
    ends.add(_branch([(384, (1, 3), 1, (0, 1))]), _branch([(384, (3, 1), 1, (1, 0))]))
    out.add(ends)
    return out


def _side_by_side(prefix: str, *branches: Any) -> Any:
    out = HybridConcurrent(axis=1, prefix=prefix)
    with out.name_scope():
        for branch in branches:
            out.add(branch() if callable(branch) else _branch(branch))
    return out


def _block_a(prefix: str, pooled: int) -> Any:
    return _side_by_side(prefix, [(64, 1)], [(48, 1), (64, 5, 1, 2)], [(64, 1), (96, 3, 1, 1), (96, 3, 1, 1)], [_AVG, (pooled, 1)])


def _block_c(prefix: str, c: int) -> Any:
    double = [(c, 1), (c, *_TALL), (c, *_WIDE), (c, *_TALL), (192, *_WIDE)]
    return _side_by_side(prefix, [(192, 1)], [(c, 1), (c, *_WIDE), (192, *_TALL)], double, [_AVG, (192, 1)])


def _block_e(prefix: str) -> Any:
    return _side_by_side(prefix, [(320, 1)], lambda: _split([(384, 1)]), lambda: _split([(448, 1), (384, 3, 1, 1)]), [_AVG, (192, 1)])


class Inception3(Network):
    """Inception v3 without the auxiliary output; images of 299 x 299."""

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            features = self.features = nn.HybridSequential(prefix="")
            features.add(_conv(32, 3, 2), _conv(32, 3), _conv(64, 3, 1, 1), nn.MaxPool2D(pool_size=3, strides=2))
            features.add(_conv(80, 1), _conv(192, 3), nn.MaxPool2D(pool_size=3, strides=2))
            for i, pooled in enumerate((32, 64, 64), 1):
                features.add(_block_a(f"A{i}_", pooled))
            features.add(_side_by_side("B_", [(384, 3, 2)], [(64, 1), (96, 3, 1, 1), (96, 3, 2)], [_MAX]))
            for i, channels in enumerate((128, 160, 160, 192), 1):
                features.add(_block_c(f"C{i}_", channels))
            features.add(_side_by_side("D_", [(192, 1), (320, 3, 2)], [(192, 1), (192, *_WIDE), (192, *_TALL), (192, 3, 2)], [_MAX]))
            features.add(_block_e("E1_"), _block_e("E2_"), nn.AvgPool2D(pool_size=8), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


def inception_v3(pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any) -> Inception3:
    """Inception v3."""
    return load_pretrained(Inception3(**kwargs), "inceptionv3", pretrained, ctx, root)  # type: ignore[no-any-return]
