"""Losses: blocks of predictions and labels that give one number a sample."""

from __future__ import annotations

from math import pi
from typing import Any

from .. import ndarray
from ..base import numeric_types
from .block import HybridBlock

__all__ = [
    "CTCLoss", "CosineEmbeddingLoss", "HingeLoss", "HuberLoss", "KLDivLoss", "L1Loss", "L2Loss", "LogisticLoss", "Loss", "PoissonNLLLoss",
    "SDMLLoss", "SigmoidBCELoss", "SigmoidBinaryCrossEntropyLoss", "SoftmaxCELoss", "SoftmaxCrossEntropyLoss", "SquaredHingeLoss", "TripletLoss",
]  # fmt: skip


def _apply_weighting(F: Any, loss: Any, weight: Any = None, sample_weight: Any = None) -> Any:
    """A loss times the sample weights (broadcast) and a number."""
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    if weight is None:
        return loss
    assert isinstance(weight, numeric_types), f"weight must be a number, not {type(weight)}"
    return loss * weight


def _reshape_like(F: Any, x: Any, y: Any) -> Any:
    """x in y's shape."""
    return x.reshape(y.shape) if F is ndarray else F.reshape_like(x, y)


class Loss(HybridBlock):
    """Base class. weight: a factor. batch_axis: the axis of samples. The optional `sample_weight` input broadcasts against the loss."""

    def __init__(self, weight: Any, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._weight, self._batch_axis = weight, batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _mean(self, F: Any, loss: Any, sample_weight: Any, factor: float = 1) -> Any:
        """The weighted mean over all axes but the batch's."""
        weight = self._weight if factor == 1 else self._weight * factor
        return F.mean(_apply_weighting(F, loss, weight, sample_weight), axis=self._batch_axis, exclude=True)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The loss of each sample."""
        raise NotImplementedError


class L2Loss(Loss):
    """Half the mean of (label - pred)^2."""

    def __init__(self, weight: Any = 1.0, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        return self._mean(F, F.square(_reshape_like(F, label, pred) - pred), sample_weight, 0.5)


class L1Loss(Loss):
    """The mean of |label - pred|."""

    def __init__(self, weight: Any = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        return self._mean(F, F.abs(_reshape_like(F, label, pred) - pred), sample_weight)


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross entropy of two classes; pred before the sigmoid, or after it with from_sigmoid. `pos_weight`: factor of the positive class."""

    def __init__(self, from_sigmoid: bool = False, weight: Any = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None, pos_weight: Any = None) -> Any:
        label = _reshape_like(F, label, pred)
        if self._from_sigmoid:
            positive, negative = F.log(pred + 1e-12) * label, F.log(1.0 - pred + 1e-12) * (1.0 - label)
            loss = -((positive if pos_weight is None else F.broadcast_mul(positive, pos_weight)) + negative)
        else:
            tail = F.Activation(-F.abs(pred), act_type="softrelu")  # log(1 + exp(-|pred|)), without overflow
            if pos_weight is None:
                loss = F.relu(pred) - pred * label + tail
            else:
                factor = 1 + F.broadcast_mul(pos_weight - 1, label)
                loss = pred - pred * label + factor * (tail + F.relu(-pred))
        return self._mean(F, loss, sample_weight)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """Cross entropy of classes along `axis`. sparse_label: labels are class numbers, else distributions. from_logits: pred is log softmax."""

    def __init__(
        self, axis: int = -1, sparse_label: bool = True, from_logits: bool = False, weight: Any = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._axis, self._sparse_label, self._from_logits = axis, sparse_label, from_logits

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        logits = pred if self._from_logits else F.log_softmax(pred, self._axis)
        if self._sparse_label:
            loss = -F.pick(logits, label, axis=self._axis, keepdims=True)
        else:
            loss = -(logits * _reshape_like(F, label, logits)).sum(axis=self._axis, keepdims=True)
        return self._mean(F, loss, sample_weight)


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """Kullback-Leibler divergence of label distributions and pred (log softmax unless from_logits is False), summed over a sample."""

    def __init__(self, from_logits: bool = True, axis: int = -1, weight: Any = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits, self._axis = from_logits, axis

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        logits = pred if self._from_logits else F.log_softmax(pred, self._axis)
        loss = label * (F.log(label + 1e-12) - logits)
        return F.sum(_apply_weighting(F, loss, self._weight, sample_weight), axis=self._batch_axis, exclude=True)


class CTCLoss(Loss):
    """Connectionist temporal classification; the last class is the blank. layout of pred: 'NTC' or 'TNC', of labels: 'NT' or 'TN'."""

    def __init__(self, layout: str = "NTC", label_layout: str = "NT", weight: Any = None, **kwargs: Any) -> None:
        assert layout in ("NTC", "TNC"), f"Only 'NTC' and 'TNC' layouts for pred are supported. Got: {layout}"
        assert label_layout in ("NT", "TN"), f"Only 'NT' and 'TN' layouts for label are supported. Got: {label_layout}"
        self._layout, self._label_layout = layout, label_layout
        super().__init__(weight, label_layout.find("N"), **kwargs)

    def hybrid_forward(
        self, F: Any, pred: Any, label: Any, pred_lengths: Any = None, label_lengths: Any = None, sample_weight: Any = None
    ) -> Any:
        if self._layout == "NTC":
            pred = F.swapaxes(pred, 0, 1)
        if self._batch_axis == 1:
            label = F.swapaxes(label, 0, 1)
        given = {"use_data_lengths": pred_lengths is not None, "use_label_lengths": label_lengths is not None}
        loss = F.CTCLoss(pred, label, pred_lengths, label_lengths, blank_label="last", **given)
        return _apply_weighting(F, loss, self._weight, sample_weight)


class HuberLoss(Loss):
    """|label - pred| beyond rho, quadratic below."""

    def __init__(self, rho: float = 1, weight: Any = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        away, rho = F.abs(_reshape_like(F, label, pred) - pred), self._rho
        return self._mean(F, F.where(away > rho, away - 0.5 * rho, (0.5 / rho) * F.square(away)), sample_weight)


class HingeLoss(Loss):
    """max(0, margin - pred label), labels -1 and 1."""

    def __init__(self, margin: float = 1, weight: Any = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def _hinge(self, F: Any, pred: Any, label: Any) -> Any:
        return F.relu(self._margin - pred * _reshape_like(F, label, pred))

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        return self._mean(F, self._hinge(F, pred, label), sample_weight)


class SquaredHingeLoss(HingeLoss):
    """The square of HingeLoss, elementwise."""

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        return self._mean(F, F.square(self._hinge(F, pred, label)), sample_weight)


class LogisticLoss(Loss):
    """log(1 + exp(-pred label)); labels -1 and 1 ('signed') or 0 and 1 ('binary')."""

    def __init__(self, weight: Any = None, batch_axis: int = 0, label_format: str = "signed", **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ValueError(f"label_format can only be signed or binary, recieved {label_format}.")
        self._label_format = label_format

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        label = _reshape_like(F, label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        loss = F.relu(pred) - pred * label + F.Activation(-F.abs(pred), act_type="softrelu")
        return self._mean(F, loss, sample_weight)


class TripletLoss(Loss):
    """max(0, |positive - pred|^2 - |negative - pred|^2 + margin)."""

    def __init__(self, margin: float = 1, weight: Any = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, positive: Any, negative: Any) -> Any:
        near, far = (F.square(_reshape_like(F, other, pred) - pred) for other in (positive, negative))
        distance = F.sum(near - far, axis=self._batch_axis, exclude=True)
        return _apply_weighting(F, F.relu(distance + self._margin), self._weight, None)


class PoissonNLLLoss(Loss):
    """Negative log likelihood of Poisson counts; pred is the log of the rate (from_logits) or the rate. The mean over everything.

    compute_full: with Stirling's approximation of log(target!).
    """

    def __init__(self, weight: Any = None, from_logits: bool = True, batch_axis: int = 0, compute_full: bool = False, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits, self._compute_full = from_logits, compute_full

    def hybrid_forward(self, F: Any, pred: Any, target: Any, sample_weight: Any = None, epsilon: float = 1e-8) -> Any:
        target = _reshape_like(F, target, pred)
        loss = F.exp(pred) - target * pred if self._from_logits else pred - target * F.log(pred + epsilon)
        if self._compute_full:
            stirling = target * F.log(target) - target + 0.5 * F.log(2 * target * pi)
            loss = loss + stirling * (target > 1)
        return F.mean(_apply_weighting(F, loss, self._weight, sample_weight))


class CosineEmbeddingLoss(Loss):
    """1 - cos(input1, input2) where the label is 1, max(0, cos - margin) where it is -1."""

    def __init__(self, weight: Any = None, batch_axis: int = 0, margin: float = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, input1: Any, input2: Any, label: Any, sample_weight: Any = None) -> Any:
        label = label.reshape((-1, 1))
        cosine = self._cosine(F, _reshape_like(F, input1, input2), input2)
        apart = F.broadcast_maximum(_constant(F, 0), (label == -1) * (cosine - self._margin))
        return _apply_weighting(F, (1 - cosine) * (label == 1) + apart, self._weight, sample_weight)

    @staticmethod
    def _cosine(F: Any, x: Any, y: Any) -> Any:
        lengths = F.norm(x, axis=-1).reshape((-1, 1)) * F.norm(y, axis=-1).reshape((-1, 1))
        product = F.sum(x * y, axis=-1).reshape((-1, 1))
        return product / F.broadcast_maximum(lengths, _constant(F, 1e-12))


def _constant(F: Any, value: float) -> Any:
    return F.full((1, 1), value)


class SDMLLoss(Loss):
    """Smoothed deep metric learning: each row of x1 should be nearest to its row of x2 among all rows."""

    def __init__(self, smoothing_parameter: float = 0.3, weight: Any = 1.0, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: Any, x1: Any, x2: Any) -> Any:
        assert x1.shape == x2.shape, f"x1 and x2 must have one shape, got {x1.shape} and {x2.shape}"
        count, width = x1.shape
        shape = (count, count, width)
        apart = ((x1.expand_dims(1).broadcast_to(shape) - x2.expand_dims(0).broadcast_to(shape)) ** 2).sum(axis=2)
        same = F.eye(count)
        wanted = same * (1 - self.smoothing_parameter) + (1 - same) * self.smoothing_parameter / (count - 1)
        return self.kl_loss(F.log_softmax(-apart, axis=1), wanted.as_in_context(apart.context))
