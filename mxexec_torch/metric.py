"""mx.metric: evaluation metrics, added up over batches; a second, global sum survives `reset_local`."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy
import torch

from . import ndarray
from .errors import MXNetError
from .factories import get_alias_func, get_create_func, get_register_func
from .ndarray.core import NDArray

__all__ = [
    "F1", "MAE", "MCC", "MSE", "PCC", "RMSE", "Accuracy", "Caffe", "CompositeEvalMetric", "CrossEntropy", "CustomMetric", "EvalMetric", "Loss",
    "NegativeLogLikelihood", "PearsonCorrelation", "Perplexity", "TopKAccuracy", "Torch", "check_label_shapes", "create", "np",
]  # fmt: skip


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Compares lengths (shapes with `shape`); with `wrap` single arrays come back in lists. Errors: ValueError when they differ."""
    found = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if found[0] != found[1]:
        raise ValueError(f"Shape of labels {found[0]} does not match shape of predictions {found[1]}")
    if wrap:
        labels = [labels] if isinstance(labels, NDArray) else labels
        preds = [preds] if isinstance(preds, NDArray) else preds
    return labels, preds


def _pairs(labels: Any, preds: Any) -> Iterator[tuple[Any, Any]]:
    """(label, prediction) of each output. Errors: ValueError for different numbers."""
    labels, preds = check_label_shapes(labels, preds, True)
    yield from zip(labels, preds, strict=True)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


# A sum that stays float64 when float32 scalars are added, as NumPy 1 had it for Python's numbers; with NumPy 2 0.0 would become float32.
_ZERO = numpy.float64(0)


class EvalMetric:
    """Base class: `update(labels, preds)` adds a batch, `get()` gives (name, value).

    output_names, label_names: which outputs and labels `update_dict` picks, all by default. get_global: since `reset`, whatever
    `reset_local` forgot in between.
    """

    num_inst: float
    sum_metric: float
    global_num_inst: float
    global_sum_metric: float

    def __init__(self, name: Any, output_names: Sequence[str] | None = None, label_names: Sequence[str] | None = None, **kwargs: Any) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[str, Any]:
        """Everything that `create` needs to make the metric again."""
        return {
            **self._kwargs, "metric": type(self).__name__, "name": self.name, "output_names": self.output_names, "label_names": self.label_names,
        }  # fmt: skip

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """`update` with labels and outputs given by name."""
        preds = list(pred.values()) if self.output_names is None else [pred[name] for name in self.output_names]
        labels = list(label.values()) if self.label_names is None else [label[name] for name in self.label_names]
        self.update(labels, preds)

    def update(self, labels: Any, preds: Any) -> None:
        """Adds a batch: lists of NDArrays, one for each output."""
        raise NotImplementedError(f"{type(self).__name__} defines no update")

    def _add(self, total: Any, count: Any) -> None:
        """Adds to both sums."""
        self.sum_metric += total
        self.global_sum_metric += total
        self.num_inst += count
        self.global_num_inst += count

    def reset(self) -> None:
        """Forgets everything."""
        self.num_inst = 0
        self.sum_metric = _ZERO
        self.global_num_inst = 0
        self.global_sum_metric = _ZERO

    def reset_local(self) -> None:
        """Forgets all but the global sums."""
        self.num_inst = 0
        self.sum_metric = _ZERO

    def _value(self, total: Any, count: Any) -> Any:
        value = total / count if count != 0 else float("nan")
        return value.item() if isinstance(value, numpy.generic) else value  # in tuples NumPy 2 prints its scalars as np.float64(0.5)

    def get(self) -> tuple[Any, Any]:
        """(name, value), or lists of both; NaN before the first batch."""
        return self.name, self._value(self.sum_metric, self.num_inst) if self.num_inst != 0 else float("nan")

    def get_global(self) -> tuple[Any, Any]:
        """`get` over everything since `reset`."""
        if not self._has_global_stats:
            return self.get()
        return self.name, self._value(self.global_sum_metric, self.global_num_inst) if self.global_num_inst != 0 else float("nan")

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Pairs (name, value)."""
        name, value = self.get()
        return list(zip(_listed(name), _listed(value), strict=False))

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Pairs (name, value) over everything since `reset`."""
        if not self._has_global_stats:
            return self.get_name_value()
        name, value = self.get_global()
        return list(zip(_listed(name), _listed(value), strict=False))


