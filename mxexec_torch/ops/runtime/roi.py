"""Pooling over regions of interest."""

from __future__ import annotations

import math
from typing import Any

import torch

from .leaf import leaf
from .sampling import bilinear_taps, round_half_away, weighted_rows

__all__ = ["deformable_psroi_pool", "psroi_pool", "roi_align", "roi_pool", "rotated_roi_align"]

Tensor = torch.Tensor
Ints = tuple[int, ...]
_CHUNK = 1 << 20  # elements of the maps worked on at a time


# -- Max pooling ---------------------------------------------------------------------------------------------------------------
def _bins(start: Tensor, extent: Tensor, count: int, size: int) -> tuple[Tensor, Tensor]:
    """[first, last) of each bin along one axis: (rois, count)."""
    step = extent / count
    index = torch.arange(count + 1, device=start.device, dtype=start.dtype)
    low = (index[:-1] * step.unsqueeze(1)).floor() + start.unsqueeze(1)
    high = (index[1:] * step.unsqueeze(1)).ceil() + start.unsqueeze(1)
    return low.clamp(0, size).long(), high.clamp(0, size).long()


def _take_later(a: tuple[Tensor, Tensor], b: tuple[Tensor, Tensor], crossing: bool = False) -> tuple[Tensor, Tensor]:
    """The larger of two maxima and its place; of equal ones a's, or with `crossing` the one that comes first in the map.

    Choices are made in floating point, 1.0 or 0.0: on CPU that is ten times faster than `torch.where`.
    """
    (value, place), (other, its) = a, b
    wins = torch.gt(other, value, out=torch.empty_like(other))
    if crossing:
        wins.add_(torch.eq(other, value, out=torch.empty_like(other)).mul_(torch.lt(its, place, out=torch.empty_like(its))))
    return torch.maximum(other, value), torch.lerp(place, its, wins)


