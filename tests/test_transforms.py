"""Operators that MXNet 1.9.1 runs on a GPU only, against NumPy: fft, ifft, count_sketch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx

RNG = np.random.RandomState(3)
SHAPES = [(3, 5), (2, 3, 2, 4), (1, 1)]


def interleaved(values: np.ndarray) -> np.ndarray:
    """Complex numbers as real and imaginary parts in turn along the last axis."""
    return np.stack([values.real, values.imag], axis=-1).reshape(*values.shape[:-1], -1)


def complex_of(values: np.ndarray) -> np.ndarray:
    """The reverse of `interleaved`."""
    return values[..., ::2] + 1j * values[..., 1::2]


def run(build: Callable[..., Any], head: np.ndarray, **inputs: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(output, gradients) of an operator in a bound graph; the imperative form must agree."""
    symbol = build(mx.sym, **{n: mx.sym.Variable(n) for n in inputs})
    exe = symbol.simple_bind(mx.cpu(), **{n: v.shape for n, v in inputs.items()}, grad_req={n: "write" if n == "data" else "null" for n in inputs})
    out = exe.forward(is_train=True, **{n: mx.nd.array(v) for n, v in inputs.items()})[0].asnumpy()
    exe.backward(mx.nd.array(head))
    arrays = {n: mx.nd.array(v) for n, v in inputs.items()}
    arrays["data"].attach_grad()
    with mx.autograd.record():
        again = build(mx.nd, **arrays)
    again.backward(mx.nd.array(head))
    np.testing.assert_allclose(again.asnumpy(), out, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(arrays["data"].grad.asnumpy(), exe.grad_dict["data"].asnumpy(), rtol=1e-5, atol=1e-5)
    return out, {"data": exe.grad_dict["data"].asnumpy()}


@pytest.mark.parametrize("shape", SHAPES)
def test_fft(shape: tuple[int, ...]) -> None:
    """Not normalised; the gradient is the unnormalised inverse transform of the head gradient."""
    data = RNG.normal(size=shape).astype("float32")
    head = RNG.normal(size=(*shape[:-1], 2 * shape[-1])).astype("float32")
    out, grads = run(lambda F, data: F.contrib.fft(data), head, data=data)
    np.testing.assert_allclose(out, interleaved(np.fft.fft(data)), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(grads["data"], (np.fft.ifft(complex_of(head)) * shape[-1]).real, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_ifft(shape: tuple[int, ...]) -> None:
    """The real part, not divided by the length; the gradient is the transform of the head gradient."""
    data = RNG.normal(size=(*shape[:-1], 2 * shape[-1])).astype("float32")
    head = RNG.normal(size=shape).astype("float32")
    out, grads = run(lambda F, data: F.contrib.ifft(data), head, data=data)
    np.testing.assert_allclose(out, (np.fft.ifft(complex_of(data)) * shape[-1]).real, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(grads["data"], interleaved(np.fft.fft(head)), rtol=1e-4, atol=1e-4)


def test_fft_and_ifft_give_the_length_back() -> None:
    """ifft(fft(x)) = d x."""
    data = mx.nd.array(RNG.normal(size=(2, 6)))
    np.testing.assert_allclose(mx.nd.contrib.ifft(mx.nd.contrib.fft(data)).asnumpy(), 6 * data.asnumpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 6), (2, 2, 3, 6)])
def test_count_sketch(shape: tuple[int, ...]) -> None:
    """Columns are added, with their sign, into the column that the hash names; colliding columns add up."""
    data = RNG.normal(size=shape).astype("float32")
    h, s = np.array([[0, 3, 1, 3, 2, 0]], dtype="float32"), np.array([[1, -1, 1, 1, -1, -1]], dtype="float32")
    head = RNG.normal(size=(*shape[:-1], 4)).astype("float32")
    out, grads = run(lambda F, data, h, s: F.contrib.count_sketch(data, h, s, out_dim=4), head, data=data, h=h, s=s)
    expected = np.zeros((*shape[:-1], 4), dtype="float32")
    for column in range(shape[-1]):
        expected[..., int(h[0, column])] += s[0, column] * data[..., column]
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(grads["data"], s[0] * head[..., h[0].astype(int)], rtol=1e-5, atol=1e-5)
