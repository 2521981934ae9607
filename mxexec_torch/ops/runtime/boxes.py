"""Greedy non-maximum suppression and greedy matching, on matrices and blocks instead of a box at a time."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from .leaf import leaf

__all__ = ["box_nms", "greedy_keep", "greedy_match", "match_rows_and_columns", "top_order", "with_area"]

Tensor = torch.Tensor
Hits = Callable[[Tensor, Tensor], Tensor]
_BLOCK = 256  # boxes resolved together: large enough to amortise a call, small enough for matrices of pairs to stay in the cache
_PAIRS = 1 << 20  # pairs of boxes compared at once where groups are small


def top_order(score: Tensor, count: int) -> Tensor:
    """Positions of the `count` largest scores, largest first, equal ones in their order."""
    if 4 * count > score.numel():
        return score.argsort(descending=True, stable=True)[:count]
    place = (score >= score.topk(count, sorted=False).values.min()).nonzero()[:, 0]  # sorting only these is several times faster
    return place[score[place].argsort(descending=True, stable=True)[:count]]


def _hits(a: Tensor, b: Tensor, threshold: float, inclusive: bool, pixel: float, inverted: bool) -> Tensor:
    """1.0 where the intersection over union of a pair exceeds the threshold (inclusive: reaches it), else 0.0.

    a, b (5 or 6, *s) broadcast: corners, area and perhaps a group, which must be the same. pixel: 1 where a box of equal borders covers one
    pixel. inverted: there are boxes of negative area, and a union that is not positive counts as no overlap. All steps stay in the boxes'
    type, in place: comparisons that give bool and fresh memory are what costs on CPU.
    """
    inside = torch.minimum(a[2], b[2])
    work = torch.maximum(a[0], b[0])
    inside.sub_(work)
    height = torch.minimum(a[3], b[3])
    height.sub_(torch.maximum(a[1], b[1], out=work))
    if pixel:
        inside.add_(pixel)
        height.add_(pixel)
    inside.clamp_min_(0).mul_(height.clamp_min_(0))
    union = torch.add(a[4], b[4], out=height).sub_(inside)
    inside.div_(union)
    hit = inside.ge_(threshold) if inclusive else inside.gt_(threshold)
    hit = hit.mul_(union.gt_(0)) if inverted else hit
    return hit if len(a) == 5 else hit.mul_(torch.sub(a[5], b[5], out=work).eq_(0))


def greedy_keep(
    boxes: Tensor, threshold: float, groups: Tensor | None = None, limit: int = -1, inclusive: bool = False, pixel: float = 0.0
) -> Tensor:
    """Positions of the boxes that survive when each box, in the given order, removes the later ones it overlaps.

    boxes (5, n): corners and area. groups (n,): only boxes of one group suppress each other. limit: stop after that many.
    """
    hits = functools.partial(_hits, threshold=threshold, inclusive=inclusive, pixel=pixel, inverted=inclusive and bool((boxes[4] < 0).any()))
    if groups is None:
        return _keep_by_blocks(boxes, hits, limit)
    place = groups.argsort(stable=True)
    columns = torch.cat([boxes, groups[None]]).index_select(1, place)
    sizes = columns[5].unique_consecutive(return_counts=True)[1].tolist()
    found, start = [], 0
    for longest, end in _runs(sizes):
        part = columns[:, start:end]
        found.append((_keep_near(part, hits, longest) if longest <= _BLOCK else _keep_by_blocks(part[:5], hits)) + start)
        start = end
    order = place.index_select(0, torch.cat(found)).sort().values if found else place
    return order if limit < 0 else order[:limit]


def _runs(sizes: list[int]) -> list[tuple[int, int]]:
    """(size of the largest group, where the run ends) of runs of small groups, as many as fit `_PAIRS`; a large group is a run of its own."""
    runs: list[tuple[int, int]] = []
    longest = start = end = 0
    for size in sizes:
        widest = max(longest, size)
        if end > start and (widest > _BLOCK or widest * (end + size - start) > _PAIRS):
            runs.append((longest, end))
            start, widest = end, size
        longest, end = widest, end + size
    return [*runs, (longest, end)] if end else runs


def _keep_near(columns: Tensor, hits: Hits, longest: int) -> Tensor:
    """Survivors among boxes in the order of their groups, of `longest` at most: each box is compared with as many before it, all at once.

    A box survives if no survivor before it hits it: iterating this from "all survive" reaches its only fixpoint.
    """
    n = columns.shape[1]
    reach = max(1, longest - 1)
    earlier = F.pad(columns, (reach, 0), value=math.nan).unfold(1, reach, 1)[:, :n]
    hit = hits(columns[:, :, None], earlier)
    survives = torch.ones_like(columns[0])
    while True:
        again = (hit * F.pad(survives, (reach, 0)).unfold(0, reach, 1)[:n]).amax(1).eq_(0)
        if torch.equal(again, survives):
            return survives.nonzero()[:, 0]
        survives = again


def _keep_by_blocks(columns: Tensor, hits: Hits, limit: int = -1) -> Tensor:
    """Survivors, a block at a time: what earlier survivors leave of it is settled within the block as in `_keep_near`."""
    n = columns.shape[1]
    survivors = torch.empty_like(columns)
    count = 0
    kept = []
    for start in range(0, n, _BLOCK):
        block = columns[:, start : start + _BLOCK]
        alive = torch.ones_like(block[0])
        for first in range(0, count, _BLOCK):
            alive.mul_(hits(survivors[:, first : min(first + _BLOCK, count), None], block[:, None]).amax(0).eq_(0))
        own = hits(block[:, :, None], block[:, None]).triu_(1)
        survives = alive
        while True:
            again = torch.mv(own.t(), survives).eq_(0).mul_(alive)
            if torch.equal(again, survives):
                break
            survives = again
        found = survives.nonzero()[:, 0]
        kept.append(found + start)
        survivors[:, count : count + found.numel()] = block.index_select(1, found)
        count += found.numel()
        if 0 <= limit <= count:
            break
    return torch.cat(kept) if kept else torch.arange(n, device=columns.device)


def with_area(corners: Tensor, pixel: float = 0.0) -> Tensor:
    """(5, n) of corners (4, n); pixel as in `greedy_keep`, whose input this is."""
    extent = corners[2:] - corners[:2]
    extent = extent + pixel if pixel else extent
    return torch.cat([corners, (extent[0] * extent[1])[None]])


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
        keep = greedy_keep(_columns(found[:, start : start + 4], in_format), overlap, groups)
        out[image, : keep.numel()] = found[keep]
        record[image, : keep.numel()] = (chosen[keep] + image * n).to(record.dtype)
    if in_format != out_format and any(counts):
        out[:, :, start : start + 4] = _convert(out[:, :, start : start + 4], out_format)
    return out.reshape(data.shape), record.reshape(record_shape)


def _columns(boxes: Tensor, encoding: str) -> Tensor:
    """Corners and areas (5, n) of boxes (n, 4) in either encoding; a box of negative extent has no area."""
    first, second = boxes.t().split(2)
    extent = second - first if encoding == "corner" else second
    corners = [first, second] if encoding == "corner" else [first - extent / 2, first + extent / 2]
    area = torch.where((extent < 0).any(0), 0.0, extent[0] * extent[1])
    return torch.cat([*corners, area[None]])


def _convert(boxes: Tensor, encoding: str) -> Tensor:
    """Boxes in the other encoding; those whose first number is negative stay as they are (src/operator/contrib/bounding_box-inl.h)."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if encoding == "center":
        changed = torch.cat([(first + second) / 2, second - first], -1)
    else:
        changed = torch.cat([first - second / 2, first + second / 2], -1)
    return torch.where(boxes[..., :1] < 0, boxes, changed)
