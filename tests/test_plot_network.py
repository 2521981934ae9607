"""mx.viz.plot_network against what MXNet 1.9.1 hands to Graphviz: nodes, labels, colours, edges with shapes and types."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

import mxexec_torch as mx


class Digraph:
    """Stands for graphviz.Digraph where the package is not installed: keeps what it is told."""

    def __init__(self, name: str, format: str) -> None:  # noqa: A002 - Graphviz's name
        self.name, self.format = name, format
        self.nodes: dict[str, dict[str, str]] = {}
        self.edges: list[tuple[str, str, str]] = []

    def node(self, name: str, label: str, **attrs: str) -> None:
        self.nodes[name] = {"label": label, **attrs}

    def edge(self, tail_name: str, head_name: str, label: str, **attrs: str) -> None:
        assert attrs == {"dir": "back", "arrowtail": "open"}
        self.edges.append((tail_name, head_name, label))


@pytest.fixture(autouse=True)
def graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("graphviz")
    module.Digraph = Digraph
    monkeypatch.setitem(sys.modules, "graphviz", module)


def network() -> Any:
    x = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=4, kernel=(3, 3), stride=(2, 2), name="cv")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, name="bn"), act_type="relu", name="ac")
    x = mx.sym.Pooling(x, kernel=(2, 2), pool_type="avg", stride=(2, 2), name="pl")
    return mx.sym.FullyConnected(mx.sym.Flatten(x, name="fl"), num_hidden=2, name="f2")


def test_labels_colours_and_edges() -> None:
    """Recorded from MXNet 1.9.1."""
    dot = mx.viz.plot_network(network(), shape={"data": (1, 3, 16, 16)}, dtype={"data": "float32"})
    assert (dot.name, dot.format) == ("plot", "pdf")
    assert {name: (n["label"], n["fillcolor"], n["shape"]) for name, n in dot.nodes.items()} == {
        "data": ("data", "#8dd3c7", "oval"), "cv": ("Convolution\n3x3/2x2, 4", "#fb8072", "box"), "bn": ("bn", "#bebada", "box"),
        "ac": ("Activation\nrelu", "#ffffb3", "box"), "pl": ("Pooling\navg, 2x2/2x2", "#80b1d3", "box"), "fl": ("fl", "#fdb462", "box"),
        "f2": ("FullyConnected\n2", "#fb8072", "box"),
    }  # fmt: skip
    assert dot.edges == [
        ("cv", "data", "3x16x16(float32)"), ("bn", "cv", "4x7x7(float32)"), ("ac", "bn", "4x7x7(float32)"), ("pl", "ac", "4x7x7(float32)"),
        ("fl", "pl", "4x3x3(float32)"), ("f2", "fl", "36(float32)"),
    ]  # fmt: skip


def test_weights_styles_and_repeated_names() -> None:
    dot = mx.viz.plot_network(network(), title="t", save_format="png", node_attrs={"shape": "circle"}, hide_weights=False)
    assert (dot.name, dot.format) == ("t", "png") and dot.nodes["cv"]["shape"] == "circle"
    assert ("cv", "cv_weight", "") in dot.edges and "cv_weight" not in dot.nodes
    with pytest.warns(RuntimeWarning, match="Repeated names|multiple"):
        mx.viz.plot_network(mx.sym.Variable("a") + mx.sym.Variable("a"))


def test_errors() -> None:
    with pytest.raises(TypeError, match="must be a Symbol"):
        mx.viz.plot_network(3)
    with pytest.raises(ValueError, match="Input shape is incomplete"), pytest.warns(UserWarning):
        mx.viz.plot_network(network(), shape={})


def test_without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ImportError, match="graphviz"):
        mx.viz.plot_network(network())
