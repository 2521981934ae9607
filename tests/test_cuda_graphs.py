"""Steps recorded as CUDA graphs: when they are recorded, replayed and left alone. A GPU's own part is marked `gpu`."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mxexec_torch as mx
from mxexec_torch.lower import bound, cuda_graphs


def _net() -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    net = mx.sym.Dropout(mx.sym.BatchNorm(net, fix_gamma=False, name="bn"), p=0.5, name="drop")
    return mx.sym.FullyConnected(mx.sym.tanh(net), num_hidden=3, name="out")


def _bound(ctx: Any) -> Any:
    executor = _net().simple_bind(ctx, data=(6, 5), grad_req={"data": "null", "fc_weight": "add", "out_weight": "write", "bn_gamma": "write"})
    rng = np.random.RandomState(0)
    for name, array in executor.arg_dict.items():
        array[:] = 1 if name.endswith("gamma") else rng.normal(0, 0.5, array.shape)
    executor.aux_dict["bn_moving_var"][:] = 1
    return executor


def _steps(executor: Any, count: int) -> list[dict[str, np.ndarray]]:
    """Training steps with another input each, an inference step after every second one, and updates of the weights."""
    found = []
    rng = np.random.RandomState(1)
    mx.random.seed(7)
    for step in range(count):
        executor.forward(is_train=True, data=mx.nd.array(rng.normal(size=(6, 5))))
        executor.backward(mx.nd.array(rng.normal(size=(6, 3))))
        values = {"train": executor.outputs[0].asnumpy()}
        values.update({n: g.asnumpy() for n, g in executor.grad_dict.items() if g is not None})
        executor.arg_dict["out_weight"] -= 0.1 * executor.grad_dict["out_weight"]
        if step % 2:
            values["infer"] = executor.forward(is_train=False)[0].asnumpy()
        values.update({n: a.asnumpy() for n, a in executor.aux_dict.items()})
        found.append(values)
    return found


def _assert_equal(found: list[dict[str, np.ndarray]], expected: list[dict[str, np.ndarray]], rtol: float) -> None:
    for step, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        assert mine.keys() == theirs.keys()
        for name, value in theirs.items():
            np.testing.assert_allclose(mine[name], value, rtol=rtol, atol=rtol, err_msg=f"{name}, step {step}")


class _Tape:
    """Stands for the recorder where there is no GPU: a replay runs the function again and puts its results where the first ones were."""

    def __init__(self) -> None:
        self.recorded = 0
        self.replayed = 0

    def record(self, function: Callable[[], Any], pool: Any) -> tuple[Callable[[], None], Any]:
        self.recorded += 1
        holder: list[Any] = []

        def replay() -> None:
            self.replayed += 1
            result = function()
            if result is not None:
                holder[:] = result

        return replay, holder


@pytest.fixture
def tape(monkeypatch: pytest.MonkeyPatch) -> _Tape:
    made = _Tape()
    monkeypatch.setattr(cuda_graphs, "record", made.record)
    monkeypatch.setattr(bound, "recordable", lambda program, devices: program.closed)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    return made


def test_steps_are_recorded_after_some_plain_ones_and_agree(tape: _Tape) -> None:
    found = _steps(_bound(mx.cpu()), 12)
    assert tape.recorded == 3  # forward and backward of training, forward of inference
    assert tape.replayed == 9 + 9 + 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bound, "recordable", lambda program, devices: False)
        expected = _steps(_bound(mx.cpu()), 12)
    assert tape.recorded == 3
    _assert_equal(found, expected, 0)


def test_monitored_and_repeated_backward_go_round_the_recording(tape: _Tape) -> None:
    executor = _bound(mx.cpu())
    _steps(executor, 6)
    head = mx.nd.ones((6, 3))
    executor.grad_dict["fc_weight"][:] = 0
    executor.forward(is_train=True)
    executor.backward(head)
    once = executor.grad_dict["fc_weight"].asnumpy()
    executor.backward(head)  # no forward pass in between: computed anew, with the same random numbers
    np.testing.assert_allclose(executor.grad_dict["fc_weight"].asnumpy(), 2 * once, rtol=1e-6)
    replayed = tape.replayed
    seen: list[bytes] = []
    executor.set_monitor_callback(lambda name, handle: seen.append(name))
    executor.forward(is_train=True)
    executor.backward(head)
    assert seen and tape.replayed == replayed


def test_what_cannot_be_recorded_runs_plainly_with_one_warning(tape: _Tape, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(function: Callable[[], Any], pool: Any) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(cuda_graphs, "record", refuse)
    executor = (mx.sym.Variable("x") * 2).simple_bind(mx.cpu(), x=(2,))
    for step in range(6):
        warnings.simplefilter("error")
        with pytest.warns(UserWarning, match="not permitted") if step == 3 else contextlib.nullcontext():
            assert executor.forward(x=mx.nd.ones((2,)) * step)[0].asnumpy().tolist() == [2.0 * step] * 2


def test_cpu_graphs_are_never_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXEXEC_TORCH_CUDA_GRAPHS", "1")
    executor = _bound(mx.cpu())
    _steps(executor, 5)
    assert set(executor.handle._recorded.values()) == {None}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_replayed_steps_equal_plain_ones_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = _steps(_bound(mx.gpu(0)), 12)
    monkeypatch.setenv("MXEXEC_TORCH_CUDA_GRAPHS", "1")
    executor = _bound(mx.gpu(0))
    _assert_equal(_steps(executor, 12), expected, 1e-6)
    assert all(step is not None and step.replaying for step in executor.handle._recorded.values())
