"""The executor's contract: identity of buffers, order of calls, gradient requests, auxiliary states, monitors, reshape, errors."""

from __future__ import annotations

import ctypes
import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mxexec_torch as mx
from mxexec_torch.base import NDArrayHandle
from mxexec_torch.errors import MXNetError
from mxexec_torch.lower.program import Program

from .graphs import debug_graphs

DATA = Path(__file__).parent / "data"


def linear(grad_req="write"):
    """2 * a + b bound to (1, 2) and (3, 4)."""
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    exe = (2 * a + b).simple_bind(mx.cpu(), a=(2,), b=(2,), grad_req=grad_req)
    exe.arg_dict["a"][:] = mx.nd.array([1, 2])
    exe.arg_dict["b"][:] = mx.nd.array([3, 4])
    return exe


def classifier(batch=4, **kwargs):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax").simple_bind(mx.cpu(), data=(batch, 5), **kwargs)


def batch_norm(**kwargs):
    net = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn", **{"fix_gamma": False, **kwargs})
    exe = net.simple_bind(mx.cpu(), data=(4, 2))
    exe.arg_dict["data"][:] = np.array([[1, 10], [2, 20], [3, 30], [4, 50]])
    exe.arg_dict["bn_gamma"][:] = 1
    exe.aux_dict["bn_moving_var"][:] = 1
    return exe


# -- forward and outputs --------------------------------------------------------------------------------------------------
def test_forward_returns_the_outputs_list():
    exe = linear()
    result = exe.forward()
    assert result is exe.outputs
    np.testing.assert_array_equal(result[0].asnumpy(), [5, 8])


def test_an_output_fetched_early_shows_the_newest_value():
    exe = linear()
    early = exe.outputs[0]
    exe.forward()
    np.testing.assert_array_equal(early.asnumpy(), [5, 8])
    exe.forward(a=np.array([10.0, 20.0]))
    np.testing.assert_array_equal(early.asnumpy(), [23, 44])


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ([1, 2], ValueError, "only accept keyword argument of NDArrays and numpy.ndarray"),
        (np.zeros(3), ValueError, "Shape not match! Argument a, need: (2,), received: (3,)"),
    ],
)
def test_forward_refuses_bad_values(value, error, text):
    with pytest.raises(error) as info:
        linear().forward(a=value)
    assert text in str(info.value)


def test_forward_refuses_unknown_names():
    with pytest.raises(TypeError, match="Unknown argument zz"):
        linear().forward(zz=np.zeros(2))


def test_a_bare_variable_shares_memory_and_an_identity_does_not():
    a = mx.sym.Variable("a")
    for net, shared in ((a, True), (mx.sym.identity(a), False), (mx.sym.Reshape(a, shape=(-1,)), False)):
        exe = net.bind(mx.cpu(), [mx.nd.array([1, 2])])
        exe.forward()
        exe.outputs[0][:] = 9
        assert (exe.arg_dict["a"].asnumpy() == 9).all() == shared


# -- backward -------------------------------------------------------------------------------------------------------------
def test_head_gradients_scale_the_result_and_write_overwrites():
    exe = linear()
    exe.forward(is_train=True)
    for _ in range(2):
        exe.backward(mx.nd.array([1, 3]))
    np.testing.assert_array_equal(exe.grad_dict["a"].asnumpy(), [2, 6])
    np.testing.assert_array_equal(exe.grad_dict["b"].asnumpy(), [1, 3])


def test_add_accumulates_from_the_present_content():
    a = mx.sym.Variable("a")
    exe = mx.sym.broadcast_add(2 * a, mx.sym.Variable("b")).simple_bind(mx.cpu(), a=(2,), b=(2,), grad_req="add")
    exe.grad_dict["a"][:] = 100
    for _ in range(3):
        exe.forward(is_train=True)
        exe.backward(mx.nd.array([1, 3]))
    np.testing.assert_array_equal(exe.grad_dict["a"].asnumpy(), [106, 118])


def test_backward_needs_head_gradients_unless_the_head_is_a_loss():
    exe = linear()
    exe.forward(is_train=True)
    with pytest.raises(MXNetError, match="head_gradient is required"):
        exe.backward()
    loss = classifier()
    loss.forward(is_train=True)
    loss.backward()
    assert np.abs(loss.grad_dict["fc_bias"].asnumpy()).sum() > 0


