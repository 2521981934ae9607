"""Between floating numbers and 8-bit integers: `_contrib_quantize`, `_v2`, `_asym`, `_contrib_dequantize`, `_contrib_requantize`, calibration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import torch

from ..infer.state import Dtypes, Shapes, show
from ..registry import Attrs, Grad, Tensor, op
from ..values import Int, OneOf, OptFloat
from .runtime import quantized
from .runtime.quantized import INT8_RANGE, UINT8_RANGE, calibrate_entropy, largest, ratio, to_integers

__all__ = ["float_inputs", "quantized_type", "range_inputs"]

OutType = Annotated[str, OneOf("auto", "int8", "uint8")]
_BYTES = (torch.uint8, torch.int8)


def quantized_type(out_type: str, low: float | None, high: float | None) -> torch.dtype:
    """int8 or uint8; 'auto' is uint8 for a calibrated range without negative numbers."""
    if out_type == "auto":
        return torch.uint8 if low is not None and high is not None and low >= 0 else torch.int8
    return torch.uint8 if out_type == "uint8" else torch.int8


def range_inputs(first: int, outputs: int = 3, waits: bool = False) -> Callable[[Attrs, Shapes], None]:
    """The first input and output have one shape; inputs from `first` on and the other outputs are ranges of shape (1,).

    waits: the outputs stay unknown as long as the first input is.
    """

    def rule(a: Attrs, s: Shapes) -> None:
        s.unify_out(s.get(0))
        s.unify(0, s.out())
        for position in range(first, len(s.inputs)):
            s.unify(position, (1,))
        for index in range(1, 1 if waits and s.get(0) is None else min(outputs, len(s.outputs))):
            s.unify_out((1,), index)

    return rule


def float_inputs(first: int) -> Callable[[Attrs, Dtypes], None]:
    """Inputs from `first` on and outputs from the second on are float32."""

    def rule(a: Attrs, t: Dtypes) -> None:
        for position in range(first, len(t.inputs)):
            t.unify(position, torch.float32)
        for index in range(1, len(t.outputs)):
            t.unify_out(torch.float32, index)

    return rule


def _bytes_in(t: Dtypes, *allowed: torch.dtype) -> None:
    known = t.get(0)
    if known is not None and known not in allowed:
        raise t.fail(f"the input must be {' or '.join(show(d) for d in allowed)}, got {show(known)}")


def _quantize_dtype(a: Attrs, t: Dtypes) -> None:
    float_inputs(0)(a, t)
    t.unify_out(quantized_type(a.out_type, None, None))


@op(
    "_contrib_quantize", shape=range_inputs(1), dtype=_quantize_dtype, outputs=("output0", "output1", "output2"), grad=Grad.ZERO,
)  # fmt: skip
def quantize(
    data: Tensor, min_range: Tensor, max_range: Tensor, /, *, out_type: Annotated[str, OneOf("int8", "uint8")] = "uint8"
) -> tuple[Tensor, Tensor, Tensor]:
    """8-bit integers for a given range.

    data any shape, min_range, max_range (1,) -> integers, and the range they stand for: as given for uint8, symmetric for int8.
    Source: src/operator/quantization/mkldnn/mkldnn_quantize-inl.h
    """
    real = largest(min_range, max_range)
    if out_type == "uint8":
        return to_integers(data * ratio(255.0, real), torch.uint8), min_range.clone(), max_range.clone()
    return to_integers(data * ratio(127.0, real), torch.int8), -real, real


def _quantize_v2_dtype(a: Attrs, t: Dtypes) -> None:
    _bytes_in(t, torch.float32, *_BYTES)
    float_inputs(1)(a, t)
    t.unify_out(quantized_type(a.out_type, a.min_calib_range, a.max_calib_range))


@op(
    "_contrib_quantize_v2", shape=range_inputs(1), dtype=_quantize_v2_dtype, outputs=("output0", "output1", "output2"), grad=Grad.ZERO,
)  # fmt: skip
def quantize_v2(
    data: Tensor, /, *, out_type: OutType = "int8", min_calib_range: OptFloat = None, max_calib_range: OptFloat = None
) -> tuple[Tensor, Tensor, Tensor]:
    """8-bit integers for a calibrated range, or for the range of the data itself; integers pass through.

    data any shape -> integers and the range (1,), (1,) they stand for. Source: src/operator/quantization/mkldnn/mkldnn_quantize_v2-inl.h
    """
    calibrated = min_calib_range is not None and max_calib_range is not None
    if data.dtype in _BYTES:
        level = UINT8_RANGE if data.dtype == torch.uint8 else INT8_RANGE
        low = min_calib_range if calibrated else 0.0 if data.dtype == torch.uint8 else -level
        high = max_calib_range if calibrated else level
        return data.clone(), _one(data, low), _one(data, high)
    low_value = _one(data, min_calib_range) if calibrated else data.min().reshape(1)
    high_value = _one(data, max_calib_range) if calibrated else data.max().reshape(1)
    real = largest(low_value, high_value)
    kind = quantized_type(out_type, min_calib_range, max_calib_range)
    if kind == torch.uint8:
        return to_integers(data * ratio(UINT8_RANGE, real), kind), low_value, high_value
    return to_integers(data * ratio(INT8_RANGE, real), kind), -real, real


def _one(like: Tensor, value: float | None) -> Tensor:
    return like.new_full((1,), 0.0 if value is None else value, dtype=torch.float32)


def _asym_dtype(a: Attrs, t: Dtypes) -> None:
    _bytes_in(t, torch.float32)
    float_inputs(1)(a, t)
    t.unify_out(torch.uint8)


@op("_contrib_quantize_asym", shape=range_inputs(1), dtype=_asym_dtype, outputs=("output", "scale", "shift"), grad=Grad.ZERO)
def quantize_asym(data: Tensor, /, *, min_calib_range: OptFloat = None, max_calib_range: OptFloat = None) -> tuple[Tensor, Tensor, Tensor]:
    """uint8 numbers data * scale + shift that cover the whole range of the data.

    data float32 -> integers, scale (1,), shift (1,). Source: src/operator/quantization/quantize_asym-inl.h
    """
    calibrated = min_calib_range is not None and max_calib_range is not None
    low = _one(data, min_calib_range) if calibrated else data.min().reshape(1)
    high = _one(data, max_calib_range) if calibrated else data.max().reshape(1)
    scale = ratio(255.0, high - low)
    shift = 255.0 - high * scale
    return (data * scale + shift + 0.5).clamp(0.0, 255.0).to(torch.uint8), scale, shift


def _dequantize_dtype(a: Attrs, t: Dtypes) -> None:
    _bytes_in(t, *_BYTES)
    float_inputs(1)(a, t)
    t.unify_out(torch.float32)


@op("_contrib_dequantize", shape=range_inputs(1), dtype=_dequantize_dtype, grad=Grad.ZERO)
def dequantize(
    data: Tensor, min_range: Tensor, max_range: Tensor, /, *, out_type: Annotated[str, OneOf("float32")] = "float32"
) -> Tensor:
    """The floating numbers that 8-bit integers stand for.

    data int8 or uint8, min_range, max_range (1,) -> float32. Source: src/operator/quantization/mkldnn/mkldnn_dequantize-inl.h
    """
    return data.float() * (largest(min_range, max_range) / quantized.levels(data.dtype))


def _requantize_dtype(a: Attrs, t: Dtypes) -> None:
    t.unify(0, torch.int32)
    float_inputs(1)(a, t)
    t.unify_out(quantized_type(a.out_type, a.min_calib_range, a.max_calib_range))


@op(
    "_contrib_requantize", shape=range_inputs(1), dtype=_requantize_dtype, outputs=("output0", "output1", "output2"), grad=Grad.ZERO,
)  # fmt: skip
def requantize(
    data: Tensor, min_range: Tensor, max_range: Tensor, /, *, out_type: OutType = "int8", min_calib_range: OptFloat = None,
    max_calib_range: OptFloat = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """32-bit results as 8-bit integers, for a calibrated range or for the range of the data.

    data int32, min_range, max_range (1,) -> integers and the range they stand for.
    Source: src/operator/quantization/mkldnn/mkldnn_requantize-inl.h
    """
    step = largest(min_range, max_range) / 2147483648.0
    if min_calib_range is not None and max_calib_range is not None:
        real = _one(min_range, max(abs(min_calib_range), abs(max_calib_range)))
    else:
        wide = data.double()
        real = (torch.maximum(wide.min().abs(), wide.max().abs()) * step).float().reshape(1)
    kind = quantized_type(out_type, min_calib_range, max_calib_range)
    level = 255.0 if kind == torch.uint8 else 127.0
    return to_integers(data.float() * (step * ratio(level, real)), kind), torch.zeros_like(real) if kind == torch.uint8 else -real, real


def _calibrate_shape(a: Attrs, s: Shapes) -> None:
    s.unify_out((1,), 0)
    s.unify_out((1,), 1)


def _calibrate_dtype(a: Attrs, t: Dtypes) -> None:
    float_inputs(0)(a, t)
    t.unify_out(torch.float32)


@op("_contrib_calibrate_entropy", shape=_calibrate_shape, dtype=_calibrate_dtype, outputs=("threshold", "divergence"), grad=Grad.MISSING)
def calibrate_entropy_(hist: Tensor, hist_edges: Tensor, /, *, num_quantized_bins: Int = 255) -> tuple[Tensor, Tensor]:
    """The range whose quantised histogram keeps most information.

    hist (n,), hist_edges (n + 1,) -> threshold (1,), divergence (1,). Source: src/operator/quantization/calibrate.cc
    """
    return calibrate_entropy(hist, hist_edges, num_quantized_bins)