def _rows(maps: tuple[Tensor, Tensor], image: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """What both maps (n, h, w, c) hold at positions (m,): (m, c) each."""
    n, height, width, channels = maps[0].shape
    at = (image * height + y) * width + x
    return maps[0].reshape(-1, channels).index_select(0, at), maps[1].reshape(-1, channels).index_select(0, at)


def _rectangle_maxima(maps: Tensor, image: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """Maxima (m, c) of maps (n, h, w, c) over rectangles and their places, -1 where no value exceeds the lowest number.

    image (m,), low and high (2, m): first and past-the-last row and column. A rectangle is covered by four, which overlap, with sides of
    powers of two; the maxima of all those are built by doubling, for the sizes that occur.
    """
    n, height, width, channels = maps.shape
    lowest = torch.finfo(maps.dtype).min
    values = maps.nan_to_num(lowest, torch.inf, lowest)
    held = torch.gt(values, lowest, out=torch.empty_like(values))
    place = torch.arange(height * width, dtype=maps.dtype, device=maps.device).view(1, height, width, 1)
    wide = values, held.mul_(place + 1).sub_(1)
    level = (high - low).double().log2().floor().long()
    inner = high - (1 << level)
    best, where = maps.new_empty(len(image), channels), place.new_empty(len(image), channels)
    levels = torch.arange(int(level.max()) + 1, device=level.device)
    used: list[list[bool]] = ((level[1] == levels[:, None, None]) & (level[0] == levels[:, None])).any(2).tolist()
    for across, column in enumerate(used):  # widened before it is made taller: of equal numbers the upper one comes first
        if across:
            step = 1 << (across - 1)
            wide = _take_later((wide[0][:, :, :-step], wide[1][:, :, :-step]), (wide[0][:, :, step:], wide[1][:, :, step:]))
        tall = wide
        for down in range(max((i for i, u in enumerate(column) if u), default=-1) + 1):
            if down:
                step = 1 << (down - 1)
                tall = _take_later((tall[0][:, :-step], tall[1][:, :-step]), (tall[0][:, step:], tall[1][:, step:]))
            mine = ((level[0] == down) & (level[1] == across)).nonzero()[:, 0]
            if not mine.numel():
                continue
            own = image[mine]
            upper, lower = (
                _take_later(_rows(tall, own, y[mine], low[1, mine]), _rows(tall, own, y[mine], inner[1, mine]), crossing=True)
                for y in (low[0], inner[0])
            )
            value, found = _take_later(upper, lower)
            best.index_copy_(0, mine, value)
            where.index_copy_(0, mine, found)
    return best, where


class _RoiPool(torch.autograd.Function):
    """src/operator/roi_pooling.cc: the first maximum of a bin receives the gradient; empty bins are 0."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, rois: Tensor, size: Ints, scale: float) -> tuple[Tensor, Tensor]:
        batch, channels, height, width = data.shape
        corner = round_half_away(rois[:, 1:] * scale)
        extent_w = (corner[:, 2] - corner[:, 0] + 1).clamp(min=1)
        extent_h = (corner[:, 3] - corner[:, 1] + 1).clamp(min=1)
        top, bottom = _bins(corner[:, 1], extent_h, size[0], height)
        left, right = _bins(corner[:, 0], extent_w, size[1], width)
        image = rois[:, 0].long()
        grid = (len(rois), *size)
        low = torch.stack([top[:, :, None].expand(grid), left[:, None].expand(grid)]).reshape(2, -1)
        high = torch.stack([bottom[:, :, None].expand(grid), right[:, None].expand(grid)]).reshape(2, -1)
        exact = data.dtype == torch.float64 or height * width >= 1 << 24
        maps = data.permute(0, 2, 3, 1).to(torch.float64 if exact else torch.float32)  # places are held in the type of the values
        filled = ((high > low).all(0).view(grid) & ((image >= 0) & (image < batch)).view(-1, 1, 1)).view(-1).nonzero()[:, 0]
        out = data.new_zeros(low.shape[1], channels)
        argmax = torch.full((low.shape[1], channels), -1, dtype=torch.int64, device=data.device)
        step = max(1, _CHUNK // max(1, batch * height * width))
        for first in range(0, channels if filled.numel() else 0, step):
            part = slice(first, first + step)
            own = image[filled // (size[0] * size[1])]
            value, place = _rectangle_maxima(maps[..., part].contiguous(), own, low[:, filled], high[:, filled])
            out[filled, part], argmax[filled, part] = value.to(data.dtype), place.long()
        out, argmax = (t.view(*grid, channels).permute(0, 3, 1, 2).contiguous() for t in (out, argmax))
        ctx.save_for_backward(argmax, image)
        ctx.shape = data.shape
        ctx.mark_non_differentiable(argmax)
        return out, argmax

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        argmax, image = ctx.saved_tensors
        batch, channels, height, width = ctx.shape
        if not batch * channels * height * width:
            return grads[0].new_zeros(ctx.shape), None, None, None
        plane = (image.clamp(0, batch - 1).view(-1, 1) * channels + torch.arange(channels, device=image.device)) * (height * width)
        hit = argmax >= 0
        index = (plane.view(-1, channels, 1, 1) + argmax.clamp(min=0)).reshape(-1)
        source = torch.where(hit, grads[0], torch.zeros_like(grads[0])).reshape(-1)
        flat = source.new_zeros(batch * channels * height * width).index_add(0, index, source)
        return flat.reshape(ctx.shape), None, None, None


@leaf
def roi_pool(data: Tensor, rois: Tensor, size: Ints, scale: float) -> tuple[Tensor, Tensor]:
    """(maximum of each bin, its position in the map or -1); rois rows are (image, x1, y1, x2, y2)."""
    shape = (rois.shape[0], data.shape[1], *size)
    if data.is_meta or rois.shape[0] == 0:
        return data.new_empty(shape), data.new_empty(shape, dtype=torch.int64)
    return _RoiPool.apply(data, rois.detach(), size, scale)  # type: ignore[no-any-return]


# -- Averages of bilinear samples ------------------------------------------------------------------------------------------------
def _sample_grid(start: Tensor, step: Tensor, bins: int, ratio: int, extent: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(coordinates (rois, bins, samples), which samples count (rois, 1, samples), samples a bin (rois,)) along one axis."""
    each = torch.full_like(extent, ratio) if ratio > 0 else (extent / bins).ceil()
    most = ratio if ratio > 0 else max(1, int(each.max()))
    sample = torch.arange(most, device=start.device, dtype=start.dtype) + 0.5
    bin_start = start.unsqueeze(1) + torch.arange(bins, device=start.device, dtype=start.dtype) * step.unsqueeze(1)
    inner = sample * step.unsqueeze(1) / each.clamp(min=1).unsqueeze(1)
    return bin_start.unsqueeze(2) + inner.unsqueeze(1), (sample < each.unsqueeze(1)).unsqueeze(1), each


def _average(data: Tensor, image: Tensor, y: Tensor, x: Tensor, counted: Tensor, count: Tensor, sensitive: bool) -> Tensor:
    """Means of samples: y, x, counted (rois, ph, pw, sh, sw), count (rois,) -> (rois, channels, ph, pw)."""
    n, channels, height, width = data.shape
    rois, ph, pw = y.shape[:3]
    area = height * width
    inside = counted & (y >= -1) & (y <= height) & (x >= -1) & (x <= width) & (image >= 0).view(-1, 1, 1, 1, 1)
    position, weight = bilinear_taps(y, x, height, width, inside, clamp=True)
    weight = weight / count.view(-1, 1, 1, 1, 1, 1)
    base = image.clamp(0, n - 1).view(-1, 1, 1, 1, 1, 1)
    if sensitive:  # each bin has channels of its own
        own = torch.arange(ph * pw, device=data.device).view(1, ph, pw, 1, 1, 1)
        out_channels = channels // (ph * pw)
        table = data.reshape(n, out_channels, ph * pw, area).permute(0, 2, 3, 1).reshape(-1, out_channels)
        index = position + (base * (ph * pw) + own) * area
    else:
        out_channels = channels
        table = data.reshape(n, channels, area).transpose(1, 2).reshape(-1, channels)
        index = position + base * area
    rows = weighted_rows(table, index.reshape(rois * ph * pw, -1), weight.reshape(rois * ph * pw, -1))
    return rows.reshape(rois, ph, pw, out_channels).permute(0, 3, 1, 2)


@leaf
def roi_align(data: Tensor, rois: Tensor, size: Ints, scale: float, ratio: int, sensitive: bool, aligned: bool) -> Tensor:
    """Mean of bilinear samples in each bin; rois rows are (image, x1, y1, x2, y2). Regions have no gradient."""
    channels = data.shape[1] // (size[0] * size[1]) if sensitive else data.shape[1]
    if data.is_meta or rois.shape[0] == 0:
        return data.new_empty((rois.shape[0], channels, *size))
    rois = rois.detach()
    image = rois[:, 0].long()
    box = rois[:, 1:] * scale - (0.5 if aligned else 0.0)
    extent_w, extent_h = box[:, 2] - box[:, 0], box[:, 3] - box[:, 1]
    if not aligned:
        extent_w, extent_h = extent_w.clamp(min=1), extent_h.clamp(min=1)
    y, ok_y, many_y = _sample_grid(box[:, 1], extent_h / size[0], size[0], ratio, extent_h)
    x, ok_x, many_x = _sample_grid(box[:, 0], extent_w / size[1], size[1], ratio, extent_w)
    shape = (rois.shape[0], *size, y.shape[2], x.shape[2])
    counted = (ok_y[:, :, None, :, None] & ok_x[:, None, :, None, :]).expand(shape)
    grid_y, grid_x = y[:, :, None, :, None].expand(shape), x[:, None, :, None, :].expand(shape)
    return _average(data, image, grid_y, grid_x, counted, (many_y * many_x).clamp(min=1), sensitive)


@leaf
def rotated_roi_align(data: Tensor, rois: Tensor, size: Ints, scale: float, ratio: int) -> Tensor:
    """Mean of bilinear samples in each bin of rotated boxes; rois rows are (image, x, y, w, h, degrees)."""
    if data.is_meta or rois.shape[0] == 0:
        return data.new_empty((rois.shape[0], data.shape[1], *size))
    rois = rois.detach()
    center_x, center_y = rois[:, 1] * scale, rois[:, 2] * scale
    extent_w, extent_h = (rois[:, 3] * scale).clamp(min=1), (rois[:, 4] * scale).clamp(min=1)
    angle = (rois[:, 5] * (math.pi / 180)).view(-1, 1, 1, 1, 1)
    v, ok_v, many_v = _sample_grid(-extent_h / 2, extent_h / size[0], size[0], ratio, extent_h)
    u, ok_u, many_u = _sample_grid(-extent_w / 2, extent_w / size[1], size[1], ratio, extent_w)
    v, u = v[:, :, None, :, None], u[:, None, :, None, :]
    x = u * angle.cos() + v * angle.sin() + center_x.view(-1, 1, 1, 1, 1)
    y = v * angle.cos() - u * angle.sin() + center_y.view(-1, 1, 1, 1, 1)
    counted = (ok_v[:, :, None, :, None] & ok_u[:, None, :, None, :]).expand(x.shape)
    return _average(data, rois[:, 0].long(), y, x, counted, many_v * many_u, False)


# -- Position-sensitive pooling ----------------------------------------------------------------------------------------------------
def _region(rois: Tensor, scale: float, shift: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(x, y, width, height) of regions given by inclusive pixel corners."""
    corner = round_half_away(rois[:, 1:])
    low = corner[:, :2] * scale - shift
    high = (corner[:, 2:] + 1) * scale - shift
    extent = (high - low).clamp(min=0.1)
    return low[:, 0], low[:, 1], extent[:, 0], extent[:, 1]


def _group_of_bin(bins: int, groups: int, device: torch.device) -> Tensor:
    return (torch.arange(bins, device=device) * groups // bins).clamp(0, groups - 1)


@leaf
def psroi_pool(data: Tensor, rois: Tensor, scale: float, out_dim: int, bins: int, groups: int) -> Tensor:
    """Mean over each bin of the channel that belongs to the bin; rois rows are (image, x1, y1, x2, y2)."""
    if data.is_meta or rois.shape[0] == 0:
        return data.new_empty((rois.shape[0], out_dim, bins, bins))
    n, _, height, width = data.shape
    rois = rois.detach()
    left, top, extent_w, extent_h = _region(rois, scale, 0.0)
    step = torch.arange(bins + 1, device=data.device, dtype=rois.dtype)
    ys, xs = step * (extent_h / bins).unsqueeze(1) + top.unsqueeze(1), step * (extent_w / bins).unsqueeze(1) + left.unsqueeze(1)
    y1, y2 = ys[:, :-1].floor().clamp(0, height).long(), ys[:, 1:].ceil().clamp(0, height).long()
    x1, x2 = xs[:, :-1].floor().clamp(0, width).long(), xs[:, 1:].ceil().clamp(0, width).long()
    area = (y2 - y1).clamp(min=0).unsqueeze(2) * (x2 - x1).clamp(min=0).unsqueeze(1)
    # Sums over rectangles come from the summed-area table, in double precision.
    table = torch.nn.functional.pad(data.double(), (1, 0, 1, 0)).cumsum(2).cumsum(3)
    table = table.reshape(n, out_dim, groups * groups, -1).permute(0, 2, 3, 1).reshape(-1, out_dim)
    own = _group_of_bin(bins, groups, data.device)
    base = (rois[:, 0].long().view(-1, 1, 1) * groups * groups + own.view(1, -1, 1) * groups + own) * ((height + 1) * (width + 1))
    corners = [base + y.unsqueeze(2) * (width + 1) + x.unsqueeze(1) for y in (y1, y2) for x in (x1, x2)]
    signs = torch.tensor([1.0, -1.0, -1.0, 1.0], device=data.device, dtype=torch.float64)
    weight = torch.where(area > 0, 1 / area.clamp(min=1).double(), torch.zeros_like(area, dtype=torch.float64)).unsqueeze(3) * signs
    rows = weighted_rows(table, torch.stack(corners, 3).reshape(-1, 4), weight.reshape(-1, 4))
    return rows.reshape(-1, bins, bins, out_dim).permute(0, 3, 1, 2).to(data.dtype)


@leaf
def deformable_psroi_pool(
    data: Tensor, rois: Tensor, trans: Tensor | None, scale: float, out_dim: int, groups: int, bins: int, parts: int, samples: int, spread: float
) -> tuple[Tensor, Tensor]:
    """(mean of samples in each shifted bin, number of samples); trans (r, 2 * classes, parts, parts) shifts the bins of each class."""
    shape = (rois.shape[0], out_dim, bins, bins)
    if data.is_meta or rois.shape[0] == 0:
        return data.new_empty(shape), data.new_empty(shape)
    n, _, height, width = data.shape
    rois = rois.detach()
    classes = 1 if trans is None else trans.shape[1] // 2
    left, top, extent_w, extent_h = (t.view(-1, 1, 1, 1, 1, 1) for t in _region(rois, scale, 0.5))
    index = torch.arange(bins, device=data.device, dtype=rois.dtype)
    part = (index / bins * parts).floor().long()
    sample = torch.arange(samples, device=data.device, dtype=rois.dtype) / samples
    x = left + (index.view(1, 1, 1, -1, 1, 1) + sample.view(1, 1, 1, 1, 1, -1)) * (extent_w / bins)
    y = top + (index.view(1, 1, -1, 1, 1, 1) + sample.view(1, 1, 1, 1, -1, 1)) * (extent_h / bins)
    if trans is not None:
        moved = trans.reshape(-1, classes, 2, parts, parts)[:, :, :, part][:, :, :, :, part] * spread
        x = x + (moved[:, :, 0] * extent_w.view(-1, 1, 1, 1)).unsqueeze(4).unsqueeze(5)
        y = y + (moved[:, :, 1] * extent_h.view(-1, 1, 1, 1)).unsqueeze(4).unsqueeze(5)
    full = (rois.shape[0], classes, bins, bins, samples, samples)
    x, y = x.expand(full), y.expand(full)
    inside = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
    count = inside.sum((4, 5))
    position, weight = bilinear_taps(y, x, height, width, inside, clamp=True)
    each = out_dim // classes
    table = data.reshape(n, classes, each, groups * groups, height * width).permute(0, 1, 3, 4, 2).reshape(-1, each)
    own = _group_of_bin(bins, groups, data.device)
    plane = (rois[:, 0].long().view(-1, 1, 1, 1) * classes + torch.arange(classes, device=data.device).view(1, -1, 1, 1)) * groups * groups
    plane = (plane + own.view(1, 1, -1, 1) * groups + own) * (height * width)
    flat = (position + plane.view(*plane.shape, 1, 1, 1)).reshape(-1, samples * samples * 4)
    rows = weighted_rows(table, flat, (weight / count.clamp(min=1).view(*count.shape, 1, 1, 1)).reshape(flat.shape))
    out = rows.reshape(-1, classes, bins, bins, each).permute(0, 1, 4, 2, 3).reshape(shape)
    counts = count.to(data.dtype).unsqueeze(2).expand(-1, -1, each, -1, -1).reshape(shape)
    return out, counts