register = get_register_func(EvalMetric, "metric")
alias = get_alias_func(EvalMetric, "metric")
_create = get_create_func(EvalMetric, "metric")


def create(metric: Any, *args: Any, **kwargs: Any) -> Any:
    """A metric from its name, a function of (label, pred), a configuration, or a list of these (then a composite)."""
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    if isinstance(metric, list):
        composite = CompositeEvalMetric()
        for child in metric:
            composite.add(create(child, *args, **kwargs))
        return composite
    return _create(metric, *args, **kwargs)


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics as one."""

    def __init__(self, metrics: Any = None, name: str = "composite", output_names: Any = None, label_names: Any = None) -> None:
        self.metrics: list[Any] = []
        super().__init__(name, output_names=output_names, label_names=label_names, has_global_stats=True)
        self.metrics = [create(metric) for metric in metrics or ()]

    def add(self, metric: Any) -> None:
        """Appends a metric, anything that `create` takes."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> Any:
        """A child; a ValueError object (not raised, as in MXNet) for a wrong index."""
        if not -len(self.metrics) <= index < len(self.metrics):
            return ValueError(f"Metric index {index} is out of range 0 and {len(self.metrics)}")
        return self.metrics[index]

    def update_dict(self, labels: Mapping[str, Any], preds: Mapping[str, Any]) -> None:  # MXNet's names
        if self.label_names is not None:
            labels = OrderedDict((k, v) for k, v in labels.items() if k in self.label_names)
        if self.output_names is not None:
            preds = OrderedDict((k, v) for k, v in preds.items() if k in self.output_names)
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels: Any, preds: Any) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        for metric in self.metrics:
            metric.reset_local()

    def _collect(self, method: str) -> tuple[list[str], list[Any]]:
        names: list[str] = []
        values: list[Any] = []
        for metric in self.metrics:
            name, value = getattr(metric, method)()
            names.extend(name if isinstance(name, (list, tuple)) else [name])
            values.extend(value if isinstance(value, (list, tuple)) else [value])
        return names, values

    def get(self) -> tuple[list[str], list[Any]]:
        return self._collect("get")

    def get_global(self) -> tuple[list[str], list[Any]]:
        return self._collect("get_global")

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


class _Global(EvalMetric):
    """A metric with global sums whose constructor takes settings first, then the name."""

    def __init__(self, name: str, output_names: Any, label_names: Any, **settings: Any) -> None:
        super().__init__(name, output_names=output_names, label_names=label_names, has_global_stats=True, **settings)


