"""Checking random generators: mean, variance, and chi-square tests of how often values fall where."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

__all__ = [
    "chi_square_check", "gen_buckets_probs_with_ppf", "mean_check", "var_check", "verify_generator",
]  # fmt: skip

Generator = Callable[[int], Any]  # n -> n independent samples


def gen_buckets_probs_with_ppf(ppf: Callable[[float], float], nbuckets: int) -> tuple[list[tuple[float, float]], list[float]]:
    """Equally likely intervals of a distribution given by its quantile function, and their probabilities."""
    assert nbuckets > 0, f"{nbuckets} buckets"
    edges = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(itertools.pairwise(edges)), [1.0 / nbuckets] * nbuckets


def mean_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the sample mean is within three standard errors of mu."""
    return bool(abs(np.array(generator(nsamples)).mean() - mu) < 3 * sigma / math.sqrt(nsamples))


def var_check(generator: Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the sample variance is within three standard errors (of normal samples) of sigma squared."""
    return bool(abs(np.array(generator(nsamples)).var(ddof=1) - sigma**2) < 3 * math.sqrt(2 * sigma**4 / (nsamples - 1)))


def _frequencies(samples: Any, buckets: Sequence[Any]) -> Any:
    """How many samples fall into each bucket: intervals (low, high), or single values."""
    if not isinstance(buckets[0], (list, tuple)):
        return np.array([(samples == value).sum() for value in buckets])
    edges = np.array(buckets, dtype=np.float32).reshape(-1)
    assert (np.diff(edges) >= 0).all(), "buckets must be intervals in ascending order that do not overlap"
    place = np.searchsorted(edges, samples, side="right") // 2
    return np.array([(place == i).sum() for i in range(len(buckets))])


def chi_square_check(generator: Generator, buckets: list[Any], probs: Sequence[float], nsamples: int = 1000000) -> tuple[float, Any, Any]:
    """Compares how often samples fall into buckets with how often they should.

    buckets: intervals that cover the distribution, or all values of a discrete one; probs: their probabilities.
    Returns the p value of Pearson's test (small: the distribution is another one), observed and expected frequencies.
    """
    assert isinstance(buckets, list), "buckets must be a list"
    assert len(probs) == len(buckets), f"{len(probs)} probabilities for {len(buckets)} buckets"
    expected = (nsamples * np.array(probs, dtype=np.float32)).astype(np.int32)
    observed = _frequencies(np.array(generator(nsamples)), buckets)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = float(((observed - expected) ** 2 / expected).sum())
    # the upper tail of the chi-square distribution with one degree of freedom less than buckets
    tail = torch.special.gammaincc(torch.tensor((len(buckets) - 1) / 2, dtype=torch.float64), torch.tensor(statistic / 2, dtype=torch.float64))
    return float(tail), observed, expected


def verify_generator(
    generator: Generator, buckets: list[Any], probs: Sequence[float], nsamples: int = 1000000, nrepeat: int = 5, success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:  # fmt: skip
    """AssertionError unless p > alpha in at least that share of `nrepeat` chi-square tests. Returns the p values."""
    found = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    values = [p for p, _, _ in found]
    if sum(p > alpha for p in values) < nrepeat * success_rate:
        raise AssertionError(
            f"Generator test fails, Chi-square p={values}, obs_freq={[o for _, o, _ in found]}, expected_freq={[e for _, _, e in found]}.\n"
            f"buckets={buckets}, probs={list(probs)}"
        )
    return values
