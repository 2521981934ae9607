"""Layers on 8-bit integers (`_contrib_quantized_*`): each tensor travels with the range (1,), (1,) that its integers stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import torch

from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes, show
from ..registry import Attrs, Aux, Grad, Tensor, op
from ..values import (
    Bool,
    Double,
    Float,
    IgnoredBool,
    IgnoredLong,
    Int,
    NonNegInt,
    OneOf,
    OptBool,
    OptDouble,
    OptFloat,
    OptInt,
    Shape,
)  # fmt: skip
from .convolution import conv_shape, to_spatial
from .pooling import _pool_shape, pooling
from .quantization import float_inputs, range_inputs
from .rnn import rnn
from .runtime.quantized import INT8_RANGE, exact_convolution, exact_linear, largest, levels, product_range, ratio, to_integers

__all__: list[str] = []

_BYTES = (torch.uint8, torch.int8)
_NAMES = ("output", "min_output", "max_output")
Triple = tuple[Tensor, Tensor, Tensor]


def _dtypes(first: int, out: torch.dtype | None, *fixed: tuple[str, torch.dtype]) -> Callable[[Attrs, Dtypes], None]:
    """8-bit data, float32 ranges from input `first` on; out: type of the result (None: that of the data)."""

    def rule(a: Attrs, t: Dtypes) -> None:
        known = t.get(0)
        if known is not None and known not in _BYTES:
            raise t.fail(f"{t.op.name} only supports int8/uint8 input, while {show(known)} is given.")
        for name, dtype in fixed:
            t.unify(name, dtype)
        ranges = sum(1 for name in t.names if "min" in name or "max" in name)
        float_inputs(len(t.inputs) - ranges if first < 0 else first)(a, t)
        t.unify_out(known if out is None else out)

    return rule


def _ranges(rule: Callable[[Attrs, Shapes], None], waits: bool = True) -> Callable[[Attrs, Shapes], None]:
    """A layer's rule, and shape (1,) for all ranges; with `waits` those of the outputs stay unknown as long as the first input is."""

    def both(a: Attrs, s: Shapes) -> None:
        rule(a, s)
        for name in s.names:
            if name.startswith(("min_", "max_")):
                s.unify(name, (1,))
        for index in range(1, 1 if waits and s.inputs[0] is None else len(s.outputs)):
            s.unify_out((1,), index)

    return both


def _with_bias(a: Attrs) -> bool:
    return not a.no_bias


_BIAS = {"bias": _with_bias, "min_bias": _with_bias, "max_bias": _with_bias}


def _conv_check(a: Attrs) -> None:
    if a.num_group != 1:
        raise MXNetError(f"quantized_conv only supports num_group=1 for now, got {a.num_group}")
    if len(a.kernel) not in (2, 3) or a.layout not in (None, "NCHW", "NCDHW"):
        raise MXNetError(f"quantized_conv only supports 2d or 3d kernels with the channels first, got {a.kernel} and {a.layout}")


@op(
    "_contrib_quantized_conv", present=_BIAS, shape=_ranges(conv_shape, waits=False), check=_conv_check, outputs=_NAMES, grad=Grad.ZERO,
    dtype=_dtypes(-1, torch.int32, ("weight", torch.int8), ("bias", torch.int8)),
)  # fmt: skip
def quantized_conv(
    data: Tensor, weight: Tensor, bias: Tensor | None, min_data: Tensor, max_data: Tensor, min_weight: Tensor, max_weight: Tensor,
    min_bias: Tensor | None = None, max_bias: Tensor | None = None, /, *, kernel: Shape, stride: Shape = (), dilate: Shape = (),
    pad: Shape = (), num_filter: NonNegInt, num_group: NonNegInt = 1, workspace: IgnoredLong = 1024, no_bias: Bool = False,
    cudnn_tune: Annotated[str | None, OneOf(None, "fastest", "limited_workspace", "off")] = None, cudnn_off: IgnoredBool = False,
    layout: Annotated[str | None, OneOf(None, "NCDHW", "NCHW", "NCW", "NDHWC", "NHWC")] = None,
) -> Triple:  # fmt: skip
    """Convolution of 8-bit integers with 32-bit results.

    data int8 or uint8 (n, c, *in), weight int8, bias int8 (added as it is) -> int32 (n, num_filter, *out) and its range.
    Source: src/operator/quantization/mkldnn/mkldnn_quantized_conv.cc
    """
    strides, pads, dilates = to_spatial(stride, pad, dilate, len(kernel))
    result = exact_convolution(data, weight, strides, pads, dilates, num_group)
    if bias is not None:
        result = result + bias.to(result.dtype).reshape(-1, *[1] * len(kernel))
    reach = product_range(largest(min_data, max_data), largest(min_weight, max_weight), False)
    return to_integers(result, torch.int32), -reach, reach


