"""Gradient mirroring: the same numbers, less memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mxexec_torch as mx


def peak(run: Callable[[], None]) -> int:
    """Bytes allocated at once, at most, beyond what was there before."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as seen:
        run()
    events = sorted((e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"), key=lambda e: e.start_ns())
    return max(itertools.accumulate(e.nbytes() for e in events))


def network(blocks: int = 16, **attrs: str) -> Any:
    """Convolution, BatchNorm, ReLU blocks with shortcuts, Dropout and a loss."""
    x = mx.sym.Variable("data")
    for i in range(blocks):
        y = mx.sym.Convolution(x, num_filter=8, kernel=(3, 3), pad=(1, 1), name=f"conv{i}")
        y = mx.sym.BatchNorm(y, fix_gamma=False, name=f"bn{i}", attr=attrs)
        y = mx.sym.Activation(y, act_type="relu", name=f"relu{i}", attr=attrs)
        x = y if i == 0 else mx.sym.elemwise_add(x, y, name=f"sum{i}", attr=attrs)
        if i == 2:
            x = mx.sym.Dropout(x, p=0.3, name="drop", attr=attrs)
    x = mx.sym.Flatten(mx.sym.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg", name="pool", attr=attrs), name="flat", attr=attrs)
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=4, name="fc"), name="softmax")


def trained(net: Any, batch: int = 4, size: int = 16) -> tuple[dict[str, Any], int]:
    """Everything an executor holds after two steps, and the peak of memory in one."""
    rng = np.random.RandomState(0)
    exe = net.simple_bind(mx.cpu(), data=(batch, 3, size, size))
    for name, array in exe.arg_dict.items():
        array[:] = rng.uniform(-0.5, 0.5, array.shape) if "label" not in name else rng.randint(0, 4, array.shape)
    exe.aux_dict["bn0_moving_var"][:] = 1
    mx.random.seed(1)

    def step() -> None:
        exe.forward(is_train=True)
        exe.backward()

    step()
    used = peak(step)
    held = {f"grad of {k}": v.asnumpy() for k, v in exe.grad_dict.items() if v is not None}
    held.update({k: v.asnumpy() for k, v in exe.aux_dict.items()}, output=exe.outputs[0].asnumpy())
    return held, used


@pytest.mark.parametrize("how", ["attribute", "environment"])
def test_numbers_stay_and_memory_falls(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, before = trained(network())
    if how == "environment":
        monkeypatch.setenv("MXNET_BACKWARD_DO_MIRROR", "1")
        mirrored, after = trained(network())
    else:
        mirrored, after = trained(network(force_mirroring="True"))
    assert plain.keys() == mirrored.keys()
    for name, value in plain.items():
        np.testing.assert_array_equal(value, mirrored[name], err_msg=name)
    assert after < 0.75 * before, (before, after)


def test_a_write_to_an_argument_is_seen_by_what_is_computed_again() -> None:
    """As in MXNet: the mirrored node reads its inputs when backward runs."""
    x = mx.sym.Variable("x")
    exe = mx.sym.sum(mx.sym.square(mx.sym.exp(x, name="e", force_mirroring="True"))).simple_bind(mx.cpu(), x=(2,))
    exe.arg_dict["x"][:] = mx.nd.array([0, 1])
    exe.forward(is_train=True)
    exe.arg_dict["x"][:] = mx.nd.array([1, 0])
    exe.backward(mx.nd.ones(1))
    np.testing.assert_allclose(exe.grad_dict["x"].asnumpy(), 2 * np.exp([2, 0]), rtol=1e-5)


def test_the_plan_shows_the_copies_and_convolutions_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXNET_BACKWARD_DO_MIRROR", "1")
    exe = network(1).simple_bind(mx.cpu(), data=(1, 3, 4, 4))
    monkeypatch.delenv("MXNET_BACKWARD_DO_MIRROR")  # read when a graph is bound
    text = exe.debug_str()
    assert "Name=relu0_mirror\n" in text and "Name=bn0_mirror\n" in text
    assert "conv0_mirror" not in text and "fc_mirror" not in text and "softmax_mirror" not in text
    assert "mirror" not in network(1).simple_bind(mx.cpu(), data=(1, 3, 4, 4)).debug_str()


def test_every_operator_of_a_mixed_net_may_be_mirrored() -> None:
    """Views, several outputs, shared values, operators with gradients of their own."""

    def net() -> Any:
        a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
        parts = mx.sym.SliceChannel(mx.sym.tanh(a * 2 + b), num_outputs=2, axis=1)
        c = mx.sym.transpose(parts[0]) + mx.sym.Reshape(parts[1], shape=(-1, 4), reverse=True)
        d = mx.sym.LayerNorm(mx.sym.Concat(c, mx.sym.smooth_l1(c), mx.sym.cbrt(c), dim=1), name="ln")
        return mx.sym.MakeLoss(mx.sym.sum(mx.sym.L2Normalization(d) * mx.sym.softmax(d) + mx.sym.gamma(d * d + 1), axis=1))

    grads = []
    for scope in ({}, {"force_mirroring": "True"}):
        with mx.AttrScope(**scope):
            exe = net().simple_bind(mx.cpu(), a=(4, 8), b=(4, 8))
        for i, array in enumerate(exe.arg_arrays):
            array[:] = np.random.RandomState(i).uniform(0.1, 1, array.shape)
        exe.forward(is_train=True)
        exe.backward()
        grads.append([g.asnumpy() for g in exe.grad_arrays])
    for plain, mirrored in zip(*grads, strict=True):
        np.testing.assert_array_equal(plain, mirrored)
