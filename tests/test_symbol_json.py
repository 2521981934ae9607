"""Symbol JSON of every era: what MXNet 1.9.1's upgrades make of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import mxexec_torch as mx


def document(nodes: list[dict[str, Any]], heads: list[list[int]], version: int | None = None, key: str = "attrs") -> str:
    """A file as older versions wrote it: attributes under `key`, two numbers an entry."""
    found = [{**{k: v for k, v in n.items() if k != "a"}, **({key: n["a"]} if "a" in n else {})} for n in nodes]
    more = {} if version is None else {"attrs": {"mxnet_version": ["int", version]}}
    return json.dumps({"nodes": found, "arg_nodes": [i for i, n in enumerate(nodes) if n["op"] == "null"], "heads": heads, **more})


def variable(name: str, **attrs: str) -> dict[str, Any]:
    return {"op": "null", "name": name, "inputs": [], **({"a": attrs} if attrs else {})}


def batch_norm(**attrs: str) -> list[dict[str, Any]]:
    return [*map(variable, ("data", "bn_gamma", "bn_beta")), {"op": "BatchNorm", "name": "bn", "inputs": [[0, 0], [1, 0], [2, 0]], "a": attrs}]


@pytest.mark.parametrize("key", ["param", "attr", "attrs"])
def test_attributes_under_every_name(key: str) -> None:
    nodes = [*map(variable, ("data", "w", "b")), {"op": "FullyConnected", "name": "fc", "inputs": [[0, 0], [1, 0], [2, 0]], "a": {"num_hidden": "3"}}]
    symbol = mx.sym.load_json(document(nodes, [[3, 0]], 1000, key))
    assert symbol.attr("num_hidden") == "3" and symbol.infer_shape(data=(2, 4))[1] == [(2, 3)]


def test_auxiliary_states_before_0_9_are_added() -> None:
    symbol = mx.sym.load_json(document(batch_norm(eps="0.002"), [[3, 0]], key="param"))
    assert symbol.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert symbol.attr_dict()["bn_moving_var"] == {"eps": "0.002", "__init__": '["one", {}]'}
    with pytest.raises(mx.MXNetError, match="takes 5 inputs"):
        mx.sym.load_json(document(batch_norm(), [[3, 0]], 1000))


def test_initializers_before_0_9_4_are_added() -> None:
    nodes = [*map(variable, ("data", "g", "b", "m", "v")), {"op": "BatchNorm", "name": "bn", "inputs": [[i, 0, int(i > 2)] for i in range(5)]}]
    assert mx.sym.load_json(document(nodes, [[5, 0]], 903)).attr_dict() == {"m": {"__init__": '["zero", {}]'}, "v": {"__init__": '["one", {}]'}}
    assert mx.sym.load_json(document(nodes, [[5, 0]], 904)).attr_dict() == {}


def test_plain_annotations_are_hidden_and_moved() -> None:
    nodes = [
        variable("data", ctx_group="s1", lr_mult="0.5"), variable("w"), variable("b"),
        {"op": "FullyConnected", "name": "fc", "inputs": [[0, 0], [1, 0], [2, 0]],
         "a": {"num_hidden": "3", "weight_lr_mult": "2", "bias_wd_mult": "0", "force_mirroring": "True", "nobody_lr_mult": "9"}},
    ]  # fmt: skip
    attrs = mx.sym.load_json(document(nodes, [[3, 0]], 800)).attr_dict()
    assert attrs["data"] == {"__ctx_group__": "s1", "ctx_group": "s1", "__lr_mult__": "0.5", "lr_mult": "0.5"}
    assert attrs["w"]["__lr_mult__"] == "2" and attrs["b"]["__wd_mult__"] == "0" and attrs["fc"]["__force_mirroring__"] == "True"
    assert attrs["fc"]["nobody_lr_mult"] == "9"


def test_argmax_axis_before_0_9_5() -> None:
    nodes = [variable("x"), {"op": "argmax", "name": "m", "inputs": [[0, 0]], "a": {"axis": "-1"}}]
    assert mx.sym.load_json(document(nodes, [[1, 0]], 904)).list_attr() == {}
    assert mx.sym.load_json(document(nodes, [[1, 0]], 905)).list_attr() == {"axis": "-1"}


def test_legacy_operator_names_resolve() -> None:
    operators = [{"op": "Softmax", "name": "s", "inputs": [[0, 0], [1, 0]]}, {"op": "_Plus", "name": "p", "inputs": [[2, 0], [2, 0]]}]
    text = mx.sym.load_json(document([variable("x"), variable("l"), *operators], [[3, 0]])).tojson()
    assert [n["op"] for n in json.loads(text)["nodes"]] == ["null", "null", "SoftmaxOutput", "elemwise_add"]


def test_newer_and_compact_files_load() -> None:
    assert mx.sym.load_json(document([variable("x")], [[0, 0]], 20000)).list_outputs() == ["x"]


def test_amp_casts_are_removed_unless_kept() -> None:
    x = mx.sym.amp_cast(mx.sym.amp_cast(mx.sym.Variable("x"), dtype="float16"), dtype="float32", name="c")
    net = mx.sym.exp(x) + 1
    assert "amp_cast" not in net.tojson() and net.tojson(remove_amp_cast=False).count('"amp_cast"') == 2
    assert '"amp_cast"' in x.tojson()  # a head stays
    assert mx.sym.load_json(net.tojson()).list_arguments() == ["x"]


def test_np_shape_is_noted_and_old_shapes_are_converted() -> None:
    text = mx.sym.Variable("x", shape=(3, 0)).tojson()
    assert "is_np_shape" not in text
    with mx.np_shape(True):
        assert mx.sym.load_json(text).attr("__shape__") == "[3,-1]"
        written = mx.sym.Variable("x", shape=(3, 0)).tojson()
        assert '"is_np_shape": ["int", 1]' in written and mx.sym.load_json(written).attr("__shape__") == "(3, 0)"
