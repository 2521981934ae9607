"""What a user writes between forward and backward, and what goes wrong in the middle: gradients and state are MXNet's."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx

# operator -> (gradient after a write of [.2, .4, .1] to the input, to the output), for input [.3, .5, .7] and head gradient [1, 2, 3];
# MXNet computes it from the input or from the output, whichever its gradient is registered with
WRITTEN = {
    "rsqrt": ([-5.590, -3.953, -47.434], [-3.043, -2.828, -2.561]),
    "rcbrt": ([-2.850, -2.262, -21.544], [-1.660, -1.680, -1.609]),
    "reciprocal": ([-25.0, -12.5, -300.0], [-11.111, -8.0, -6.122]),
    "expm1": ([1.221, 2.984, 3.316], [1.350, 3.297, 6.041]),
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("where", [0, 1])
def test_gradient_reads_what_is_there_when_backward_runs(name: str, where: int) -> None:
    """Values recorded from MXNet 1.9.1."""
    exe = getattr(mx.sym, name)(mx.sym.Variable("x")).simple_bind(mx.cpu(), x=(3,))
    exe.arg_dict["x"][:] = mx.nd.array([0.3, 0.5, 0.7])
    exe.forward(is_train=True)
    (exe.outputs[0] if where else exe.arg_dict["x"])[:] = mx.nd.array([0.2, 0.4, 0.1])
    exe.backward(mx.nd.array([1, 2, 3]))
    np.testing.assert_allclose(exe.grad_dict["x"].asnumpy(), WRITTEN[name][where], rtol=1e-3)


@pytest.mark.parametrize(("written", "expected"), [("a", [[0.243, 1.6, 2.942], [0.970, 1.2, 0.588]]), ("out", [[0.447, 1.109, 2.846], [0.894, 1.664, 0.949]])])
def test_hypot_reads_its_inputs(written: str, expected: list[list[float]]) -> None:
    """Values recorded from MXNet 1.9.1."""
    exe = mx.sym.broadcast_hypot(mx.sym.Variable("a"), mx.sym.Variable("b")).simple_bind(mx.cpu(), a=(3,), b=(3,))
    exe.arg_dict["a"][:] = mx.nd.array([1, 2, 3])
    exe.arg_dict["b"][:] = mx.nd.array([2, 3, 1])
    exe.forward(is_train=True)
    (exe.outputs[0] if written == "out" else exe.arg_dict["a"])[:] = mx.nd.array([0.5, 4, 5])
    exe.backward(mx.nd.array([1, 2, 3]))
    np.testing.assert_allclose([exe.grad_dict[n].asnumpy() for n in "ab"], expected, atol=1e-3)


def test_imperative_batch_norm_fixes_gamma_in_inference_too() -> None:
    """A graph bound without gradients leaves the array as it is."""
    gamma, ones = mx.nd.full((3,), 5), mx.nd.ones((3,))
    mx.nd.BatchNorm(mx.nd.ones((2, 3)), gamma, ones, ones, ones)
    assert gamma.asnumpy().tolist() == [1, 1, 1]
    exe = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn").simple_bind(mx.cpu(), x=(2, 3), grad_req="null")
    exe.arg_dict["bn_gamma"][:] = 5
    exe.forward(is_train=False)
    assert exe.arg_dict["bn_gamma"].asnumpy().tolist() == [5, 5, 5]


def test_executors_in_threads() -> None:
    """Eight threads with an executor and a tape each."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    wrong: list[Any] = []

    def work(value: int) -> None:
        rows = value % 5 + 1
        exe = net.simple_bind(mx.cpu(), data=(rows, 3))
        for array in exe.arg_dict.values():
            array[:] = value
        for _ in range(20):
            exe.forward(is_train=True)
            exe.backward(mx.nd.ones((rows, 2)))
            x = mx.nd.ones((2,))
            x.attach_grad()
            with mx.autograd.record():
                y = x * value
            y.backward()
            if not ((exe.outputs[0].asnumpy() == 3 * value * value + value).all() and (exe.grad_dict["fc_weight"].asnumpy() == value * rows).all()):
                wrong.append(value)
            if x.grad.asnumpy().tolist() != [value, value]:
                wrong.append(-value)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_control_flow_attributes_are_checked() -> None:
    """Counts have MXNet's lower bounds, and names that no control-flow operator has are refused."""
    get = mx.registry.get
    base = {"num_outputs": 1, "cond_input_locs": (), "then_input_locs": (), "else_input_locs": ()}
    with pytest.raises(mx.MXNetError, match="num_args"):
        get("_cond").parse({**base, "num_args": 2})
    with pytest.raises(mx.MXNetError, match="nonsense"):
        get("_cond").parse({**base, "num_args": 3, "nonsense": 1})