def test_head_gradient_of_another_shape_is_refused_and_the_executor_stays_usable():
    exe = linear()
    exe.forward(is_train=True)
    with pytest.raises(MXNetError, match="operands shape mismatch"):
        exe.backward(mx.nd.ones((3,)))
    exe.backward(mx.nd.ones((2,)))
    np.testing.assert_array_equal(exe.grad_dict["a"].asnumpy(), [2, 2])


def test_backward_works_before_any_forward_and_twice():
    exe = linear()
    exe.backward(mx.nd.ones((2,)))
    exe.backward(mx.nd.ones((2,)))
    np.testing.assert_array_equal(exe.grad_dict["a"].asnumpy(), [2, 2])


def test_a_write_between_forward_and_backward_is_neither_an_error_nor_lost():
    x = mx.sym.Variable("x")
    exe = (x * x).simple_bind(mx.cpu(), x=(2,))
    exe.arg_dict["x"][:] = 3
    exe.forward(is_train=True)
    exe.arg_dict["x"][:] = 10
    exe.backward(mx.nd.ones((2,)))
    np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy(), [20, 20])


def test_a_write_into_an_output_changes_gradients_computed_from_it():
    exe = mx.sym.tanh(mx.sym.Variable("x")).simple_bind(mx.cpu(), x=(2,))
    exe.forward(is_train=True)
    exe.outputs[0][:] = 0.5
    exe.backward(mx.nd.ones((2,)))
    np.testing.assert_allclose(exe.grad_dict["x"].asnumpy(), [0.75, 0.75])


def test_arguments_behind_blockgrad_get_zeros_with_write_and_stay_with_add():
    for req, expected in (("write", 0), ("add", 7)):
        exe = mx.sym.BlockGrad(mx.sym.Variable("x")).simple_bind(mx.cpu(), x=(2,), grad_req=req)
        exe.grad_dict["x"][:] = 7
        exe.forward(is_train=True)
        exe.backward()
        np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy(), [expected] * 2)


def test_integer_arguments_get_integer_gradients():
    x = mx.sym.Variable("x")
    exe = (x * x).simple_bind(mx.cpu(), x=(3,), type_dict={"x": "int32"})
    exe.arg_dict["x"][:] = np.array([1, 2, 3])
    exe.forward(is_train=True)
    exe.backward(mx.nd.ones((3,), dtype="int32"))
    assert exe.grad_dict["x"].dtype is np.int32
    np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy(), [2, 4, 6])


def test_without_gradient_arrays_backward_does_nothing():
    a = mx.sym.Variable("a")
    exe = (2 * a).bind(mx.cpu(), [mx.nd.ones((2,))])
    exe.forward(is_train=True)
    exe.backward()
    assert exe.grad_arrays is None
    with pytest.raises(TypeError):
        exe.grad_dict  # noqa: B018 - MXNet raises on access


def test_embedding_refuses_a_gradient_of_its_indices():
    net = mx.sym.Embedding(mx.sym.Variable("index"), input_dim=3, output_dim=2, name="em")
    exe = net.simple_bind(mx.cpu(), index=(2,))
    exe.forward(is_train=True)
    with pytest.raises(MXNetError, match="em.*calculate data gradient"):
        exe.backward(mx.nd.ones((2, 2)))


def test_a_second_backward_uses_the_dropout_mask_of_the_forward():
    exe = mx.sym.Dropout(mx.sym.Variable("x"), p=0.5).simple_bind(mx.cpu(), x=(200,))
    exe.arg_dict["x"][:] = 1
    exe.forward(is_train=True)
    mask = exe.outputs[0].asnumpy()
    assert 0 < (mask == 0).sum() < 200
    for _ in range(2):
        exe.backward(mx.nd.ones((200,)))
        np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy(), mask)


# -- auxiliary states -----------------------------------------------------------------------------------------------------
def test_moving_statistics_change_when_backward_runs():
    exe = batch_norm()
    mean = np.array([2.5, 27.5])
    exe.forward(is_train=True)
    np.testing.assert_array_equal(exe.aux_dict["bn_moving_mean"].asnumpy(), [0, 0])
    exe.backward(mx.nd.ones((4, 2)))
    np.testing.assert_allclose(exe.aux_dict["bn_moving_mean"].asnumpy(), 0.1 * mean, rtol=1e-6)
    exe.backward(mx.nd.ones((4, 2)))
    np.testing.assert_allclose(exe.aux_dict["bn_moving_mean"].asnumpy(), 0.19 * mean, rtol=1e-6)
    np.testing.assert_allclose(exe.aux_dict["bn_moving_var"].asnumpy(), 0.81 + 0.19 * np.array([1.25, 218.75]), rtol=1e-5)


