"""Moments of operators that draw one number a call: image augmentation, the slopes of rrelu, dropout between the layers of an RNN.

Operators that fill an array with draws are sample cases of the operator tests, compared with MXNet's moments.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import mxexec_torch as mx

DRAWS = 200
PICTURE = np.random.RandomState(0).uniform(60, 120, (4, 5, 3)).astype("float32")


def _ratio(out: np.ndarray) -> float:
    """The factor between brightness before and after."""
    return float(out.mean() / PICTURE.mean())


def _contrast(out: np.ndarray) -> float:
    """The factor between distances from the grey mean; equal in all channels."""
    return float((out[0, 0, 0] - out[1, 1, 0]) / (PICTURE[0, 0, 0] - PICTURE[1, 1, 0]))


def _saturation(out: np.ndarray) -> float:
    """The factor between differences of two channels of a pixel."""
    return float((out[0, 0, 0] - out[0, 0, 1]) / (PICTURE[0, 0, 0] - PICTURE[0, 0, 1]))


@pytest.mark.parametrize(
    ("name", "attrs", "measured", "low", "high"),
    [
        ("random_brightness", dict(min_factor=0.5, max_factor=1.5), _ratio, 0.5, 1.5),
        ("random_contrast", dict(min_factor=0.5, max_factor=1.5), _contrast, 0.5, 1.5),
        ("random_saturation", dict(min_factor=0.5, max_factor=1.5), _saturation, 0.5, 1.5),
        ("random_color_jitter", dict(brightness=0.5, contrast=0.0, saturation=0.0, hue=0.0), _ratio, 0.5, 1.5),
    ],
)
def test_factors(name: str, attrs: dict[str, float], measured: Callable[[np.ndarray], float], low: float, high: float) -> None:
    """The factor is uniform between its bounds, and the same again under the same seed."""
    mx.random.seed(5)
    operator, picture = getattr(mx.nd.image, name), mx.nd.array(PICTURE)
    factors = np.array([measured(operator(picture, **attrs).asnumpy()) for _ in range(DRAWS)])
    spread = (high - low) / np.sqrt(12)
    assert low - 1e-3 <= factors.min() and factors.max() <= high + 1e-3
    assert abs(factors.mean() - (low + high) / 2) < 4 * spread / np.sqrt(DRAWS)
    assert abs(factors.std() - spread) < 0.15 * spread
    mx.random.seed(5)
    assert measured(operator(picture, **attrs).asnumpy()) == factors[0]


@pytest.mark.parametrize(("name", "flipped"), [("random_flip_left_right", PICTURE[:, ::-1]), ("random_flip_top_bottom", PICTURE[::-1])])
def test_flips(name: str, flipped: np.ndarray) -> None:
    """Half of the pictures are mirrored, the others are as they were."""
    mx.random.seed(6)
    found = [getattr(mx.nd.image, name)(mx.nd.array(PICTURE)).asnumpy() for _ in range(DRAWS)]
    mirrored = [np.array_equal(f, flipped) for f in found]
    assert all(m or np.array_equal(f, PICTURE) for f, m in zip(found, mirrored, strict=True))
    assert abs(sum(mirrored) - DRAWS / 2) < 4 * np.sqrt(DRAWS) / 2


def test_hue_keeps_lightness() -> None:
    """Turning the hue moves colours, here both ways, and keeps each pixel's lightness, the middle of its channels' extremes."""
    mx.random.seed(7)
    found = np.array([mx.nd.image.random_hue(mx.nd.array(PICTURE), min_factor=0.9, max_factor=1.1).asnumpy() for _ in range(DRAWS)])
    np.testing.assert_allclose(found.max(3) + found.min(3), np.broadcast_to(PICTURE.max(2) + PICTURE.min(2), found.shape[:3]), rtol=1e-3)
    assert abs((found - PICTURE).mean()) < 2.0 and found.std(0).max() > 1.0


def test_lighting() -> None:
    """One shift for all pixels, normal around zero with a deviation proportional to alpha_std."""
    deviations = []
    for std in (0.05, 0.1):
        mx.random.seed(8)
        shifts = np.array([(mx.nd.image.random_lighting(mx.nd.array(PICTURE), alpha_std=std).asnumpy() - PICTURE) for _ in range(DRAWS)])
        assert np.ptp(shifts, axis=(1, 2)).max() < 1e-3
        assert (abs(shifts.mean(0)) < 4 * shifts.std(0) / np.sqrt(DRAWS) + 1e-6).all()
        deviations.append(shifts.std(0).mean())
    assert deviations[1] / deviations[0] == pytest.approx(2.0, rel=0.01)


def test_rrelu_slopes() -> None:
    """Slopes of rrelu in training are uniform between the bounds."""
    mx.random.seed(9)
    with mx.autograd.train_mode():
        out = mx.nd.LeakyReLU(mx.nd.full((4000,), -1.0), act_type="rrelu", lower_bound=0.1, upper_bound=0.5)
    slopes = -(out[0] if isinstance(out, list) else out).asnumpy()
    assert slopes.min() >= 0.1 and slopes.max() <= 0.5
    assert abs(slopes.mean() - 0.3) < 4 * 0.4 / np.sqrt(12 * 4000)
    assert abs(slopes.std() - 0.4 / np.sqrt(12)) < 0.01


def test_rnn_dropout() -> None:
    """Between two layers a part p of the values is dropped and the rest is scaled up: the second layer's mean input stays."""
    mx.random.seed(10)
    steps, batch, size = 3, 2, 400
    # relu layers that pass their input on: identity from input to hidden, nothing from hidden to hidden
    passing = [np.eye(size).ravel(), np.zeros(size * size)]
    parameters = mx.nd.array(np.concatenate([*passing, *passing, np.zeros(4 * size)]))
    data, state = mx.nd.ones((steps, batch, size)), mx.nd.zeros((2, batch, size))
    with mx.autograd.train_mode():
        out = mx.nd.RNN(data, parameters, state, state_size=size, num_layers=2, mode="rnn_relu", p=0.4).asnumpy()
    kept = out[out != 0]
    assert np.allclose(kept, 1 / 0.6)
    assert abs(len(kept) / out.size - 0.6) < 4 * np.sqrt(0.24 / out.size)
    assert (mx.nd.RNN(data, parameters, state, state_size=size, num_layers=2, mode="rnn_relu", p=0.4).asnumpy() == 1).all()
