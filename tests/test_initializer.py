"""Initializers: values by name, attributes of variables, patterns, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mxexec_torch as mx


def _filled(init: object, name: str, shape: tuple[int, ...], **kwargs: object) -> np.ndarray:
    array = mx.nd.full(shape, 7)
    init(mx.init.InitDesc(name, **kwargs), array)  # type: ignore[operator]
    return array.asnumpy()


@pytest.mark.parametrize("name, value", [("a_bias", 0), ("a_gamma", 1), ("a_beta", 0), ("a_min", 0), ("a_max", 1)])
def test_endings_of_names_decide(name: str, value: float) -> None:
    assert (_filled(mx.init.Uniform(), name, (3,)) == value).all()


def test_unknown_endings_are_an_error() -> None:
    with pytest.raises(ValueError, match="Unknown initialization pattern"):
        _filled(mx.init.Uniform(), "a_moving_mean", (3,))


def test_the_variables_own_initializer_wins() -> None:
    value = _filled(mx.init.Uniform(), "a_bias", (3,), attrs={"__init__": mx.init.Constant(2.5).dumps()})
    assert (value == 2.5).all()


@pytest.mark.parametrize("init, deviation", [
    (mx.init.Xavier(), np.sqrt(3 / 300 / 3)), (mx.init.Xavier("gaussian", "in", 2), np.sqrt(2 / 200)),
    (mx.init.MSRAPrelu("out", 0), np.sqrt(2 / 400)), (mx.init.Uniform(0.3), 0.3 / np.sqrt(3)), (mx.init.Normal(0.2), 0.2),
])  # fmt: skip
def test_deviations(init: object, deviation: float) -> None:
    mx.random.seed(1)
    value = _filled(init, "a_weight", (400, 200))
    assert abs(value.mean()) < deviation / 50 and abs(value.std() / deviation - 1) < 0.02


def test_orthogonal_rows() -> None:
    value = _filled(mx.init.Orthogonal(scale=2), "a_weight", (5, 3, 4))
    np.testing.assert_allclose(value.reshape(5, 12) @ value.reshape(5, 12).T, 4 * np.eye(5), atol=1e-5)


def test_bilinear_upsampling_kernel() -> None:
    value = _filled(mx.init.Bilinear(), "a_weight", (2, 1, 4, 4))
    np.testing.assert_allclose(value[1, 0, 0], np.array([1, 3, 3, 1]) / 16)


def test_lstm_bias() -> None:
    assert _filled(mx.init.LSTMBias(0.5), "a_weight", (8,)).tolist() == [0, 0, 0.5, 0.5, 0, 0, 0, 0]


def test_patterns_and_loaded_values(tmp_path: Path) -> None:
    mixed = mx.init.Mixed(["fc.*_weight", ".*"], [mx.init.One(), mx.init.Zero()])
    assert (_filled(mixed, "fc1_weight", (2, 2)) == 1).all() and (_filled(mixed, "conv_weight", (2, 2)) == 0).all()
    path = str(tmp_path / "a.params")
    mx.nd.save(path, {"arg:a_weight": mx.nd.full((2,), 3)})
    load = mx.init.Load(path, default_init=mx.init.One())
    assert (_filled(load, "a_weight", (2,)) == 3).all() and (_filled(load, "b_weight", (2,)) == 1).all()
    with pytest.raises(AssertionError, match="shape"):
        _filled(load, "a_weight", (3,))


def test_json() -> None:
    assert json.loads(mx.init.Xavier(magnitude=2).dumps()) == ["xavier", {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 2}]
    assert mx.init.create(mx.init.Normal(0.1).dumps()) == mx.init.Normal(0.1)
    assert mx.init.create("zeros") == mx.init.Zero()


def test_registered_classes_are_found_by_name() -> None:
    @mx.init.register
    class Seven(mx.init.Initializer):
        def _init_weight(self, name: str, arr: object) -> None:
            arr[:] = 7  # type: ignore[index]

    assert (_filled(mx.init.create("seven"), "a_weight", (2,)) == 7).all()
