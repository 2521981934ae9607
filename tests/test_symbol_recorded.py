"""Symbol graphs against what MXNet 1.9.1 says of the same graphs (data/symbols.json.gz, written by record_symbols.py)."""

from __future__ import annotations

import gzip
import inspect
import json
from typing import Any

import pytest

import mxexec_torch as mx
from mxexec_torch.published import _Null, def_line, place
from mxexec_torch.registry import all_names

from .oracle import ROOT
from .symbol_graphs import GRAPHS, SUMMARIES, describe, operator_nodes, summary

with gzip.open(ROOT / "tests" / "data" / "symbols.json.gz", "rt") as stream:
    RECORDED: dict[str, dict[str, Any]] = json.load(stream)
with gzip.open(ROOT / "tests" / "data" / "operators.json.gz", "rt") as stream:
    TABLES: dict[str, list[Any]] = {name: rest for name, *rest in json.load(stream)}

# Nodes that differ from MXNet's on purpose, with the reason.
DIFFERENT = {
    **dict.fromkeys(("Cast", "cast", "amp_cast"), "the guessed dtype bfloat16 is a TypeError in MXNet, whose NumPy has no such type"),
    **dict.fromkeys(
        ("_multi_adamw_update", "_multi_lamb_update", "_multi_mp_adamw_update", "_multi_mp_lamb_update", "multi_mp_sgd_mom_update",
         "multi_mp_sgd_update", "multi_sgd_update"),
        "the guessed lists do not fit the number of weights, which MXNet notices when the update runs",
    ),
    "preloaded_multi_sgd_mom_update": "MXNet reads another operator's parameters and fails",
    "_imdecode": "MXNet parses no attributes of NDArray functions",
    "_set_value": "MXNet parses no attributes of NDArray functions",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_graph_equals_mxnets(name: str) -> None:
    """JSON text, names, attributes, debug text, shapes and types of whole graphs."""
    found = json.loads(json.dumps(describe(mx, name)))
    recorded = RECORDED["graphs"][name]
    for key, value in recorded.items():
        if (name, key) == ("branch", "shapes"):
            continue  # MXNet 1.9.1 infers nothing behind cond and while_loop, here the branches are looked into
        assert found[key] == value, key


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_json_survives_loading(name: str) -> None:
    """MXNet's own text loads, and is written again byte for byte."""
    text = RECORDED["graphs"][name]["json_amp"]
    loaded = mx.sym.load_json(text)
    assert loaded.tojson(remove_amp_cast=False) == text
    assert loaded.list_arguments() == RECORDED["graphs"][name]["arguments"]


@pytest.mark.parametrize("key", sorted(SUMMARIES))
def test_summary_equals_mxnets(key: str) -> None:
    """The table that print_summary prints."""
    assert summary(mx, key) == RECORDED["summaries"][key]


@pytest.mark.parametrize("name", sorted(name for name in RECORDED["nodes"] if name in all_names() and name not in DIFFERENT))
def test_operator_node_equals_mxnets(name: str) -> None:
    """Automatic name, JSON text, arguments, auxiliary states, outputs and internals of one node of every operator."""
    table, counted, *_ = TABLES[name]
    assert json.loads(json.dumps(operator_nodes(mx, name, table, counted))) == RECORDED["nodes"][name]


def test_known_differences_exist() -> None:
    """A difference that has gone leaves the list."""
    for name in DIFFERENT:
        if name in all_names():
            table, counted, *_ = TABLES[name]
            assert json.loads(json.dumps(operator_nodes(mx, name, table, counted))) != RECORDED["nodes"][name], name


@pytest.mark.parametrize("name", ["FullyConnected", "Concat", "BatchNorm", "_contrib_box_nms", "_plus_scalar", "dot", "_random_uniform", "sum"])
def test_signature_of_published_function(name: str) -> None:
    """inspect.signature of mx.sym's function is the published parameter list."""
    module, short = place(name)
    function = getattr(getattr(mx.sym, module), short)
    shown = []
    for parameter in inspect.signature(function).parameters.values():
        star = {parameter.VAR_KEYWORD: "**", parameter.VAR_POSITIONAL: "*"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else "=_Null" if parameter.default is _Null else f"={parameter.default}"
        shown.append(f"{star}{parameter.name}{default}")
    assert f"def {name}({', '.join(shown)}):" == def_line(all_names()[name], name, "sym")
    assert function.__name__ == short and function.__doc__
