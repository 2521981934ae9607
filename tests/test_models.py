"""Real legacy checkpoints and short training runs against figures recorded from MXNet 1.9.1."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import mxexec_torch as mx

from . import training
from .models.run import HERE, MODELS, run
from .oracle import ROOT

CLOSE = 1e-4  # float32, relative to the array's norm


@functools.cache
def recorded() -> dict[str, dict[str, np.ndarray]]:
    found: dict[str, dict[str, np.ndarray]] = {name: {} for name in MODELS}
    with np.load(HERE / "recorded.npz") as stored:
        for key in stored.files:
            name, what = key.split("|")
            found[name][what] = stored[key]
    return found


def apart(here: np.ndarray, there: np.ndarray) -> float:
    """Distance relative to the norm of MXNet's array (absolute where that is tiny)."""
    assert here.shape == there.shape and here.dtype == there.dtype
    return float(np.linalg.norm(here.astype("float64") - there) / max(float(np.linalg.norm(there)), 1e-6))


@pytest.mark.parametrize("name", MODELS)
def test_checkpoint(name: str) -> None:
    """Loads from file; outputs in both modes, all gradients and auxiliary states agree."""
    here, there = run(mx, name), recorded()[name]
    assert set(here) == set(there)
    wrong = {key: apart(here[key], there[key]) for key in there}
    assert max(wrong.values()) < CLOSE, {k: v for k, v in wrong.items() if v >= CLOSE}


@pytest.mark.parametrize("name", training.NETS)
def test_training(name: str) -> None:
    """Every weight, gradient and moving statistic agrees at each of the 20 steps."""
    with np.load(ROOT / "tests" / "data" / f"training_{name}.npz") as stored:
        there = {key: stored[key] for key in stored.files}
    here = training.run(mx, name)
    assert set(here) == set(there)
    wrong = {f"{key} step {i + 1}": apart(here[key][i], there[key][i]) for key in there for i in range(training.STEPS)}
    assert max(wrong.values()) < CLOSE, dict(sorted(wrong.items(), key=lambda kv: -kv[1])[:8])
