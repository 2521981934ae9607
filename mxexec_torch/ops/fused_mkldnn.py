"""Fused layers that MXNet's oneDNN back-end wrote into symbol files: `_sg_mkldnn_conv`, `_sg_mkldnn_fully_connected`, `_sg_mkldnn_selfatt_*`.

The first two hold the layers they replace as a subgraph. Without quantisation the subgraph simply runs; with it the same layers are computed
on 8-bit integers with oneDNN's scales. Facts: src/operator/subgraph/mkldnn/mkldnn_{conv,fc,transformer}.cc
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..errors import MXNetError, UnsupportedError
from ..graph import topological
from ..infer.state import Dtypes, NodeState, Shapes
from ..registry import Attrs, Device, Grad, IsTrain, Tensor, op
from . import control_flow
from .convolution import to_spatial
from .runtime.control_flow import body_leaf
from .runtime.quantized import INT8_RANGE, exact_convolution, exact_linear, largest, levels, product_range, ratio, to_integers

__all__: list[str] = []

_RUN = "__run__"
_TRIPLE = ("output", "output_min", "output_max")


def _flag(a: Attrs, *names: str) -> bool:
    return any(str(a.get(name, "false")).lower() in ("true", "1") for name in names)


def _number(a: Attrs, name: str) -> float | None:
    text = str(a.get(name, "None"))
    return None if text == "None" else float(text)


def _calibrated(a: Attrs) -> bool:
    return _number(a, "min_calib_range") is not None and _number(a, "max_calib_range") is not None


def _conv_names(a: Attrs, n: int) -> list[str]:
    normed, summed, quantized = _flag(a, "with_bn"), _flag(a, "with_sum"), _flag(a, "quantized")
    middle = [*(("gamma", "beta", "mean", "var") if normed else ()), *(("sum",) if summed else ())]
    ranges = ["data_min", "data_max", *(("sum_min", "sum_max") if summed else ())] if quantized else []
    bias = ["bias"] if n > 2 + len(middle) + len(ranges) else []
    return ["data", "weight", *bias, *middle, *ranges]


def _fc_names(a: Attrs, n: int) -> list[str]:
    if not _flag(a, "quantized"):
        return ["data", "weight", "bias"][:n]
    ranges = ["min_data", "max_data"]
    if _flag(a, "channel_wise_quantize"):
        return [*["data", "weight", "bias"][: n - 2], *ranges]
    bias = n > 6
    return ["data", "weight", *(("bias",) if bias else ()), *ranges, "min_weight", "max_weight", *(("min_bias", "max_bias") if bias else ())]


def _layers(graph: Any) -> dict[str, Any]:
    """The operator nodes of a subgraph by kind: 'Convolution', 'FullyConnected', 'BatchNorm', and 'act' for what follows."""
    found: dict[str, Any] = {"act": []}
    for node in topological(graph._entries):
        if node.op is None:
            continue
        if node.op.name in ("Convolution", "FullyConnected", "BatchNorm", "elemwise_add"):
            found[node.op.name] = node.params
        else:
            found["act"].append(node)
    return found


def _base_count(s: NodeState) -> int:
    return sum(1 for n in topological(s.subgraphs[0]._entries) if n.op is None)


def _need_graph(s: NodeState) -> None:
    if len(s.subgraphs) != 1:
        raise s.fail("this operator needs the layers that it replaces as a subgraph")


def _shape(a: Attrs, s: Shapes) -> None:
    _need_graph(s)
    base = _base_count(s)
    found, outputs = control_flow.look_inside(s.subgraphs[0], s.inputs[:base], s)
    for position, value in enumerate(found):
        s.unify(position, value)
    for position in range(base, len(s.inputs)):
        s.unify(position, (1,))
    s.unify_out(outputs[0])
    for index in range(1, len(s.outputs)):
        s.unify_out((1,), index)


def _result_type(a: Attrs, graph: Any, convolution: bool) -> torch.dtype:
    """Type of a quantised result: uint8 when an activation leaves no negative numbers."""
    if _flag(a, "enable_float_output"):
        return torch.float32
    if not _calibrated(a):
        return torch.int32
    acts = _layers(graph)["act"]
    if convolution:
        first = not _flag(a, "with_sum") and _flag(a, "with_act", "with_relu")
        acts = acts[:1] if first else acts[-1:] if _flag(a, "with_postsum_act", "with_postsum_relu") else []
    return torch.uint8 if acts and _leaves_no_negatives(acts[0]) else torch.int8


def _leaves_no_negatives(node: Any) -> bool:
    kind = node.op.name
    if kind == "Activation":
        return node.params.act_type in ("relu", "sigmoid", "softrelu")
    return kind == "clip" or kind in ("square", "sqrt", "exp", "abs") or (kind == "LeakyReLU" and node.params.get("slope", 0.25) == 0.0)


def _dtype(convolution: bool) -> Callable[[Attrs, Dtypes], None]:
    def rule(a: Attrs, t: Dtypes) -> None:
        _need_graph(t)
        quantized = _flag(a, "quantized")
        integers = {"data", "sum"} if convolution else {"data", "weight", "bias"}
        if not convolution and _flag(a, "channel_wise_quantize"):
            integers = {"data"}
        for position, name in enumerate(t.names):
            if not quantized or name not in integers:
                t.unify(position, torch.float32)
        if quantized and not convolution:
            for name in integers - {"data"}:
                t.unify(name, torch.int8)
        t.unify_out(_result_type(a, t.subgraphs[0], convolution) if quantized else torch.float32)
        for index in range(1, len(t.outputs)):
            t.unify_out(torch.float32, index)

    return rule


def _outputs(a: Attrs) -> Sequence[str]:
    return _TRIPLE if _flag(a, "quantized") and not _flag(a, "enable_float_output") else ("output",)


def _fc_outputs(a: Attrs) -> Sequence[str]:
    return ("output", "min_output", "max_output") if len(_outputs(a)) == 3 else ("output",)


def _act(node: Any, value: Tensor, train: bool) -> Tensor:
    if len(node.inputs) != 1:
        raise UnsupportedError(f"operator {node.op.name} inside a fused layer is not supported")
    return node.op.run(node.params, [value], train).outputs[0]  # type: ignore[no-any-return]


def _bind(quantized: Callable[..., Any]) -> Callable[..., Attrs]:
    def bind(node: Any, inputs: Any, device: torch.device, requests: Any) -> Attrs:
        a = node.params
        graph = node.subgraphs[0]
        if not _flag(a, "quantized"):
            return Attrs(a, **{_RUN: body_leaf(control_flow.compile_bodies(node, device)[0])})
        layers, kind = _layers(graph), _result_type(a, graph, quantized is _quantized_conv)

        def run(*tensors: Tensor, train: bool, device: torch.device) -> Any:
            names = node.op.node_inputs(a, len(tensors))
            return quantized(a, layers, kind, {spec.name: t for spec, t in zip(names, tensors, strict=True)}, train)

        return Attrs(a, **{_RUN: run})

    return bind


def _scale(low: Tensor, high: Tensor, dtype: torch.dtype) -> Tensor:
    return ratio(levels(dtype), largest(low, high))


def _weight_scales(weight: Tensor, bias: Tensor | None, data_scale: Tensor, by_channel: bool) -> Tensor:
    """Levels per unit of each output channel (or of all), low enough for the bias to fit into 31 bits."""
    flat = weight.reshape(weight.shape[0], -1)
    reach = flat.abs().amax(1) if by_channel else flat.abs().max().reshape(1)
    scale = torch.where(reach == 0, 2147483647.0, ratio(INT8_RANGE, reach))
    if by_channel and bias is not None:
        most = ratio(1073741824.0, bias.abs()) / data_scale
        scale = torch.where(bias != 0, torch.minimum(scale, most), scale)
    return scale


def _quantized_conv(a: Attrs, layers: dict[str, Any], kind: torch.dtype, t: dict[str, Tensor], train: bool) -> Any:
    conv, norm = layers["Convolution"], layers.get("BatchNorm")
    data, weight, bias = t["data"], t["weight"], t.get("bias")
    if norm is not None:
        gamma = torch.ones_like(t["gamma"]) if norm.fix_gamma else t["gamma"]
        factor = (gamma.double() / (t["var"].double() + norm.eps).sqrt()).float()  # the reference adds a double eps: one step in 2,000 depends on it
        bias = t["beta"] + factor * ((0.0 if bias is None else bias) - t["mean"])
        weight = weight * factor.reshape(-1, *[1] * (weight.ndim - 1))
    calibrated = kind != torch.int32
    data_scale = _scale(t["data_min"], t["data_max"], data.dtype)
    scales = _weight_scales(weight, bias, data_scale, calibrated)
    column = [-1] + [1] * (weight.ndim - 2)  # channels of the result
    whole = to_integers(weight * scales.reshape(-1, *[1] * (weight.ndim - 1)), torch.int8)
    strides, pads, dilates = to_spatial(conv.stride, conv.pad, conv.dilate, len(conv.kernel))
    total = exact_convolution(data, whole, strides, pads, dilates, conv.num_group)
    if bias is not None:
        total = total + to_integers(bias * (scales * data_scale), torch.int32).to(total.dtype).reshape(column)
    if calibrated:
        low, high = (t["data_min"].new_full((1,), _number(a, n) or 0.0) for n in ("min_calib_range", "max_calib_range"))
        out_scale = _scale(low, high, kind)
        total = total.float() * (out_scale / data_scale / scales).reshape(column)
    else:
        out_scale = data_scale * scales
        reach = product_range(largest(t["data_min"], t["data_max"]), weight.abs().max().reshape(1), data.dtype == torch.uint8)
        low, high = -reach, reach
    acts = list(layers["act"])
    summed = "sum" in t
    if acts and (not summed or _flag(a, "with_act", "with_relu")):
        total = _rescaled_act(acts.pop(0), total, out_scale, train)
    if summed:
        total = total + t["sum"].to(total.dtype) * (out_scale / _scale(t["sum_min"], t["sum_max"], t["sum"].dtype))
        for node in acts:
            total = _rescaled_act(node, total, out_scale, train)
    return to_integers(total, kind), low, high


def _rescaled_act(node: Any, value: Tensor, scale: Tensor, train: bool) -> Tensor:
    """An activation of the numbers that the integers stand for; relu needs no detour."""
    if node.op.name == "Activation" and node.params.act_type == "relu":
        return value.clamp_min(0.0)
    return _act(node, value / scale, train) * scale


def _quantized_fc(a: Attrs, layers: dict[str, Any], kind: torch.dtype, t: dict[str, Tensor], train: bool) -> Any:
    layer = layers["FullyConnected"]
    data, weight, bias = t["data"], t["weight"], t.get("bias")
    flat = data.flatten(1) if layer.flatten and data.ndim != 2 else data
    data_scale = _scale(t["min_data"], t["max_data"], data.dtype)
    if "min_weight" in t:
        scales = _scale(t["min_weight"], t["max_weight"], torch.int8)
        total = exact_linear(flat, weight)
        if bias is not None:
            unit = data_scale * scales / _scale(t["min_bias"], t["max_bias"], torch.int8)
            total = total + (bias.float() * unit).round().to(total.dtype)
    else:
        scales = _weight_scales(weight, bias, data_scale, True)
        total = exact_linear(flat, to_integers(weight * scales.reshape(-1, 1), torch.int8))
        if bias is not None:
            total = total + to_integers(bias * (scales * data_scale), torch.int32).to(total.dtype)
    if kind == torch.int32:
        reach = product_range(largest(t["min_data"], t["max_data"]), largest(t["min_weight"], t["max_weight"]), data.dtype == torch.uint8)
        return to_integers(total, kind), -reach, reach
    value = total.float() * (ratio(1.0, data_scale) / scales)
    for node in layers["act"]:
        value = _act(node, value, train)
    if kind == torch.float32:
        return value
    low, high = (t["min_data"].new_full((1,), _number(a, n) or 0.0) for n in ("min_calib_range", "max_calib_range"))
    return to_integers(value * _scale(low, high, kind), kind), low, high


def _run(name: str, data: Sequence[Tensor], train: bool, device: torch.device, more: dict[str, Any]) -> Any:
    run = more.get(_RUN)
    if run is None:
        raise MXNetError(f"{name} runs inside a bound graph only: it needs the layers that it replaces as a subgraph")
    return run(*data, train=train, device=device)


@op(
    "_sg_mkldnn_conv", key_var_num_args="num_args", variadic_names=_conv_names, any_attrs=True, listed=(), table=(),
    auxiliary=lambda a: ("mean", "var") if _flag(a, "with_bn") else (), outputs=_outputs, shape=_shape, dtype=_dtype(True),
    bind=_bind(_quantized_conv), grad=Grad.ZERO, renamed={"with_relu": "with_act", "with_postsum_relu": "with_postsum_act"},
)  # fmt: skip
def sg_mkldnn_conv(*data: Tensor, train: IsTrain, device: Device, **more: Any) -> Any:
    """Convolution with the batch normalisation, addition and activation after it, on floating numbers or on 8-bit integers.

    data: the inputs of the layers, then the ranges of integer ones -> the result and, when quantised, its range.
    Source: src/operator/subgraph/mkldnn/mkldnn_conv.cc
    """
    return _run("_sg_mkldnn_conv", data, train, device, more)


@op(
    "_sg_mkldnn_fully_connected", key_var_num_args="num_args", variadic_names=_fc_names, any_attrs=True, listed=(), table=(),
    outputs=_fc_outputs, shape=_shape, dtype=_dtype(False), bind=_bind(_quantized_fc), grad=Grad.ZERO, renamed={"with_relu": "with_eltwise"},
)  # fmt: skip
def sg_mkldnn_fully_connected(*data: Tensor, train: IsTrain, device: Device, **more: Any) -> Any:
    """Fully connected layer with the activation after it, on floating numbers or on 8-bit integers.

    data: the inputs of the layers, then the ranges of integer ones -> the result and, when quantised, its range.
    Source: src/operator/subgraph/mkldnn/mkldnn_fc.cc
    """
    return _run("_sg_mkldnn_fully_connected", data, train, device, more)
