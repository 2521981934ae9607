"""MobileNet and MobileNet v2."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ... import nn
from ...block import HybridBlock
from ._common import ROOT, Network, load_pretrained

__all__ = [
    "MobileNet", "MobileNetV2", "get_mobilenet", "get_mobilenet_v2", "mobilenet0_5", "mobilenet0_25", "mobilenet0_75", "mobilenet1_0",
    "mobilenet_v2_0_5", "mobilenet_v2_0_25", "mobilenet_v2_0_75", "mobilenet_v2_1_0",
]  # fmt: skip

# v1: (channels, stride) of each pair of depthwise and pointwise convolution; v2: (expansion, channels, repeats, stride of the first)
_V1 = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))
_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


class RELU6(HybridBlock):
    """min(max(x, 0), 6)."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # type: ignore[override]
        return F.clip(x, 0, 6, name="relu6")


def _add_conv(
    out: Any, channels: int = 1, kernel: int = 1, stride: int = 1, pad: int = 0, num_group: int = 1, active: bool = True, relu6: bool = False
) -> None:
    out.add(nn.Conv2D(channels, kernel, stride, pad, groups=num_group, use_bias=False), nn.BatchNorm(scale=True))
    if active:
        out.add(RELU6() if relu6 else nn.Activation("relu"))


class LinearBottleneck(HybridBlock):
    """Expands channels t times, filters them one by one, reduces them; adds the input where shapes allow it."""

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        wide = in_channels * t
        with self.name_scope():
            self.out = nn.HybridSequential()
            _add_conv(self.out, wide, relu6=True)
            _add_conv(self.out, wide, kernel=3, stride=stride, pad=1, num_group=wide, relu6=True)
            _add_conv(self.out, channels, active=False)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # type: ignore[override]
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


class MobileNet(Network):
    """MobileNet; `multiplier` scales the numbers of channels."""

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            features = self.features = nn.HybridSequential(prefix="")
            with features.name_scope():
                before = int(32 * multiplier)
                _add_conv(features, channels=before, kernel=3, pad=1, stride=2)
                for full, stride in _V1:
                    channels = int(full * multiplier)
                    _add_conv(features, channels=before, kernel=3, stride=stride, pad=1, num_group=before)
                    _add_conv(features, channels=channels)
                    before = channels
                features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)


class MobileNetV2(Network):
    """MobileNet v2; `multiplier` scales the numbers of channels."""

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            features = self.features = nn.HybridSequential(prefix="features_")
            with features.name_scope():
                before = int(32 * multiplier)
                _add_conv(features, before, kernel=3, stride=2, pad=1, relu6=True)
                for t, full, repeats, first in _V2:
                    channels = int(full * multiplier)
                    for i in range(repeats):
                        features.add(LinearBottleneck(in_channels=before, channels=channels, t=t, stride=first if i == 0 else 1))
                        before = channels
                _add_conv(features, int(1280 * multiplier) if multiplier > 1.0 else 1280, relu6=True)
                features.add(nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())


def _suffix(multiplier: float) -> str:
    text = f"{multiplier:.2f}"
    return text[:-1] if text in ("1.00", "0.50") else text


def get_mobilenet(multiplier: float, pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any) -> MobileNet:
    """MobileNet with a multiplier."""
    return load_pretrained(MobileNet(multiplier, **kwargs), f"mobilenet{_suffix(multiplier)}", pretrained, ctx, root)  # type: ignore[no-any-return]


def get_mobilenet_v2(multiplier: float, pretrained: bool = False, ctx: Any = cpu(), root: str = ROOT, **kwargs: Any) -> MobileNetV2:
    """MobileNet v2 with a multiplier."""
    return load_pretrained(MobileNetV2(multiplier, **kwargs), f"mobilenetv2_{_suffix(multiplier)}", pretrained, ctx, root)  # type: ignore[no-any-return]


def mobilenet1_0(**kwargs: Any) -> MobileNet:
    """MobileNet, all channels."""
    return get_mobilenet(1.0, **kwargs)


def mobilenet0_75(**kwargs: Any) -> MobileNet:
    """MobileNet, 3/4 of the channels."""
    return get_mobilenet(0.75, **kwargs)


def mobilenet0_5(**kwargs: Any) -> MobileNet:
    """MobileNet, half of the channels."""
    return get_mobilenet(0.5, **kwargs)


def mobilenet0_25(**kwargs: Any) -> MobileNet:
    """MobileNet, a quarter of the channels."""
    return get_mobilenet(0.25, **kwargs)


def mobilenet_v2_1_0(**kwargs: Any) -> MobileNetV2:
    """MobileNet v2, all channels."""
    return get_mobilenet_v2(1.0, **kwargs)


def mobilenet_v2_0_75(**kwargs: Any) -> MobileNetV2:
    """MobileNet v2, 3/4 of the channels."""
    return get_mobilenet_v2(0.75, **kwargs)


def mobilenet_v2_0_5(**kwargs: Any) -> MobileNetV2:
    """MobileNet v2, half of the channels."""
    return get_mobilenet_v2(0.5, **kwargs)


def mobilenet_v2_0_25(**kwargs: Any) -> MobileNetV2:
    """MobileNet v2, a quarter of the channels."""
    return get_mobilenet_v2(0.25, **kwargs)
