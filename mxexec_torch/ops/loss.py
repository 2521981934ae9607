"""Output layers: operators whose backward starts the gradient and ignores the head gradient."""

from __future__ import annotations

import math
from typing import Annotated

from ..errors import MXNetError
from ..infer.state import Shapes, complete, show
from ..registry import Attrs, Tensor, op
from ..values import Bool, Float, OneOf, Range
from .runtime.loss import constant_gradient, regression_output, softmax_output, svm_output

__all__: list[str] = []

Dims = tuple[int, ...]
Normalization = Annotated[str, OneOf("batch", "null", "valid")]


def _label_shapes(data: Dims, multi_output: bool) -> list[Dims]:
    """Label shapes that SoftmaxOutput takes as classes, the inferred one first."""
    if not multi_output:
        return [data[:-1]]
    rest = math.prod(data[2:]) if complete(data[2:]) else -1
    return [(data[0], rest), (data[0], *data[2:]), (data[0], 1, *data[2:])]


def _softmax_shape(a: Attrs, s: Shapes) -> None:
    data, label = s.get("data"), s.get("label")
    if data is None:
        return
    s.unify_out(data)
    if label == data:
        return
    allowed = _label_shapes(data, a.multi_output)
    if not a.multi_output or label is None:
        s.unify("label", allowed[0])
    elif complete(data) and complete(label) and label not in allowed:
        raise s.fail(f"Shape inconsistent for label: expecting {show(allowed[0])} or {show(allowed[1])}, got {show(label)}")


@op(
    "SoftmaxOutput", aliases=("Softmax",), shape=_softmax_shape, head_grad=False, untouched_grads=("label",),
    added={"data": lambda a, content, grad: grad},  # written over what is there
)  # fmt: skip
def softmax_output_op(
    data: Tensor, label: Tensor, /, *, grad_scale: Float = 1.0, ignore_label: Float = -1.0, multi_output: Bool = False, use_ignore: Bool = False,
    preserve_shape: Bool = False, normalization: Normalization = "null", out_grad: Bool = False,
    smooth_alpha: Annotated[Float, Range(0, 1)] = 0.0,
) -> Tensor:  # fmt: skip
    """Softmax whose gradient is (p - onehot(label)) * grad_scale, or p - label for probability labels; head gradients are ignored.

    data (n, k) or (n, k, *positions) -> same shape. Softmax runs over everything but axis 0, over axis 1 (multi_output, which also
    divides by the number of positions) or over the last axis (preserve_shape). label: classes of shape data.shape[:-1], for
    multi_output (n, positions), or data's own shape. normalization: divide by nothing, the batch, or the labels that are not ignore_label.
    Source: src/operator/softmax_output-inl.h
    """
    shape = tuple(label.shape)
    classes = _label_shapes(tuple(data.shape), multi_output)
    if shape != tuple(data.shape) and shape not in classes:
        raise MXNetError(f"Shape inconsistent, Provided = {show(shape)}, inferred shape={show(classes[0])} (input 'label')")
    return softmax_output(data, label, multi_output, preserve_shape, use_ignore, ignore_label, normalization, grad_scale, smooth_alpha, out_grad)


def _regression_shape(a: Attrs, s: Shapes) -> None:
    data, label = s.get("data"), s.get("label")
    if not complete(data):
        return
    s.unify_out(data)
    if label is None:
        s.unify("label", data[:1] if len(data) == 2 and data[1] == 1 else data)
    elif not label or (complete(label) and (label[0] != data[0] or math.prod(label) != math.prod(data))):
        raise s.fail(f"Shape inconsistent, Provided={show(label)}, inferred shape={show(data)}")


def _regression_added(a: Attrs, content: Tensor, grad: Tensor) -> Tensor:
    """MXNet adds the difference, then adds the whole array once more times grad_scale / outputs (regression_output-inl.h)."""
    scale: float = a.grad_scale * grad.shape[0] / max(grad.numel(), 1)
    return (content + (grad / scale if scale else 0.0)) * (1 + scale)


