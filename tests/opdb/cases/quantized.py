"""Quantised operators: whole-number results must be equal."""

from typing import Any

from ..case import Array, Case, integers, normal, uniform, values, zeros

_I8 = integers(2, 4, 6, 6, low=-127, high=127, dtype="int8")
_U8 = integers(2, 4, 6, 6, high=255, dtype="uint8")
_WEIGHT, _BIAS = integers(8, 4, 3, 3, low=-127, high=127, dtype="int8"), integers(8, low=-127, high=127, dtype="int8")
_BOTH = (("int8", _I8, -1.5), ("uint8", _U8, 0.0))
_POOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("plain", dict(kernel=(2, 2))), ("strided", dict(kernel=(3, 3), stride=(2, 2), pad=(1, 1))),
    ("full", dict(kernel=(2, 2), stride=(2, 2), pooling_convention="full")), ("global", dict(kernel=(2, 2), global_pool=True)),
)  # fmt: skip
_UNJUDGED = {"quantized_concat": {"partial": "MXNet counts an unknown length as nothing, and then refuses the known one"}}
_SYMBOLS_ONLY = ("quantized_elemwise_mul",)  # their imperative calls fail in MXNet


def _case(op: str, label: str, inputs: dict[str, Array], **attrs: Any) -> Case:
    return Case(f"_contrib_{op}", label, inputs=inputs, attrs=attrs, grad=(), train=(False,), onednn=True, unjudged=_UNJUDGED.get(op, {}),
                paths=("sym",) if op in _SYMBOLS_ONLY else ("sym", "nd"))  # fmt: skip


def _number(value: float) -> Array:
    return values([value])


def _ranges(**ends: float) -> dict[str, Array]:
    return {name: _number(value) for name, value in ends.items()}


def _layer(label: str, op: str, data: Array, low: float, weight: Array, bias: Array, **attrs: Any) -> Case:
    ends = _ranges(min_data=low, max_data=2.0, min_weight=-1.0, max_weight=1.2, min_bias=-0.3, max_bias=0.4)
    return _case(op, label, dict(data=data, weight=weight, bias=bias, **ends), **attrs)


def _pair(op: str, label: str, lhs: Array, rhs: Array, low: float, **attrs: Any) -> Case:
    return _case(op, label, dict(lhs=lhs, rhs=rhs, **_ranges(lhs_min=low, lhs_max=2.0, rhs_min=low, rhs_max=3.0)), **attrs)


