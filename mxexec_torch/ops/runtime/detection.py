"""Single-shot detection (SSD) and region proposals (RPN): decoding, target assignment, suppression over whole images."""

from __future__ import annotations

import math

import torch

from .boxes import greedy_keep, greedy_match, top_order, with_area
from .leaf import leaf

__all__ = ["base_anchors", "multibox_detection", "multibox_target", "proposals"]

Tensor = torch.Tensor


@leaf
def multibox_detection(
    cls_prob: Tensor, loc_pred: Tensor, anchor: Tensor, clip: bool, threshold: float, nms_threshold: float, force: bool,
    variances: tuple[float, ...], topk: int,
) -> Tensor:  # fmt: skip
    """Detections (b, n, 6) = class, score, corners. Rows: the kept candidates by score, suppressed ones with class -1, then -1."""
    batch, _, n = cls_prob.shape
    if cls_prob.is_meta:
        return cls_prob.new_empty((batch, n, 6))
    best = cls_prob[:, 1:].amax(1)
    found = best >= threshold if threshold > -1 else best > -1
    counts: list[int] = found.sum(1).tolist()
    starts = [sum(counts[:image]) for image in range(batch)]
    place = found.view(-1).nonzero()[:, 0]
    offset, base = loc_pred.reshape(-1, 4).index_select(0, place), anchor.view(n, 4).index_select(0, place % n)
    corners = _decode(offset.t().contiguous(), base.t().contiguous(), variances, clip)
    score = best.view(1, -1).index_select(1, place)
    columns = torch.cat([torch.full_like(score, -1), score, corners])
    if 0 < nms_threshold <= 1 and len(place):  # rows beyond topk keep class -1 and their other fields, as MXNet leaves them
        most = [min(topk, count) if topk > 0 else count for count in counts]
        order = torch.cat([top_order(part, k) + start for part, k, start in zip(score[0].split(counts), most, starts, strict=True)])
        place, chosen = place.index_select(0, order), columns.index_select(1, order)
        label = _label(cls_prob, place, chosen[1])
        group = (place // n).to(label.dtype)
        group = group if force else group * cls_prob.shape[1] + label
        keep = greedy_keep(with_area(chosen[2:]), nms_threshold, group, inclusive=True)
        chosen[0].index_copy_(0, keep, label.index_select(0, keep))
        row = torch.cat([torch.arange(start, start + k, device=place.device) for k, start in zip(most, starts, strict=True)])
        columns.index_copy_(1, row, chosen)
    else:
        columns[0] = _label(cls_prob, place, columns[1])
    out = torch.full((batch, n, 6), -1.0, dtype=cls_prob.dtype, device=cls_prob.device)
    for image, rows in enumerate(columns.t().contiguous().split(counts)):
        out[image, : len(rows)] = rows
    return out


def _label(cls_prob: Tensor, place: Tensor, score: Tensor) -> Tensor:
    """The first class behind the background that has the score, of the anchors at `place` (m,) of image * n + anchor."""
    batch, classes, n = cls_prob.shape
    image, rank = place // n, torch.arange(classes - 1, 0, -1, device=place.device)
    start = place + image * ((classes - 1) * n)  # of the anchor in the image's plane of backgrounds
    held = cls_prob.reshape(-1).take(start + (classes - rank)[:, None] * n)
    return classes - 1 - held.eq_(score).mul_(rank[:, None]).amax(0)  # a faster argmax over few rows


def _decode(offset: Tensor, anchor: Tensor, variances: tuple[float, ...], clip: bool) -> Tensor:
    """Corners (4, n) of offsets (4, n) from anchors (4, n)."""
    extent = anchor[2:] - anchor[:2]
    centre = (anchor[:2] + anchor[2:]) / 2.0
    scale = torch.tensor(variances, dtype=offset.dtype, device=offset.device)[:, None]
    middle = offset[:2] * scale[:2] * extent + centre
    half = (offset[2:] * scale[2:]).exp_() * extent / 2
    boxes = torch.cat([middle - half, middle + half])
    return boxes.clamp_(0, 1) if clip else boxes


def _overlaps(anchor: Tensor, truth: Tensor) -> Tensor:
    """Intersection over union (b, n, g) of anchors (n, 4) and boxes (b, g, 4); 0 where the union is empty."""
    a, t = anchor.t()[:, None, :, None], truth.permute(2, 0, 1)[:, :, None, :]
    width = (torch.minimum(a[2], t[2]) - torch.maximum(a[0], t[0])).clamp_min(0)
    height = (torch.minimum(a[3], t[3]) - torch.maximum(a[1], t[1])).clamp_min(0)
    inside = width * height
    union = (a[2] - a[0]) * (a[3] - a[1]) + (t[2] - t[0]) * (t[3] - t[1]) - inside
    return torch.where(union == 0, torch.zeros_like(inside), inside / union)


@leaf
def multibox_target(
    anchor: Tensor, label: Tensor, cls_pred: Tensor, overlap: float, ignore: float, ratio: float, mining: float, variances: tuple[float, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    """Offsets (b, 4n), their mask (b, 4n) and classes (b, n) that each anchor should predict."""
    batch, n = label.shape[0], anchor.shape[1]
    if label.is_meta:
        return label.new_empty((batch, 4 * n)), label.new_empty((batch, 4 * n)), label.new_empty((batch, n))
    boxes = anchor.reshape(n, 4)
    padding = label[:, :, 0] == -1
    real = padding.cumsum(1) == 0  # labels end at the first row of class -1
    first = padding & (padding.cumsum(1) == 1)
    if bool((first[:, :, None] & (label[:, :, :5] != -1)).any()):
        raise ValueError("a label row of class -1 ends the labels of its image: all five numbers must be -1")
    iou = torch.where(real[:, None, :], _overlaps(boxes, label[:, :, 1:5]), -1.0)
    match = greedy_match(torch.where(iou > 1e-6, iou, -torch.inf))
    best_iou, best = iou.max(2)
    positive = match >= 0
    if overlap > 0:
        near = ~positive & (best_iou > overlap)
        match = torch.where(near, best, match)
        positive |= near
    any_real = real.any(1, keepdim=True)
    negative = ~positive & any_real
    if ratio > 0:
        negative &= _hardest(cls_pred, negative & (best_iou < mining), positive, ratio)
    row = match.clamp_min(0)[:, :, None]
    classes = torch.where(positive, label[:, :, 0].gather(1, row[:, :, 0]) + 1, torch.where(negative, 0.0, ignore).to(label.dtype))
    truth = label[:, :, 1:5].gather(1, row.expand(-1, -1, 4))
    offsets = torch.where(positive[:, :, None], _encode(truth, boxes, variances), 0.0)
    mask = positive[:, :, None].expand(-1, -1, 4).to(label.dtype)
    return offsets.reshape(batch, -1), mask.reshape(batch, -1), classes


def _hardest(cls_pred: Tensor, candidate: Tensor, positive: Tensor, ratio: float) -> Tensor:
    """The negatives to learn from: `ratio` per positive, those with the smallest background probability first."""
    n = candidate.shape[1]
    found = positive.sum(1)
    wanted = torch.minimum((found.to(torch.float32) * ratio).long(), n - found)
    if bool((candidate.sum(1) < wanted)[positive.any(1)].any()):
        raise ValueError("fewer anchors below negative_mining_thresh than negative_mining_ratio asks for")
    background = torch.where(candidate, cls_pred.softmax(1)[:, 0], torch.inf)
    place = background.argsort(dim=1, stable=True).argsort(dim=1)
    return place < wanted[:, None]


def _encode(truth: Tensor, anchor: Tensor, variances: tuple[float, ...]) -> Tensor:
    extent, base = truth[..., 2:] - truth[..., :2], anchor[:, 2:] - anchor[:, :2]
    shift = (truth[..., :2] + truth[..., 2:]) * 0.5 - (anchor[:, :2] + anchor[:, 2:]) * 0.5
    scale = torch.tensor(variances, dtype=truth.dtype, device=truth.device)
    return torch.cat([shift / base / scale[:2], (extent / base).log() / scale[2:]], -1)


def base_anchors(stride: int, scales: tuple[float, ...], ratios: tuple[float, ...]) -> list[list[float]]:
    """The anchors of the first cell, corners in pixels: for each ratio (height to width) every scale."""
    centre, size = 0.5 * (stride - 1.0), float(stride * stride)
    anchors = []
    for ratio in ratios:
        width = math.floor(math.sqrt(math.floor(size / ratio)) + 0.5)
        for scale in scales:
            w = width * scale
            h = math.floor(w / scale * ratio + 0.5) * scale
            anchors.append([centre - 0.5 * (w - 1.0), centre - 0.5 * (h - 1.0), centre + 0.5 * (w - 1.0), centre + 0.5 * (h - 1.0)])
    return anchors


@leaf
def proposals(
    cls_prob: Tensor, bbox_pred: Tensor, im_info: Tensor, anchors: tuple[tuple[float, ...], ...], before: int, after: int, threshold: float,
    min_size: int, stride: int, corner_offsets: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Regions (b * after, 5) = image, corners and their scores (b * after, 1); the kept ones repeat until there are `after`."""
    batch, _, rows, columns = cls_prob.shape
    if cls_prob.is_meta:
        return cls_prob.new_empty((batch * after, 5)), cls_prob.new_empty((batch * after, 1))
    count = len(anchors)
    size = im_info[:, :2]
    real = (size / stride).long()
    if bool((real > torch.tensor([rows, columns], device=real.device)).any()):
        raise ValueError(f"the image is larger than the feature map of {rows} x {columns} cells of {stride} pixels")
    y, x = torch.arange(rows, device=cls_prob.device), torch.arange(columns, device=cls_prob.device)
    grid = torch.stack(torch.meshgrid(x, y, indexing="xy"), -1).repeat(1, 1, 2).to(cls_prob.dtype) * stride
    base = grid[:, :, None, :] + torch.tensor(anchors, dtype=cls_prob.dtype, device=cls_prob.device)
    offset = bbox_pred.reshape(batch, count, 4, rows, columns).permute(0, 3, 4, 1, 2)
    boxes = base + offset if corner_offsets else _shifted(base, offset)
    border = size.flip(1).repeat(1, 2)[:, None, None, None, :] - 1.0
    boxes = torch.minimum(boxes, border).clamp_min(0.0)
    score = cls_prob[:, count:].permute(0, 2, 3, 1)
    outside = (y[None, :, None] >= real[:, 0, None, None]) | (x[None, None, :] >= real[:, 1, None, None])
    least = (min_size * im_info[:, 2])[:, None, None, None]
    small = ((boxes[..., 2:] - boxes[..., :2] + 1.0) < least[..., None]).any(-1)
    half = (least / 2)[..., None] * boxes.new_tensor([-1.0, -1.0, 1.0, 1.0])
    boxes = torch.where(small[..., None], boxes + half, boxes).reshape(batch, -1, 4)
    score = score.masked_fill(outside[..., None] | small, -1.0).reshape(batch, -1)
    return _best_regions(boxes, score, min(before, score.shape[1]) if before > 0 else score.shape[1], after, threshold)


def _shifted(base: Tensor, offset: Tensor) -> Tensor:
    extent = base[..., 2:] - base[..., :2] + 1.0
    middle = offset[..., :2] * extent + base[..., :2] + 0.5 * (extent - 1.0)
    half = 0.5 * (offset[..., 2:].exp() * extent - 1.0)
    return torch.cat([middle - half, middle + half], -1)


def _best_regions(boxes: Tensor, score: Tensor, before: int, after: int, threshold: float) -> tuple[Tensor, Tensor]:
    regions, scores = [], []
    for image in range(boxes.shape[0]):
        order = top_order(score[image], before)
        best = boxes[image].index_select(0, order)
        keep = greedy_keep(with_area(best.t(), pixel=1.0), threshold, limit=min(after, before), pixel=1.0)
        keep = keep[torch.arange(after, device=keep.device) % keep.numel()]
        regions.append(torch.nn.functional.pad(best[keep], (1, 0), value=float(image)))
        scores.append(score[image, order[keep], None])
    return torch.cat(regions), torch.cat(scores)
