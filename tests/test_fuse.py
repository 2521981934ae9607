"""Convolutions over channels_last data and fused in inference: same numbers, and no write to a weight is missed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mxexec_torch as mx
from mxexec_torch.lower import fuse

CLOSE = 2e-6  # float32, relative to the largest number


@pytest.fixture
def reordered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small convolutions run as large ones do."""
    monkeypatch.setattr(fuse, "_LARGE", 0)
    monkeypatch.setattr(fuse, "_REUSED", 0)


def block(activation: str = "relu") -> Any:
    """Convolutions of several kinds, normalised or not, a sum and activations."""
    data = mx.sym.Variable("data")
    conv = mx.sym.Convolution(data, num_filter=8, kernel=(3, 3), pad=(1, 1), name="conv0")
    net = mx.sym.Activation(mx.sym.BatchNorm(conv, fix_gamma=False, name="bn0"), act_type="relu")
    inner = mx.sym.Convolution(net, num_filter=8, kernel=(1, 1), stride=(2, 2), no_bias=True, name="conv1")
    inner = mx.sym.BatchNorm(inner, name="bn1")
    short = mx.sym.Convolution(net, num_filter=8, kernel=(3, 3), dilate=(2, 2), pad=(2, 2), stride=(2, 2), num_group=2, name="conv2")
    net = inner + short
    if activation == "relu":
        net = mx.sym.Activation(net, act_type="relu")
    elif activation == "leaky":
        net = mx.sym.LeakyReLU(net, slope=0.1)
    elif activation == "clip":
        net = mx.sym.clip(net, 0, 0.5)
    net = mx.sym.Pooling(net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
    return mx.sym.FullyConnected(mx.sym.Convolution(net, num_filter=4, kernel=(1, 1), name="conv3"), num_hidden=3, name="fc")


def bound(net: Any, dtype: str = "float32", channels: int = 3, grad_req: str = "write", size: int = 12) -> Any:
    executor = net.simple_bind(mx.cpu(), grad_req=grad_req, type_dict={"data": dtype}, data=(2, channels, size, size))
    rng = np.random.RandomState(3)
    for name, array in (*executor.arg_dict.items(), *executor.aux_dict.items()):
        array[:] = rng.uniform(0.5, 1.5, array.shape) if name.endswith(("gamma", "var")) else rng.uniform(-1, 1, array.shape)
    return executor


def gradients(executor: Any) -> dict[str, np.ndarray]:
    rng = np.random.RandomState(4)
    executor.forward(is_train=True)
    executor.backward([mx.nd.array(rng.uniform(-1, 1, o.shape), dtype=o.dtype) for o in executor.outputs])
    found = {name: array.asnumpy() for name, array in executor.grad_dict.items()}
    return {**found, "output": executor.outputs[0].asnumpy(), **{name: array.asnumpy() for name, array in executor.aux_dict.items()}}


def assert_close(here: np.ndarray, there: np.ndarray, what: str = "") -> None:
    assert here.shape == there.shape
    assert np.abs(here - there).max() <= CLOSE * max(np.abs(there).max(), 1), what


def steps(executor: Any, train: bool) -> int:
    """Number of calls that run in place of nodes."""
    program = executor.handle.program(train)
    if train:
        return len(fuse.channels_last_plan(program.nodes, program.lowered, program.devices).steps)
    returned = {id(e.node) for e in program.heads}
    return len(fuse.inference_plan(program.nodes, returned, program.variables, program.lowered, program.devices).steps)


@pytest.mark.parametrize("activation", ["relu", "leaky", "clip", "none"])
@pytest.mark.parametrize("channels", [1, 3])
def test_inference(activation: str, channels: int) -> None:
    """What is fused gives the numbers of float64."""
    here, there = bound(block(activation), channels=channels), bound(block(activation), "float64", channels)
    assert steps(here, False) == 4 and steps(there, False) == 0
    assert_close(here.forward()[0].asnumpy(), there.forward()[0].asnumpy())
    assert here.outputs[0]._t.is_contiguous()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.usefixtures("reordered")
def test_training(channels: int) -> None:
    """Outputs, gradients and moving statistics of channels_last training are those of float64."""
    here, there = bound(block(), channels=channels), bound(block(), "float64", channels)
    assert steps(here, True) == 4
    found, expected = gradients(here), gradients(there)
    for name, value in expected.items():
        if name != "conv0_bias":  # nothing but rounding: the normalisation behind it takes it away
            assert_close(found[name], value, name)
    assert all(array._t.is_contiguous() for array in here.grad_dict.values())


@pytest.mark.usefixtures("reordered")
def test_heavy_weight_runs_in_the_old_order() -> None:
    """Few positions and a large weight."""
    net = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=64, kernel=(3, 3), name="conv")
    here, there = gradients(bound(net, channels=64, size=3)), gradients(bound(net, "float64", 64, size=3))
    for name, value in there.items():
        assert np.abs(here[name] - value).max() <= 2e-6 * np.abs(value).max(), name


