"""Samplers over torch's global generators. The first parameter gives shape and type of the draw; the second broadcasts against it."""

from __future__ import annotations

import torch

__all__ = ["exponential", "gamma", "generalized_negative_binomial", "negative_binomial", "normal", "poisson", "uniform"]

Tensor = torch.Tensor


def uniform(low: Tensor, high: Tensor | float) -> Tensor:
    """Uniform in [low, high)."""
    return low + torch.rand_like(low) * (high - low)


def normal(mean: Tensor, deviation: Tensor | float) -> Tensor:
    """Normal of the given mean and standard deviation."""
    return mean + torch.randn_like(mean) * deviation


def exponential(rate: Tensor) -> Tensor:
    """Exponential of the given rate."""
    return -torch.log1p(-torch.rand_like(rate)) / rate


def _wide(x: Tensor) -> Tensor:
    """torch's gamma sampler has no half precision."""
    return x if x.dtype == torch.float64 else x.float()


def gamma(shape: Tensor, scale: Tensor | float) -> Tensor:
    """Gamma of the given shape parameter and scale."""
    return (torch._standard_gamma(_wide(shape)) * scale).to(shape.dtype)


def poisson(mean: Tensor) -> Tensor:
    """Poisson counts."""
    return torch.poisson(_wide(mean)).to(mean.dtype)


def negative_binomial(k: Tensor, p: Tensor | float) -> Tensor:
    """Successes before k failures, p being the probability of a failure: a Poisson count whose mean is gamma distributed."""
    odds = (1.0 - p) / p if isinstance(p, torch.Tensor) or p else float("inf")
    return torch.poisson((torch._standard_gamma(_wide(k)) * odds).clamp_min(0.0)).to(k.dtype)


def generalized_negative_binomial(mean: Tensor, dispersion: Tensor | float) -> Tensor:
    """Counts of the given mean and variance mean + dispersion * mean^2; Poisson where the dispersion is 0."""
    wide = _wide(mean)
    if isinstance(dispersion, torch.Tensor):
        spread = dispersion.to(wide.dtype)
        flat = spread == 0
        mixed = torch._standard_gamma(torch.where(flat, 1.0, 1.0 / spread)) * spread * wide
        return torch.poisson(torch.where(flat, wide, mixed)).to(mean.dtype)
    if dispersion == 0:
        return poisson(mean)
    mixed = torch._standard_gamma(torch.full_like(wide, 1.0 / dispersion)) * dispersion * wide
    return torch.poisson(mixed).to(mean.dtype)
