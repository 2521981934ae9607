"""Colour adjustments of images (h, w, c) with MXNet's arithmetic: single precision, then a cast that cuts (uint8 saturates first)."""

from __future__ import annotations

from typing import Any

import torch

from .leaf import leaf

__all__ = ["adjust_hue", "brightness", "color_jitter", "contrast", "keep_gradient", "lighting", "saturation"]

Tensor = torch.Tensor
_SECTORS = ((1, 3, 0), (1, 0, 2), (3, 0, 1), (0, 2, 1), (0, 1, 3), (2, 1, 0))  # blue, green, red in each sixth of the colour circle
_EIGEN = ((55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009), (55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140),
          (55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203))  # fmt: skip


class _KeepGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, data: Tensor, result: Tensor) -> Tensor:
        return result.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


@leaf
def keep_gradient(data: Tensor, result: Tensor) -> Tensor:
    """`result`, through which the gradient passes to `data` unchanged, whatever was done (MXNet's rule for augmentations)."""
    if data.is_meta or not data.dtype.is_floating_point:
        return result.clone()
    out: Tensor = _KeepGradient.apply(data, result)
    return out


def _cut(value: Tensor, dtype: torch.dtype) -> Tensor:
    return (value.clamp(0, 255) if dtype == torch.uint8 else value).to(dtype)


def brightness(data: Tensor, factor: Tensor) -> Tensor:
    """data * factor."""
    return _cut(data.float() * factor, data.dtype)


def contrast(data: Tensor, factor: Tensor) -> Tensor:
    """Distance from the mean grey of the image times factor."""
    wide = data.float()
    grey = wide @ wide.new_tensor([0.299, 0.587, 0.114]) if data.shape[-1] == 3 else wide
    return _cut(wide * factor + (1.0 - factor) * (grey.sum() / (data.shape[0] * data.shape[1])), data.dtype)


def saturation(data: Tensor, factor: Tensor) -> Tensor:
    """Distance from grey times factor, where MXNet's grey is the blue part alone (src/operator/image/image_random-inl.h)."""
    if data.shape[-1] == 1:
        return data
    wide = data.float()
    return _cut(wide[..., 2:] * 0.114 * (1.0 - factor) + wide * factor, data.dtype)


def adjust_hue(data: Tensor, turn: Tensor) -> Tensor:
    """The colour circle turned by `turn` rounds."""
    if data.shape[-1] == 1:
        return data
    r, g, b = (data.float() / 255.0).unbind(-1)
    high, low = torch.maximum(torch.maximum(r, g), b), torch.minimum(torch.minimum(r, g), b)
    spread, light = high - low, (high + low) * 0.5
    colored = spread > torch.finfo(torch.float32).eps
    strength = torch.where(light < 0.5, spread / (high + low), spread / (2.0 - high - low))
    strength = torch.where(colored, strength, 0.0)
    unit = torch.full_like(spread, 60.0) / spread  # correctly rounded, unlike 60.0 / spread
    hue = torch.where(high == r, (g - b) * unit, torch.where(high == g, (b - r) * unit + 120.0, (r - g) * unit + 240.0))
    hue = torch.where(hue < 0, hue + 360.0, hue)
    position = torch.remainder((torch.where(colored, hue, 0.0) + turn * 360.0) * (1.0 / 60.0), 6.0)
    sector = position.floor().clamp(0, 5)
    part = position - sector
    top = torch.where(light <= 0.5, light * (1 + strength), light + strength - light * strength)
    bottom = 2 * light - top
    levels = torch.stack([top, bottom, bottom + (top - bottom) * (1 - part), bottom + (top - bottom) * part], -1)
    order = torch.tensor(_SECTORS, device=data.device)[sector.long()].flip(-1)
    turned = torch.where((strength == 0)[..., None], light[..., None].expand_as(order), levels.gather(-1, order))
    return _cut(turned * 255.0, data.dtype)


def lighting(data: Tensor, alpha: Tensor) -> Tensor:
    """AlexNet's noise along the principal colours of ImageNet."""
    if data.shape[-1] == 1:
        return data
    return _cut(data.float() + alpha.new_tensor(_EIGEN) @ alpha, data.dtype)


@leaf
def color_jitter(data: Tensor, amounts: tuple[float, float, float, float]) -> Tensor:
    """Brightness, contrast, saturation and hue changed by random amounts, in random order."""
    if data.is_meta:
        return torch.empty_like(data)
    steps = (brightness, contrast, saturation, adjust_hue)
    for index in torch.randperm(4).tolist():
        amount = amounts[index]
        if amount > 0:
            drawn = (torch.rand((), device=data.device) * 2.0 - 1.0) * amount
            data = steps[index](data, drawn if index == 3 else drawn + 1.0)
    return data
