"""Boxes: overlap, suppression, matching, encoding (`_contrib_box_*`, `_contrib_bipartite_matching`)."""

from __future__ import annotations

from typing import Annotated

import torch

from ..infer.state import Shapes
from ..registry import Attrs, Grad, Tensor, op
from ..values import Bool, Float, Int, OneOf
from .runtime.boxes import box_nms as run_box_nms
from .runtime.boxes import match_rows_and_columns

__all__: list[str] = []

Encoding = Annotated[str, OneOf("center", "corner")]


def _nms_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data") if s.get("data") is not None else s.out(0)
    if data is None:
        return
    if len(data) < 2:
        raise s.fail(f"input must have dim >= 2, the last two being num_box and box_width; {list(data)} provided")
    s.unify("data", data)
    s.unify_out(data, 0)
    s.unify_out((*data[:-1], 1), 1)
    width, low, high = data[-1], a.coord_start, a.coord_start + 3
    if width == -1:
        return
    expected = 5 + (a.id_index >= 0)
    if width < expected:
        raise s.fail(f"the last dimension must have at least {expected} elements (score, 4 coordinates{', id' * (expected > 5)}), got {width}")
    if low < 0 or high >= width:
        raise s.fail(f"coordinates: ({low}, {high}) out of range: (0, {width})")
    for name, index in (("score_index", a.score_index), ("id_index", a.id_index)):
        if name == "id_index" and index < 0:
            continue
        if not 0 <= index < width:
            raise s.fail(f"{name}: {index} out of range: (0, {width})")
        if low <= index <= high:
            raise s.fail(f"{name}: {index} conflict with coordinates: ({low}, {high})")
    if a.id_index == a.score_index:
        raise s.fail(f"id_index: {a.id_index} conflict with score_index: {a.score_index}")


