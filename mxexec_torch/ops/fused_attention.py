"""Self-attention products that MXNet's oneDNN back-end wrote into symbol files: `_sg_mkldnn_selfatt_qk`, `_sg_mkldnn_selfatt_valatt`.

Facts: src/operator/subgraph/mkldnn/mkldnn_transformer.cc
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..infer.state import Dtypes, Shapes
from ..registry import Attrs, Grad, Tensor, op
from ..values import Bool, Int, OptFloat
from .runtime.quantized import largest, levels, product_range, ratio, to_integers

__all__: list[str] = []


def _quantized(a: Attrs) -> bool:
    return bool(a.quantized)


def _calibrated(a: Attrs) -> bool:
    return a.min_calib_range is not None and a.max_calib_range is not None


def _outputs(a: Attrs) -> tuple[str, ...]:
    return ("output", "min_output", "max_output") if a.quantized and not a.enable_float_output else ("output",)


def _dtype(*kinds: torch.dtype) -> Callable[[Attrs, Dtypes], None]:
    def rule(a: Attrs, t: Dtypes) -> None:
        for position in range(len(t.inputs)):
            t.unify(position, kinds[position] if a.quantized and position < len(kinds) else torch.float32)
        integers = torch.int8 if _calibrated(a) else torch.int32
        t.unify_out(integers if len(t.outputs) == 3 else torch.float32)
        for index in range(1, len(t.outputs)):
            t.unify_out(torch.float32, index)

    return rule


def _ranges(a: Attrs, s: Shapes) -> None:
    for name in s.names:
        if name.startswith(("min_", "max_")):
            s.unify(name, (1,))
    for index in range(1, len(s.outputs)):
        s.unify_out((1,), index)


def _qk_shape(a: Attrs, s: Shapes) -> None:
    qkv = s.get(0)
    _ranges(a, s)
    if qkv is not None and len(qkv) != 3:
        raise s.fail(f"queries, keys and values must have three dimensions (length, batch, 3 * width), got {len(qkv)}")
    if qkv is not None and -1 not in qkv:
        s.unify_out((qkv[1] * a.heads, qkv[0], qkv[0]))


def _valatt_shape(a: Attrs, s: Shapes) -> None:
    qkv = s.get(0)
    _ranges(a, s)
    if qkv is not None and len(qkv) != 3:
        raise s.fail(f"queries, keys and values must have three dimensions (length, batch, 3 * width), got {len(qkv)}")
    if qkv is not None and -1 not in qkv:
        s.unify("attention", (qkv[1] * a.heads, qkv[0], qkv[0]))
        s.unify_out((qkv[0], qkv[1], qkv[2] // 3))


def _parts(qkv: Tensor, heads: int) -> Tensor:
    """(3, batch * heads, length, width of a head), exact for integers."""
    length, batch, width = qkv.shape
    wide = qkv if qkv.is_floating_point() else qkv.double()
    return wide.reshape(length, batch * heads, 3, width // (3 * heads)).permute(2, 1, 0, 3)


def _finish(total: Tensor, scale: Tensor, reach: Tensor, low: float | None, high: float | None, as_float: bool) -> Any:
    """A product of integers as floats, as calibrated int8, or as int32 with its range."""
    if low is not None and high is not None:
        bounds = [scale.new_full((1,), v, dtype=torch.float32) for v in (low, high)]
        return to_integers(total.float() * (ratio(levels(torch.int8), largest(*bounds)) / scale), torch.int8), *bounds
    if as_float:
        return total.float() * ratio(1.0, scale)
    return to_integers(total, torch.int32), -reach, reach


_QK_RANGE = {"min_qkv": _quantized, "max_qkv": _quantized}


@op(
    "_sg_mkldnn_selfatt_qk", present=_QK_RANGE, shape=_qk_shape, dtype=_dtype(torch.int8), outputs=_outputs, grad=Grad.ZERO,
    table=("queries_keys_values", "heads", "quantized", "enable_float_output", "min_calib_range", "max_calib_range"),
)  # fmt: skip
def selfatt_qk(
    queries_keys_values: Tensor, min_qkv: Tensor | None = None, max_qkv: Tensor | None = None, /, *, heads: Int, quantized: Bool = False,
    enable_float_output: Bool = False, min_calib_range: OptFloat = None, max_calib_range: OptFloat = None,
) -> Any:  # fmt: skip
    """Products of queries and keys, divided by the square root of the head's width.

    queries_keys_values (length, batch, 3 * width), interleaved by head -> (batch * heads, length, length); int8 with a range when quantised.
    Source: src/operator/subgraph/mkldnn/mkldnn_transformer.cc
    """
    query, key, _ = _parts(queries_keys_values, heads)
    total = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    if min_qkv is None or max_qkv is None:
        return total
    reach = largest(min_qkv, max_qkv)
    scale = ratio(levels(torch.int8), reach)
    return _finish(total, scale * scale, product_range(reach, reach, False), min_calib_range, max_calib_range, enable_float_output)


_ALL_RANGES = dict.fromkeys(("min_qkv", "max_qkv", "min_attention", "max_attention"), _quantized)


@op(
    "_sg_mkldnn_selfatt_valatt", present=_ALL_RANGES, shape=_valatt_shape, dtype=_dtype(torch.int8, torch.uint8), outputs=_outputs,
    grad=Grad.ZERO, table=("queries_keys_values", "attention", "heads", "quantized", "enable_float_output", "min_calib_range", "max_calib_range"),
)  # fmt: skip
def selfatt_valatt(
    queries_keys_values: Tensor, attention: Tensor, min_qkv: Tensor | None = None, max_qkv: Tensor | None = None,
    min_attention: Tensor | None = None, max_attention: Tensor | None = None, /, *, heads: Int, quantized: Bool = False,
    enable_float_output: Bool = False, min_calib_range: OptFloat = None, max_calib_range: OptFloat = None,
) -> Any:  # fmt: skip
    """Values weighted by attention.

    queries_keys_values (length, batch, 3 * width), attention (batch * heads, length, length) -> (length, batch, width); int8 and uint8 with
    ranges when quantised. Source: src/operator/subgraph/mkldnn/mkldnn_transformer.cc
    """
    length, batch, _ = queries_keys_values.shape
    values = _parts(queries_keys_values, heads)[2]
    total = (attention.to(values.dtype) @ values).transpose(0, 1).reshape(length, batch, -1)
    if min_qkv is None or max_qkv is None or min_attention is None or max_attention is None:
        return total
    reach, weight = largest(min_qkv, max_qkv), largest(min_attention, max_attention)
    scale = ratio(levels(torch.int8), reach) * ratio(levels(torch.uint8), weight)
    return _finish(total, scale, product_range(weight, reach, True), min_calib_range, max_calib_range, enable_float_output)
