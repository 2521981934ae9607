"""mx.profiler: operators and gradients under MXNet's names in the trace and in the table, as MXNet 1.9.1 shows them for the same calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mxexec_torch as mx
from mxexec_torch import profiler


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[Path]:
    """Recording runs; what other tests recorded is forgotten."""
    path = tmp_path / "trace.json"
    profiler.set_config(profile_all=True, aggregate_stats=True, continuous_dump=True, filename=str(path))
    profiler.set_state("run")
    profiler.dumps(reset=True)
    yield path
    profiler.set_state("stop")
    profiler.dump(True)


def counts(domain: str = "operator") -> dict[str, int]:
    """Calls by name."""
    return {name: row["Count"] for name, row in json.loads(profiler.dumps(format="json"))["Time"][domain].items()}


def test_imperative_operators_and_gradients(trace: Path) -> None:
    """Arithmetic counts as its operators, also on the short ways; gradients count once for each call."""
    x = mx.nd.ones((4, 4))
    y = (x + 1) * x
    y += x
    x.attach_grad()
    with mx.autograd.record():
        z = mx.nd.relu(x + 1).sum()
    z.backward()
    found = counts()
    expected = {"_ones": 1, "_plus_scalar": 2, "broadcast_mul": 1, "broadcast_add": 1, "relu": 1, "sum": 1, "_backward_relu": 1, "_backward_sum": 1}
    assert {name: found.get(name) for name in expected} == expected


def test_executor_and_hybrid_block(trace: Path) -> None:
    """Each node of a graph is one call of its operator."""
    data = mx.sym.Variable("data")
    net = mx.sym.SoftmaxOutput(mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=3), act_type="relu"), name="softmax")
    executor = net.simple_bind(mx.cpu(), data=(2, 4))
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward()
    block = mx.gluon.nn.Dense(2)
    block.initialize()
    block.hybridize()
    block(mx.nd.ones((2, 3))).wait_to_read()
    found = counts()
    expected = {"FullyConnected": 3, "Activation": 2, "SoftmaxOutput": 2}
    expected.update({f"_backward_{name}": 2 for name in ("FullyConnected", "Activation", "SoftmaxOutput")})
    assert {name: found.get(name) for name in expected} == expected
    profiler.dump(False)
    names = {event["name"] for event in json.loads(trace.read_text())["traceEvents"] if event["cat"] == "operator"}
    assert expected.keys() <= names


def test_custom_operators(trace: Path) -> None:
    """A user's operator shows its Python code, and what that calls under its name."""

    class Doubled(mx.operator.CustomOp):  # type: ignore[misc]
        """2 x, through another operator."""

        def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], in_data[0] * 2)
            mx.nd.zeros((2, 2))

        def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("profiled_doubled")
    class DoubledProp(mx.operator.CustomOpProp):  # type: ignore[misc]
        """One input, one output."""

        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Doubled:
            return Doubled()

    x = mx.nd.ones((2, 2))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="profiled_doubled")
    y.backward()
    found = counts("Custom Operator")
    expected = ["pure_python", "_mul_scalar", "_zeros"]
    assert {f"profiled_doubled::{name}" for name in expected} <= found.keys()
    assert {f"_backward_profiled_doubled::{name}" for name in expected[:2]} <= found.keys()
    assert "Custom" not in json.loads(profiler.dumps(format="json"))["Time"].get("operator", {})


def test_table(trace: Path) -> None:
    """Domains in order of their names, MXNet's columns, ranges of the script under their domains."""
    domain = profiler.Domain("mine")
    for kind in (profiler.Task, profiler.Frame):
        made = kind(domain, kind.__name__.lower())
        made.start()
        made.stop()
    mx.nd.relu(mx.nd.ones((2,)))
    lines = profiler.dumps().split("\n")
    assert lines[1] == "Profile Statistics:"
    assert [line for line in lines if line in ("mine", "mine,frame", "operator")] == ["mine", "mine,frame", "operator"]
    assert "Name                          Total Count        Time (ms)    Min Time (ms)    Max Time (ms)    Avg Time (ms)" in lines
    assert any(line.startswith("relu                                    1 ") for line in lines)


def test_short_ways_return() -> None:
    """After recording nothing is left of it: plans have their short ways again and results are as before."""
    x = mx.nd.ones((2,))
    profiler.set_state("run")
    (x + 1).wait_to_read()
    profiler.set_state("stop")
    from mxexec_torch import ranges
    from mxexec_torch.ndarray import arithmetic

    assert not ranges.is_recording() and arithmetic._dense is mx.nd.NDArray
    assert (x + 1).asnumpy().tolist() == [2, 2]
    profiler.dump(True)