@register
@alias("acc")
class Accuracy(_Global):
    """Share of the predictions that equal the label; predictions of another shape than the labels are scores along `axis`."""

    def __init__(self, axis: int = 1, name: str = "accuracy", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in _pairs(labels, preds):
            guess, truth = pred._t, label._t
            if guess.shape != truth.shape:
                if not -guess.ndim <= self.axis < guess.ndim:
                    raise MXNetError(f"Accuracy: axis {self.axis} of predictions of shape {tuple(guess.shape)}, labels {tuple(truth.shape)}")
                guess = guess.argmax(self.axis)
            if guess.ndim != 1 or truth.ndim != 1:
                guess, truth = guess.reshape(-1), truth.reshape(-1)
            check_label_shapes(truth, guess)
            guess, truth = guess.to(torch.int64), truth.to(device=guess.device, dtype=torch.int64)
            self._add(int(torch.count_nonzero(guess == truth)), guess.numel())


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(_Global):
    """Share of the samples whose label is among the `top_k` highest scores."""

    def __init__(self, top_k: int = 1, name: str = "top_k_accuracy", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names, top_k=top_k)
        self.top_k = top_k
        assert self.top_k > 1, "Please use Accuracy if top_k is no more than 1"
        self.name += f"_{self.top_k}"

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in _pairs(labels, preds):
            assert len(pred.shape) <= 2, "Predictions should be no more than 2 dims"
            order = numpy.argpartition(pred.asnumpy().astype("float32"), -self.top_k)  # ties fall as in MXNet
            truth = label.asnumpy().astype("int32")
            check_label_shapes(truth, order)
            if order.ndim == 1:
                self.sum_metric += (order.flat == truth.flat).sum()
                self._add(0, order.shape[0])
                continue
            best = order[:, -min(order.shape[1], self.top_k) :]
            self._add((best == truth.reshape(-1, 1)).sum(), order.shape[0])


class _Counts:
    """True and false positives and negatives of a binary classification."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.tp = self.fp = self.fn = self.tn = 0

    @property
    def total(self) -> int:
        return self.tp + self.fp + self.fn + self.tn

    def add(self, tp: int, fp: int, fn: int, tn: int) -> None:
        self.tp, self.fp, self.fn, self.tn = self.tp + tp, self.fp + fp, self.fn + fn, self.tn + tn

    def fscore(self) -> float:
        precision = self.tp / (self.tp + self.fp) if self.tp + self.fp > 0 else 0.0
        recall = self.tp / (self.tp + self.fn) if self.tp + self.fn > 0 else 0.0
        return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0

    def matthews(self) -> float:
        if not self.total:
            return 0.0
        product = 1.0
        for term in (self.tp + self.fp, self.tp + self.fn, self.tn + self.fp, self.tn + self.fn):
            if term:
                product *= term
        return (float(self.tp) * self.tn - float(self.fp) * self.fn) / math.sqrt(product)


class _Binary(_Global):
    """A score of binary classification. average: 'macro' is the mean of the batches' scores, 'micro' the score of all samples."""

    def __init__(self, name: str, output_names: Any, label_names: Any, average: str) -> None:
        self.average = average
        self._local, self._whole = _Counts(), _Counts()
        super().__init__(name, output_names, label_names)

    def _score(self, counts: _Counts) -> float:
        raise NotImplementedError

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in _pairs(labels, preds):
            self._count(label.asnumpy().astype("int32"), pred.asnumpy())
        if self.average == "macro":
            self.sum_metric += self._score(self._local)
            self.global_sum_metric += self._score(self._whole)
            self.num_inst += 1
            self.global_num_inst += 1
            self._local.reset()
            self._whole.reset()
        else:
            self.sum_metric = self._score(self._local) * self._local.total
            self.global_sum_metric = self._score(self._whole) * self._whole.total
            self.num_inst = self._local.total
            self.global_num_inst = self._whole.total

    def _count(self, label: Any, scores: Any) -> None:
        check_label_shapes(label, scores)
        if len(numpy.unique(label)) > 2:
            raise ValueError(f"{type(self).__name__} currently only supports binary classification.")
        truth, guess = label.reshape(-1) == 1, numpy.argmax(scores, axis=1).reshape(-1) == 1
        parts = [int(numpy.sum(x)) for x in (guess & truth, guess & ~truth, ~guess & truth, ~guess & ~truth)]
        self._local.add(*parts)
        self._whole.add(*parts)

    def reset(self) -> None:
        super().reset()
        self._local.reset()
        self._whole.reset()

    def reset_local(self) -> None:
        super().reset_local()
        self._local.reset()


@register
class F1(_Binary):
    """Harmonic mean of precision and recall."""

    def __init__(self, name: str = "f1", output_names: Any = None, label_names: Any = None, average: str = "macro") -> None:
        super().__init__(name, output_names, label_names, average)

    def _score(self, counts: _Counts) -> float:
        return counts.fscore()


@register
class MCC(_Binary):
    """Matthews' correlation coefficient."""

    def __init__(self, name: str = "mcc", output_names: Any = None, label_names: Any = None, average: str = "macro") -> None:
        super().__init__(name, output_names, label_names, average)

    def _score(self, counts: _Counts) -> float:
        return counts.matthews()


@register
class Perplexity(_Global):
    """exp of the mean negative log probability of the label; samples of `ignore_label` do not count."""

    def __init__(
        self, ignore_label: int | None, axis: int = -1, name: str = "perplexity", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(name, output_names, label_names, ignore_label=ignore_label)
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        assert len(labels) == len(preds), f"{len(labels)} labels for {len(preds)} predictions"
        loss, count = _ZERO, 0
        for label, pred in zip(labels, preds, strict=True):
            assert label.size == pred.size / pred.shape[-1], f"shape mismatch: {label.shape} vs. {pred.shape}"
            index = label.as_in_context(pred.context).reshape((label.size,))
            chosen = ndarray.pick(pred, index.astype("int32"), axis=self.axis)
            if self.ignore_label is not None:
                ignored = (index == self.ignore_label).astype(pred.dtype)
                count -= int(ndarray.sum(ignored).asscalar())
                chosen = chosen * (1 - ignored) + ignored
            loss -= float(ndarray.sum(ndarray.log(ndarray.maximum(1e-10, chosen))).asscalar())
            count += chosen.size
        self._add(loss, count)

    def _value(self, total: Any, count: Any) -> float:
        return math.exp(total / count)


class _Regression(_Global):
    """The mean over batches of an error of the batch."""

    def _error(self, difference: Any) -> Any:
        raise NotImplementedError

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in _pairs(labels, preds):
            truth, guess = (x.reshape(-1, 1) if x.ndim == 1 else x for x in (label.asnumpy(), pred.asnumpy()))
            self._add(self._error(truth - guess), 1)


@register
class MAE(_Regression):
    """Mean absolute error."""

    def __init__(self, name: str = "mae", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference: Any) -> Any:
        return numpy.abs(difference).mean()


@register
class MSE(_Regression):
    """Mean squared error."""

    def __init__(self, name: str = "mse", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference: Any) -> Any:
        return (difference**2.0).mean()


@register
class RMSE(_Regression):
    """Root of the mean squared error, for each batch."""

    def __init__(self, name: str = "rmse", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference: Any) -> Any:
        return numpy.sqrt((difference**2.0).mean())


class _LogLoss(_Global):
    """Mean of -log(probability of the label + eps)."""

    def __init__(self, eps: float, name: str, output_names: Any, label_names: Any) -> None:
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in _pairs(labels, preds):
            truth, scores = label.asnumpy().ravel(), pred.asnumpy()
            count = scores.shape[0]
            assert truth.shape[0] == count, f"{truth.shape[0]} labels for {count} predictions"
            probability = scores[numpy.arange(count), numpy.int64(truth)]
            self._add((-numpy.log(probability + self.eps)).sum(), count)


@register
@alias("ce")
class CrossEntropy(_LogLoss):
    """Cross entropy of predicted probabilities."""

    def __init__(self, eps: float = 1e-12, name: str = "cross-entropy", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
@alias("nll_loss")
class NegativeLogLikelihood(_LogLoss):
    """Negative log likelihood of predicted probabilities."""

    def __init__(self, eps: float = 1e-12, name: str = "nll-loss", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(eps, name, output_names, label_names)


class _Moments:
    """Running count, mean and sum of squared deviations, batch by batch in MXNet's way."""

    def __init__(self) -> None:
        self.count: int = 0
        self.mean: Any = 0
        self.squares: Any = 0

    def add(self, values: Any) -> None:
        self.count += len(values)
        before = values - self.mean
        self.mean = self.mean + numpy.sum(before / self.count)
        self.squares = self.squares + numpy.sum(before * (values - self.mean))


@register
@alias("pearsonr")
class PearsonCorrelation(_Global):
    """Pearson's correlation; 'macro': mean of the batches', 'micro': of all samples."""

    def __init__(self, name: str = "pearsonr", output_names: Any = None, label_names: Any = None, average: str = "macro") -> None:
        self.average = average
        super().__init__(name, output_names, label_names)

    def reset_micro(self) -> None:
        """Forgets the sums of 'micro'."""
        self._of_labels, self._of_preds, self._covariance = _Moments(), _Moments(), 0.0

    def reset(self) -> None:
        super().reset()
        self.reset_micro()

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in _pairs(labels, preds):
            check_label_shapes(label, pred, False, True)
            truth, guess = (x.asnumpy().ravel().astype(numpy.float64) for x in (label, pred))
            if self.average == "macro":
                self._add(numpy.corrcoef(guess, truth)[0, 1], 1)
                continue
            self._add(0, 1)
            self._of_labels.add(truth)
            self._covariance += numpy.sum((truth - self._of_labels.mean) * (guess - self._of_preds.mean))
            self._of_preds.add(guess)

    def get(self) -> tuple[str, Any]:
        if self.num_inst == 0 or self.average == "macro":
            return super().get()
        n = self._of_labels.count - 1
        return self.name, float(self._covariance / (n * numpy.sqrt(self._of_preds.squares / n) * numpy.sqrt(self._of_labels.squares / n)))


@register
class PCC(EvalMetric):
    """Matthews' correlation for any number of classes, from the confusion matrix."""

    def __init__(self, name: str = "pcc", output_names: Any = None, label_names: Any = None, has_global_stats: bool = True) -> None:
        self.k = 2
        self.lcm: Any = None  # confusion matrices: since reset_local, since reset
        self.gcm: Any = None
        super().__init__(name, output_names=output_names, label_names=label_names, has_global_stats=has_global_stats)

    def _grow(self, more: int) -> None:
        self.lcm, self.gcm = (numpy.pad(m, ((0, more), (0, more))) for m in (self.lcm, self.gcm))
        self.k += more

    def _correlation(self, confusion: Any) -> float:
        total, by_pred, by_label = confusion.sum(), confusion.sum(axis=1), confusion.sum(axis=0)
        of_pred, of_label = numpy.sum(by_pred * (total - by_pred)), numpy.sum(by_label * (total - by_label))
        if of_pred == 0 or of_label == 0:
            return float("nan")
        return float(numpy.sum(confusion.diagonal() * total - by_pred * by_label) / (of_pred * of_label) ** 0.5)

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in _pairs(labels, preds):
            truth, guess = label.asnumpy().astype("int32"), pred.asnumpy()
            guess = guess.argmax(axis=1) if guess.shape != truth.shape else guess.astype("int32")
            highest = int(max(guess.max(), truth.max()))
            if highest >= self.k:
                self._grow(highest + 1 - self.k)
            batch = numpy.zeros((self.k, self.k))
            common = min(guess.size, truth.size)  # the longer one's rest does not count, in MXNet neither
            numpy.add.at(batch, (guess.ravel()[:common], truth.ravel()[:common]), 1)
            self.lcm += batch
            self.gcm += batch
        self.num_inst += 1
        self.global_num_inst += 1

    @property
    def sum_metric(self) -> float:  # type: ignore[override]
        """The local value times the number of updates."""
        return self._correlation(self.lcm) * self.num_inst

    @property
    def global_sum_metric(self) -> float:  # type: ignore[override]
        """The global value times the number of updates."""
        return self._correlation(self.gcm) * self.global_num_inst

    def reset(self) -> None:
        self.global_num_inst = 0.0
        self.gcm = numpy.zeros((self.k, self.k))
        self.reset_local()

    def reset_local(self) -> None:
        self.num_inst = 0.0
        self.lcm = numpy.zeros((self.k, self.k))


@register
class Loss(_Global):
    """Mean of the outputs themselves."""

    def __init__(self, name: str = "loss", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)

    def update(self, labels: Any, preds: Any) -> None:
        for pred in [preds] if isinstance(preds, NDArray) else preds:
            self._add(ndarray.sum(pred).asscalar(), pred.size)


@register
class Torch(Loss):
    """Loss under the name that Torch criterions had."""

    def __init__(self, name: str = "torch", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """Loss under the name that Caffe criterions had."""

    def __init__(self, name: str = "caffe", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)


@register
class CustomMetric(_Global):
    """A function of NumPy arrays (label, pred) that gives a number, or (sum, count)."""

    def __init__(
        self, feval: Callable[[Any, Any], Any], name: str | None = None, allow_extra_outputs: bool = False, output_names: Any = None,
        label_names: Any = None,
    ) -> None:  # fmt: skip
        if name is None:
            name = feval.__name__
            if "<" in name:
                name = f"custom({name})"
        super().__init__(name, output_names, label_names, feval=feval, allow_extra_outputs=allow_extra_outputs)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Any, preds: Any) -> None:
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, True)
        for pred, label in zip(preds, labels, strict=False):
            result = self._feval(label.asnumpy(), pred.asnumpy())
            self._add(*(result if isinstance(result, tuple) else (result, 1)))

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError("CustomMetric cannot be serialized")


def np(numpy_feval: Callable[[Any, Any], Any], name: str | None = None, allow_extra_outputs: bool = False) -> CustomMetric:
    """A CustomMetric of a function of NumPy arrays."""

    def feval(label: Any, pred: Any) -> Any:
        return numpy_feval(label, pred)

    feval.__name__ = numpy_feval.__name__
    return CustomMetric(feval, name, allow_extra_outputs)
