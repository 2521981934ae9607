"""Region operators: ROIPooling, ROIAlign and their position-sensitive, deformable and rotated forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import torch

from ..errors import MXNetError
from ..infer.state import Shapes, complete, show
from ..registry import Attrs, Grad, Tensor, op
from ..values import Bool, Float, Int, Range, Shape
from .runtime.roi import (
    deformable_psroi_pool,
    psroi_pool,
    roi_align,
    roi_pool,
    rotated_roi_align,
)

__all__: list[str] = []

Dims = tuple[int, ...]
Scale = Annotated[Float, Range(0, 1)]


def _check_pooled_size(a: Attrs) -> None:
    if len(a.pooled_size) != 2 or any(v <= 0 for v in a.pooled_size):
        raise MXNetError(f"pooled_size must be two positive numbers (h, w), got {list(a.pooled_size)}")


def _check_shapes(data: Dims, rois: Dims, columns: tuple[int, ...]) -> None:
    if len(data) != 4:
        raise MXNetError(f"data should be a 4D tensor, got shape {show(data)}")
    if len(rois) != 2 or rois[1] not in columns:
        raise MXNetError(f"bbox should be a 2D tensor of shape [batch, {columns[-1]}], got {show(rois)}")


def _region_shape(columns: tuple[int, ...], result: Callable[[Attrs, Dims], Dims]) -> Callable[[Attrs, Shapes], None]:
    """The rule of an operator whose outputs have shape (rois, *result(a, data))."""

    def rule(a: Attrs, s: Shapes) -> None:
        data, rois = s.get("data"), s.get("rois")
        if not complete(data) or not complete(rois):
            return
        try:
            _check_shapes(data, rois, columns)
        except MXNetError as error:
            raise s.fail(str(error)) from None
        for index in range(len(s.outputs)):
            s.unify_out((rois[0], *result(a, data)), index)

    return rule


def _plain(a: Attrs, data: Dims) -> Dims:
    return (data[1], *a.pooled_size)


def _align(a: Attrs, data: Dims) -> Dims:
    bins: int = a.pooled_size[0] * a.pooled_size[1]
    return (data[1] // bins if a.position_sensitive else data[1], *a.pooled_size)


def _square(a: Attrs, data: Dims) -> Dims:
    return a.output_dim, a.pooled_size, a.pooled_size


@op(
    "ROIPooling", floats_only=True, aliases=("_npx_roi_pooling",), outputs=("output", "maxidx"), visible=1, shape=_region_shape((5,), _plain),
    check=_check_pooled_size,
)  # fmt: skip
def roi_pooling(data: Tensor, rois: Tensor, /, *, pooled_size: Shape, spatial_scale: Scale) -> tuple[Tensor, Tensor]:
    """Maximum over each cell of a grid laid over each region. Hidden output: positions of the maxima, -1 for empty cells.

    data (n, c, h, w), rois (r, 5) of (image, x1, y1, x2, y2), pixels scaled by spatial_scale -> (r, c, *pooled_size).
    Regions have no gradient. Source: src/operator/roi_pooling.cc
    """
    _check_shapes(tuple(data.shape), tuple(rois.shape), (5,))
    out, where = roi_pool(data, rois, pooled_size, spatial_scale)
    return out, where.to(data.dtype)


@op("_contrib_ROIAlign", floats_only=True, shape=_region_shape((5,), _align), check=_check_pooled_size)
def roi_align_op(
    data: Tensor, rois: Tensor, /, *, pooled_size: Shape, spatial_scale: Scale, sample_ratio: Int = -1, position_sensitive: Bool = False,
    aligned: Bool = False,
) -> Tensor:  # fmt: skip
    """Mean of bilinear samples in each cell of a grid laid over each region, without rounding.

    data (n, c, h, w), rois (r, 5) of (image, x1, y1, x2, y2) -> (r, c, *pooled_size); position_sensitive: c / cells channels.
    sample_ratio samples a side, or as many as the cell has pixels. aligned shifts by half a pixel.
    Regions have no gradient. Source: src/operator/contrib/roi_align.cc
    """
    _check_shapes(tuple(data.shape), tuple(rois.shape), (5,))
    if position_sensitive and data.shape[1] % (pooled_size[0] * pooled_size[1]):
        raise MXNetError(f"position_sensitive ROIAlign: {data.shape[1]} channels do not divide into {pooled_size[0] * pooled_size[1]} cells")
    return roi_align(data, rois, pooled_size, spatial_scale, sample_ratio, position_sensitive, aligned)


@op("_contrib_RROIAlign", floats_only=True, shape=_region_shape((6,), _plain), check=_check_pooled_size, grad=Grad.MISSING)
def rotated_roi_align_op(data: Tensor, rois: Tensor, /, *, pooled_size: Shape, spatial_scale: Scale, sampling_ratio: Int = -1) -> Tensor:
    """ROIAlign over rotated boxes; MXNet defines no gradient.

    data (n, c, h, w), rois (r, 6) of (image, x, y, w, h, degrees), the centre first -> (r, c, *pooled_size).
    Source: src/operator/contrib/rroi_align.cc
    """
    _check_shapes(tuple(data.shape), tuple(rois.shape), (6,))
    return rotated_roi_align(data, rois, pooled_size, spatial_scale, sampling_ratio)


@op("_contrib_PSROIPooling", floats_only=True, shape=_region_shape((5,), _square), input_texts={"data": "Symbol", "rois": "Symbol"})
def psroi_pooling(data: Tensor, rois: Tensor, /, *, spatial_scale: Scale, output_dim: Int, pooled_size: Int, group_size: Int = 0) -> Tensor:
    """Mean over each cell of a square grid, each cell reading channels of its own.

    data (n, output_dim * group_size ** 2, h, w), rois (r, 5) -> (r, output_dim, pooled_size, pooled_size); group_size 0 is pooled_size.
    Regions have no gradient. Source: src/operator/contrib/psroi_pooling.cc
    """
    groups = group_size or pooled_size
    _check_shapes(tuple(data.shape), tuple(rois.shape), (5,))
    if data.shape[1] != output_dim * groups * groups:
        raise MXNetError(f"PSROIPooling: {data.shape[1]} channels, expected output_dim {output_dim} * group_size {groups} squared")
    return psroi_pool(data, rois, spatial_scale, output_dim, pooled_size, groups)


@op(
    "_contrib_DeformablePSROIPooling", outputs=("output", "top_count"), visible=1, shape=_region_shape((5,), _square),
    present={"trans": lambda a: not a.no_trans}, input_texts={"data": "Symbol", "rois": "Symbol", "trans": "Symbol"},
)  # fmt: skip
def deformable_psroi_pooling(
    data: Tensor, rois: Tensor, trans: Tensor | None = None, /, *, spatial_scale: Scale, output_dim: Int, group_size: Int, pooled_size: Int,
    part_size: Int = 0, sample_per_part: Int = 1, trans_std: Scale = 0.0, no_trans: Bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Position-sensitive pooling of bilinear samples whose cells are shifted by `trans`. Hidden output: the number of samples.

    data (n, output_dim * group_size ** 2, h, w), rois (r, 5), trans (r, 2 * classes, part_size, part_size)
    -> (r, output_dim, pooled_size, pooled_size). Source: src/operator/contrib/deformable_psroi_pooling.cc
    """
    _check_shapes(tuple(data.shape), tuple(rois.shape), (5,))
    parts = part_size or pooled_size
    if data.shape[1] != output_dim * group_size * group_size:
        raise MXNetError(f"DeformablePSROIPooling: {data.shape[1]} channels, expected output_dim {output_dim} * group_size {group_size} squared")
    if trans is not None and (trans.ndim != 4 or tuple(trans.shape[2:]) != (parts, parts)):
        raise MXNetError(f"trans should be a 4D tensor of shape [rois, 2 * classes, {parts}, {parts}], got {show(tuple(trans.shape))}")
    out: tuple[torch.Tensor, torch.Tensor] = deformable_psroi_pool(
        data, rois, trans, spatial_scale, output_dim, group_size, pooled_size, parts, sample_per_part, trans_std
    )
    return out
