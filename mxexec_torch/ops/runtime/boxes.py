"""Greedy non-maximum suppression and greedy matching, on matrices and blocks instead of a box at a time."""

from __future__ import annotations

from typing import Any

import torch

from .leaf import leaf

__all__ = ["box_nms", "greedy_keep", "greedy_match", "match_rows_and_columns", "overlaps", "top_order"]

Tensor = torch.Tensor
_BLOCK = 128  # boxes resolved together: large enough to amortise a call, small enough that few suppressed boxes are compared


def top_order(score: Tensor, count: int) -> Tensor:
    """Positions of the `count` largest scores, largest first, equal ones in their order."""
    if 4 * count > score.numel():
        return score.argsort(descending=True, stable=True)[:count]
    place = (score >= score.topk(count).values[-1]).nonzero()[:, 0]  # sorting only these is several times faster
    return place[score[place].argsort(descending=True, stable=True)[:count]]


def overlaps(a: Tensor, b: Tensor, threshold: float, inclusive: bool = False, pixel: float = 0.0) -> Tensor:
    """Whether the intersection over union of each pair reaches the threshold: columns (5, n), (5, m) of corners and area -> (n, m) of bool.

    pixel: 1 where a box of equal borders covers one pixel.
    """
    left, top, right, bottom, area = a[:, :, None]
    width = torch.minimum(right, b[2]).sub_(torch.maximum(left, b[0]))
    height = torch.minimum(bottom, b[3]).sub_(torch.maximum(top, b[1]))
    if pixel:
        width, height = width.add_(pixel), height.add_(pixel)
    inside = width.clamp_min_(0).mul_(height.clamp_min_(0))
    union = torch.add(area, b[4], out=height).sub_(inside)
    if inclusive:  # an empty union counts as no overlap
        return (inside.div_(union) >= threshold) & (union > 0)
    return inside.div_(union) > threshold


def greedy_keep(boxes: Tensor, threshold: float, groups: Tensor | None = None, limit: int = -1, **how: Any) -> Tensor:
    """Positions of the boxes that survive when each box, in the given order, removes the later ones it overlaps.

    boxes (n, 5): corners and area. groups (n,): only boxes of one group suppress each other. limit: stop after that many
    (without groups).
    """
    columns = boxes.t().contiguous()
    alive = torch.arange(boxes.shape[0], device=boxes.device) if groups is None else groups.argsort(stable=True)
    kept: list[Tensor] = []
    count = 0

    def hits(first: Tensor, second: Tensor) -> Tensor:
        found = overlaps(columns[:, first], columns[:, second], threshold, **how)
        return found if groups is None else found & (groups[first, None] == groups[second])

    while alive.numel() and (limit < 0 or count < limit):
        block, rest = alive[:_BLOCK], alive[_BLOCK:]
        own = hits(block, block).triu_(1)
        survives = ~own[0]  # the first box is never removed; the fixpoint below settles the others
        while True:
            again = ~(own & survives[:, None]).any(0)
            if torch.equal(again, survives):
                break
            survives = again
        block, last = block[survives], block[-1]
        kept.append(block)
        count += block.numel()
        if groups is not None and rest.numel():  # in group order only the block's last group goes on behind it
            reach = int((groups[rest] == groups[last]).sum())
            near, alive = rest[:reach], rest[reach:]
            if reach:
                alive = torch.cat([near[~hits(block, near).any(0)], alive])
        else:
            alive = rest[~hits(block, rest).any(0)] if rest.numel() else rest
    order = torch.cat(kept) if kept else alive
    if groups is not None:
        order = order.sort().values
    return order if limit < 0 else order[:limit]


def greedy_match(score: Tensor) -> Tensor:
    """Column matched to each row (-1: none) when pairs are taken by falling score, each row and column once.

    score (b, r, c), pairs of -inf are never taken; ties go to the lower row, then the lower column. Each round takes every pair that is
    best in its row and in its column: the greedy order is total, so those pairs are all in the greedy result.
    """
    b, r, c = score.shape
    match = torch.full((b, r), -1, dtype=torch.long, device=score.device)
    rows = torch.arange(r, device=score.device)
    while r and c:
        best, column = score.max(2)
        row = score.max(1).indices
        taken = (row.gather(1, column) == rows) & (best > -torch.inf)
        if not bool(taken.any()):
            break
        match = torch.where(taken, column, match)
        used = torch.zeros(b, c + 1, dtype=torch.bool, device=score.device).scatter_(1, torch.where(taken, column, c), True)[:, :c]
        score = score.masked_fill(taken[:, :, None] | used[:, None, :], -torch.inf)
    return match


