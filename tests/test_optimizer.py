"""Optimizers: fifty steps against MXNet's numbers, foreach passes against the operators, states, multipliers, schedulers."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx
from tests import fits

DIGESTS = np.load(fits.FILE)


def _check(found: dict[str, Any], recorded: str) -> None:
    """Weights, auxiliary and optimizer states within 1e-3 of the array's largest element, metrics equal to four digits."""
    expected, position = DIGESTS[recorded], 0
    for key in sorted(found):
        short = fits.digest(found[key])
        theirs = expected[position : position + short.size]
        position += short.size
        limit = 5e-5 if "metric" in key else 1e-3
        parts = ((short, theirs),) if found[key].size <= 13 else ((short[:1], theirs[:1]), (short[1:2], theirs[1:2]), (short[2:], theirs[2:]))
        for ours, other in parts:
            np.testing.assert_allclose(ours, other, rtol=0, atol=limit * np.abs(other).max(), err_msg=key)
    assert position == expected.size


@pytest.mark.parametrize("net, kind", fits.RECORDED)
def test_fifty_steps(net: str, kind: str) -> None:
    _check(fits.trained(mx, net, kind), f"{net}/{kind}")


def test_fifty_steps_on_two_contexts() -> None:
    _check(fits.trained(mx, "mlp", "sgd", 2), "mlp/sgd/2")


@pytest.mark.parametrize("net, kind", fits.GOING_ON)
def test_a_checkpoint_of_mxnets_goes_on_here(tmp_path: Path, net: str, kind: str) -> None:
    """Two epochs in MXNet, then three here: what MXNet itself made of the checkpoint."""
    for name in DIGESTS.files:
        if name.startswith("file/"):
            (tmp_path / name[5:]).write_bytes(DIGESTS[name].tobytes())
    _check(fits.trained(mx, net, kind, 1, 2, fits.EPOCHS, str(tmp_path / net)), f"{net}/{kind}>")


@pytest.mark.parametrize("kind, settings", [
    ("sgd", {}), ("sgd", {"wd": 0.1}), ("sgd", {"momentum": 0.9, "wd": 0.1}), ("sgd", {"momentum": 0.9, "clip_gradient": 0.3}),
    ("adam", {}), ("adam", {"wd": 0.1, "clip_gradient": 0.3}),
])  # fmt: skip
def test_many_parameters_at_once_give_the_numbers_of_one_by_one(kind: str, settings: dict[str, Any]) -> None:
    random = np.random.RandomState(0)
    shapes = [(3, 4), (5,), (2, 3, 4)]
    names = {0: "a_weight", 1: "b_bias", 2: "c_weight"}
    together, single = (mx.optimizer.get_updater(mx.optimizer.create(kind, param_idx2name=names, rescale_grad=0.5, **settings)) for _ in "ab")
    start = [random.normal(size=shape) for shape in shapes]
    ours, theirs = ([mx.nd.array(value) for value in start] for _ in "ab")
    for _ in range(4):
        grads = [mx.nd.array(random.normal(size=shape)) for shape in shapes]
        together([0, 1, 2], grads, ours)
        for index in range(3):
            single(index, grads[index], theirs[index])
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("kind, settings", [("sgd", {}), ("sgd", {"momentum": 0.9}), ("adam", {})])
def test_a_negative_limit_is_none(kind: str, settings: dict[str, Any]) -> None:
    """As in MXNet's update operators."""
    found = []
    for limit in (-1.0, None):
        updater, weight = mx.optimizer.get_updater(mx.optimizer.create(kind, clip_gradient=limit, **settings)), mx.nd.zeros((3,))
        for _ in range(2):
            updater(0, mx.nd.array([-3.0, 0.5, 7.0]), weight)
        found.append(weight.asnumpy())
    np.testing.assert_array_equal(*found)