@pytest.mark.usefixtures("reordered")
@pytest.mark.parametrize("kernel", [(1, 1), (3, 3)])
def test_backward_sees_what_was_written_after_forward(kernel: tuple[int, int]) -> None:
    """As in MXNet: gradients come from the arrays as they are when backward runs."""
    net = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=2, kernel=kernel, no_bias=True, name="conv")
    executor = bound(net)
    executor.forward(is_train=True)
    weight = np.random.RandomState(1).uniform(-1, 1, executor.arg_dict["conv_weight"].shape).astype("float32")
    executor.arg_dict["conv_weight"][:] = weight
    head = mx.nd.ones(executor.outputs[0].shape)
    executor.backward([head])
    late = executor.grad_dict["data"].asnumpy()
    executor.forward(is_train=True)
    executor.backward([head])
    assert_close(late, executor.grad_dict["data"].asnumpy())


def _sgd(weight: Any) -> None:
    mx.nd.sgd_update(weight, mx.nd.ones(weight.shape), lr=0.5, wd=0.0, out=weight)


def _fused_sgd(weight: Any) -> None:
    update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
    update([0], [mx.nd.ones(weight.shape)], [weight])


WRITES = {
    "assign": lambda w: w.__setitem__(slice(None), 0.25),
    "element": lambda w: w.__setitem__((0, 0, 0, 0), 3.0),
    "slice": lambda w: w[1:2].__setitem__(slice(None), 2.0),
    "in place": lambda w: w.__iadd__(1.0),
    "reshaped": lambda w: w.reshape((-1,)).__setitem__(slice(0, 5), 1.5),
    "copyto": lambda w: mx.nd.ones(w.shape).copyto(w),
    "update": _sgd,
    "updater": _fused_sgd,
    "random": lambda w: mx.nd.random.uniform(0, 1, shape=w.shape, out=w),
    "initializer": lambda w: mx.init.Xavier()(mx.init.InitDesc("conv0_weight"), w),
    "dlpack": lambda w: torch.from_dlpack(w).fill_(0.125),
}


@pytest.mark.parametrize("write", WRITES)
def test_written_weights_count(write: str) -> None:
    """Every way to write a weight is seen by the next inference pass."""
    executor = bound(block())
    view = executor.arg_dict["conv0_weight"]
    executor.forward()
    WRITES[write](view)
    fresh = bound(block())
    for name, array in executor.arg_dict.items():
        fresh.arg_dict[name][:] = array
    before = fresh.forward()[0].asnumpy()
    assert_close(executor.forward()[0].asnumpy(), before)


def test_memory_of_others_is_read_each_time() -> None:
    """A NumPy array or a DLPack partner may write with nobody counting."""
    source = torch.zeros(8, 3, 3, 3)
    weight = mx.nd.from_dlpack(torch.utils.dlpack.to_dlpack(source))
    executor = bound(block())
    arguments = dict(executor.arg_dict, conv0_weight=weight)
    other = block().bind(mx.cpu(), arguments, aux_states=executor.aux_dict)
    for value in (0.5, -0.25):
        source.numpy()[...] = value
        executor.arg_dict["conv0_weight"][:] = value
        assert_close(other.forward()[0].asnumpy(), executor.forward()[0].asnumpy())


@pytest.mark.parametrize("name", ["bn0_gamma", "bn0_beta", "conv0_bias"])
def test_written_parameters_count(name: str) -> None:
    executor, fresh = bound(block()), bound(block())
    executor.forward()
    for each in (executor, fresh):
        each.arg_dict[name][:] = 0.75
        each.aux_dict["bn1_moving_var"][:] = 2.0
    assert_close(executor.forward()[0].asnumpy(), fresh.forward()[0].asnumpy())


def test_training_then_inference() -> None:
    """Moving statistics that backward changed are those of the next inference pass."""
    executor, fresh = bound(block()), bound(block())
    executor.forward()
    gradients(executor)
    gradients(fresh)
    assert_close(executor.forward()[0].asnumpy(), fresh.forward()[0].asnumpy())


def test_monitor_and_backward_after_inference() -> None:
    """A monitor sees each node's own output; backward differentiates the pass that was fused."""
    executor, plain = bound(block()), bound(block(), "float64")
    fused = executor.forward()[0].asnumpy()
    executor.backward([mx.nd.ones(fused.shape)])
    plain.forward()
    plain.backward([mx.nd.ones(fused.shape, dtype="float64")])
    for name, value in plain.grad_dict.items():
        assert_close(executor.grad_dict[name].asnumpy(), value.asnumpy(), name)
    seen: list[str] = []
    executor.set_monitor_callback(lambda name, handle: seen.append(name.decode()))
    assert_close(executor.forward()[0].asnumpy(), fused)
    assert {"conv0_output", "bn0_output", "conv3_output"} <= set(seen)


