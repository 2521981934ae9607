"""grad_req='add' exactly as MXNet 1.9.1 does it, and what backward leaves behind. All numbers recorded from MXNet 1.9.1."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx

V = mx.sym.Variable
A = V("a")


def after_steps(net: Any, steps: int = 3, start: float = 0.0, **shapes: tuple[int, ...]) -> list[list[float]]:
    """The first element of each gradient array after each step; argument k holds k + 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exe = net.simple_bind(mx.cpu(), grad_req="add", **(shapes or dict.fromkeys(net.list_arguments(), (1,))))
    for i, (array, grad) in enumerate(zip(exe.arg_arrays, exe.grad_arrays, strict=True)):
        array[:] = i + 1
        grad[:] = start
    result = []
    for _ in range(steps):
        exe.forward(is_train=True)
        exe.backward([mx.nd.ones(o.shape) for o in exe.outputs])
        result.append([float(g.asnumpy().ravel()[0]) for g in exe.grad_arrays])
    return result


SHARED = {
    "a + b": (V("a") + V("b"), [[1, 1], [2, 3], [3, 6]]),
    "2 a + b": (2 * V("a") + V("b"), [[2, 1], [6, 2], [12, 3]]),
    "2 a + b + c": (2 * V("a") + V("b") + V("c"), [[2, 1, 1], [6, 2, 3], [12, 3, 6]]),
    "(2 a + b) c": ((2 * V("a") + V("b")) * V("c"), [[6, 3, 4], [18, 6, 8], [36, 9, 12]]),
    "a - b": (V("a") - V("b"), [[1, -1], [2, -2], [3, -3]]),
    "a + a": (A + A, [[2], [4], [6]]),
    "a a": (A * A, [[2], [4], [6]]),
    "broadcast_add": (mx.sym.broadcast_add(2 * V("a"), V("b")), [[2, 1], [4, 2], [6, 3]]),
    "tanh(2 a + b)": (mx.sym.tanh(2 * V("a") + V("b")), [[0.0026817, 0.0013409], [0.0080452, 0.0026817], [0.0160904, 0.0040223]]),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_gradient_that_others_read_is_read_after_the_addition(name: str) -> None:
    net, expected = SHARED[name]
    np.testing.assert_allclose(after_steps(net), expected, rtol=1e-3)


def test_such_an_argument_is_named_in_a_warning_and_others_are_not() -> None:
    with pytest.warns(UserWarning, match="'b'.*broadcast_add"):
        (2 * V("a") + V("b")).simple_bind(mx.cpu(), a=(1,), grad_req="add")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mx.sym.FullyConnected(V("a"), num_hidden=2).simple_bind(mx.cpu(), a=(1, 1), grad_req="add")
        (2 * V("a") + V("b")).simple_bind(mx.cpu(), a=(1,), grad_req="write")


HEADS = {
    "SoftmaxOutput": (mx.sym.SoftmaxOutput(V("a"), V("l")), [[0.3333, 10], [0.3333, 10]]),
    "SVMOutput": (mx.sym.SVMOutput(V("a"), V("l")), [[4, 10], [4, 10]]),
    "LinearRegressionOutput": (mx.sym.LinearRegressionOutput(V("a"), V("l")), [[12, 10], [14.6667, 10]]),
    "MAERegressionOutput": (mx.sym.MAERegressionOutput(V("a"), V("l"), grad_scale=3), [[18, 10], [34, 10]]),
    "MakeLoss": (mx.sym.MakeLoss(V("a")), [[11], [12]]),
    "clip": (mx.sym.clip(V("a"), 0, 2), [[1], [1]]),
    "mean": (mx.sym.mean(V("a"), axis=1), [[3.6667], [1.5556]]),
    "sum": (mx.sym.sum(V("a"), axis=1), [[11], [12]]),
    "behind a layer": (mx.sym.SoftmaxOutput(V("a") * 1, V("l")), [[10.3333, 10], [10.6667, 10]]),
}


@pytest.mark.parametrize("name", HEADS)
def test_operators_with_a_way_of_their_own_to_add(name: str) -> None:
    """They overwrite or scale the array of an argument that they read directly."""
    net, expected = HEADS[name]
    np.testing.assert_allclose(after_steps(net, 2, 10.0, a=(2, 3)), expected, rtol=1e-3)


def test_the_zero_gradient_of_a_fixed_gamma_is_written() -> None:
    exe = mx.sym.BatchNorm(V("x"), name="bn").simple_bind(mx.cpu(), x=(2, 3), grad_req="add")
    exe.grad_dict["bn_gamma"][:] = 5
    exe.forward(is_train=True)
    exe.backward(mx.nd.ones((2, 3)))
    assert exe.grad_dict["bn_gamma"].asnumpy().tolist() == [0, 0, 0]


# -- BatchNorm -------------------------------------------------------------------------------------------------------------------
def norm(wrap: Any = lambda x: x, **kwargs: Any) -> Any:
    exe = wrap(mx.sym.BatchNorm(V("x"), name="bn")).simple_bind(mx.cpu(), x=(4, 2), **kwargs)
    exe.arg_dict["x"][:] = mx.nd.array([[1, 2], [3, 4], [5, 9], [0, 0]])
    exe.arg_dict["bn_gamma"][:] = 5
    return exe


@pytest.mark.parametrize("train", [True, False])
def test_gamma_is_fixed_where_backward_needs_the_statistics(train: bool) -> None:
    """MXNet writes gamma exactly when the hidden outputs are asked for, whatever the mode."""
    for kwargs, written in (({}, True), ({"grad_req": "null"}, False), ({"grad_req": {"x": "write"}}, True)):
        exe = norm(**kwargs)
        exe.forward(is_train=train)
        assert exe.arg_dict["bn_gamma"].asnumpy().tolist() == ([1, 1] if written else [5, 5])
    exe = norm(lambda y: y * V("w"), grad_req={"w": "write"})  # no gradient goes through the layer
    exe.forward(is_train=train)
    assert exe.arg_dict["bn_gamma"].asnumpy().tolist() == [5, 5]


@pytest.mark.parametrize("top", [mx.sym.BlockGrad, lambda y: mx.sym.BlockGrad(mx.sym.tanh(y)), mx.sym.zeros_like])
def test_statistics_move_behind_blockgrad_too(top: Any) -> None:
    exe = norm(lambda y: top(y) * V("w"))
    exe.forward(is_train=True)
    exe.backward(mx.nd.ones((4, 2)))
    np.testing.assert_allclose(exe.aux_dict["bn_moving_mean"].asnumpy(), [0.225, 0.375], rtol=1e-5)
    np.testing.assert_allclose(exe.aux_dict["bn_moving_var"].asnumpy(), [0.36875, 1.11875], rtol=1e-5)


def test_backward_for_inference_leaves_the_statistics() -> None:
    exe = norm()
    exe.forward(is_train=True)
    exe.backward(mx.nd.ones((4, 2)), is_train=False)
    assert not exe.aux_dict["bn_moving_mean"].asnumpy().any()


# -- backward at unusual times -------------------------------------------------------------------------------------------------
def test_backward_reads_the_output_arrays_as_they_are() -> None:
    """tanh's gradient comes from its output: zeros before any forward, the last result afterwards, whatever the argument is now."""
    exe = mx.sym.tanh(V("a")).simple_bind(mx.cpu(), a=(2,))
    exe.arg_dict["a"][:] = mx.nd.array([0.5, 1])
    seen = []
    for change in (lambda: None, exe.forward, lambda: exe.arg_dict["a"].__setitem__(slice(None), 3), lambda: None):
        change()
        exe.backward(mx.nd.ones(2))
        seen.append(exe.grad_dict["a"].asnumpy().tolist())
    np.testing.assert_allclose(seen, [[1, 1], [0.786448, 0.419974], [0.786448, 0.419974], [0.786448, 0.419974]], rtol=1e-5)


def test_an_output_that_is_a_view_never_writes_into_the_argument() -> None:
    exe = mx.sym.Reshape(V("a"), shape=(-1,)).simple_bind(mx.cpu(), a=(2, 2))
    exe.arg_dict["a"][:] = 3
    exe.forward(is_train=True)
    exe.outputs[0][:] = 9
    exe.backward(mx.nd.ones(4))
    assert exe.arg_dict["a"].asnumpy().tolist() == [[3, 3], [3, 3]]


def test_one_output_twice_in_a_group_is_one_array() -> None:
    t = mx.sym.tanh(V("a"))
    exe = mx.sym.Group([t, t]).simple_bind(mx.cpu(), a=(2,))
    exe.forward()
    exe.outputs[0][:] = 5
    assert exe.outputs[1].asnumpy().tolist() == [5, 5]


def test_only_heads_that_the_backward_graph_reads_need_a_gradient() -> None:
    for net in (mx.sym.argsort(V("a")), mx.sym.BlockGrad(V("a")), mx.sym.SoftmaxOutput(V("a"), V("l"))):
        exe = net.simple_bind(mx.cpu(), a=(2, 3))
        exe.forward(is_train=True)
        exe.backward()
    exe = mx.sym.Group([mx.sym.tanh(V("a")), mx.sym.sin(V("b"))]).simple_bind(mx.cpu(), a=(2,), b=(2,), grad_req={"a": "write"})
    exe.forward(is_train=True)
    exe.backward([mx.nd.ones(2)])
    with pytest.raises(mx.MXNetError, match="head_gradient is required"):
        exe.backward()


def test_an_index_behind_blockgrad_wants_no_gradient() -> None:
    exe = mx.sym.Embedding(mx.sym.BlockGrad(V("i")), V("w"), input_dim=3, output_dim=2).simple_bind(mx.cpu(), i=(2,))
    exe.forward(is_train=True)
    exe.backward(mx.nd.ones((2, 2)))
    assert exe.grad_dict["w"].asnumpy()[0].tolist() == [2, 2]


# -- what bind takes ------------------------------------------------------------------------------------------------------------
def test_gradient_arrays_of_other_shapes() -> None:
    """Memory that is large enough is written from its start; less is an error, as it would be written out of bounds."""
    same, large = mx.nd.zeros((2, 1)), mx.nd.zeros(3)
    (V("a") * 2).bind(mx.cpu(), [mx.nd.ones(2)], [same]).backward(mx.nd.array([1, 3]))
    assert same.asnumpy().tolist() == [[2], [6]]
    with pytest.warns(UserWarning, match="first 2 elements"):
        exe = (V("a") * 2).bind(mx.cpu(), [mx.nd.ones(2)], [large])
    exe.backward(mx.nd.array([1, 3]))
    assert large.asnumpy().tolist() == [2, 6, 0] and exe.grad_arrays[0] is large
    with pytest.raises(mx.MXNetError, match="has shape"):
        (V("a") * 2).bind(mx.cpu(), [mx.nd.ones(2)], [mx.nd.zeros(1)])


def test_bind_keeps_the_callers_lists_and_reads_long_request_lists() -> None:
    grads = [mx.nd.zeros(2)]
    exe = (V("a") * 2).bind(mx.cpu(), [mx.nd.ones(2)], grads, ["write", "null", "add"])
    assert exe.grad_arrays is grads
    with pytest.raises(ValueError, match="cannot be copied"):
        __import__("copy").deepcopy(exe)


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({"group2ctx": 3}, AttributeError), ({"group2ctx": {"g": "cpu"}}, AttributeError), ({"shared_exec": 3}, AttributeError),
        ({"args_grad": {"a": None}}, TypeError),
    ],
)  # fmt: skip
def test_bind_refuses(kwargs: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        (V("a") * 2).bind(mx.cpu(), [mx.nd.ones(2)], **kwargs)
