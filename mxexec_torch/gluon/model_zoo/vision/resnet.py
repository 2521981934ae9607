"""ResNet v1 and v2."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from ...block import HybridBlock
from ._common import ROOT, Network, load_pretrained

__all__ = [
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "ResNetV1",
    "ResNetV2",
    "get_resnet",
    "resnet18_v1",
    "resnet18_v2",
    "resnet34_v1",
    "resnet34_v2",
    "resnet50_v1",
    "resnet50_v2",
    "resnet101_v1",
    "resnet101_v2",
    "resnet152_v1",
    "resnet152_v2",
]  # fmt: skip


def _conv3x3(channels: int, stride: int, in_channels: int) -> Any:
    return nn.Conv2D(channels, kernel_size=3, strides=stride, padding=1, use_bias=False, in_channels=in_channels)


def _conv1x1(channels: int, stride: int, in_channels: int = 0) -> Any:
    return nn.Conv2D(channels, kernel_size=1, strides=stride, use_bias=False, in_channels=in_channels)


class _ResidualV1(HybridBlock):
    """relu(body(x) + shortcut(x)); the shortcut is a convolution where the shape changes."""

    def _with_shortcut(self, body: list[Any], channels: int, stride: int, downsample: bool, in_channels: int) -> None:
        self.body = nn.HybridSequential(prefix="")
        self.body.add(*body)
        self.downsample: Any = None
        if downsample:
            self.downsample = nn.HybridSequential(prefix="")
            self.downsample.add(_conv1x1(channels, stride, in_channels), nn.BatchNorm())

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # type: ignore[override]
        out = self.body(x)
        return F.Activation((self.downsample(x) if self.downsample else x) + out, act_type="relu")


class BasicBlockV1(_ResidualV1):
    """Two 3 x 3 convolutions, normalized after each."""

    def __init__(self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        body = [
            _conv3x3(channels, stride, in_channels), nn.BatchNorm(), nn.Activation("relu"), _conv3x3(channels, 1, channels), nn.BatchNorm()
        ]  # fmt: skip
        self._with_shortcut(body, channels, stride, downsample, in_channels)


class BottleneckV1(_ResidualV1):
    """1 x 1, 3 x 3 and 1 x 1 convolutions, normalized after each; the 1 x 1 ones have a bias."""

    def __init__(self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        narrow = channels // 4
        body = [
            nn.Conv2D(narrow, kernel_size=1, strides=stride), nn.BatchNorm(), nn.Activation("relu"),
            _conv3x3(narrow, 1, narrow), nn.BatchNorm(), nn.Activation("relu"),
            nn.Conv2D(channels, kernel_size=1, strides=1), nn.BatchNorm(),
        ]  # fmt: skip
        self._with_shortcut(body, channels, stride, downsample, in_channels)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # type: ignore[override]
        out = self.body(x)
        return F.Activation(out + (self.downsample(x) if self.downsample else x), act_type="relu")


class _ResidualV2(HybridBlock):
    """Convolutions each after normalization and relu; the shortcut starts after the first of these where the shape changes."""

    _count: int

    def _convolve(self, convolutions: list[Any], channels: int, stride: int, downsample: bool, in_channels: int) -> None:
        for i, conv in enumerate(convolutions, 1):
            setattr(self, f"bn{i}", nn.BatchNorm())
            setattr(self, f"conv{i}", conv)
        self._count = len(convolutions)
        self.downsample: Any = _conv1x1(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # type: ignore[override]
        shortcut = x
        for i in range(1, self._count + 1):
            x = F.Activation(getattr(self, f"bn{i}")(x), act_type="relu")
            if i == 1 and self.downsample:
                shortcut = self.downsample(x)
            x = getattr(self, f"conv{i}")(x)
        return x + shortcut


class BasicBlockV2(_ResidualV2):
    """Two 3 x 3 convolutions."""

    def __init__(self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        convolutions = [_conv3x3(channels, stride, in_channels), _conv3x3(channels, 1, channels)]
        self._convolve(convolutions, channels, stride, downsample, in_channels)


class BottleneckV2(_ResidualV2):
    """1 x 1, 3 x 3 and 1 x 1 convolutions."""

    def __init__(self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        narrow = channels // 4
        self._convolve([_conv1x1(narrow, 1), _conv3x3(narrow, stride, narrow), _conv1x1(channels, 1)], channels, stride, downsample, in_channels)


class _ResNet(Network):
    """What both versions share: the first layers and the stages of residual blocks."""

    def _begin(self, channels: int, thumbnail: bool) -> None:
        if thumbnail:
            self.features.add(_conv3x3(channels, 1, 0))
        else:
            first = nn.Conv2D(channels, 7, 2, 3, use_bias=False)
            self.features.add(first, nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(3, 2, 1))

    def _add_stages(self, block: Any, layers: Any, channels: Any) -> None:
        for i, count in enumerate(layers):
            self.features.add(self._make_layer(block, count, channels[i + 1], 1 if i == 0 else 2, i + 1, in_channels=channels[i]))

    def _make_layer(self, block: Any, layers: int, channels: int, stride: int, stage_index: int, in_channels: int = 0) -> Any:
        stage = nn.HybridSequential(prefix=f"stage{stage_index}_")
        with stage.name_scope():
            stage.add(block(channels, stride, channels != in_channels, in_channels=in_channels, prefix=""))
            for _ in range(layers - 1):
                stage.add(block(channels, 1, False, in_channels=channels, prefix=""))
        return stage


def _check(layers: Any, channels: Any) -> None:
    assert len(layers) == len(channels) - 1, f"{len(layers)} stages need {len(layers) + 1} numbers of channels, got {len(channels)}"


class ResNetV1(_ResNet):
    """ResNet v1 of stages with layers[i] blocks and channels[i + 1] channels. thumbnail: for small images."""

    def __init__(self, block: Any, layers: Any, channels: Any, classes: int = 1000, thumbnail: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        _check(layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self._begin(channels[0], thumbnail)
            self._add_stages(block, layers, channels)
            self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes, in_units=channels[-1])


class ResNetV2(_ResNet):
    """ResNet v2, with normalization before convolutions."""

    def __init__(self, block: Any, layers: Any, channels: Any, classes: int = 1000, thumbnail: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        _check(layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.BatchNorm(scale=False, center=False))
            self._begin(channels[0], thumbnail)
            self._add_stages(block, layers, channels)
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes, in_units=channels[-1])


_NARROW, _WIDE = [64, 64, 128, 256, 512], [64, 256, 512, 1024, 2048]
resnet_spec = {
    18: ("basic_block", [2, 2, 2, 2], _NARROW), 34: ("basic_block", [3, 4, 6, 3], _NARROW), 50: ("bottle_neck", [3, 4, 6, 3], _WIDE),
    101: ("bottle_neck", [3, 4, 23, 3], _WIDE), 152: ("bottle_neck", [3, 8, 36, 3], _WIDE),
}  # fmt: skip
resnet_net_versions: list[Any] = [ResNetV1, ResNetV2]
resnet_block_versions: list[dict[str, Any]] = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1}, {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2}
]  # fmt: skip


def get_resnet(version: int, num_layers: int, pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any) -> Any:
    """ResNet of version 1 or 2 with 18, 34, 50, 101 or 152 layers. Errors: AssertionError for others."""
    assert num_layers in resnet_spec, f"Invalid number of layers: {num_layers}. Options are {sorted(resnet_spec)}"
    assert version in (1, 2), f"Invalid resnet version: {version}. Options are 1 and 2."
    kind, layers, channels = resnet_spec[num_layers]
    net = resnet_net_versions[version - 1](resnet_block_versions[version - 1][kind], layers, channels, **kwargs)
    return load_pretrained(net, f"resnet{num_layers}_v{version}", pretrained, ctx, root)


def resnet18_v1(**kwargs: Any) -> Any:
    """ResNet v1 of 18 layers."""
    return get_resnet(1, 18, **kwargs)


def resnet34_v1(**kwargs: Any) -> Any:
    """ResNet v1 of 34 layers."""
    return get_resnet(1, 34, **kwargs)


def resnet50_v1(**kwargs: Any) -> Any:
    """ResNet v1 of 50 layers."""
    return get_resnet(1, 50, **kwargs)


def resnet101_v1(**kwargs: Any) -> Any:
    """ResNet v1 of 101 layers."""
    return get_resnet(1, 101, **kwargs)


def resnet152_v1(**kwargs: Any) -> Any:
    """ResNet v1 of 152 layers."""
    return get_resnet(1, 152, **kwargs)


def resnet18_v2(**kwargs: Any) -> Any:
    """ResNet v2 of 18 layers."""
    return get_resnet(2, 18, **kwargs)


def resnet34_v2(**kwargs: Any) -> Any:
    """ResNet v2 of 34 layers."""
    return get_resnet(2, 34, **kwargs)


def resnet50_v2(**kwargs: Any) -> Any:
    """ResNet v2 of 50 layers."""
    return get_resnet(2, 50, **kwargs)


def resnet101_v2(**kwargs: Any) -> Any:
    """ResNet v2 of 101 layers."""
    return get_resnet(2, 101, **kwargs)


def resnet152_v2(**kwargs: Any) -> Any:
    """ResNet v2 of 152 layers."""
    return get_resnet(2, 152, **kwargs)