def test_states_are_mxnets_and_load_safely() -> None:
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    weight = mx.nd.ones((2, 3))
    updater(0, weight * 2, weight)
    data = updater.get_states(dump_optimizer=True)
    assert b"mxnet.ndarray.ndarray" in data and b"mxnet.optimizer.optimizer" in data and b"mxexec_torch" not in data
    other = mx.optimizer.get_updater(mx.optimizer.create("sgd"))
    other.set_states(data)
    assert isinstance(other.optimizer, mx.optimizer.Adam) and other.optimizer.num_update == 1
    np.testing.assert_array_equal(other.states[0][0].asnumpy(), updater.states[0][0].asnumpy())


@pytest.mark.parametrize("harmful", [print, eval, pickle.loads, mx.nd.zeros, mx.mod.Module])
def test_states_that_name_anything_else_are_refused(harmful: Any) -> None:
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd"))
    with pytest.raises(pickle.UnpicklingError, match="refused"):
        updater.set_states(pickle.dumps({0: harmful}))


def test_multipliers_come_from_names_and_attributes() -> None:
    data = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(data, weight=mx.sym.Variable("w_weight", lr_mult=3, wd_mult=0.5), num_hidden=2, name="fc")
    names = {0: "w_weight", 1: "fc_bias", 2: "bn_gamma", 3: "bn_beta"}
    optimizer = mx.optimizer.create("sgd", learning_rate=0.1, wd=0.2, sym=net, param_idx2name=names)
    assert optimizer._get_lrs([0, 1, 2, 3]) == pytest.approx([0.3, 0.1, 0.1, 0.1])
    assert optimizer._get_wds([0, 1, 2, 3]) == pytest.approx([0.1, 0.0, 0.2, 0.0])


@pytest.mark.parametrize("kind", ["sgd", "nag", "adam", "lamb", "rmsprop"])
def test_half_precision_weights_follow_their_float32_copies(kind: str) -> None:
    settings = {"momentum": 0.9} if kind in ("sgd", "nag") else {}
    random = np.random.RandomState(1)
    start, grads = random.normal(size=(4, 5)), [random.normal(size=(4, 5)) for _ in range(3)]
    results = []
    for dtype, multi in (("float32", False), ("float16", True)):
        updater = mx.optimizer.get_updater(mx.optimizer.create(kind, learning_rate=0.01, multi_precision=multi, **settings))
        weight = mx.nd.array(start.astype("float16"), dtype=dtype)
        for grad in grads:
            updater(0, mx.nd.array(grad.astype("float16"), dtype=dtype), weight)
        results.append(weight.asnumpy().astype("float32"))
    np.testing.assert_allclose(*results, rtol=2e-3, atol=2e-3)


def test_schedulers() -> None:
    factor = mx.lr_scheduler.FactorScheduler(step=10, factor=0.1, base_lr=1.0, stop_factor_lr=1e-3)
    assert [round(factor(n), 6) for n in (1, 10, 11, 21, 100)] == [1.0, 1.0, 0.1, 0.01, 0.001]
    multi = mx.lr_scheduler.MultiFactorScheduler(step=[5, 8], factor=0.5, base_lr=1.0, warmup_steps=2, warmup_begin_lr=0.5)
    assert [multi(n) for n in (0, 1, 3, 5, 6, 9)] == [0.5, 0.75, 1.0, 1.0, 0.5, 0.25]
    poly, cosine = mx.lr_scheduler.PolyScheduler(10, base_lr=1.0), mx.lr_scheduler.CosineScheduler(10, base_lr=1.0, final_lr=0.1)
    assert [poly(0), poly(5), poly(10), poly(11)] == pytest.approx([1.0, 0.25, 0.0, 0.0])
    assert [cosine(0), cosine(5), cosine(10)] == pytest.approx([1.0, 0.55, 0.1])
    with pytest.raises(ValueError, match="increasing"):
        mx.lr_scheduler.MultiFactorScheduler(step=[5, 5])


def test_a_scheduler_decides_alone() -> None:
    optimizer = mx.optimizer.create("sgd", lr_scheduler=mx.lr_scheduler.FactorScheduler(3))
    with pytest.raises(UserWarning):
        optimizer.set_learning_rate(0.5)
    with pytest.raises(ValueError, match="Cannot find optimizer"):
        mx.optimizer.create("no such thing")