def _fc_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    features = data[-1]
    if a.flatten:
        features = -1
        if -1 not in data[1:]:
            features = 1
            for d in data[1:]:
                features *= d
    s.unify("weight", (a.num_hidden, features))
    s.unify("bias", (a.num_hidden,))
    s.unify_out((data[0], a.num_hidden) if a.flatten else (*data[:-1], a.num_hidden))


@op(
    "_contrib_quantized_fully_connected", present=_BIAS, shape=_ranges(_fc_shape), outputs=_NAMES, grad=Grad.ZERO,
    dtype=_dtypes(-1, torch.int32, ("weight", torch.int8), ("bias", torch.int8)),
)  # fmt: skip
def quantized_fully_connected(
    data: Tensor, weight: Tensor, bias: Tensor | None, min_data: Tensor, max_data: Tensor, min_weight: Tensor, max_weight: Tensor,
    min_bias: Tensor | None = None, max_bias: Tensor | None = None, /, *, num_hidden: Int, no_bias: Bool = False, flatten: Bool = True,
) -> Triple:  # fmt: skip
    """x W^T + b of 8-bit integers with 32-bit results.

    data int8 or uint8 (n, *k), weight int8 (num_hidden, k), bias int8 in its own range -> int32 (n, num_hidden) and its range.
    Source: src/operator/quantization/mkldnn/mkldnn_quantized_fully_connected.cc
    """
    result = exact_linear(data.flatten(1) if flatten and data.ndim != 2 else data, weight)
    reach_data, reach_weight = largest(min_data, max_data), largest(min_weight, max_weight)
    if bias is not None and min_bias is not None and max_bias is not None:
        scale = ratio(levels(data.dtype), reach_data) * ratio(INT8_RANGE, reach_weight) * largest(min_bias, max_bias) / INT8_RANGE
        result = result + (bias.float() * scale).trunc().to(result.dtype)
    reach = product_range(reach_data, reach_weight, data.dtype == torch.uint8)
    return to_integers(result, torch.int32), -reach, reach


def _pool_values_shape(a: Attrs, s: Shapes) -> None:
    values = Shapes(s.op, a, s.name, s.inputs[:1], s.outputs[:1], s.names[:1])
    _pool_shape(a, values)
    s.unify_out(values.out())


def _pool_check(a: Attrs) -> None:
    if a.pool_type not in ("max", "avg"):
        raise MXNetError(f"QuantizedPoolingOp only supports pool_type=max/avg for now, got {a.pool_type}")
    if len(a.kernel) not in (1, 2, 3) and not a.global_pool:
        raise MXNetError(f"{len(a.kernel)}D pooling not supported: kernel is {list(a.kernel)}")