CASES = [
    *[_case("quantize_v2", label, dict(data=normal(3, 4, 5, std=2)), **attrs) for label, attrs in (
        ("int8", dict(out_type="int8")), ("calibrated", dict(out_type="int8", min_calib_range=-1.5, max_calib_range=2.0)),
        ("auto", dict(out_type="auto", min_calib_range=-1.0, max_calib_range=2.0)))],
    _case("quantize_v2", "auto_unsigned", dict(data=uniform(3, 4, low=0, high=3)), out_type="auto", min_calib_range=0.0, max_calib_range=2.0),
    _case("quantize", "int8", dict(data=normal(3, 4, std=2), **_ranges(min_range=-2, max_range=2.5)), out_type="int8"),
    _case("quantize", "uint8", dict(data=uniform(3, 4, low=0, high=3), **_ranges(min_range=0, max_range=2.5)), out_type="uint8"),
    *[_case("dequantize", n, dict(data=d, **_ranges(min_range=low, max_range=2))) for n, d, low in _BOTH],
    *[_case("quantized_flatten", n, dict(data=d, **_ranges(min_data=low, max_data=2))) for n, d, low in _BOTH],
    *[
        _case("quantized_pooling", f"{n}_{kind}_{label}", dict(data=d, **_ranges(min_data=low, max_data=2)), pool_type=kind, **attrs)
        for n, d, low in _BOTH for label, attrs in _POOLS for kind in ("max", "avg")
    ],
    *[_case("quantized_act", n, dict(data=d, **_ranges(min_data=low, max_data=2)), act_type="relu") for n, d, low in _BOTH],
    _layer("uint8", "quantized_conv", _U8, 0.0, _WEIGHT, _BIAS, kernel=(3, 3), num_filter=8, pad=(1, 1)),
    *[
        _layer(n, "quantized_fully_connected", integers(2, 144, low=0 if n == "uint8" else -127, high=127, dtype=n), low,
               integers(5, 144, low=-127, high=127, dtype="int8"), integers(5, low=-127, high=127, dtype="int8"), num_hidden=5)
        for n, _, low in _BOTH
    ],
    _pair("quantized_elemwise_add", "int8", _I8, _I8, -1.5), _pair("quantized_elemwise_add", "mixed", _I8, _U8, -1.5),
    _pair("quantized_elemwise_add", "mixed_calibrated", _I8, _U8, 0.0, min_calib_range=-3.0, max_calib_range=4.0),
    _pair("quantized_elemwise_add", "unsigned_first", _U8, _I8, 0.0), _pair("quantized_elemwise_add", "unsigned", _U8, _U8, 0.0),
    _pair("quantized_elemwise_add", "unsigned_first_calibrated", _U8, _I8, 0.0, min_calib_range=-3.0, max_calib_range=4.0),
    _pair("quantized_elemwise_add", "unsigned_calibrated", _U8, _U8, 0.0, min_calib_range=0.0, max_calib_range=4.0),
    _pair("quantized_elemwise_add", "calibrated", _I8, _I8, -1.5, min_calib_range=-3.0, max_calib_range=4.0),
    *[_pair("quantized_elemwise_mul", label, _I8, _I8, -1.5, **attrs) for label, attrs in (
        ("int32", {}), ("float", dict(enable_float_output=True)), ("int8", dict(min_calib_range=-2.0, max_calib_range=1.0)))],
    *[
        _case("requantize", label, dict(data=integers(3, 4, low=0 if "out_type" in attrs else -(10**9), high=10**9, dtype="int32"),
                                        **_ranges(min_range=-3, max_range=2)), **attrs)
        for label, attrs in (("own_range", {}), ("calibrated", dict(min_calib_range=-1.0, max_calib_range=0.5)),
                             ("uint8", dict(out_type="uint8", min_calib_range=0.0, max_calib_range=0.5)))
    ],
    *[
        _case("quantized_concat", label, dict(arg0=first, arg1=_I8, arg0_min=_number(low), arg1_min=_number(-3.0), arg0_max=_number(2.0),
                                              arg1_max=_number(1.0)), num_args=2, dim=1)
        for label, first, low in (("int8", _I8, -1.0), ("mixed", _U8, 0.0))
    ],
    _case("quantized_embedding", "default", dict(data=values([0.0, 2, 4]), weight=integers(5, 3, low=-127, high=127, dtype="int8"),
                                                 **_ranges(min_weight=-1, max_weight=1)), input_dim=5, output_dim=3),
    _case("quantized_batch_norm", "int8", dict(
        data=_I8, gamma=uniform(4, low=0.5, high=1.5), beta=normal(4), moving_mean=zeros(4), moving_var=uniform(4, low=0.5, high=1.5),
        **_ranges(min_data=-1.5, max_data=2)), min_calib_range=-4.0, max_calib_range=4.0),
    *[
        Case("_contrib_calibrate_entropy", label, inputs=dict(hist=hist, hist_edges=values([k * 0.25 for k in range(42)])), attrs=dict(num_quantized_bins=bins), grad=())
        for label, hist, bins in (("peaked", values([max(0, 60 - 5 * abs(k - 20)) + k % 3 for k in range(41)]), 15), ("flat", values([7] * 41), 11))
    ],
    Case("_contrib_quantized_act", "gradient", inputs=dict(data=_I8, **_ranges(min_data=-1, max_data=2)), attrs=dict(act_type="sigmoid"), error=True, grad=(),
         paths=("nd",), onednn=True),
]  # fmt: skip
