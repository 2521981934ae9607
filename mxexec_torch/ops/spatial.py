"""Sampling grids, spatial transformers and correlation of feature maps."""

from __future__ import annotations

import math
from typing import Annotated

import torch

from ..errors import MXNetError
from ..infer.state import Shapes, complete, show
from ..registry import Attrs, Tensor, op
from ..values import Bool, IgnoredOptBool, NonNegInt, OneOf, Shape
from .runtime.correlation import correlate
from .runtime.sampling import grid_sample

__all__: list[str] = []

Dims = tuple[int, ...]


def _sampler_shape(a: Attrs, s: Shapes) -> None:
    data, grid = s.get("data"), s.get("grid")
    if data is None or grid is None:
        return
    if len(data) != 4 or len(grid) != 4 or grid[1] not in (2, -1):
        raise s.fail(f"BilinearSampler needs data (batch, channel, y, x) and grid (batch, 2, y, x), got {show(data)} and {show(grid)}")
    s.unify_out((data[0], data[1], grid[2], grid[3]), 0)
    s.unify_out((grid[0], grid[2], grid[3], 2), 1)


@op("BilinearSampler", outputs=("output", "tmp"), visible=1, shape=_sampler_shape)
def bilinear_sampler(data: Tensor, grid: Tensor, /, *, cudnn_off: IgnoredOptBool = None) -> tuple[Tensor, Tensor]:
    """Bilinear samples of data at the positions in grid, x and y in [-1, 1] over the outermost pixels, zero outside.

    data (n, c, h, w), grid (n, 2, *out) of x, y -> (n, c, *out). Hidden output: the grid, channel last. Source: src/operator/bilinear_sampler.cc
    """
    if data.ndim != 4 or grid.ndim != 4 or grid.shape[1] != 2 or grid.shape[0] != data.shape[0]:
        raise MXNetError(f"BilinearSampler needs data (n, c, y, x) and grid (n, 2, y, x), got {list(data.shape)} and {list(grid.shape)}")
    return grid_sample(data, grid), grid.detach().permute(0, 2, 3, 1)


def _steps(x: Tensor, count: int) -> Tensor:
    """count positions from -1 to 1 (MXNet divides by zero for a single one, and so does this)."""
    return torch.arange(count, device=x.device, dtype=x.dtype) * (2 / (count - 1) if count > 1 else math.inf) - 1


def _base_grid(x: Tensor, height: int, width: int) -> Tensor:
    """Homogeneous target coordinates (3, height * width): x, y, 1."""
    columns = _steps(x, width).unsqueeze(0).expand(height, width).reshape(-1)
    rows = _steps(x, height).unsqueeze(1).expand(height, width).reshape(-1)
    return torch.stack([columns, rows, torch.ones_like(rows)])


def _check_target(target: Dims) -> None:
    if len(target) != 2 or any(v <= 0 for v in target):
        raise MXNetError(f"incorrect target_shape: {list(target)}")


def _grid_shape(a: Attrs, s: Shapes) -> None:
    data = s.get()
    if data is None:
        return
    if a.transform_type == "warp":
        if len(data) != 4 or data[1] not in (2, -1):
            raise s.fail(f"if transform_type is warp, data is optical flow (batch, 2, y, x), got {show(data)}")
        s.unify_out(data, 0)
        s.unify_out((2, data[2], data[3]), 1)
        return
    if len(data) != 2 or data[1] not in (6, -1):
        raise s.fail(f"if transform_type is affine, data is an affine matrix (batch, 6), got {show(data)}")
    try:
        _check_target(a.target_shape)
    except MXNetError as error:
        raise s.fail(str(error)) from None
    s.unify_out((data[0], 2, *a.target_shape), 0)
    s.unify_out((3, a.target_shape[0] * a.target_shape[1]), 1)


@op("GridGenerator", outputs=("output", "grid_dst"), visible=1, shape=_grid_shape)
def grid_generator(
    data: Tensor, /, *, transform_type: Annotated[str, OneOf("affine", "warp")], target_shape: Shape = (0, 0)
) -> tuple[Tensor, Tensor]:
    """The sampling grid of an affine transform or of an optical flow, for BilinearSampler. Hidden output: the target grid.

    affine: data (n, 6) -> (n, 2, *target_shape); warp: data (n, 2, h, w) of pixel shifts -> same shape. Source: src/operator/grid_generator-inl.h
    """
    if data.dtype != torch.float32:
        raise MXNetError(f"GridGenerator takes float32, other element types are not supported, got {str(data.dtype).removeprefix('torch.')}")
    if transform_type == "affine":
        _check_target(target_shape)
        if data.ndim != 2 or data.shape[1] != 6:
            raise MXNetError(f"if transform_type is affine, data is an affine matrix (batch, 6), got {list(data.shape)}")
        base = _base_grid(data, *target_shape)
        return (data.reshape(-1, 3) @ base).reshape(-1, 2, *target_shape), base
    if data.ndim != 4 or data.shape[1] != 2:
        raise MXNetError(f"if transform_type is warp, data is optical flow (batch, 2, y, x), got {list(data.shape)}")
    height, width = data.shape[2:]
    columns = torch.arange(width, device=data.device, dtype=data.dtype).unsqueeze(0).expand(height, width)
    rows = torch.arange(height, device=data.device, dtype=data.dtype).unsqueeze(1).expand(height, width)
    base = torch.stack([columns, rows])
    return (data + base) / data.new_tensor([(width - 1) / 2, (height - 1) / 2]).reshape(2, 1, 1) - 1, base


