"""Reductions over whole arrays that training loops use: finiteness, sums of squares, LARS rates, closeness, cross entropy."""

from __future__ import annotations

import torch

from ..infer.rules import elementwise, fixed_dtype
from ..infer.state import Dtypes, Shapes, show
from ..registry import Attrs, Grad, Tensor, op
from ..values import Bool, Float, Int
from .runtime import reduce as rt

__all__: list[str] = []


def _array_names(a: Attrs, n: int) -> list[str]:
    return [f"array_{i}" for i in range(n)]


def _float_inputs(a: Attrs, t: Dtypes) -> None:
    for dtype in t.inputs:
        if dtype is not None and not dtype.is_floating_point:
            raise t.fail(f"{t.op.name} only supports floating point types, not {show(dtype)}")
    t.unify_out(torch.float32)


def _one(a: Attrs, s: Shapes) -> None:
    s.unify_out((1,))


def _joined(a: Attrs, result: Tensor, before: Tensor) -> Tensor:
    return result if a.init_output else result * before


@op("all_finite", shape=_one, dtype=_float_inputs, grad=Grad.MISSING, input_texts={"data": "NDArray"}, joins_out=_joined)
def all_finite(data: Tensor, /, *, init_output: Bool = True) -> Tensor:
    """1 when no element is infinite or NaN, else 0; with init_output=False times what `out` holds.

    data any shape -> (1,) float32. Source: src/operator/contrib/all_finite.cc
    """
    return torch.isfinite(data).all().reshape(1).float()


@op(
    "multi_all_finite", count=lambda a: a.num_arrays, variadic_names=_array_names, shape=_one, dtype=_float_inputs, grad=Grad.MISSING,
    joins_out=_joined,
)  # fmt: skip
def multi_all_finite(*data: Tensor, num_arrays: Int = 1, init_output: Bool = True) -> Tensor:
    """1 when no element of any array is infinite or NaN, else 0; with init_output=False times what `out` holds.

    data any shapes -> (1,) float32. Source: src/operator/contrib/all_finite.cc
    """
    return torch.stack([torch.isfinite(d).all() for d in data]).all().reshape(1).float()


def _of_one_type(a: Attrs, t: Dtypes) -> None:
    _float_inputs(a, t)
    known = [dtype for dtype in t.inputs if dtype is not None]
    if len(set(known)) > 1:
        raise t.fail(f"{t.op.name} requires arrays of one type, got {', '.join(map(show, known))}")


def _per_array(a: Attrs, s: Shapes) -> None:
    s.unify_out((a.num_arrays,))


@op("multi_sum_sq", count=lambda a: a.num_arrays, variadic_names=_array_names, shape=_per_array, dtype=_of_one_type, grad=Grad.MISSING)
def multi_sum_sq(*data: Tensor, num_arrays: Int) -> Tensor:
    """The sum of squares of each array.

    data any shapes -> (num_arrays,) float32. Source: src/operator/contrib/multi_sum_sq.cc
    """
    return torch.stack([d.float().square().sum() for d in data])


@op("multi_lars", floats_only=True, shape=elementwise, grad=Grad.MISSING)
def multi_lars(
    lrs: Tensor, weights_sum_sq: Tensor, grads_sum_sq: Tensor, wds: Tensor, /, *, eta: Float, eps: Float, rescale_grad: Float = 1.0
) -> Tensor:
    """LARS learning rates from sums of squares of weights and gradients.

    all inputs (n,) -> (n,). Source: src/operator/contrib/multi_lars.cc
    """
    weight = weights_sum_sq.sqrt()
    rate = lrs * eta * weight / (grads_sum_sq.sqrt() * rescale_grad + wds * weight + eps)
    return torch.where((weight > 0) & (grads_sum_sq > 0), rate, lrs)


def _allclose_shape(a: Attrs, s: Shapes) -> None:
    first, second = s.known(0), s.known(1)
    if first is not None and second is not None and first != second:
        raise s.fail(f"allclose: the arrays have different shapes, {show(first)} and {show(second)}")
    s.unify_out(())


@op("_contrib_allclose", shape=_allclose_shape, dtype=fixed_dtype(torch.uint8), grad=Grad.MISSING)
def allclose(a: Tensor, b: Tensor, /, *, rtol: Float = 1e-5, atol: Float = 1e-8, equal_nan: Bool = True) -> Tensor:
    """1 when |a - b| <= atol + rtol |b| everywhere, else 0.

    a, b of one shape -> () uint8. Source: src/operator/contrib/allclose_op.cc
    """
    return torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan).all().to(torch.uint8)


def _cross_entropy_shape(a: Attrs, s: Shapes) -> None:
    data, label = s.get("data"), s.get("label")
    if data is not None and len(data) != 2:
        raise s.fail(f"softmax_cross_entropy: data must have two dimensions, got {show(data)}")
    if label is not None and len(label) != 1:
        raise s.fail(f"softmax_cross_entropy: label must have one dimension, got {show(label)}")
    if data is not None and label is not None and -1 not in (data[0], label[0]) and data[0] != label[0]:
        raise s.fail(f"softmax_cross_entropy: data {show(data)} and label {show(label)} differ in their first dimension")
    s.unify_out((1,))


@op("softmax_cross_entropy", shape=_cross_entropy_shape, differentiable=("data",), refused_grads=("label",))
def softmax_cross_entropy(data: Tensor, label: Tensor, /) -> Tensor:
    """The sum over rows of -log(softmax(data)[label]).

    data (n, c), label (n,) of data's type -> (1,). Source: src/operator/loss_binary_op.cc
    """
    return rt.softmax_cross_entropy(data, label)