@op(
    "_contrib_quantized_pooling", shape=_ranges(_pool_values_shape), dtype=_dtypes(1, None), check=_pool_check, outputs=_NAMES, grad=Grad.ZERO,
)  # fmt: skip
def quantized_pooling(
    data: Tensor, min_data: Tensor, max_data: Tensor, /, *, kernel: Shape = (),
    pool_type: Annotated[str, OneOf("avg", "lp", "max", "sum")] = "max", global_pool: Bool = False, cudnn_off: IgnoredBool = False,
    pooling_convention: Annotated[str, OneOf("full", "same", "valid")] = "valid", stride: Shape = (), pad: Shape = (), p_value: OptInt = None,
    count_include_pad: OptBool = None, layout: Annotated[str | None, OneOf(None, "NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC")] = None,
) -> Triple:  # fmt: skip
    """Maximum or (rounded) average of 8-bit integers over windows; see Pooling.

    data int8 or uint8 (n, c, *in) -> the same type (n, c, *out); the range stays. Source: src/operator/quantization/quantized_pooling.cc
    """
    result: Any = pooling(
        data.float(), kernel=kernel, pool_type=pool_type, global_pool=global_pool, pooling_convention=pooling_convention, stride=stride, pad=pad,
        p_value=p_value, count_include_pad=count_include_pad, layout=layout,
    )  # fmt: skip
    values = result if isinstance(result, torch.Tensor) else result[0]
    return to_integers(values, data.dtype), min_data.clone(), max_data.clone()


def _act_check(a: Attrs) -> None:
    if a.act_type != "relu":
        raise MXNetError(f"_contrib_quantized_act only supports act_type=relu for now, got {a.act_type}")


@op(
    "_contrib_quantized_act", shape=range_inputs(1, waits=True), dtype=_dtypes(1, torch.int8), check=_act_check, outputs=_NAMES, grad=Grad.ZERO,
)  # fmt: skip
def quantized_act(
    data: Tensor, min_data: Tensor, max_data: Tensor, /, *, act_type: Annotated[str, OneOf("relu", "sigmoid", "softrelu", "softsign", "tanh")]
) -> Triple:
    """relu of 8-bit integers. data int8 -> int8; the range stays. Source: src/operator/quantization/quantized_activation.cc"""
    return data.clamp_min(0).to(torch.int8), min_data.clone(), max_data.clone()


def _flatten_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is not None and -1 not in data:
        size = 1
        for d in data[1:]:
            size *= d
        s.unify_out((data[0], size))


@op("_contrib_quantized_flatten", shape=_ranges(_flatten_shape), dtype=_dtypes(1, None), outputs=_NAMES, grad=Grad.ZERO)
def quantized_flatten(data: Tensor, min_data: Tensor, max_data: Tensor, /) -> Triple:
    """Two dimensions. data 8-bit (n, *k) -> (n, k); the range stays. Source: src/operator/quantization/quantized_flatten.cc"""
    return data.reshape(data.shape[0], -1).clone(), min_data.clone(), max_data.clone()


def _concat_names(a: Attrs, n: int) -> list[str]:
    count = a.num_args
    return [*(f"arg{i}" for i in range(count)), *(f"arg{i}_{end}" for i in range(count) for end in ("min", "max"))]


def _concat_shape(a: Attrs, s: Shapes) -> None:
    data = s.inputs[: a.num_args]
    known = next((d for d in data if d is not None), None)
    if known is not None:
        axis = a.dim % len(known)
        if any(d is not None and len(d) != len(known) for d in data):
            raise s.fail(f"arrays of different ranks cannot be joined: {', '.join(map(show, data))}")
        sizes = [-1 if d is None else d[axis] for d in data]
        total = -1 if -1 in sizes else sum(sizes)
        for position in range(a.num_args):
            s.unify(position, tuple(-1 if i == axis else d for i, d in enumerate(known)))
        s.unify_out(tuple(total if i == axis else d for i, d in enumerate(s.inputs[0] or known)))
    for position in range(a.num_args, len(s.inputs)):
        s.unify(position, (1,))
    s.unify_out((1,), 1)
    s.unify_out((1,), 2)


def _concat_dtype(a: Attrs, t: Dtypes) -> None:
    data = t.inputs[: a.num_args]
    float_inputs(a.num_args)(a, t)
    if any(d not in (None, torch.int8, torch.uint8) for d in data):
        raise t.fail(f"quantized_concat joins int8 and uint8 arrays, got {', '.join(str(d).removeprefix('torch.') for d in data)}")
    if None not in data:
        t.unify_out(torch.int8 if torch.int8 in data else torch.uint8)