def _transformer_shape(a: Attrs, s: Shapes) -> None:
    data, loc = s.get("data"), s.get("loc")
    if not complete(data) or not complete(loc):
        return
    if len(data) != 4 or len(loc) != 2 or loc[1] != 6:
        raise s.fail(f"SpatialTransformer needs data (batch, channel, y, x) and loc (batch, 6), got {show(data)} and {show(loc)}")
    try:
        _check_target(a.target_shape)
    except MXNetError as error:
        raise s.fail(str(error)) from None
    area = a.target_shape[0] * a.target_shape[1]
    for index, shape in enumerate(((*data[:2], *a.target_shape), (3, area), (data[0], 2, area))):
        s.unify_out(shape, index)


@op(
    "SpatialTransformer", outputs=("output", "grid_dst", "grid_src"), visible=1, shape=_transformer_shape,
    added={"data": lambda a, content, grad: grad, "loc": lambda a, content, grad: grad},  # written over what is there
)  # fmt: skip
def spatial_transformer(
    data: Tensor, loc: Tensor, /, *, target_shape: Shape = (0, 0), transform_type: Annotated[str, OneOf("affine")],
    sampler_type: Annotated[str, OneOf("bilinear")], cudnn_off: IgnoredOptBool = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Samples data on the affine transform of a regular grid. Hidden outputs: the target and source grids.

    data (n, c, h, w), loc (n, 6) -> (n, c, *target_shape). Source: src/operator/spatial_transformer-inl.h
    """
    _check_target(target_shape)
    if data.ndim != 4 or tuple(loc.shape) != (data.shape[0], 6):
        raise MXNetError(f"SpatialTransformer needs data (n, c, y, x) and loc (n, 6), got {list(data.shape)} and {list(loc.shape)}")
    base = _base_grid(data, *target_shape)
    source = (loc.reshape(-1, 3) @ base).reshape(data.shape[0], 2, base.shape[1])
    return grid_sample(data, source.reshape(-1, 2, *target_shape)), base, source.detach()


# -- Correlation ---------------------------------------------------------------------------------------------------------------
def _correlation_size(a: Attrs, data: Dims) -> tuple[int, int, int]:
    """(displacements, height, width) of the output. Errors: MXNetError when nothing fits."""
    border = a.max_displacement + (a.kernel_size - 1) // 2
    height, width = (math.ceil((n + 2 * a.pad_size - 2 * border) / a.stride1) for n in data[2:])
    if height < 1 or width < 1:
        raise MXNetError("Correlation cannot be done with current settings.Neighborhood and kernel don't fit in blob")
    return (2 * (a.max_displacement // a.stride2) + 1) ** 2, height, width


def _correlation_shape(a: Attrs, s: Shapes) -> None:
    data, other = s.get("data1"), s.get("data2")
    if not complete(data) or not complete(other):
        return
    if len(data) != 4 or len(other) != 4:
        raise s.fail(f"Correlation: data should be a 4D tensor, got {show(data)} and {show(other)}")
    try:
        s.unify_out((data[0], *_correlation_size(a, data)), 0)
    except MXNetError as error:
        raise s.fail(str(error)) from None
    for index in (1, 2):
        s.unify_out((data[0], data[2] + 2 * a.pad_size, data[3] + 2 * a.pad_size, data[1]), index)


@op("Correlation", floats_only=True, outputs=("output", "tmp1", "tmp2"), visible=1, shape=_correlation_shape)
def correlation(
    data1: Tensor, data2: Tensor, /, *, kernel_size: NonNegInt = 1, max_displacement: NonNegInt = 1, stride1: NonNegInt = 1, stride2: NonNegInt = 1,
    pad_size: NonNegInt = 0, is_multiply: Bool = True,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Compares patches of two maps over a square of displacements: mean product, or mean absolute difference.

    data1, data2 (n, c, h, w) -> (n, (2 (max_displacement // stride2) + 1) ** 2, h', w'). Hidden outputs: the padded maps, channel last.
    Where two elements are equal, the absolute difference has gradient 1 and -1. Source: src/operator/correlation.cc
    """
    if data1.ndim != 4 or data1.shape != data2.shape:
        raise MXNetError(f"Correlation needs two 4D tensors of one shape, got {list(data1.shape)} and {list(data2.shape)}")
    a = Attrs(kernel_size=kernel_size, max_displacement=max_displacement, stride1=stride1, stride2=stride2, pad_size=pad_size)
    _, height, width = _correlation_size(a, tuple(data1.shape))
    padded = [torch.nn.functional.pad(x, (pad_size,) * 4) for x in (data1, data2)]
    out = correlate(padded[0], padded[1], kernel_size, max_displacement, stride1, stride2, is_multiply, height, width)
    return out, padded[0].detach().permute(0, 2, 3, 1), padded[1].detach().permute(0, 2, 3, 1)
