"""Layers that MXNet's oneDNN back-end joined, as quantised and optimised symbol files hold them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..case import Array, Case, integers, normal, positive, values

_WHY = dict(grad=(), train=(False,), onednn=True)


def _fused(operator: str, layers: Callable[[Any], Any], **attrs: Any) -> Callable[[Any, Any, dict[str, Any]], Any]:
    """A graph of one node that holds `layers` (made of variables named after them) as its subgraph."""

    def build(mx: Any, F: Any, given: dict[str, Any]) -> Any:  # noqa: N803 - as in Case.build
        inside = json.loads(layers(mx.sym).tojson())
        names = [node["name"] for node in inside["nodes"] if node["op"] == "null"]
        names += [name for name in given if name not in names]
        aux = [int(name in ("mean", "var")) for name in names]
        outer = [{"op": "null", "name": name, "inputs": []} for name in names]
        node = {"op": operator, "name": "op", "attrs": {k: str(v) for k, v in attrs.items()}, "inputs": [[i, 0, a] for i, a in enumerate(aux)],
                "subgraphs": [{k: v for k, v in inside.items() if k != "attrs"}]}  # fmt: skip
        graph = {"nodes": [*outer, node], "arg_nodes": list(range(len(names))), "heads": [[len(names), 0, 0]],
                 "node_row_ptr": list(range(len(names) + 2)), "attrs": {"mxnet_version": ["int", 10901]}}  # fmt: skip
        return mx.sym.load_json(json.dumps(graph))

    return build


def _conv(norm: bool = False, act: str | None = None, summed: bool = False, bias: bool = True, **attrs: Any) -> Callable[[Any], Any]:
    def layers(S: Any) -> Any:  # noqa: N803 - mx.sym
        V = S.Variable  # noqa: N806
        own = dict(bias=V("bias")) if bias else dict(no_bias=True)
        out = S.Convolution(data=V("data"), weight=V("weight"), kernel=(3, 3), num_filter=4, name="conv", **own, **attrs)
        if norm:
            out = S.BatchNorm(data=out, gamma=V("gamma"), beta=V("beta"), moving_mean=V("mean"), moving_var=V("var"), fix_gamma=False, name="bn")
        if summed:
            out = S.elemwise_add(lhs=out, rhs=V("sum"), name="add")
        return S.Activation(out, act_type=act, name="act") if act else out

    return layers


def _fc(act: str | None = None, bias: bool = True, **attrs: Any) -> Callable[[Any], Any]:
    def layers(S: Any) -> Any:  # noqa: N803 - mx.sym
        own = dict(bias=S.Variable("bias")) if bias else dict(no_bias=True)
        out = S.FullyConnected(data=S.Variable("data"), weight=S.Variable("weight"), num_hidden=3, name="fc", **own, **attrs)
        return S.Activation(out, act_type=act, name="act") if act else out

    return layers


def _case(operator: str, label: str, inputs: dict[str, Array], layers: Callable[[Any], Any], **attrs: Any) -> Case:
    return Case(operator, label, inputs, build=_fused(operator, layers, **attrs), paths=("sym",), **_WHY)


_CONV = dict(data=normal(2, 3, 5, 5), weight=normal(4, 3, 3, 3), bias=normal(4))
_STATS = dict(gamma=positive(4), beta=normal(4), mean=normal(4), var=positive(4))
_FC = dict(data=normal(2, 5), weight=normal(3, 5), bias=normal(3))
_ENDS = dict(data_min=values([-2.0]), data_max=values([1.5]))
_BYTES = dict(data=integers(2, 3, 5, 5, high=255, dtype="uint8"), weight=normal(4, 3, 3, 3), bias=normal(4))
_QKV = normal(4, 2, 18)
_INT_QKV = dict(queries_keys_values=integers(4, 2, 18, low=-127, high=127, dtype="int8"), min_qkv=values([-1.5]), max_qkv=values([2.0]))
_WEIGHTS = dict(attention=integers(6, 4, 4, high=255, dtype="uint8"))
_INT_ATT = dict(queries_keys_values=_INT_QKV["queries_keys_values"], **_WEIGHTS, min_qkv=values([-1.5]), max_qkv=values([2.0]), min_attention=values([0.0]), max_attention=values([1.0]))


def _attention(weighted: bool = False) -> Callable[[Any], Any]:
    def layers(S: Any) -> Any:  # noqa: N803 - mx.sym
        qkv = S.Variable("queries_keys_values")
        if weighted:
            return S.contrib.interleaved_matmul_selfatt_valatt(qkv, S.Variable("attention"), heads=3, name="product")
        return S.contrib.interleaved_matmul_selfatt_qk(qkv, heads=3, name="product")

    return layers


def _forms(floats: dict[str, Array], whole: dict[str, Array]) -> list[tuple[str, dict[str, Array], dict[str, Any]]]:
    """(label, inputs, attributes): MXNet's parser needs all flags spelt out."""
    flags = dict(heads=3, quantized=True, enable_float_output=False)
    return [
        ("floats", floats, dict(flags, quantized=False)), ("int32", whole, flags), ("to_floats", whole, dict(flags, enable_float_output=True)),
        ("calibrated", whole, dict(flags, min_calib_range=-3.0, max_calib_range=2.0)),
    ]  # fmt: skip

CASES = [
    _case("_sg_mkldnn_conv", "plain", _CONV, _conv()),
    _case("_sg_mkldnn_conv", "no_bias", {k: v for k, v in _CONV.items() if k != "bias"}, _conv(bias=False, stride=(2, 2), pad=(1, 1))),
    _case("_sg_mkldnn_conv", "relu", _CONV, _conv(act="relu"), with_act="true"),
    _case("_sg_mkldnn_conv", "norm_relu", dict(_CONV, **_STATS), _conv(norm=True, act="relu"), with_bn="true", with_act="true"),
    _case("_sg_mkldnn_conv", "sum_relu", dict(_CONV, sum=normal(2, 4, 3, 3)), _conv(summed=True, act="relu"), with_sum="true", with_postsum_act="true"),
    _case("_sg_mkldnn_conv", "quantized", dict(_BYTES, data_min=values([0.0]), data_max=values([1.5])), _conv(act="relu"),
          quantized="true", with_act="true", min_calib_range=0.0, max_calib_range=9.0),
    _case("_sg_mkldnn_conv", "quantized_int8", dict(_BYTES, data=integers(2, 3, 5, 5, low=-127, high=127, dtype="int8"), **_ENDS), _conv(),
          quantized="true", min_calib_range=-9.0, max_calib_range=9.0),
    _case("_sg_mkldnn_fully_connected", "plain", _FC, _fc()),
    _case("_sg_mkldnn_fully_connected", "relu", _FC, _fc(act="relu"), with_eltwise="true"),
    _case("_sg_mkldnn_fully_connected", "sigmoid_unflattened", dict(_FC, data=normal(2, 4, 5)), _fc(act="sigmoid", flatten=False), with_eltwise="true"),
    _case("_sg_mkldnn_fully_connected", "no_bias", {k: v for k, v in _FC.items() if k != "bias"}, _fc(bias=False)),
    *[_case("_sg_mkldnn_selfatt_qk", n, inputs, _attention(), **a) for n, inputs, a in _forms(dict(queries_keys_values=_QKV), _INT_QKV)],
    *[_case("_sg_mkldnn_selfatt_valatt", n, inputs, _attention(True), **a)
      for n, inputs, a in _forms(dict(queries_keys_values=_QKV, attention=normal(6, 4, 4)), _INT_ATT)],
]  # fmt: skip