# -- bind -----------------------------------------------------------------------------------------------------------------
def test_bind_names_node_and_shapes_of_a_contradiction():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    with pytest.raises(MXNetError) as info:
        net.bind(mx.cpu(), [mx.nd.ones((2, 5)), mx.nd.ones((3, 4)), mx.nd.ones((3,))])
    assert "Error in operator fc" in str(info.value)
    assert "[3,4]" in str(info.value)
    assert "(3,5)" in str(info.value)


def test_simple_bind_reports_what_it_could_not_infer():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    with pytest.raises(RuntimeError, match="simple_bind error. Arguments:") as info:
        net.simple_bind(mx.cpu())
    assert "data: None, fc_weight: None, fc_bias: None" in str(info.value)


@pytest.mark.parametrize("args", [(mx.nd.ones((2,)),) * 2, None, {"a": 1, "b": 2}, [None, None]])
def test_bind_refuses_other_containers(args):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    with pytest.raises(TypeError, match="Only accept list of NDArrays or dict of str to NDArray"):
        (a + b).bind(mx.cpu(), args)


def test_bind_refuses_arrays_of_another_context():
    a = mx.sym.Variable("a")
    with pytest.raises(MXNetError, match=r"Input array is in cpu\(1\) while binding with ctx=cpu\(0\)"):
        (a + 1).bind(mx.cpu(0), [mx.nd.ones((2,), ctx=mx.cpu(1))])


def test_shared_buffer_is_filled_and_reused():
    buffer: dict = {}
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    first = net.simple_bind(mx.cpu(), data=(4, 5), shared_buffer=buffer)
    assert set(buffer) == {"data", "fc_weight", "fc_bias", "grad of data", "grad of fc_weight", "grad of fc_bias"}
    second = net.simple_bind(mx.cpu(), data=(2, 5), shared_buffer=buffer)
    first.arg_dict["fc_weight"][:] = 3
    assert (second.arg_dict["fc_weight"].asnumpy() == 3).all()
    assert buffer["data"].shape == (4, 5)


def test_groups_are_placed_by_group2ctx():
    with mx.AttrScope(ctx_group="dev1"):
        a = mx.sym.Variable("a")
        mid = a * 2
    with mx.AttrScope(ctx_group="dev2"):
        out = mid + 1
    exe = out.simple_bind(mx.cpu(0), a=(2,), group2ctx={"dev1": mx.cpu(1), "dev2": mx.cpu(2)})
    assert exe.arg_dict["a"].context == mx.cpu(1)
    assert exe.outputs[0].context == mx.cpu(2)
    with pytest.raises(RuntimeError, match="device assignment not found for group dev2"):
        out.simple_bind(mx.cpu(0), a=(2,), group2ctx={"dev1": mx.cpu(1)})


# -- reshape --------------------------------------------------------------------------------------------------------------
def test_reshape_shares_memory_and_growing_needs_permission():
    exe = classifier(batch=4)
    small = exe.reshape(data=(2, 5), softmax_label=(2,))
    small.arg_dict["fc_weight"][:] = 2
    assert (exe.arg_dict["fc_weight"].asnumpy() == 2).all()
    small.arg_dict["data"][:] = 1
    assert (exe.arg_dict["data"].asnumpy()[:2] == 1).all()
    with pytest.raises(MXNetError, match="allow_up_sizing"):
        exe.reshape(data=(8, 5), softmax_label=(8,))
    assert exe.reshape(data=(8, 5), softmax_label=(8,), allow_up_sizing=True).forward()[0].shape == (8, 3)
    with pytest.raises(MXNetError, match="partial_shaping"):
        exe.reshape(data=(4, 4))


