"""MXEXEC_TORCH_BACKEND and backend=: compiled graphs give what plain ones give, monitors and reshape go on working, what cannot be compiled runs as it is."""

from __future__ import annotations

import shutil
import warnings
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None and shutil.which("clang++") is None, reason="inductor needs a C++ compiler")


def _net() -> Any:
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False, name="bn"), act_type="relu", name="relu")
    net = mx.sym.Dropout(mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool"), p=0.25, name="drop")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="fc"), name="softmax")


def _trained(executor: Any) -> dict[str, np.ndarray]:
    rng = np.random.RandomState(3)
    for name, array in executor.arg_dict.items():
        array[:] = rng.randint(0, 3, array.shape) if "label" in name else rng.normal(0, 0.5, array.shape)
    executor.aux_dict["bn_moving_var"][:] = 1
    mx.random.seed(5)
    executor.forward(is_train=True)
    executor.backward()
    found = {"train": executor.outputs[0].asnumpy()}
    found["infer"] = executor.forward(is_train=False)[0].asnumpy()
    found.update({f"grad.{n}": g.asnumpy() for n, g in executor.grad_dict.items() if g is not None})
    found.update({f"aux.{n}": a.asnumpy() for n, a in executor.aux_dict.items()})
    return found


@needs_compiler
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_graph_agrees(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = {"data": (2, 3, 8, 8), "softmax_label": (2,)}
    expected = _trained(_net().simple_bind(mx.cpu(), **shapes))
    monkeypatch.setenv("MXEXEC_TORCH_BACKEND", backend)
    executor = _net().simple_bind(mx.cpu(), **shapes)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # no falling back
        warnings.filterwarnings("ignore", module="torch")
        found = _trained(executor)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=2e-6, err_msg=name)  # fused kernels round in another order

    seen: list[str] = []
    executor.set_monitor_callback(lambda name, handle: seen.append(name.decode()))
    executor.forward(is_train=False)
    assert [name for name in seen if name.endswith("_output")] == [f"{n}_output" for n in ("conv", "bn", "relu", "pool", "drop", "fc", "softmax")]


@needs_compiler
def test_reshape_compiles_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXEXEC_TORCH_BACKEND", "inductor")
    executor = (mx.sym.Variable("x") * 2 + 1).simple_bind(mx.cpu(), x=(4, 3))
    assert executor.forward(x=mx.nd.ones((4, 3)))[0].asnumpy().tolist() == [[3.0] * 3] * 4
    smaller = executor.reshape(x=(2, 3))
    assert smaller.forward()[0].asnumpy().tolist() == [[3.0] * 3] * 2


def test_graph_that_cannot_be_compiled_runs_and_names_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXEXEC_TORCH_BACKEND", "inductor")
    data = mx.sym.Variable("data")
    net = mx.sym.contrib.cond(mx.sym.sum(data) > 0, lambda: data + 1, lambda: data - 1)
    executor = net.simple_bind(mx.cpu(), data=(2,))
    with pytest.warns(UserWarning, match="node '.*cond.*'"):
        assert executor.forward(data=mx.nd.ones((2,)))[0].asnumpy().tolist() == [2.0, 2.0]


def test_unknown_backend_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXEXEC_TORCH_BACKEND", "warp")
    with pytest.raises(RuntimeError, match="'warp'"):
        mx.sym.Variable("x").simple_bind(mx.cpu(), x=(1,))


def test_backend_of_one_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument goes before the environment, holds for reshaped executors, and does not take an argument's name away."""
    monkeypatch.setenv("MXEXEC_TORCH_BACKEND", "warp")
    x = mx.sym.Variable("x")
    executor = (x + 1).simple_bind(mx.cpu(), backend="aot_eager", x=(3,))
    assert executor.reshape(x=(2,)).handle.backend == "aot_eager"
    bound = (x + 1).bind(mx.cpu(), {"x": mx.nd.ones((2,))}, backend="eager")
    assert bound.forward()[0].asnumpy().tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="backend='weft'"):
        x.simple_bind(mx.cpu(), backend="weft", x=(1,))
    monkeypatch.delenv("MXEXEC_TORCH_BACKEND")
    assert (mx.sym.Variable("backend") + 1).simple_bind(mx.cpu(), backend=(2, 3)).arg_dict["backend"].shape == (2, 3)