@op(
    "_contrib_box_nms", floats_only=True,
    aliases=("_contrib_box_non_maximum_suppression",), shape=_nms_shape, outputs=("output0", "output1"), visible=1,
)  # fmt: skip
def box_nms(
    data: Tensor, /, *, overlap_thresh: Float = 0.5, valid_thresh: Float = 0.0, topk: Int = -1, coord_start: Int = 2, score_index: Int = 1,
    id_index: Int = -1, background_id: Int = -1, force_suppress: Bool = False, in_format: Encoding = "corner", out_format: Encoding = "corner",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Non-maximum suppression: the surviving boxes by falling score, then rows of -1.

    data (*s, n, w), each row holding score, four coordinates and perhaps a class -> (*s, n, w). Only rows with score > valid_thresh (and a
    class other than background_id) take part, at most topk of them. The gradient returns to the rows that survived.
    Source: src/operator/contrib/bounding_box.cc
    """
    return run_box_nms(
        data, overlap_thresh, valid_thresh, topk, coord_start, score_index, id_index, background_id, force_suppress, in_format, out_format
    )


def _iou_shape(a: Attrs, s: Shapes) -> None:
    lhs, rhs = s.get("lhs"), s.get("rhs")
    for name, known in (("lhs", lhs), ("rhs", rhs)):
        if known is not None and len(known) < 2:
            raise s.fail(f"{name} must have dim >= 2, {len(known)} provided")
        if known is not None and known[-1] not in (4, -1):
            raise s.fail(f"last dimension of {name} must be 4, {known[-1]} provided")
    if lhs is not None and rhs is not None:
        s.unify_out((*lhs[:-1], *rhs[:-1]))


def _columns(boxes: Tensor, encoding: str) -> list[Tensor]:
    """Left, top, right, bottom and area (n,) of boxes in either encoding; a box of negative extent has no area."""
    first, second, third, fourth = boxes.reshape(-1, 4).t().contiguous().unbind(0)
    if encoding == "center":
        width, height = third, fourth
        first, second, third, fourth = first - width / 2, second - height / 2, first + width / 2, second + height / 2
    else:
        width, height = third - first, fourth - second
    area = torch.where((width < 0) | (height < 0), torch.zeros_like(width), width * height)
    return [first, second, third, fourth, area]


@op("_contrib_box_iou", floats_only=True, shape=_iou_shape, grad=Grad.ZERO)
def box_iou(lhs: Tensor, rhs: Tensor, /, *, format: Encoding = "corner") -> Tensor:
    """Intersection over union of every pair of boxes.

    lhs (*l, 4), rhs (*r, 4) -> (*l, *r). Source: src/operator/contrib/bounding_box.cc
    """
    left, top, right, bottom, area = (c[:, None] for c in _columns(lhs, format))
    other = _columns(rhs, format)
    width = (torch.minimum(right, other[2]) - torch.maximum(left, other[0])).clamp_min(0)
    inside = width * (torch.minimum(bottom, other[3]) - torch.maximum(top, other[1])).clamp_min(0)
    ratio = torch.where(inside > 0, inside / (area + other[4] - inside), 0.0)
    return ratio.reshape(*lhs.shape[:-1], *rhs.shape[:-1])


def _matching_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    if len(data) < 2:
        raise s.fail(f"score matrix must have dim >= 2, {len(data)} provided")
    s.unify_out(data[:-1], 0)
    s.unify_out((*data[:-2], data[-1]), 1)


@op("_contrib_bipartite_matching", floats_only=True, shape=_matching_shape, outputs=("output0", "output1"), grad=Grad.ZERO)
def bipartite_matching(data: Tensor, /, *, is_ascend: Bool = False, threshold: Float, topk: Int = -1) -> tuple[Tensor, Tensor]:
    """Greedy matching of rows to columns by the best remaining score.

    data (*s, r, c) -> column of each row (*s, r) and row of each column (*s, c), -1 where none, in the type of data. Pairs must be above
    threshold (below it with is_ascend). Deviations: none; like MXNet, topk > 0 yields up to topk + 1 pairs.
    Source: src/operator/contrib/bounding_box.cc
    """
    return match_rows_and_columns(data, is_ascend, threshold, topk)


def _encode_shape(a: Attrs, s: Shapes) -> None:
    samples, matches, anchors, refs = (s.get(i) for i in range(4))
    for name, known, dims in (("samples", samples, 2), ("matches", matches, 2), ("anchors", anchors, 3), ("refs", refs, 3)):
        if known is not None and len(known) != dims:
            raise s.fail(f"{name} shape must have dim == {dims}, {len(known)} provided")
        if known is not None and dims == 3 and known[-1] not in (4, -1):
            raise s.fail(f"last dimension of {name} must be 4, {known[-1]} provided")
    if samples is None or matches is None or anchors is None or refs is None:
        return
    s.unify("means", (4,))
    s.unify("stds", (4,))
    s.unify_out(anchors, 0)
    s.unify_out(anchors, 1)


@op("_contrib_box_encode", floats_only=True, shape=_encode_shape, outputs=("output0", "output1"), grad=Grad.ZERO)
def box_encode(samples: Tensor, matches: Tensor, anchors: Tensor, refs: Tensor, means: Tensor, stds: Tensor, /) -> tuple[Tensor, Tensor]:
    """Regression targets of anchors towards their matched boxes, and the mask of the samples that have one.

    samples, matches (b, n), anchors (b, n, 4), refs (b, m, 4), means, stds (4,) -> targets and masks (b, n, 4); corners in,
    (centre offset, log extent) out. Source: src/operator/contrib/bounding_box.cc
    """
    matched = refs.gather(1, matches.long()[:, :, None].expand(-1, -1, 4))
    extent, anchor_extent = matched[..., 2:] - matched[..., :2], anchors[..., 2:] - anchors[..., :2]
    centre, anchor_centre = matched[..., :2] + extent * 0.5, anchors[..., :2] + anchor_extent * 0.5
    offsets = torch.cat([(centre - anchor_centre) / anchor_extent, (extent / anchor_extent).log()], -1)
    valid = (samples > 0.5)[:, :, None].expand_as(offsets)
    return torch.where(valid, (offsets - means) / stds, torch.zeros_like(offsets)), valid.to(anchors.dtype)


def _decode_shape(a: Attrs, s: Shapes) -> None:
    for name in ("data", "anchors"):
        known = s.get(name)
        if known is not None and len(known) != 3:
            raise s.fail(f"{name} shape must have dim == 3, {len(known)} provided")
        if known is not None and known[-1] not in (4, -1):
            raise s.fail(f"last dimension of {name} must be 4, {known[-1]} provided")
    if s.get("data") is not None:
        s.unify_out(s.get("data"))


@op("_contrib_box_decode", floats_only=True, shape=_decode_shape, grad=Grad.ZERO)
def box_decode(
    data: Tensor, anchors: Tensor, /, *, std0: Float = 1.0, std1: Float = 1.0, std2: Float = 1.0, std3: Float = 1.0, clip: Float = -1.0,
    format: Encoding = "center",
) -> Tensor:  # fmt: skip
    """Corner boxes from offsets towards anchors.

    data (b, n, 4), anchors (1, n, 4) -> (b, n, 4). clip > 0 bounds the scaled log extents. Source: src/operator/contrib/bounding_box.cc
    """
    base = anchors[:1]
    centre, extent = base[..., :2], base[..., 2:]
    if format == "corner":
        extent = extent - centre
        centre = centre + extent * 0.5
    middle = torch.stack([data[..., 0] * std0, data[..., 1] * std1], -1) * extent + centre
    growth = torch.stack([data[..., 2] * std2, data[..., 3] * std3], -1)
    if clip > 0:
        growth = growth.clamp_max(clip)
    half = growth.exp() * extent * 0.5
    return torch.cat([middle - half, middle + half], -1)
