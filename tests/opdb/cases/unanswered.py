"""Operators that MXNet 1.9.1 cannot run on CPU (or not at all): what its sources say, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..case import Arrays, Case, Gradient, Reference, integers, normal, values
from .image import bitmap

Answer = tuple[list[np.ndarray], Gradient | None]


def _fft(inputs: Arrays, attrs: Mapping[str, Any]) -> Answer:
    x = inputs["data"]

    def gradient(heads: list[np.ndarray]) -> Arrays:
        pairs = heads[0].reshape(*x.shape, 2)
        return {"data": (np.fft.ifft(pairs[..., 0] + 1j * pairs[..., 1]).real * x.shape[-1]).astype(x.dtype)}

    spectrum = np.fft.fft(x)
    return [np.stack([spectrum.real, spectrum.imag], -1).reshape(*x.shape[:-1], -1).astype(x.dtype)], gradient


def _ifft(inputs: Arrays, attrs: Mapping[str, Any]) -> Answer:
    x = inputs["data"]
    pairs = x.reshape(*x.shape[:-1], -1, 2)

    def gradient(heads: list[np.ndarray]) -> Arrays:
        spectrum = np.fft.fft(heads[0])
        return {"data": np.stack([spectrum.real, spectrum.imag], -1).reshape(x.shape).astype(x.dtype)}

    return [(np.fft.ifft(pairs[..., 0] + 1j * pairs[..., 1]).real * pairs.shape[-2]).astype(x.dtype)], gradient


def _count_sketch(inputs: Arrays, attrs: Mapping[str, Any]) -> Answer:
    x, h, s = inputs["data"], inputs["h"].reshape(-1).astype("int64"), inputs["s"].reshape(-1)
    out = np.zeros((*x.shape[:-1], attrs["out_dim"]), x.dtype)
    for column in range(x.shape[-1]):
        out[..., h[column]] += s[column] * x[..., column]
    return [out], lambda heads: {"data": heads[0][..., h] * s}


def _quantize_asym(inputs: Arrays, attrs: Mapping[str, Any]) -> Answer:
    x = inputs["data"]
    low, high = np.float32(attrs.get("min_calib_range", x.min())), np.float32(attrs.get("max_calib_range", x.max()))
    scale = np.float32(255) / (high - low)
    shift = np.float32(255) - high * scale
    return [np.floor(x * scale + shift + 0.5).clip(0, 255).astype("uint8"), np.array([scale]), np.array([shift])], None


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _pieces(vector: np.ndarray, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    found, start = [], 0
    for shape in shapes:
        size = int(np.prod(shape))
        found.append(vector[start : start + size].reshape(shape))
        start += size
    assert start == vector.size
    return found


def _lstm(
    x: np.ndarray, parameters: np.ndarray, h: np.ndarray, c: np.ndarray, attrs: Mapping[str, Any], projection: int | None = None
) -> list[np.ndarray]:
    """One or two directions of one layer; gates in the order input, forget, candidate, output."""
    hidden, width = attrs["state_size"], projection or attrs["state_size"]
    directions = 2 if attrs.get("bidirectional") else 1
    weights = [(4 * hidden, x.shape[2]), (4 * hidden, width), *([(projection, hidden)] if projection else [])]
    parts = _pieces(parameters, weights * directions + [(4 * hidden,)] * 2 * directions)
    biases, each, outs, states, cells = parts[len(weights) * directions :], len(weights), [], [], []
    for d in range(directions):
        own, hidden_state, cell = parts[d * each : (d + 1) * each], h[d], c[d]
        steps = []
        for t in range(len(x)) if d == 0 else reversed(range(len(x))):
            gates = x[t] @ own[0].T + biases[2 * d] + hidden_state @ own[1].T + biases[2 * d + 1]
            i, f, g, o = np.split(gates, 4, axis=1)
            cell = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(g)
            hidden_state = _sigmoid(o) * np.tanh(cell)
            hidden_state = hidden_state @ own[2].T if projection else hidden_state
            steps.append(hidden_state)
        outs.append(np.stack(steps if d == 0 else steps[::-1]))
        states.append(hidden_state)
        cells.append(cell)
    return [np.concatenate(outs, 2), np.stack(states), np.stack(cells)]


def _projected(inputs: Arrays, attrs: Mapping[str, Any]) -> Answer:
    """Gradients by central differences in float64: the reference must not share a derivation with what it judges."""
    names = ("data", "parameters", "state", "state_cell")
    exact = [inputs[n].astype("float64") for n in names]

    def run(arrays: list[np.ndarray]) -> list[np.ndarray]:
        return _lstm(*arrays, attrs, attrs["projection_size"])

    def gradient(heads: list[np.ndarray]) -> Arrays:
        def loss(arrays: list[np.ndarray]) -> float:
            return float(sum((out * head).sum() for out, head in zip(run(arrays), heads)))

        found = {}
        for position, name in enumerate(names):
            result = np.zeros(exact[position].size)
            for k in range(result.size):
                ends = []
                for step in (1e-5, -1e-5):
                    moved = [a.copy() for a in exact]
                    moved[position].reshape(-1)[k] += step
                    ends.append(loss(moved))
                result[k] = (ends[0] - ends[1]) / 2e-5
            found[name] = result.reshape(exact[position].shape).astype(inputs[name].dtype)
        return found

    return [out.astype(inputs["data"].dtype) for out in run(exact)], gradient


def _quantized_lstm(inputs: Arrays, attrs: Mapping[str, Any]) -> Answer:
    """With the weights as they are: MXNet's kernel would quantise them too."""
    x = (inputs["data"].astype("float64") - inputs["data_shift"]) / inputs["data_scale"]
    exact = [x, *(inputs[n].astype("float64") for n in ("parameters", "state", "state_cell"))]
    return [out.astype("float32") for out in _lstm(*exact, attrs)], None


