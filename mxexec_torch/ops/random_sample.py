"""Draws with one distribution per array element (`_sample_*`), multinomial and log-uniform sampling, and shuffling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import torch

from ..dtypes import torch_dtype
from ..errors import MXNetError
from ..infer.rules import elementwise
from ..infer.state import Dtypes, Shape, Shapes, merge_shapes
from ..registry import Attrs, Device, Grad, Tensor, op
from ..values import Bool, Int, OneOf
from ..values import Shape as ShapeAttr
from .random import FloatType, OpenShape
from .runtime.random import (
    exponential,
    gamma,
    generalized_negative_binomial,
    log_probability,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    uniform,
    unique_zipfian,
)  # fmt: skip

__all__: list[str] = []


def _check_shape(a: Attrs) -> None:
    if any(d <= 0 for d in a.shape or ()):
        raise MXNetError(f"shape parameter must be non-zero within each dimension, got {a.shape}")


def _shape(a: Attrs, s: Shapes) -> None:
    """Parameters have one shape; the output has that shape followed by the attribute's, both ways."""
    more = tuple(a.shape or ())
    _check_shape(a)
    known: Shape | None = None
    out = s.out()
    if out is not None and len(out) > len(more):
        known = out[: len(out) - len(more)]
    for position in range(len(s.inputs)):
        try:
            known = merge_shapes(known, s.inputs[position])
        except ValueError:
            break  # unify below names the input that differs
    for position in range(len(s.inputs)):
        s.unify(position, known, elementwise=True)
    if known is not None:
        s.unify_out((*known, *more))


def _dtype(a: Attrs, t: Dtypes) -> None:
    known = next((d for d in t.inputs if d is not None), None)
    for position in range(len(t.inputs)):
        t.unify(position, known)
    t.unify_out(torch_dtype(a.dtype) if a.dtype != "None" else t.out() or torch.float32)