@op(
    "_contrib_quantized_concat", key_var_num_args="num_args", count=lambda a: 3 * a.num_args, variadic_names=_concat_names, outputs=_NAMES,
    shape=_concat_shape, dtype=_concat_dtype, grad=Grad.ZERO,
)  # fmt: skip
def quantized_concat(*data: Tensor, num_args: Int, dim: Int = 1) -> Triple:
    """Joins 8-bit arrays along an axis, rescaled to their common range.

    data: the arrays, then minimum and maximum of each -> int8 if one of them is, else uint8, and the range.
    Source: src/operator/quantization/mkldnn/mkldnn_quantized_concat.cc
    """
    arrays, lows, highs = data[:num_args], data[num_args::2], data[num_args + 1 :: 2]
    low = torch.cat([*lows, torch.zeros_like(lows[0])]).min().reshape(1)
    high = torch.cat([*highs, torch.zeros_like(highs[0])]).max().reshape(1)
    kind = torch.int8 if any(x.dtype == torch.int8 for x in arrays) else torch.uint8
    scale = ratio(levels(kind), largest(low, high))
    parts = [to_integers(x.float() * (scale / ratio(levels(x.dtype), largest(m, n))), kind) for x, m, n in zip(arrays, lows, highs, strict=True)]
    return torch.cat(parts, dim), low, high


def _pair_shape(a: Attrs, s: Shapes) -> None:
    for position, other in ((0, 1), (1, 0)):
        s.unify(position, s.inputs[other], elementwise=True)
    range_inputs(2)(a, s)


def _product_shape(a: Attrs, s: Shapes) -> None:
    """Nothing is known before both factors are."""
    if s.inputs[0] is not None and s.inputs[1] is not None:
        _pair_shape(a, s)


def _pair_dtype(calibrated: Callable[[Attrs], bool]) -> Callable[[Attrs, Dtypes], None]:
    def rule(a: Attrs, t: Dtypes) -> None:
        float_inputs(2)(a, t)
        lhs, rhs = t.inputs[:2]
        if len(t.outputs) == 1:
            t.unify_out(torch.float32)
        elif not calibrated(a):
            t.unify_out(torch.int32)
        elif lhs is not None and rhs is not None:
            t.unify_out(lhs if lhs == rhs else torch.int8)

    return rule


def _calibrated(a: Attrs) -> bool:
    return a.min_calib_range is not None and a.max_calib_range is not None


def _value(like: Tensor, value: float | None) -> Tensor:
    return like.new_full((1,), 0.0 if value is None else value)


@op(
    "_contrib_quantized_elemwise_add", shape=_pair_shape, dtype=_pair_dtype(_calibrated), outputs=_NAMES, grad=Grad.MISSING,
    table=("min_calib_range", "max_calib_range", "lhs", "rhs", "lhs_min", "lhs_max", "rhs_min", "rhs_max"),
)  # fmt: skip
def quantized_elemwise_add(
    lhs: Tensor, rhs: Tensor, lhs_min: Tensor, lhs_max: Tensor, rhs_min: Tensor, rhs_max: Tensor, /, *, min_calib_range: OptFloat = None,
    max_calib_range: OptFloat = None,
) -> Triple:  # fmt: skip
    """Sum of 8-bit arrays of different ranges.

    lhs, rhs 8-bit of one shape -> int32, or 8-bit for a calibrated range, and the range. Without a calibrated range the uint8 one of two arrays
    of different types only counts as -128..127, since MXNet forces it into int8 after scaling it for int32.
    Source: src/operator/quantization/mkldnn/mkldnn_quantized_elemwise_add.cc
    """
    reach = [largest(lhs_min, lhs_max), largest(rhs_min, rhs_max)]
    if min_calib_range is not None and max_calib_range is not None:
        low, high = _value(lhs_min, min_calib_range), _value(lhs_min, max_calib_range)
        kind = lhs.dtype if lhs.dtype == rhs.dtype else torch.int8
        scale = ratio(levels(kind), largest(low, high))
        scales = [scale / ratio(levels(x.dtype), r) for x, r in zip((lhs, rhs), reach, strict=True)]
    else:
        high = reach[0] + reach[1]
        low, kind = -high, torch.int32
        scales = [r * levels(kind) / (high * levels(x.dtype)) for x, r in zip((lhs, rhs), reach, strict=True)]
    terms = []
    for x, scale in zip((lhs, rhs), scales, strict=True):
        scaled = x.float() * scale
        # an unsigned array next to a signed one is first brought into int8, of the output's scale
        terms.append(to_integers(scaled, torch.int8).float() if x.dtype == torch.uint8 and lhs.dtype != rhs.dtype else scaled)
    total = terms[0] + terms[1]
    return to_integers(total, kind), low, high


