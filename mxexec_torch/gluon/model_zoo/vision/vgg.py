"""VGG."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ....initializer import Xavier
from ... import nn
from ._common import ROOT, Network, load_pretrained

__all__ = ["VGG", "get_vgg", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"]

_FILTERS = [64, 128, 256, 512, 512]
vgg_spec = {
    11: ([1, 1, 2, 2, 2], _FILTERS), 13: ([2, 2, 2, 2, 2], _FILTERS), 16: ([2, 2, 3, 3, 3], _FILTERS), 19: ([2, 2, 4, 4, 4], _FILTERS)
}  # fmt: skip


class VGG(Network):
    """Stages of 3 x 3 convolutions (layers[i] of filters[i] channels), each ending in pooling, and three dense layers."""

    def __init__(self, layers: Any, filters: Any, classes: int = 1000, batch_norm: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        assert len(layers) == len(filters), f"{len(layers)} numbers of layers for {len(filters)} numbers of filters"
        dense: dict[str, Any] = {"weight_initializer": "normal", "bias_initializer": "zeros"}
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            for count, channels in zip(layers, filters, strict=True):
                for _ in range(count):
                    start = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
                    conv = nn.Conv2D(channels, kernel_size=3, padding=1, weight_initializer=start, bias_initializer="zeros")
                    self.features.add(conv, *([nn.BatchNorm()] if batch_norm else []), nn.Activation("relu"))
                self.features.add(nn.MaxPool2D(strides=2))
            for _ in range(2):
                self.features.add(nn.Dense(4096, activation="relu", **dense), nn.Dropout(rate=0.5))
            self.output = nn.Dense(classes, **dense)


def get_vgg(num_layers: int, pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any) -> VGG:
    """VGG of 11, 13, 16 or 19 layers. Errors: KeyError for other numbers."""
    name = f"vgg{num_layers}{'_bn' if kwargs.get('batch_norm') else ''}"
    return load_pretrained(VGG(*vgg_spec[num_layers], **kwargs), name, pretrained, ctx, root)  # type: ignore[no-any-return]


def vgg11(**kwargs: Any) -> VGG:
    """VGG of 11 layers."""
    return get_vgg(11, **kwargs)


def vgg13(**kwargs: Any) -> VGG:
    """VGG of 13 layers."""
    return get_vgg(13, **kwargs)


def vgg16(**kwargs: Any) -> VGG:
    """VGG of 16 layers."""
    return get_vgg(16, **kwargs)


def vgg19(**kwargs: Any) -> VGG:
    """VGG of 19 layers."""
    return get_vgg(19, **kwargs)


def vgg11_bn(**kwargs: Any) -> VGG:
    """VGG of 11 layers with batch normalization."""
    return get_vgg(11, **{**kwargs, "batch_norm": True})


def vgg13_bn(**kwargs: Any) -> VGG:
    """VGG of 13 layers with batch normalization."""
    return get_vgg(13, **{**kwargs, "batch_norm": True})


def vgg16_bn(**kwargs: Any) -> VGG:
    """VGG of 16 layers with batch normalization."""
    return get_vgg(16, **{**kwargs, "batch_norm": True})


def vgg19_bn(**kwargs: Any) -> VGG:
    """VGG of 19 layers with batch normalization."""
    return get_vgg(19, **{**kwargs, "batch_norm": True})
