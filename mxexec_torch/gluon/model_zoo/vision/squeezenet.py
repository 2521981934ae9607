"""SqueezeNet."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from ...contrib.nn import HybridConcurrent
from ._common import ROOT, Network, load_pretrained

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]

# first convolution (channels, kernel); then widths of squeezed channels, None for pooling
_VERSIONS: dict[str, tuple[tuple[int, int], tuple[int | None, ...]]] = {
    "1.0": ((96, 7), (None, 16, 16, 32, None, 32, 48, 48, 64, None, 64)),
    "1.1": ((64, 3), (None, 16, 16, None, 32, 32, None, 48, 48, 64, 64)),
}


def _conv(channels: int, kernel: int, padding: int = 0) -> Any:
    out = nn.HybridSequential(prefix="")
    out.add(nn.Conv2D(channels, kernel, padding=padding), nn.Activation("relu"))
    return out


def _fire(squeezed: int) -> Any:
    """A 1 x 1 convolution to few channels, then 1 x 1 and 3 x 3 ones side by side to four times as many each."""
    out, paths = nn.HybridSequential(prefix=""), HybridConcurrent(axis=1, prefix="")
    out.add(_conv(squeezed, 1))
    paths.add(_conv(4 * squeezed, 1))
    paths.add(_conv(4 * squeezed, 3, 1))
    out.add(paths)
    return out


class SqueezeNet(Network):
    """SqueezeNet of version '1.0' or '1.1'."""

    def __init__(self, version: str, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        assert version in _VERSIONS, f"Unsupported SqueezeNet version {version}:1.0 or 1.1 expected"
        (channels, kernel), parts = _VERSIONS[version]
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.Conv2D(channels, kernel_size=kernel, strides=2), nn.Activation("relu"))
            for squeezed in parts:
                self.features.add(nn.MaxPool2D(pool_size=3, strides=2, ceil_mode=True) if squeezed is None else _fire(squeezed))
            self.features.add(nn.Dropout(0.5))
            self.output = nn.HybridSequential(prefix="")
            self.output.add(nn.Conv2D(classes, kernel_size=1), nn.Activation("relu"), nn.AvgPool2D(13), nn.Flatten())


def get_squeezenet(version: str, pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any) -> SqueezeNet:
    """SqueezeNet of a version."""
    return load_pretrained(SqueezeNet(version, **kwargs), f"squeezenet{version}", pretrained, ctx, root)  # type: ignore[no-any-return]


def squeezenet1_0(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.0."""
    return get_squeezenet("1.0", **kwargs)


def squeezenet1_1(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.1."""
    return get_squeezenet("1.1", **kwargs)
