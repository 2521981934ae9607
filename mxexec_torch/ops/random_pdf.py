"""Densities of random samples (`_random_pdf_*`): differentiable in the parameters and, for continuous distributions, in the samples.

The parameters' shape is the left part of the samples' shape. Source of all: src/operator/random/pdf_op.h
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..infer.state import Shapes
from ..registry import Attrs, Tensor, op
from ..values import Bool

__all__: list[str] = []


def _shape(a: Attrs, s: Shapes) -> None:
    """The second parameter has the first one's shape, both the left part of the samples'; known only when all inputs are."""
    if any(known is None for known in s.inputs):
        return
    sample, first = s.inputs[0], s.inputs[1]
    for position in range(2, len(s.inputs)):
        s.unify(position, first)
    if len(first) > len(sample):
        raise s.fail(f"dimension of input samples ({len(sample)}) must be at least dimension of distribution parameters ({len(first)})")
    for position in range(1, len(s.inputs)):
        s.unify(position, sample[: len(first)])
    s.unify_out(sample)


def _dirichlet_shape(a: Attrs, s: Shapes) -> None:
    sample, alpha = s.inputs
    if sample is None or alpha is None:
        return
    if len(alpha) > len(sample):
        raise s.fail(f"dimension of input samples ({len(sample)}) must be at least dimension of distribution parameters ({len(alpha)})")
    s.unify(1, (*sample[: len(alpha) - 1], sample[-1]))
    s.unify_out(sample[:-1] or (1,))


def _density(distribution: str, *parameters: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    name = f"random_pdf_{distribution}"
    table = ("sample", parameters[0], "is_log", *parameters[1:])
    return op(f"_{name}", floats_only=True, aliases=(name,), shape=_dirichlet_shape if distribution == "dirichlet" else _shape, table=table)


def _wide(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Half precision is computed in single: gamma functions have no half kernels on every device."""
    return tuple(t.float() if t.dtype in (torch.float16, torch.bfloat16) else t for t in tensors)


def _aligned(sample: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
    """Samples and parameters in computing precision, parameters with trailing axes of 1."""
    return _wide(sample, *(p.reshape(*p.shape, *[1] * (sample.ndim - p.ndim)) for p in parameters))


def _finish(log_density: Tensor, is_log: bool, like: Tensor) -> Tensor:
    return (log_density if is_log else log_density.exp()).to(like.dtype)


@_density("uniform", "low", "high")
def pdf_uniform(sample: Tensor, low: Tensor, high: Tensor, /, *, is_log: Bool = False) -> Tensor:
    """Density 1 / (high - low), whether or not the sample lies inside.

    sample (*s, *t), low, high (*s) -> (*s, *t). Source: src/operator/random/pdf_op.cc
    """
    x, lower, upper = _aligned(sample, low, high)
    width = (upper - lower).expand_as(x)
    return (-width.log() if is_log else 1.0 / width).to(sample.dtype)


@_density("normal", "mu", "sigma")
def pdf_normal(sample: Tensor, mu: Tensor, sigma: Tensor, /, *, is_log: Bool = False) -> Tensor:
    """Density of normal numbers of mean mu and standard deviation sigma.

    sample (*s, *t), mu, sigma (*s) -> (*s, *t). Source: src/operator/random/pdf_op.cc
    """
    x, mean, deviation = _aligned(sample, mu, sigma)
    exponent = -0.5 * (x - mean) * (x - mean) / (deviation * deviation)
    normalizer = math.sqrt(2.0 * math.pi) * deviation
    return (exponent - normalizer.log() if is_log else exponent.exp() / normalizer).to(sample.dtype)


@_density("gamma", "alpha", "beta")
def pdf_gamma(sample: Tensor, alpha: Tensor, beta: Tensor, /, *, is_log: Bool = False) -> Tensor:
    """Density of gamma numbers of shape parameter alpha and *rate* beta.

    sample (*s, *t), alpha, beta (*s) -> (*s, *t). Source: src/operator/random/pdf_op.cc
    """
    x, a, b = _aligned(sample, alpha, beta)
    return _finish(a * b.log() + (a - 1.0) * x.log() - b * x - a.lgamma(), is_log, sample)


@_density("exponential", "lam")
def pdf_exponential(sample: Tensor, lam: Tensor, /, *, is_log: Bool = False) -> Tensor:
    """Density of exponential numbers of rate lam.

    sample (*s, *t), lam (*s) -> (*s, *t). Source: src/operator/random/pdf_op.cc
    """
    x, rate = _aligned(sample, lam)
    return (rate.log() - rate * x if is_log else rate * (-rate * x).exp()).to(sample.dtype)


@_density("poisson", "lam")
def pdf_poisson(sample: Tensor, lam: Tensor, /, *, is_log: Bool = False) -> Tensor:
    """Probability of Poisson counts of mean lam; no gradient reaches the samples.

    sample (*s, *t), lam (*s) -> (*s, *t). Source: src/operator/random/pdf_op.cc
    """
    x, mean = _aligned(sample.detach(), lam)
    return _finish(x * mean.log() - (x + 1.0).lgamma() - mean, is_log, sample)


def _negative_binomial(x: Tensor, k: Tensor, p: Tensor) -> Tensor:
    return (x + k).lgamma() - (x + 1.0).lgamma() - k.lgamma() + k * p.log() + x * (1.0 - p).log()


@_density("negative_binomial", "k", "p")
def pdf_negative_binomial(sample: Tensor, k: Tensor, p: Tensor, /, *, is_log: Bool = False) -> Tensor:
    """Probability of `sample` successes before k failures of probability p; no gradient reaches the samples.

    sample (*s, *t), k, p (*s) -> (*s, *t). Source: src/operator/random/pdf_op.cc
    """
    return _finish(_negative_binomial(*_aligned(sample.detach(), k, p)), is_log, sample)


@_density("generalized_negative_binomial", "mu", "alpha")
def pdf_generalized_negative_binomial(sample: Tensor, mu: Tensor, alpha: Tensor, /, *, is_log: Bool = False) -> Tensor:
    """Probability of negative binomial counts of mean mu and dispersion alpha; no gradient reaches the samples.

    sample (*s, *t), mu, alpha (*s) -> (*s, *t). Source: src/operator/random/pdf_op.cc
    """
    x, mean, dispersion = _aligned(sample.detach(), mu, alpha)
    return _finish(_negative_binomial(x, 1.0 / dispersion, 1.0 / (mean * dispersion + 1.0)), is_log, sample)


@_density("dirichlet", "alpha")
def pdf_dirichlet(sample: Tensor, alpha: Tensor, /, *, is_log: Bool = False) -> Tensor:
    """Density of Dirichlet vectors (last axis) of concentration alpha.

    sample (*s, *t, k), alpha (*s, k) -> (*s, *t), a single vector gives (1,). Source: src/operator/random/pdf_op.cc
    """
    (x,) = _wide(sample)
    (a,) = _wide(alpha.reshape(*alpha.shape[:-1], *[1] * (sample.ndim - alpha.ndim), alpha.shape[-1]))
    log_density = ((a - 1.0) * x.log()).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)
    return _finish(log_density.reshape(log_density.shape or (1,)), is_log, sample)