def _rrelu(inputs: Arrays, attrs: Mapping[str, Any]) -> Answer:
    """With both bounds equal nothing is random."""
    x = inputs["data"]
    slopes = np.where(x > 0, 1, attrs["lower_bound"]).astype(x.dtype)
    return [x * slopes], lambda heads: {"data": heads[0] * slopes}


def _old_decode(inputs: Arrays, attrs: Mapping[str, Any]) -> Answer:
    rows = np.frombuffer(bitmap()[54:], "uint8").reshape(3, 4, 3)[::-1]
    return [rows[attrs["y0"] : attrs["y1"], attrs["x0"] : attrs["x1"]].transpose(2, 0, 1).astype("float32") - inputs["mean"]], None


def _decode_call(mx: Any, F: Any, given: dict[str, Any]) -> Any:  # noqa: N803 - as in Case.build
    return F._internal._imdecode(given["mean"], str_img=bitmap(), **_CLIP)


_CLIP = dict(index=0, x0=1, y0=0, x1=3, y1=2, c=3, size=len(bitmap()))
_GPU = "MXNet runs it on GPUs only"
_CRASHES = "MXNet's process ends"
_UNTRAINED = "MXNet refuses to train it on CPU"


def _sketch(label: str, *shape: int) -> Case:
    d = shape[-1]
    inputs = dict(data=normal(*shape), h=values([[k * 7 % 4 for k in range(d)]]), s=values([[1.0 if k % 3 else -1.0 for k in range(d)]]))
    return Case("_contrib_count_sketch", label, inputs, dict(out_dim=4), grad=("data",), reference=Reference(_count_sketch, _GPU))


def _lstm_case(label: str, directions: int, req: str = "write") -> Case:
    hidden, projection, size = 3, 2, 4
    length = directions * (4 * hidden * (size + projection) + projection * hidden + 8 * hidden)
    attrs = dict(state_size=hidden, projection_size=projection, num_layers=1, mode="lstm", state_outputs=True, bidirectional=directions == 2)
    inputs = dict(data=normal(3, 2, size), parameters=normal(length, std=0.5), state=normal(directions, 2, projection), state_cell=normal(directions, 2, hidden))
    return Case("RNN", label, inputs, attrs, reference=Reference(_projected, f"LSTM with a projection: {_UNTRAINED}"))


CASES = [
    *[Case("_contrib_fft", label, dict(data=normal(*shape)), reference=Reference(_fft, _GPU)) for label, shape in (("matrix", (3, 5)), ("images", (2, 1, 3, 4)))],
    *[Case("_contrib_ifft", label, dict(data=normal(*shape)), reference=Reference(_ifft, _GPU)) for label, shape in (("matrix", (3, 10)), ("images", (2, 1, 3, 4)))],
    Case("_contrib_fft", "in_parts", dict(data=normal(5, 4)), dict(compute_size=2), reference=Reference(_fft, _GPU)),
    _sketch("matrix", 3, 6), _sketch("images", 2, 2, 2, 5),
    Case("_contrib_quantize_asym", "own_range", dict(data=normal(3, 4)), grad=(), reference=Reference(_quantize_asym, _CRASHES)),
    Case("_contrib_quantize_asym", "calibrated", dict(data=normal(3, 4)), dict(min_calib_range=-1.0, max_calib_range=2.5), grad=(),
         reference=Reference(_quantize_asym, _CRASHES)),
    *[Case("_contrib_quantize_asym", dtype, dict(data=integers(3, 4, dtype=dtype)), grad=(), error=True) for dtype in ("int8", "uint8", "float64")],
    *[
        Case("_contrib_quantized_rnn", f"{directions}_way", dict(
            data=integers(3, 2, 4, high=255, dtype="uint8"), parameters=normal(directions * 4 * 3 * (4 + 3 + 2), std=0.5), state=normal(directions, 2, 3),
            state_cell=normal(directions, 2, 3), data_scale=values([60.0]), data_shift=values([120.0])),
            dict(state_size=3, num_layers=1, mode="lstm", state_outputs=True, bidirectional=directions == 2), grad=(), paths=("nd",),
            reference=Reference(_quantized_lstm, "MXNet fails for want of a oneDNN primitive"))
        for directions in (1, 2)
    ],
    Case("LeakyReLU", "rrelu_training", dict(data=normal(3, 4)), dict(act_type="rrelu", lower_bound=0.2, upper_bound=0.2), train=(True,), paths=("sym",),
         gradcheck="the slope is drawn", reference=Reference(_rrelu, "rrelu in training: MXNet asks for a resource that the operator did not declare")),
    Case("_imdecode", inputs=dict(mean=normal(3, 2, 2)), attrs=_CLIP, grad=(), build=_decode_call, paths=("nd",),
         reference=Reference(_old_decode, "MXNet 1.9.1 cannot take the bytes from Python 3")),
    _lstm_case("projected", 1), _lstm_case("projected_both_ways", 2),
]  # fmt: skip