@leaf
def match_rows_and_columns(data: Tensor, ascending: bool, threshold: float, topk: int) -> tuple[Tensor, Tensor]:
    """Greedy matching of a score matrix: the column of each row (*s, r) and the row of each column (*s, c), -1 for none."""
    *lead, r, c = data.shape
    if data.is_meta:
        return data.new_empty((*lead, r)), data.new_empty((*lead, c))
    score = data.reshape(-1, r, c)
    good = score < threshold if ascending else score > threshold
    score = torch.where(good, -score if ascending else score, -torch.inf)
    match = greedy_match(score)
    if topk > 0:  # MXNet stops only when more than topk pairs are taken
        value = score.gather(2, match.clamp_min(0)[:, :, None])[:, :, 0].masked_fill(match < 0, -torch.inf)
        place = value.argsort(dim=1, descending=True, stable=True).argsort(dim=1)
        match = torch.where(place <= topk, match, -1)
    rows = torch.arange(r, device=data.device).expand_as(match)
    back = torch.full((match.shape[0], c + 1), -1, device=data.device).scatter_(1, torch.where(match < 0, c, match), rows)[:, :c]
    return match.to(data.dtype).reshape(*lead, r), back.to(data.dtype).reshape(*lead, c)


class _BoxNMS(torch.autograd.Function):
    """Rows of the surviving boxes; the gradient goes back to the rows they came from, conversions between encodings are ignored."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, settings: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
        out, record = _nms(data, *settings)
        ctx.save_for_backward(record)
        ctx.mark_non_differentiable(record)
        return out, record

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> tuple[Tensor, None]:
        (record,) = ctx.saved_tensors
        flat = grad.reshape(-1, grad.shape[-1])
        index = record.reshape(-1).long()
        target = torch.where(index < 0, flat.shape[0], index)
        spread = torch.zeros_like(torch.cat([flat, flat[:1]])).index_copy(0, target, flat)
        return spread[: flat.shape[0]].reshape(grad.shape), None


@leaf
def box_nms(
    data: Tensor, overlap: float, valid: float, topk: int, coordinates: int, score: int, group: int, background: int, force: bool,
    in_format: str, out_format: str,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Boxes (*s, n, w) that survive suppression, best first, the rest -1; and the row each came from (*s, n, 1)."""
    if data.is_meta:
        return torch.empty_like(data), data.new_empty((*data.shape[:-1], 1))
    settings = (overlap, valid, topk, coordinates, score, group, background, force, in_format, out_format)
    out, record = _BoxNMS.apply(data, settings)
    return out, record


def _nms(
    data: Tensor, overlap: float, valid: float, topk: int, start: int, score: int, group: int, background: int, force: bool,
    in_format: str, out_format: str,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    n, w = data.shape[-2:]
    rows = data.detach().reshape(-1, n, w)
    limit = n if topk < 0 else min(n, topk)
    record_shape = (*data.shape[:-1], 1)
    if limit < 1:
        return data.clone(), torch.arange(rows.shape[0] * n, device=data.device).to(data.dtype).reshape(record_shape)
    good = rows[:, :, score] > valid
    if group >= 0:
        good &= rows[:, :, group] != background
    counts: list[int] = good.sum(1).tolist()
    scores = torch.where(good, rows[:, :, score], -torch.inf)
    out, record = torch.full_like(rows, -1), torch.full_like(rows[:, :, 0], -1)
    for image, count in enumerate(counts):
        if not count:
            continue
        chosen = top_order(scores[image], min(count, limit))
        found = rows[image, chosen]
        groups = None if force or group < 0 else found[:, group].trunc()
        keep = greedy_keep(_with_areas(found[:, start : start + 4], in_format), overlap, groups)
        out[image, : keep.numel()] = found[keep]
        record[image, : keep.numel()] = (chosen[keep] + image * n).to(record.dtype)
    if in_format != out_format and any(counts):
        out[:, :, start : start + 4] = _convert(out[:, :, start : start + 4], out_format)
    return out.reshape(data.shape), record.reshape(record_shape)


def _with_areas(boxes: Tensor, encoding: str) -> Tensor:
    """Corners and areas (n, 5) of boxes in either encoding; a box of negative extent has no area."""
    if encoding == "corner":
        corners, extent = boxes, boxes[:, 2:] - boxes[:, :2]
    else:
        extent = boxes[:, 2:]
        corners = torch.cat([boxes[:, :2] - extent / 2, boxes[:, :2] + extent / 2], 1)
    area = torch.where((extent < 0).any(1, keepdim=True), 0.0, extent[:, :1] * extent[:, 1:])
    return torch.cat([corners, area.to(boxes.dtype)], 1)


def _convert(boxes: Tensor, encoding: str) -> Tensor:
    """Boxes in the other encoding; those whose first number is negative stay as they are (src/operator/contrib/bounding_box-inl.h)."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if encoding == "center":
        changed = torch.cat([(first + second) / 2, second - first], -1)
    else:
        changed = torch.cat([first - second / 2, first + second / 2], -1)
    return torch.where(boxes[..., :1] < 0, boxes, changed)