@op(
    "_contrib_quantized_elemwise_mul", shape=_product_shape, dtype=_pair_dtype(_calibrated), grad=Grad.ZERO,
    outputs=lambda a: ("output",) if a.enable_float_output else _NAMES,
)  # fmt: skip
def quantized_elemwise_mul(
    lhs: Tensor, rhs: Tensor, lhs_min: Tensor, lhs_max: Tensor, rhs_min: Tensor, rhs_max: Tensor, /, *, min_calib_range: OptFloat = None,
    max_calib_range: OptFloat = None, enable_float_output: Bool = False,
) -> Tensor | Triple:  # fmt: skip
    """Product of int8 arrays.

    lhs, rhs int8 of one shape -> int32 and its range; int8 for a calibrated range (cut, not rounded; too large ones wrap around);
    float32 with enable_float_output.
    Source: src/operator/quantization/quantized_elemwise_mul.cc
    """
    product = lhs.to(torch.int32) * rhs.to(torch.int32)
    reach = [largest(lhs_min, lhs_max), largest(rhs_min, rhs_max)]
    unit = reach[0] / INT8_RANGE * (reach[1] / INT8_RANGE)
    if enable_float_output:
        return product.float() * unit
    if min_calib_range is not None and max_calib_range is not None:
        low, high = _value(lhs_min, min_calib_range), _value(lhs_min, max_calib_range)
        return (product.float() * (ratio(INT8_RANGE, largest(low, high)) * unit)).to(torch.int32).to(torch.int8), low, high
    bound = product_range(reach[0], reach[1], False)
    return product, -bound, bound


def _bn_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is not None:
        for name in ("gamma", "beta", "moving_mean", "moving_var"):
            s.unify(name, (data[a.axis % len(data)],))
    range_inputs(5, waits=True)(a, s)


def _bn_check(a: Attrs) -> None:
    if not _calibrated(a):
        raise MXNetError("min_calib_range or max_calib_range is not available. Quantized BN currently don't support calib_mode=None")


@op("_contrib_quantized_batch_norm", shape=_bn_shape, dtype=_dtypes(1, torch.int8), outputs=_NAMES, grad=Grad.ZERO)
def quantized_batch_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Aux, moving_var: Aux, min_data: Tensor, max_data: Tensor, /, *,
    eps: Double = 0.0010000000474974513, momentum: Float = 0.9, fix_gamma: Bool = True, use_global_stats: Bool = False,
    output_mean_var: Bool = False, axis: Int = 1, cudnn_off: IgnoredBool = False, min_calib_range: OptFloat = None,
    max_calib_range: OptFloat = None,
) -> Triple:  # fmt: skip
    """Batch normalisation of 8-bit integers with the moving statistics, for a calibrated output range.

    data 8-bit (n, c, *k) -> int8 and its range. gamma is used as stored, whatever fix_gamma says.
    Source: src/operator/quantization/mkldnn/mkldnn_quantized_batch_norm.cc
    """
    _bn_check(Attrs(min_calib_range=min_calib_range, max_calib_range=max_calib_range))
    low, high = _value(min_data, min_calib_range), _value(min_data, max_calib_range)
    reach = largest(low, high)
    signed = to_integers(data.float() * (INT8_RANGE / levels(data.dtype)), torch.int8) if data.dtype == torch.uint8 else data
    inverse = (1.0 / (moving_var.double() + eps).sqrt()).float()
    shape = [1] * data.ndim
    shape[axis % data.ndim] = -1
    scale = (gamma * inverse * largest(min_data, max_data) / reach / (1.0 + eps) ** 0.5).reshape(shape)
    shift = ((beta - moving_mean * gamma * inverse) * INT8_RANGE / reach).reshape(shape)
    return to_integers(signed.float() * scale + shift, torch.int8), low, high