def test_reshape() -> None:
    """Another executor over the same weights, which are then written."""
    executor = bound(block())
    executor.forward()
    other = executor.reshape(data=(1, 3, 10, 10))
    other.arg_dict["data"][:] = 0.5
    first = other.forward()[0].asnumpy()
    executor.arg_dict["conv0_weight"][:] *= 0.5
    assert not np.allclose(other.forward()[0].asnumpy(), first)


def test_internal_outputs_are_kept() -> None:
    """What is an output itself, or read by two nodes, is not fused away."""
    conv = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=4, kernel=(3, 3), name="conv")
    act = mx.sym.Activation(conv, act_type="relu", name="act")
    here, there = bound(mx.sym.Group([conv, act, act + conv])), bound(mx.sym.Group([conv, act, act + conv]), "float64")
    for one, other in zip(here.forward(), there.forward(), strict=True):
        assert_close(one.asnumpy(), other.asnumpy())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("follow", [lambda x: mx.sym.LeakyReLU(x, slope=0.1), lambda x: mx.sym.clip(x, 0, 6), mx.sym.relu, lambda x: x])
def test_unusual_numbers_pass_through(value: float, follow: Any) -> None:
    """(relu as Activation makes NaN 0 when fused, as MXNet's own oneDNN layer does.)"""
    net = follow(mx.sym.Convolution(mx.sym.Variable("data"), num_filter=4, kernel=(3, 3), name="conv"))
    here, there = bound(net), bound(net, "float64")
    for executor in (here, there):
        executor.arg_dict["data"][0, 0, 4, 4] = value
    np.testing.assert_allclose(here.forward()[0].asnumpy(), there.forward()[0].asnumpy(), rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("shape", [(2, 8, 5, 7), (3, 4, 80, 80)])
def test_batch_statistics_keep_their_digits(shape: tuple[int, ...]) -> None:
    """Normalisation over channels_last data, many rows included."""
    from mxexec_torch.ops.runtime.normalization import training_batch_norm

    rng = np.random.RandomState(0)
    values = [torch.tensor(rng.uniform(-1, 2, s)) for s in (shape, shape[1:2], shape[1:2])]
    head = torch.tensor(rng.uniform(-1, 1, shape))
    found = []
    for dtype, order in ((torch.float32, torch.channels_last), (torch.float64, torch.contiguous_format)):
        x = values[0].to(dtype).to(memory_format=order).requires_grad_()
        gamma, beta = (v.to(dtype).requires_grad_() for v in values[1:])
        out, mean, inverse = training_batch_norm(x, gamma, beta, 1e-5)
        found.append([out, mean, inverse, *torch.autograd.grad(out, [x, gamma, beta], head.to(dtype))])
    for one, other in zip(*found, strict=True):
        assert (one.double() - other).abs().max() <= 3e-6 * other.abs().max()  # 1.6e-6 measured: sums of 19,200 numbers of both signs


# -- gradient arrays that take over memory -----------------------------------------------------------------------------------------
def large() -> Any:
    executor = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=32, kernel=(3, 3), no_bias=True, name="conv").simple_bind(
        mx.cpu(), data=(2, 64, 6, 6)
    )
    executor.arg_dict["data"][:] = 1
    return executor


def backward(executor: Any, value: float) -> None:
    executor.forward(is_train=True)
    executor.backward([mx.nd.full(executor.outputs[0].shape, value)])


def test_handles_and_views_of_gradients_stay_valid() -> None:
    """A handle, and a view over part of it, show each new gradient."""
    executor = large()
    handle = executor.grad_dict["conv_weight"]
    backward(executor, 1.0)
    first = handle.asnumpy()
    assert first.any()
    backward(executor, 2.0)
    np.testing.assert_allclose(handle.asnumpy(), 2 * first)
    view = handle.reshape((-1,))[:64]
    shared = torch.from_dlpack(handle)
    backward(executor, 3.0)
    np.testing.assert_allclose(view.asnumpy(), 3 * first.ravel()[:64])
    np.testing.assert_allclose(shared.numpy(), 3 * first)
    assert executor.grad_arrays[1] is handle


def test_gradients_share_no_memory_with_head_gradients() -> None:
    for net in (mx.sym.Variable("x") + 0, mx.sym.transpose(mx.sym.Variable("x")), mx.sym.identity(mx.sym.Variable("x"))):
        executor = net.simple_bind(mx.cpu(), x=(200, 200))
        head = mx.nd.ones((200, 200))
        executor.forward(is_train=True)
        executor.backward([head])
        head[:] = 5
        assert (executor.grad_dict["x"].asnumpy() == 1).all()
        executor.grad_dict["x"][:] = 7
        assert (head.asnumpy() == 5).all()


def test_gradients_of_two_arguments_are_two_arrays() -> None:
    """Even where they are the same numbers."""
    net = mx.sym.Variable("a") + mx.sym.Variable("b")
    executor = net.simple_bind(mx.cpu(), a=(200, 200), b=(200, 200))
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((200, 200))])
    executor.grad_dict["a"][:] = 3
    assert (executor.grad_dict["b"].asnumpy() == 1).all()
