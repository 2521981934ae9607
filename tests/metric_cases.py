"""Metrics over three batches, here and in MXNet alike. `python tests/metric_cases.py OUT.json`, with real MXNet, records the values."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

__all__ = ["CASES", "values"]

_CLASSES, _BINARY, _NUMBERS = "classes", "binary", "numbers"
CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "acc": ("acc", {}, _CLASSES), "top3": ("top_k_acc", {"top_k": 3}, _CLASSES), "ce": ("ce", {}, _CLASSES), "nll": ("nll_loss", {}, _CLASSES),
    "perplexity": ("perplexity", {"ignore_label": None}, _CLASSES), "perplexity_ignore": ("perplexity", {"ignore_label": 1}, _CLASSES),
    "pcc": ("pcc", {}, _CLASSES), "f1": ("f1", {}, _BINARY), "f1_micro": ("f1", {"average": "micro"}, _BINARY), "mcc": ("mcc", {}, _BINARY),
    "mcc_micro": ("mcc", {"average": "micro"}, _BINARY), "mae": ("mae", {}, _NUMBERS), "mse": ("mse", {}, _NUMBERS),
    "rmse": ("rmse", {}, _NUMBERS), "pearsonr": ("pearsonr", {}, _NUMBERS), "pearsonr_micro": ("pearsonr", {"average": "micro"}, _NUMBERS),
    "loss": ("loss", {}, _NUMBERS), "composite": ("composite", {"metrics": ["acc", "ce"]}, _CLASSES),
}  # fmt: skip


def _batches(kind: str) -> list[tuple[np.ndarray, np.ndarray]]:
    random = np.random.RandomState(3)
    result = []
    for size in (7, 5, 8):
        if kind == _NUMBERS:
            label = random.normal(size=(size, 3)).astype("float32")
            result.append((label, label + random.normal(0, 0.5, (size, 3)).astype("float32")))
            continue
        classes = 5 if kind == _CLASSES else 2
        scores = random.uniform(0.05, 1, (size, classes)).astype("float32")
        result.append((random.randint(0, classes, size).astype("float32"), scores / scores.sum(1, keepdims=True)))
    return result


def values(mx: Any, name: str) -> list[Any]:
    """[the value after each batch, with `reset_local` after the first; the global value at the end]."""
    kind, settings, data = CASES[name]
    metric = mx.metric.create(kind, **settings)
    found: list[Any] = []
    for number, (label, pred) in enumerate(_batches(data)):
        metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
        found.append(metric.get()[1])
        if number == 0:
            metric.reset_local()
    found.append(metric.get_global()[1])
    return [np.asarray(value, dtype="float64").ravel().tolist() for value in found]


if __name__ == "__main__":
    import mxnet

    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({name: values(mxnet, name) for name in CASES}, file, indent=1)