def _regression(data: Tensor, label: Tensor, kind: str, grad_scale: float) -> Tensor:
    if not label.ndim or label.shape[0] != data.shape[0] or label.numel() != data.numel():
        raise MXNetError(f"Shape inconsistent, Provided={show(tuple(label.shape))}, inferred shape={show(tuple(data.shape))}")
    return regression_output(data, label, kind, grad_scale)


@op(
    "LinearRegressionOutput", floats_only=True, aliases=("_sparse_LinearRegressionOutput",), shape=_regression_shape, head_grad=False,
    untouched_grads=("label",), added={"data": _regression_added},
)  # fmt: skip
def linear_regression_output(data: Tensor, label: Tensor, /, *, grad_scale: Float = 1.0) -> Tensor:
    """Identity; gradient (data - label) * grad_scale / (outputs per sample).

    data (n, *k), label the same shape or (n,) for (n, 1) data -> data's shape. Source: src/operator/regression_output.cc
    """
    return _regression(data, label, "linear", grad_scale)


@op(
    "LogisticRegressionOutput", floats_only=True, aliases=("_sparse_LogisticRegressionOutput",), shape=_regression_shape, head_grad=False,
    untouched_grads=("label",), added={"data": _regression_added},
)  # fmt: skip
def logistic_regression_output(data: Tensor, label: Tensor, /, *, grad_scale: Float = 1.0) -> Tensor:
    """Sigmoid; gradient (sigmoid(data) - label) * grad_scale / (outputs per sample).

    data (n, *k), label the same shape or (n,) for (n, 1) data -> data's shape. Source: src/operator/regression_output.cc
    """
    return _regression(data, label, "logistic", grad_scale)


@op(
    "MAERegressionOutput", floats_only=True, aliases=("_sparse_MAERegressionOutput",), shape=_regression_shape, head_grad=False,
    untouched_grads=("label",), added={"data": _regression_added},
)  # fmt: skip
def mae_regression_output(data: Tensor, label: Tensor, /, *, grad_scale: Float = 1.0) -> Tensor:
    """Identity; gradient sign(data - label) * grad_scale / (outputs per sample), where the sign of zero is -1.

    data (n, *k), label the same shape or (n,) for (n, 1) data -> data's shape. Source: src/operator/regression_output.cc
    """
    return _regression(data, label, "mae", grad_scale)


def _passed_on(a: Attrs, s: Shapes) -> None:
    s.unify_out(s.get())


@op("MakeLoss", floats_only=True, shape=_passed_on, head_grad=False)
def make_loss(data: Tensor, /, *, grad_scale: Float = 1.0, valid_thresh: Float = 0.0, normalization: Normalization = "null") -> Tensor:
    """Identity; gradient grad_scale, divided by the batch or by the number of elements above valid_thresh.

    data any shape -> same shape. Source: src/operator/make_loss-inl.h
    """
    return constant_gradient(data, grad_scale, normalization, valid_thresh)


def _svm_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is not None:
        s.unify("label", data[:-1])
        s.unify_out(data)


@op(
    "SVMOutput", floats_only=True, shape=_svm_shape, head_grad=False, untouched_grads=("label",),
    added={"data": lambda a, content, grad: grad},  # written over what is there
)  # fmt: skip
def svm_output_op(
    data: Tensor, label: Tensor, /, *, margin: Float = 1.0, regularization_coefficient: Float = 1.0, use_linear: Bool = False
) -> Tensor:
    """Identity; the gradient is that of the one-against-all hinge loss, squared unless use_linear.

    data (n, k), label (n,) of classes -> (n, k). Source: src/operator/svm_output.cc
    """
    if tuple(label.shape) != tuple(data.shape[:-1]):
        raise MXNetError(f"Shape inconsistent, Provided = {show(tuple(label.shape))}, inferred shape={show(tuple(data.shape[:-1]))} (input 'label')")
    return svm_output(data, label, margin, regularization_coefficient, use_linear)
