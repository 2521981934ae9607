"""Metrics against MXNet's values, and what scripts do with them."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx
from tests.metric_cases import CASES, values

RECORDED = json.loads((Path(__file__).parent / "data" / "metrics.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_values_are_mxnets(name: str) -> None:
    for found, expected in zip(values(mx, name), RECORDED[name], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_outputs_and_labels_by_name() -> None:
    metric = mx.metric.create("acc", output_names=["b_output"], label_names=["b_label"])
    right, wrong = mx.nd.array([[0, 1], [1, 0]]), mx.nd.array([[1, 0], [0, 1]])
    label = mx.nd.array([1, 0])
    metric.update_dict({"a_label": label, "b_label": label}, OrderedDict(a_output=wrong, b_output=right))
    assert metric.get() == ("accuracy", 1.0)


def test_create_takes_names_functions_lists_and_configurations() -> None:
    def error(label: np.ndarray, pred: np.ndarray) -> float:
        return float(np.abs(label - pred).sum())

    both = mx.metric.create(["mse", error])
    both.update([mx.nd.array([1, 2])], [mx.nd.array([1, 4])])
    assert both.get() == (["mse", "error"], [2.0, 2.0])
    again = mx.metric.create(mx.metric.create("ce", eps=0.5, name="mine").get_config())
    assert again.eps == 0.5 and again.name == "mine"
    assert mx.metric.np(error).name == "error"


def test_wrong_numbers_of_labels_are_an_error() -> None:
    with pytest.raises(ValueError, match="does not match"):
        mx.metric.create("acc").update([mx.nd.array([1])], [mx.nd.array([[0, 1]])] * 2)
    with pytest.raises(ValueError, match="binary"):
        mx.metric.create("f1").update([mx.nd.array([0, 1, 2])], [mx.nd.ones((3, 3))])


def test_a_metric_without_batches_is_not_a_number() -> None:
    assert np.isnan(mx.metric.create("mae").get()[1])


def test_sums_are_kept_in_double_precision() -> None:
    """float32 values add up as float64, also in metrics of one's own; values are plain numbers and print as such."""

    class Ones(mx.metric.EvalMetric):
        def update(self, labels: Any, preds: Any) -> None:
            self.sum_metric += np.float32(0.1)
            self.num_inst += 1

    metric = Ones("ones")
    metric.update(None, None)
    metric.sum_metric += np.float32(2**24)
    metric.sum_metric += np.float32(1)
    assert metric.sum_metric == 2**24 + 1 + float(np.float32(0.1))
    loss = mx.metric.create("nll_loss")
    loss.update([mx.nd.array([0, 1])], [mx.nd.array([[0.3, 0.7], [0.4, 0.6]])])
    assert repr(loss.get()).startswith("('nll-loss', 0.85739")


def test_accuracy_along_an_axis_that_is_not_there() -> None:
    with pytest.raises(mx.MXNetError, match="axis 1"):
        mx.metric.Accuracy().update([mx.nd.ones((2, 1))], [mx.nd.ones((2,))])