def test_a_thousand_reshapes_and_binds_leave_no_memory_behind():
    exe = classifier(batch=16)

    def tensors():
        gc.collect()
        return sum(issubclass(type(o), torch.Tensor) for o in gc.get_objects())

    def work(n):
        current = exe
        for i in range(n):
            size = 1 + i % 16
            current = exe.reshape(data=(size, 5), softmax_label=(size,))
            current.forward(is_train=True)
            current.backward()
        for _ in range(n // 10):
            linear().forward()

    work(40)
    before = tensors()
    work(200)
    assert tensors() <= before + 20


# -- monitors and texts -----------------------------------------------------------------------------------------------------
def test_monitor_sees_every_output_and_exceptions_do_not_stop_the_pass(capsys):
    exe = classifier()
    seen = []

    def callback(name, handle):
        seen.append((name, mx.nd.NDArray(ctypes.cast(handle, NDArrayHandle), writable=False).shape))
        raise ValueError("from the monitor")

    exe.set_monitor_callback(callback)
    exe.forward(is_train=True)
    exe.backward()
    assert seen[:2] == [(b"fc_output", (4, 3)), (b"softmax_output", (4, 3))]
    assert (b"softmax_backward_output0", (4, 3)) in seen
    assert (b"fc_backward_output1", (3, 5)) in seen
    assert "from the monitor" in capsys.readouterr().err


def test_monitored_values_equal_unmonitored_ones():
    plain, watched = classifier(), classifier()
    for exe in (plain, watched):
        exe.arg_dict["data"][:] = np.arange(20).reshape(4, 5) / 10
        exe.arg_dict["fc_weight"][:] = np.arange(15).reshape(3, 5) / 7
    watched.set_monitor_callback(lambda name, handle: None, True)
    for exe in (plain, watched):
        exe.forward(is_train=True)
        exe.backward()
    np.testing.assert_array_equal(plain.outputs[0].asnumpy(), watched.outputs[0].asnumpy())
    np.testing.assert_array_equal(plain.grad_dict["fc_weight"].asnumpy(), watched.grad_dict["fc_weight"].asnumpy())


def test_debug_str_equals_the_recorded_text():
    recorded = json.loads((DATA / "debug_str.json").read_text())
    texts = {name: net.simple_bind(mx.cpu(), grad_req=req, **shapes).debug_str() for name, net, shapes, req in debug_graphs(mx)}
    assert texts == recorded


def test_equal_subexpressions_are_computed_once():
    a = mx.sym.Variable("a")
    exe = (mx.sym.exp(a, name="e1") + mx.sym.exp(a, name="e2")).bind(mx.cpu(), [mx.nd.zeros((1,))])
    assert exe.get_optimized_symbol().get_internals().list_outputs()[:2] == ["a", "e1_output"]
    assert len(exe.get_optimized_symbol().get_internals()) == 3
    assert exe.forward()[0].asscalar() == 2


# -- errors while running ---------------------------------------------------------------------------------------------------
def test_an_error_inside_forward_names_the_node_and_leaves_the_executor_usable():
    net = mx.sym.linalg.potrf(mx.sym.Variable("m"), name="chol")
    exe = net.simple_bind(mx.cpu(), m=(2, 2))
    exe.arg_dict["m"][:] = np.array([[1, 2], [2, 1]])
    with pytest.raises(MXNetError, match="chol"):
        exe.forward(is_train=True)
    exe.arg_dict["m"][:] = np.array([[4, 0], [0, 9]])
    exe.forward(is_train=True)
    np.testing.assert_allclose(exe.outputs[0].asnumpy(), [[2, 0], [0, 3]], rtol=1e-6)


def test_the_lowered_graph_has_a_flat_and_a_nested_form():
    program: Program = classifier().handle.program(True)
    assert [n.op for n in program.graph_module.graph.nodes if n.op == "call_module"] == []
    assert [name for name, _ in program.nested().named_children()] == ["fc", "softmax"]


def test_threads_trace_and_run_side_by_side() -> None:
    """One thread's tracing does not record what another one runs."""
    import sys
    import threading

    def work(found: list[Any]) -> None:
        values = []
        for size in range(2, 8):
            net = mx.sym.SoftmaxOutput(mx.sym.Activation(mx.sym.Variable("data"), act_type="relu"), mx.sym.Variable("label"))
            executor = net.simple_bind(mx.cpu(), data=(2, size), label=(2,))
            executor.forward(is_train=True, data=mx.nd.arange(2 * size).reshape((2, size)))
            executor.backward()
            values.append(executor.grad_dict["data"].asnumpy().sum())
            values.append(mx.nd.relu(mx.nd.arange(size) - 2).sum().asscalar())
            values.append(mx.nd.topk(mx.nd.arange(size)).asscalar())
        found.append(values)

    alone: list[Any] = []
    work(alone)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        together: list[Any] = []
        threads = [threading.Thread(target=work, args=(together,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert together == alone * 6
