"""Samplers over torch's global generators. The first parameter gives shape and type of the draw; the second broadcasts against it."""

from __future__ import annotations

import math

import torch

from .leaf import leaf

__all__ = [
    "exponential", "gamma", "generalized_negative_binomial", "log_probability", "multinomial", "negative_binomial", "normal", "poisson",
    "uniform", "unique_zipfian",
]  # fmt: skip

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


def multinomial(probabilities: Tensor, size: tuple[int, ...]) -> Tensor:
    """Class numbers (int64) drawn from the last axis: the first class whose summed probability reaches a uniform number.

    probabilities (*s, k) -> (*s, *size). A row that sums to less than 1 gives its last class the rest.
    """
    lead = probabilities.shape[:-1]
    count = 1
    for d in size:
        count *= d
    table = probabilities.double().cumsum(-1)
    point = torch.rand_like(table[..., :1].expand(*lead, count))
    drawn = torch.searchsorted(table, point.contiguous()).clamp_max(probabilities.shape[-1] - 1)
    return drawn.reshape(*lead, *size)


def log_probability(probabilities: Tensor, drawn: Tensor) -> Tensor:
    """log of the probability of each class drawn by `multinomial`; differentiable in the probabilities."""
    lead = probabilities.shape[:-1]
    return probabilities.gather(-1, drawn.reshape(*lead, -1)).log().reshape(drawn.shape)


@leaf
def unique_zipfian(like: Tensor, range_max: int) -> tuple[Tensor, Tensor]:
    """Distinct log-uniform class numbers with the shape (n, k) of `like`, and the number of draws (n,) until k were distinct."""
    rows, wanted = like.shape
    if like.is_meta:
        return torch.empty_like(like), like.new_empty((rows,))
    samples, tries = [], []
    for _ in range(rows):
        seen = like.new_empty((0,))
        first = seen
        while first.numel() < wanted:
            point = torch.rand(max(2 * wanted, seen.numel(), 16), dtype=torch.float64, device=like.device)
            seen = torch.cat([seen, torch.floor(torch.exp(point * math.log(range_max)) + 0.5).long() - 1])
            classes, inverse = torch.unique(seen, return_inverse=True)
            places = torch.arange(seen.numel(), device=like.device)
            first = places.new_full((classes.numel(),), seen.numel()).scatter_reduce(0, inverse, places, "amin").sort().values
        samples.append(seen[first[:wanted]])
        tries.append(first[wanted - 1] + 1 if wanted else first.new_zeros(()))
    return torch.stack(samples), torch.stack(tries)