def _sampler(distribution: str, *table: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return op(
        f"_sample_{distribution}", aliases=(f"sample_{distribution}",), shape=_shape, dtype=_dtype, random=True, grad=Grad.ZERO, table=table
    )


def _spread(parameter: Tensor, shape: tuple[int, ...], dtype: str) -> Tensor:
    """A parameter repeated over the samples drawn from it, in the type of the draw."""
    wide = parameter.to(torch.float32 if dtype == "None" else torch_dtype(dtype))
    return wide.reshape(*wide.shape, *[1] * len(shape)).expand(*wide.shape, *shape)


@_sampler("uniform", "low", "shape", "dtype", "high")
def sample_uniform(low: Tensor, high: Tensor, /, *, shape: ShapeAttr = (), dtype: FloatType = "None") -> Tensor:
    """Uniform numbers in [low, high), one block of samples per element.

    low, high (*s) -> (*s, *shape), float32 unless asked. Source: src/operator/random/multisample_op.cc
    """
    return uniform(_spread(low, shape, dtype), _spread(high, shape, dtype))


@_sampler("normal", "mu", "shape", "dtype", "sigma")
def sample_normal(mu: Tensor, sigma: Tensor, /, *, shape: ShapeAttr = (), dtype: FloatType = "None") -> Tensor:
    """Normal numbers of mean mu and standard deviation sigma, one block of samples per element.

    mu, sigma (*s) -> (*s, *shape), float32 unless asked. Source: src/operator/random/multisample_op.cc
    """
    return normal(_spread(mu, shape, dtype), _spread(sigma, shape, dtype))


@_sampler("gamma", "alpha", "shape", "dtype", "beta")
def sample_gamma(alpha: Tensor, beta: Tensor, /, *, shape: ShapeAttr = (), dtype: FloatType = "None") -> Tensor:
    """Gamma numbers of shape parameter alpha and scale beta, one block of samples per element.

    alpha, beta (*s) -> (*s, *shape), float32 unless asked. Source: src/operator/random/multisample_op.cc
    """
    return gamma(_spread(alpha, shape, dtype), _spread(beta, shape, dtype))


@_sampler("exponential", "lam", "shape", "dtype")
def sample_exponential(lam: Tensor, /, *, shape: ShapeAttr = (), dtype: FloatType = "None") -> Tensor:
    """Exponential numbers of rate lam, one block of samples per element.

    lam (*s) -> (*s, *shape), float32 unless asked. Source: src/operator/random/multisample_op.cc
    """
    return exponential(_spread(lam, shape, dtype))


@_sampler("poisson", "lam", "shape", "dtype")
def sample_poisson(lam: Tensor, /, *, shape: ShapeAttr = (), dtype: FloatType = "None") -> Tensor:
    """Poisson counts of mean lam, one block of samples per element.

    lam (*s) -> (*s, *shape), float32 unless asked. Source: src/operator/random/multisample_op.cc
    """
    return poisson(_spread(lam, shape, dtype))


@_sampler("negative_binomial", "k", "shape", "dtype", "p")
def sample_negative_binomial(k: Tensor, p: Tensor, /, *, shape: ShapeAttr = (), dtype: FloatType = "None") -> Tensor:
    """Successes before k failures of probability p, one block of samples per element.

    k, p (*s) -> (*s, *shape), float32 unless asked. Source: src/operator/random/multisample_op.cc
    """
    return negative_binomial(_spread(k, shape, dtype), _spread(p, shape, dtype))


@_sampler("generalized_negative_binomial", "mu", "shape", "dtype", "alpha")
def sample_generalized_negative_binomial(mu: Tensor, alpha: Tensor, /, *, shape: ShapeAttr = (), dtype: FloatType = "None") -> Tensor:
    """Negative binomial counts of mean mu and dispersion alpha, one block of samples per element.

    mu, alpha (*s) -> (*s, *shape), float32 unless asked. Source: src/operator/random/multisample_op.cc
    """
    return generalized_negative_binomial(_spread(mu, shape, dtype), _spread(alpha, shape, dtype))


# the largest class count that each type numbers without gaps
_LARGEST_CLASS = {"uint8": 255, "float16": 2**11, "float32": 2**24}


def _multinomial_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    more = tuple(a.shape or ())
    out = (more or (1,)) if len(data) == 1 else (*data[:-1], *more)
    for index in range(len(s.outputs)):
        s.unify_out(out, index)


def _multinomial_dtype(a: Attrs, t: Dtypes) -> None:
    t.unify_out(torch_dtype(a.dtype))
    if a.get_prob:
        t.unify_out(t.get("data"), 1)
        t.unify("data", t.out(1))


@op(
    "_sample_multinomial", floats_only=True, aliases=("sample_multinomial",), shape=_multinomial_shape, dtype=_multinomial_dtype, random=True,
    outputs=lambda a: ("output0", "output1") if a.get_prob else ("output",),
)  # fmt: skip
def sample_multinomial(
    data: Tensor, /, *, shape: ShapeAttr = (), get_prob: Bool = False,
    dtype: Annotated[str, OneOf("float16", "float32", "float64", "int32", "uint8")] = "int32",
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    """Class numbers drawn with the probabilities in the last axis, and on request the logarithm of their probabilities.

    data (*s, k) -> (*s, *shape) of type dtype; get_prob adds a second output of the same shape in the type of data, whose gradient
    reaches data (1 / probability at the class drawn). One sample of a vector has shape (1,).
    Source: src/operator/random/sample_multinomial_op.h
    """
    if data.shape[-1] > _LARGEST_CLASS.get(dtype, data.shape[-1]):
        raise MXNetError(f"'dtype' does not have a sufficient precision to represent the indices of the input array: {data.shape[-1]} in {dtype}")
    size = shape or ((1,) if data.ndim == 1 else ())
    drawn = multinomial(data.detach(), size)
    classes = drawn.to(torch_dtype(dtype))
    return (classes, log_probability(data, drawn)) if get_prob else classes


def _zipfian_shape(a: Attrs, s: Shapes) -> None:
    wanted = a.shape
    if wanted is None:
        out = s.out(0)
        if out is None or len(out) != 2:
            return
        wanted = out
    if len(wanted) != 2:
        raise s.fail(f"shape must have two dimensions (batch, samples), got {wanted}")
    s.unify_out(tuple(wanted), 0)
    s.unify_out((wanted[0],), 1)


def _zipfian_dtype(a: Attrs, t: Dtypes) -> None:
    t.unify_out(torch.int64, 0)
    t.unify_out(torch.int64, 1)


@op(
    "_sample_unique_zipfian", shape=_zipfian_shape, dtype=_zipfian_dtype, random=True, grad=Grad.MISSING, outputs=("output0", "output1"),
)  # fmt: skip
def sample_unique_zipfian(*, range_max: Int, shape: OpenShape = None, device: Device) -> tuple[Tensor, Tensor]:
    """Distinct class numbers drawn from the log-uniform distribution over [0, range_max), and how many draws each row took.

    shape (n, k) -> (n, k) and (n,), int64. Errors: k > range_max. Source: src/operator/random/unique_sample_op.h
    """
    if shape is None or len(shape) != 2:
        raise MXNetError(f"shape must have two dimensions (batch, samples), got {shape}")
    if shape[1] > range_max:
        raise MXNetError(f"Number of samples cannot exceed the number of possible classes: {shape[1]} of {range_max}")
    return unique_zipfian(torch.empty(shape, dtype=torch.int64, device=device), range_max)


@op("_shuffle", aliases=("_npi_shuffle", "shuffle"), shape=elementwise, random=True, grad=Grad.MISSING)
def shuffle(data: Tensor, /, *, device: Device) -> Tensor:
    """The rows of the first axis in random order.

    data (n, *k) -> (n, *k). Source: src/operator/random/shuffle_op.cc
    """
    return data.index_select(0, torch.randperm(data.shape[0], device=device))