def _embedding_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    s.unify("weight", (a.input_dim, a.output_dim))
    if data is not None:
        s.unify_out((*data, a.output_dim))


def _embedding_dtype(a: Attrs, t: Dtypes) -> None:
    t.unify("weight", torch.int8)
    float_inputs(2)(a, t)
    t.unify_out(torch.int8)


_TYPES = OneOf("bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8")


@op("_contrib_quantized_embedding", shape=_ranges(_embedding_shape), dtype=_embedding_dtype, outputs=_NAMES, grad=Grad.MISSING)
def quantized_embedding(
    data: Tensor, weight: Tensor, min_weight: Tensor, max_weight: Tensor, /, *, input_dim: Int, output_dim: Int,
    dtype: Annotated[str, _TYPES] = "float32", sparse_grad: Bool = False,
) -> Triple:  # fmt: skip
    """Rows of an int8 table. data (*s) of indices, weight (input_dim, output_dim) -> int8 (*s, output_dim); the range stays.

    Source: src/operator/quantization/quantized_indexing_op.cc
    """
    index = data.long().clamp(0, input_dim - 1)
    return weight[index], min_weight.clone(), max_weight.clone()


def _rnn_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    directions = 2 if a.bidirectional else 1
    s.unify("data_scale", (1,))
    s.unify("data_shift", (1,))
    if data is None:
        return
    state = (a.num_layers * directions, data[1], a.state_size)
    s.unify("state", state)
    s.unify("state_cell", state)
    s.unify_out((*data[:2], directions * a.state_size))
    for index in range(1, len(s.outputs)):
        s.unify_out(state, index)


def _rnn_dtype(a: Attrs, t: Dtypes) -> None:
    t.unify(0, torch.uint8)
    float_inputs(1)(a, t)
    t.unify_out(torch.float32)


def _rnn_check(a: Attrs) -> None:
    if a.mode != "lstm":
        raise MXNetError(f"Quantized recurrent neural network only supports LSTM operator on CPU, got {a.mode}")


def _rnn_outputs(a: Attrs) -> Sequence[str]:
    return ("output", "state_output", "statecell_ouput") if a.state_outputs else ("output",)


@op(
    "_contrib_quantized_rnn", shape=_rnn_shape, dtype=_rnn_dtype, check=_rnn_check, outputs=_rnn_outputs, grad=Grad.MISSING,
    limits=("the weights are used in float32; MXNet's kernel quantises them too",),
)  # fmt: skip
def quantized_rnn(
    data: Tensor, parameters: Tensor, state: Tensor, state_cell: Tensor, data_scale: Tensor, data_shift: Tensor, /, *,
    state_size: NonNegInt, num_layers: NonNegInt, bidirectional: Bool = False,
    mode: Annotated[str, OneOf("gru", "lstm", "rnn_relu", "rnn_tanh")], p: Float = 0.0, state_outputs: Bool = False,
    projection_size: OptInt = None, lstm_state_clip_min: OptDouble = None, lstm_state_clip_max: OptDouble = None,
    lstm_state_clip_nan: Bool = False, use_sequence_length: Bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """LSTM layers over uint8 data = x * data_scale + data_shift, with float32 states and results; see RNN.

    data (t, n, c) uint8 -> float32 (t, n, directions * state_size) and, on request, the last states.
    Source: src/operator/quantization/quantized_rnn.cc. Deviations: weights are not quantised.
    """
    wide = (data.float() - data_shift) / data_scale
    results: tuple[Tensor, ...] = rnn(
        wide, parameters, state, state_cell, None, state_size=state_size, num_layers=num_layers, bidirectional=bidirectional, mode=mode, p=0.0,
        state_outputs=state_outputs, projection_size=projection_size, lstm_state_clip_min=lstm_state_clip_min,
        lstm_state_clip_max=lstm_state_clip_max, lstm_state_clip_nan=lstm_state_clip_nan, use_sequence_length=False, train=False,
    )  # fmt: skip
    return results
