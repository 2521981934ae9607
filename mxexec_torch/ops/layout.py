"""Data layouts of the spatial operators ("NCHW", "NHWC", ...): where the channel sits and how to reach the channel-first form."""

from __future__ import annotations

import torch

from ..errors import MXNetError
from ..infer.state import Shape

__all__ = ["channel_first", "channel_first_shape", "from_channel_first", "from_channel_first_shape", "is_channel_last", "resolve", "spatial"]

_DEFAULT = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def resolve(layout: str | None, spatial_dims: int) -> str:
    """The layout in force for that number of spatial dimensions."""
    return layout or _DEFAULT[spatial_dims]


def is_channel_last(layout: str | None) -> bool:
    """Whether the channel is the last axis."""
    return layout is not None and layout.endswith("C")


def channel_first(x: torch.Tensor, layout: str | None) -> torch.Tensor:
    """A view with the channel at axis 1 (weights: input channels at axis 1)."""
    return x.movedim(-1, 1) if is_channel_last(layout) else x


def from_channel_first(x: torch.Tensor, layout: str | None) -> torch.Tensor:
    """The inverse of `channel_first`."""
    return x.movedim(1, -1) if is_channel_last(layout) else x


def channel_first_shape(shape: Shape, layout: str | None) -> Shape:
    """A shape in channel-first order."""
    return (shape[0], shape[-1], *shape[1:-1]) if is_channel_last(layout) else shape


def from_channel_first_shape(shape: Shape, layout: str | None) -> Shape:
    """The inverse of `channel_first_shape`."""
    return (shape[0], *shape[2:], shape[1]) if is_channel_last(layout) else shape


def spatial(values: tuple[int, ...], count: int, default: int) -> tuple[int, ...]:
    """A kernel-like attribute for `count` spatial dimensions: an empty one means the default everywhere.

    Errors: MXNetError when the number of entries differs.
    """
    if not values:
        return (default,) * count
    if len(values) != count:
        raise MXNetError(f"{list(values)} must have {count} entries, as many as the kernel")
    return values
