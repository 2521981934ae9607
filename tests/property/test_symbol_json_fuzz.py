"""Broken and hostile symbol JSON: reading it ends soon, in a symbol that can be used or in an MXNetError, whatever the text says."""

from __future__ import annotations

import copy
import json
import random
import sys
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mxexec_torch as mx

MUTATIONS_A_GRAPH = 120
EXTREMES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64, 10**30, -(10**30), 0.5, 1e308, "", "null", "FullyConnected",
    "Concat", "no_such_operator", "Custom", "_foreach", [], [[]], {}, {"num_hidden": "3"}, [0, 0, 0], [0, 0], [0], [0, 0, 0, 0], "1000000000",
    "(1000000000, 1000000000)", "\x00", "é", "a" * 3000,
]  # fmt: skip


def _graphs() -> dict[str, str]:
    x = mx.sym.Variable("x")
    net = mx.sym.BatchNorm(mx.sym.FullyConnected(x, num_hidden=3, name="fc"), name="bn")
    net = mx.sym.SoftmaxOutput(mx.sym.Concat(net, net * 2, name="both"), name="sm")
    parts = mx.sym.SliceChannel(x, num_outputs=2, name="parts")
    looped, _ = mx.sym.contrib.foreach(lambda a, s: (a + s, s), x, mx.sym.Variable("s"))
    return {"net": net.tojson(), "group": mx.sym.Group([parts[1], parts[0]]).tojson(), "loop": mx.sym.Group([looped]).tojson()}


GRAPHS = _graphs()
OLD = {
    "nodes": [
        {"op": "null", "param": {}, "name": "data", "inputs": [], "backward_source_id": -1},
        {"op": "null", "param": {}, "name": "bn_gamma", "inputs": [], "backward_source_id": -1},
        {"op": "null", "param": {}, "name": "bn_beta", "inputs": [], "backward_source_id": -1},
        {"op": "BatchNorm", "param": {"eps": "0.001"}, "name": "bn", "inputs": [[0, 0], [1, 0], [2, 0]], "backward_source_id": -1,
         "attr": {"ctx_group": "a", "gamma_lr_mult": "2"}},
    ],
    "arg_nodes": [0, 1, 2],
    "heads": [[3, 0]],
}  # fmt: skip
GRAPHS["old"] = json.dumps(OLD)


def use(text: str) -> None:
    """Loads a text and, when it loads, does with the symbol what programs do first."""
    started = time.process_time()
    try:
        symbol = mx.sym.load_json(text)
        symbol.list_arguments(), symbol.list_auxiliary_states(), symbol.list_outputs(), symbol.attr_dict()
        again = mx.sym.load_json(symbol.tojson(remove_amp_cast=False))
        assert again.list_outputs() == symbol.list_outputs()
        symbol.debug_str(), symbol.get_internals().list_outputs()
        symbol.infer_shape_partial()
        symbol.infer_type_partial()
    except mx.MXNetError as error:
        assert str(error)
    assert time.process_time() - started < 10


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += _places(item, (*path, key))
    return found


def _mutate(document: Any, rng: random.Random) -> Any:
    """One to three random changes: a value replaced, a key or element removed, doubled or renamed."""
    changed = copy.deepcopy(document)
    for _ in range(rng.randint(1, 3)):
        places = _places(changed)
        if not places:
            break
        *parents, last = rng.choice(places)
        holder = changed
        for key in parents:
            holder = holder[key]
        kind = rng.random()
        if kind < 0.5:
            holder[last] = copy.deepcopy(rng.choice(EXTREMES))
        elif kind < 0.65:
            del holder[last]
        elif kind < 0.8 and isinstance(holder[last], int):
            holder[last] += rng.choice((-1, 1, 2, 5))
        elif isinstance(holder, list):
            holder.insert(last, copy.deepcopy(rng.choice(holder)))
        else:
            holder[rng.choice(("attrs", "param", "op", "inputs", "subgraphs", "num_args", "no_bias"))] = copy.deepcopy(holder[last])
    return changed


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_mutated_documents(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(name)
    document = json.loads(GRAPHS[name])
    for _ in range(MUTATIONS_A_GRAPH):
        use(json.dumps(_mutate(document, rng)))


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_damaged_texts(name: str) -> None:
    rng = random.Random(name)
    text = GRAPHS[name]
    for _ in range(40):
        at = rng.randrange(len(text))
        use(rng.choice((text[:at], text[:at] + chr(rng.randrange(1, 300)) + text[at + 1 :], text[at:], text[:at] + text[at // 2 :])))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.fixed_dictionaries({"nodes": json_values, "arg_nodes": json_values, "heads": json_values}, optional={"attrs": json_values}))
def test_any_document(document: Any) -> None:
    use(json.dumps(document))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    use(text)


# -- named attacks ------------------------------------------------------------------------------------------------------------------
def variable(name: str = "x") -> dict[str, Any]:
    return {"op": "null", "name": name, "inputs": []}


def node(op: str, inputs: list[list[int]], name: str = "n", **attrs: str) -> dict[str, Any]:
    return {"op": op, "name": name, "attrs": attrs, "inputs": inputs}


def document(*nodes: dict[str, Any], heads: Any = None, **more: Any) -> str:
    arguments = [i for i, n in enumerate(nodes) if n["op"] == "null"]
    heads = [[len(nodes) - 1, 0, 0]] if heads is None else heads
    return json.dumps({"nodes": nodes, "arg_nodes": arguments, "heads": heads, "attrs": {"mxnet_version": ["int", 10901]}, **more})


def deep_subgraphs(depth: int) -> str:
    text = document(variable())
    for _ in range(depth):
        text = '{"nodes": [{"op": "null", "name": "x", "inputs": [], "subgraphs": [' + text + ']}], "arg_nodes": [0], "heads": [[0, 0, 0]]}'
    return text


REFUSED = {
    "node reads itself": (document(node("exp", [[0, 0, 0]])), "circle"),
    "two nodes read each other": (document(node("exp", [[1, 0, 0]], "a"), node("exp", [[0, 0, 0]], "b")), "circle"),
    "missing node": (document(variable(), node("exp", [[5, 0, 0]])), "node 5 does not exist"),
    "negative node": (document(variable(), node("exp", [[-1, 0, 0]])), "entry"),
    "huge node number": (document(variable(), node("exp", [[10**40, 0, 0]])), "entry"),
    "missing output": (document(variable(), node("exp", [[0, 3, 0]])), "output 3"),
    "head out of range": (document(variable(), heads=[[9, 0, 0]]), "node 9 does not exist"),
    "head output out of range": (document(variable(), heads=[[0, 1, 0]]), "output 1"),
    "no heads": (document(variable(), heads=[]), "heads"),
    "heads of another type": (document(variable(), heads={"a": 1}), "heads"),
    "argument list names an operator": (document(variable(), node("exp", [[0, 0, 0]]), arg_nodes=[1]), "arg_nodes"),
    "variable with inputs": (document(variable(), {"op": "null", "name": "y", "inputs": [[0, 0, 0]]}), "variable 'y' has inputs"),
    "inputs missing": (document(variable(), node("elemwise_add", [[0, 0, 0]])), "takes 2 inputs"),
    "too many inputs": (document(variable(), node("exp", [[0, 0, 0]] * 4)), "takes 1 inputs"),
    "unknown attribute": (document(variable(), node("FullyConnected", [[0, 0, 0]] * 3, num_hidden="3", foo="1")), "Cannot find argument 'foo'"),
    "missing attribute": (document(variable(), node("FullyConnected", [[0, 0, 0]] * 3)), "num_hidden"),
    "absurd number of outputs": (document(variable(), node("SliceChannel", [[0, 0, 0]], num_outputs="2000000000")), "exceed bound"),
    "absurd number of inputs": (document(variable(), node("Concat", [[0, 0, 0]], num_args="2000000000")), "exceed bound"),
    "attribute that is no text": (document(variable(), {**node("exp", [[0, 0, 0]]), "attrs": {"a": 3}}), "no string"),
    "version of another form": (document(variable(), attrs={"mxnet_version": 10901}), "mxnet_version"),
    "deep nesting": ("[" * 100_000, "nested too deeply"),
    "deep nesting inside": ('{"nodes": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    "deep subgraphs": (deep_subgraphs(200), "deep"),
    "endless integer": ('{"nodes": ' + "9" * 100_000 + "}", "not a symbol JSON"),
    "no object": ("[1, 2]", "no object"),
    "empty": ("", "not a symbol JSON"),
    "fields missing": ("{}", "nodes"),
    "LFS pointer": ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "not a symbol JSON"),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_with_a_reason(name: str) -> None:
    text, reason = REFUSED[name]
    started = time.process_time()
    with pytest.raises(mx.MXNetError, match=reason):
        mx.sym.load_json(text)
    assert time.process_time() - started < 5


def test_all_unknown_operators_in_one_error() -> None:
    text = document(variable(), node("Foo", [[0, 0, 0]], "a"), node("Bar", [[1, 0, 0]], "b"), node("Foo", [[2, 0, 0]], "c"))
    with pytest.raises(mx.MXNetError) as caught:
        mx.sym.load_json(text)
    assert all(word in str(caught.value) for word in ("Foo", "Bar", "a", "b", "c"))


def test_references_to_later_nodes_load_as_in_mxnet() -> None:
    symbol = mx.sym.load_json(document(node("exp", [[1, 0, 0]], "e"), variable(), heads=[[0, 0, 0]]))
    assert symbol.list_arguments() == ["x"] and symbol.list_outputs() == ["e_output"]


def test_nothing_is_executed(tmp_path: Any) -> None:
    trap = tmp_path / "trap"
    code = f"__import__('pathlib').Path({str(trap)!r}).touch()"
    for text in (code, json.dumps({"nodes": code}), document(variable(code), node("Reshape", [[0, 0, 0]], shape=f"({code},)"))):
        use(text)
    assert not trap.exists()


def test_graph_of_ten_thousand_nodes_in_a_row() -> None:
    """No step recurses: neither building, writing, reading, copying nor inference."""
    depth = 10_000
    x = mx.sym.Variable("x")
    started = time.process_time()
    for _ in range(depth):
        x = x + 1
    text = x.tojson()
    loaded = mx.sym.load_json(text)
    assert loaded.tojson() == text and time.process_time() - started < 5
    assert sys.getrecursionlimit() < depth
    assert loaded.infer_shape(x=(2, 3))[1] == [(2, 3)]
    assert copy.deepcopy(loaded).list_arguments() == ["x"]
    assert len(loaded.get_internals()) == depth + 1
    assert loaded(x=mx.sym.Variable("y")).list_arguments() == ["y"]
    assert loaded.debug_str().count("_plus_scalar") == depth
