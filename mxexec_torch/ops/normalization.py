"""Batch, layer, group and instance normalization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from ..errors import MXNetError
from ..infer.rules import normalize_axis
from ..infer.state import Dtypes, Shapes
from ..registry import Attrs, Aux, IsTrain, Out, Tensor, op
from ..values import Bool, Double, Float, IgnoredBool, IgnoredOptFloat, Int, Str
from .runtime.normalization import inference_batch_norm, tall_layer_norm, training_batch_norm

__all__ = ["batch_statistics", "moving_statistics", "statistics_dtype"]

_HALF = (torch.float16, torch.bfloat16)


def statistics_dtype(a: Attrs, t: Dtypes) -> None:
    """Parameters and statistics have data's type, float32 where data is a half type."""
    data = t.get("data") or t.out()
    if data is None:
        return
    t.unify("data", data)
    t.unify_out(data)
    own = torch.float32 if data in _HALF else data
    for name in t.names[1:]:
        t.unify(name, own)
    for index in range(1, len(t.outputs)):
        t.unify_out(data if index > 2 else own, index)


def _channel_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    channels = (data[normalize_axis(s, a.get("axis", 1), len(data))],)
    for name in s.names[1:]:
        s.unify(name, channels)
    for index in range(len(s.outputs)):
        s.unify_out(channels if index in (1, 2) else data, index)


def batch_statistics(
    data: Tensor, gamma: Tensor | None, beta: Tensor, mean: Tensor, var: Tensor, eps: float, axis: int, train: bool, use_global_stats: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """(normalized data, mean, 1 / sqrt(var + eps)) in one fused kernel; statistics of the batch or the given ones."""
    x = data if axis == 1 else data.movedim(axis, 1)
    if data.numel() == 0:  # torch's kernels divide by the number of elements
        columns = (-1, *[1] * (x.ndim - 2))
        out = x * (beta if gamma is None else gamma).reshape(columns) + beta.reshape(columns)
        given = use_global_stats or not train
        used, inverse = (mean.clone(), (var + eps).rsqrt()) if given else (torch.full_like(mean, torch.nan), torch.full_like(var, torch.nan))
        return (out if axis == 1 else out.movedim(1, axis)), used, inverse
    if train and not use_global_stats:
        out, used, inverse = training_batch_norm(x, gamma, beta, eps)
    else:
        used, inverse = mean.clone(), (var + eps).rsqrt()
        if use_global_stats:
            out = torch.native_batch_norm(x, gamma, beta, mean, var, False, 0.0, eps)[0]
        else:
            out = inference_batch_norm(x, gamma, beta, mean, var, eps)
    return (out if axis == 1 else out.movedim(1, axis)), used, inverse


def moving_statistics(a: Attrs, inputs: Mapping[str, Tensor], tensors: Sequence[Tensor]) -> dict[str, Tensor]:
    """The moving averages after one backward pass, with the biased variance of the batch."""
    if a.use_global_stats:
        return {}
    mean, inverse, *_ = tensors
    share = 1 - a.momentum
    variance = inverse.pow(-2) - a.eps
    return {"moving_mean": inputs["moving_mean"].lerp(mean, share), "moving_var": inputs["moving_var"].lerp(variance, share)}


def _batch_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, var: Tensor, eps: float, axis: int, fix_gamma: bool, train: bool,
    use_global_stats: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    if not -data.ndim <= axis < data.ndim:
        raise MXNetError(f"Channel axis out of range: {axis} for data of {data.ndim} dimensions")
    return batch_statistics(data, None if fix_gamma else gamma, beta, mean, var, eps, axis % data.ndim, train, use_global_stats)


def _fixed(gamma: Tensor, fix_gamma: bool) -> dict[str, Tensor] | None:
    """What is written to gamma: ones. In a bound graph only where backward needs the statistics (`writes_with_hidden`)."""
    return {"gamma": torch.ones_like(gamma)} if fix_gamma else None


# The zero gradient of a fixed gamma is written even where gradients are added.
_GAMMA = {"gamma": lambda a, content, grad: grad if a.fix_gamma else content + grad}
# How the moving statistics start, where nothing else is said of them.
_MOVING = {"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'}


@op(
    "BatchNorm", aliases=("_npx_batch_norm",), outputs=("output", "mean", "var"), visible=lambda a: 3 if a.output_mean_var else 1,
    shape=_channel_shape, dtype=statistics_dtype, backward_writes=moving_statistics, differentiable=("data", "gamma", "beta"), init=_MOVING,
    writes_with_hidden=True, added=_GAMMA,
)  # fmt: skip
def batch_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Aux, moving_var: Aux, /, *, eps: Double = 0.0010000000474974513,
    momentum: Float = 0.899999976, fix_gamma: Bool = True, use_global_stats: Bool = False, output_mean_var: Bool = False, axis: Int = 1,
    cudnn_off: IgnoredBool = False, min_calib_range: IgnoredOptFloat = None, max_calib_range: IgnoredOptFloat = None, train: IsTrain,
) -> Out:  # fmt: skip
    """(x - mean) / sqrt(var + eps) * gamma + beta per channel; the third output is 1 / sqrt(var + eps).

    data (n, c, ...), the rest (c,) -> data's shape, (c,), (c,). Half data keep float32 parameters and statistics. Training uses
    the batch's biased variance and, when backward runs, moves the averages by momentum (the share kept). fix_gamma (the default)
    counts gamma as 1, gives it gradient 0 and writes ones to it: in imperative calls, and in a graph whose backward needs it.
    Source: src/operator/nn/batch_norm.cc
    """
    outs = _batch_norm(data, gamma, beta, moving_mean, moving_var, eps, axis, fix_gamma, train, use_global_stats)
    return Out(*outs, writes=_fixed(gamma, fix_gamma))


@op(
    "_contrib_BatchNormWithReLU", outputs=("output", "mean", "var", "workspace"), visible=lambda a: 3 if a.output_mean_var else 1,
    shape=_channel_shape, dtype=statistics_dtype, backward_writes=moving_statistics, differentiable=("data", "gamma", "beta"), init=_MOVING,
    writes_with_hidden=True, added=_GAMMA,
)  # fmt: skip
def batch_norm_with_relu(
    data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Aux, moving_var: Aux, /, *, eps: Double = 0.0010000000474974513,
    momentum: Float = 0.899999976, fix_gamma: Bool = True, use_global_stats: Bool = False, output_mean_var: Bool = False, axis: Int = 1,
    cudnn_off: IgnoredBool = False, min_calib_range: IgnoredOptFloat = None, max_calib_range: IgnoredOptFloat = None, train: IsTrain,
) -> Out:  # fmt: skip
    """relu of BatchNorm, with BatchNorm's attributes and auxiliary states.

    data (n, c, h, w), the rest (c,) -> data's shape, (c,), (c,) and a hidden workspace. Source: src/operator/contrib/batch_norm_relu.cc
    Deviations: any rank and axis (MXNet: four dimensions, axis 1, float32).
    """
    out, mean, inverse = _batch_norm(data, gamma, beta, moving_mean, moving_var, eps, axis, fix_gamma, train, use_global_stats)
    return Out(out.relu(), mean, inverse, (out > 0).to(out.dtype), writes=_fixed(gamma, fix_gamma))


# -- The two older forms: their `var` output is the variance -------------------------------------------------------------------
def _moving_from_variance(a: Attrs, inputs: Mapping[str, Tensor], tensors: Sequence[Tensor]) -> dict[str, Tensor]:
    if a.use_global_stats:
        return {}
    share = 1 - a.momentum
    return {"moving_mean": inputs["moving_mean"].lerp(tensors[0], share), "moving_var": inputs["moving_var"].lerp(tensors[1], share)}


def _with_variance(
    data: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, var: Tensor, eps: float, fix_gamma: bool, train: bool, use_global_stats: bool
) -> Out:
    out, used, inverse = _batch_norm(data, gamma, beta, mean, var, eps, 1, fix_gamma, train, use_global_stats)
    variance = inverse.pow(-2) - eps if train and not use_global_stats else var.clone()
    return Out(out, used, variance, writes={"gamma": torch.ones_like(gamma)} if fix_gamma else None)


@op(
    "BatchNorm_v1", outputs=("output", "mean", "var"), visible=lambda a: 3 if a.output_mean_var else 1, shape=_channel_shape,
    dtype=statistics_dtype, backward_writes=_moving_from_variance, differentiable=("data", "gamma", "beta"), init=_MOVING,
    table=("data", "gamma", "beta", "eps", "momentum", "fix_gamma", "use_global_stats", "output_mean_var"),
)  # fmt: skip
def batch_norm_v1(
    data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Aux, moving_var: Aux, /, *, eps: Float = 0.00100000005, momentum: Float = 0.899999976,
    fix_gamma: Bool = True, use_global_stats: Bool = False, output_mean_var: Bool = False, train: IsTrain,
) -> Out:  # fmt: skip
    """The older BatchNorm over axis 1: fix_gamma writes ones to gamma in inference too, the third output is the variance.

    data (n, c) or (n, c, h, w), the rest (c,) -> data's shape, (c,), (c,). Source: src/operator/batch_norm_v1-inl.h
    """
    return _with_variance(data, gamma, beta, moving_mean, moving_var, eps, fix_gamma, train, use_global_stats)


@op(
    "_contrib_SyncBatchNorm", outputs=("output", "mean", "var"), visible=lambda a: 3 if a.output_mean_var else 1, shape=_channel_shape,
    dtype=statistics_dtype, backward_writes=_moving_from_variance, differentiable=("data", "gamma", "beta"), init=_MOVING,
)  # fmt: skip
def sync_batch_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Aux, moving_var: Aux, /, *, eps: Float = 0.00100000005, momentum: Float = 0.899999976,
    fix_gamma: Bool = True, use_global_stats: Bool = False, output_mean_var: Bool = False, ndev: Int = 1, key: Str, train: IsTrain,
) -> Out:  # fmt: skip
    """BatchNorm over axis 1 whose statistics MXNet shares between `ndev` devices under the name `key`.

    data (n, c, ...), the rest (c,) -> data's shape, (c,), (c,). Source: src/operator/contrib/sync_batch_norm-inl.h
    Deviations: statistics are those of one device.
    """
    return _with_variance(data, gamma, beta, moving_mean, moving_var, eps, fix_gamma, train, use_global_stats)


# -- Layer, group, instance ----------------------------------------------------------------------------------------------------
def _layer_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    axis = normalize_axis(s, a.axis, len(data))
    s.unify("gamma", (data[axis],))
    s.unify("beta", (data[axis],))
    s.unify_out(data, 0)
    for index in (1, 2):
        s.unify_out((*data[:axis], 1, *data[axis + 1 :]), index)


@op("LayerNorm", aliases=("_npx_layer_norm",), outputs=("output", "mean", "std"), visible=lambda a: 3 if a.output_mean_var else 1, shape=_layer_shape)
def layer_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, /, *, axis: Int = -1, eps: Float = 9.99999975e-06, output_mean_var: Bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) / sqrt(var + eps) * gamma + beta over one axis; further outputs: mean and sqrt(var + eps).

    data (..., k, ...), gamma and beta (k,) -> data's shape; mean and std keep the axis with size 1. Source: src/operator/nn/layer_norm.cc
    """
    last = axis in (-1, data.ndim - 1)
    x = data if last else data.movedim(axis, -1)
    if gamma.ndim != 1 or gamma.shape != beta.shape or gamma.shape[0] != x.shape[-1]:
        raise MXNetError(f"Shape inconsistent, Provided = {list(gamma.shape)}, inferred shape=({x.shape[-1]},) (gamma and beta)")
    if x.numel() > 1024 * x.shape[-1]:
        out, mean, inverse = tall_layer_norm(x, gamma, beta, eps)
    else:
        out, mean, inverse = torch.native_layer_norm(x, (x.shape[-1],), gamma, beta, eps)
    mean, std = mean.detach().to(data.dtype), inverse.detach().reciprocal().to(data.dtype)
    return (out, mean, std) if last else (out.movedim(-1, axis), mean.movedim(-1, axis), std.movedim(-1, axis))


def _group_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    if len(data) < 3:
        raise s.fail(f"GroupNorm needs data of at least 3 dimensions, got shape {list(data)}")
    if data[1] != -1 and data[1] % a.num_groups:
        raise s.fail(f"# of channels must be divisible by # of groups: {data[1]} channels, {a.num_groups} groups")
    s.unify("gamma", (a.num_groups,))
    s.unify("beta", (a.num_groups,))
    s.unify_out(data, 0)
    s.unify_out((data[0], a.num_groups), 1)
    s.unify_out((data[0], a.num_groups), 2)


def _per_channel(parameter: Tensor, channels: int) -> Tensor:
    """One value a group, repeated for the channels of the group; contiguous, as torch's kernel takes for granted."""
    groups = parameter.shape[0]
    return (parameter if groups == channels else parameter.unsqueeze(1).expand(groups, channels // groups).reshape(channels)).contiguous()


@op("GroupNorm", outputs=("output", "mean", "std"), visible=lambda a: 3 if a.output_mean_var else 1, shape=_group_shape)
def group_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, /, *, num_groups: Int = 1, eps: Float = 9.99999975e-06, output_mean_var: Bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalizes groups of channels; gamma and beta have one value a group. Further outputs: mean and sqrt(var + eps).

    data (n, c, ...), gamma and beta (num_groups,) -> data's shape, (n, num_groups), (n, num_groups). Source: src/operator/nn/group_norm.cc
    """
    n, c = data.shape[:2]
    if data.ndim < 3 or c % num_groups or tuple(gamma.shape) != (num_groups,) or tuple(beta.shape) != (num_groups,):
        raise MXNetError(f"GroupNorm of {num_groups} groups does not fit data {list(data.shape)}, gamma {list(gamma.shape)}, beta {list(beta.shape)}")
    rest = data.numel() // max(1, n * c)
    out, mean, inverse = torch.native_group_norm(data.contiguous(), _per_channel(gamma, c), _per_channel(beta, c), n, c, rest, num_groups, eps)
    return out, mean.detach().to(data.dtype), inverse.detach().reciprocal().to(data.dtype)


def _instance_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    if len(data) < 2:
        raise s.fail(f"InstanceNorm needs data of at least 3 dimensions, got shape {list(data)}")
    s.unify("gamma", (data[1],))
    s.unify("beta", (data[1],))
    s.unify_out(data, 0)
    s.unify_out(data[:2], 1)
    s.unify_out(data[:2], 2)


@op("InstanceNorm", outputs=("output", "mean", "var"), visible=1, shape=_instance_shape)
def instance_norm(data: Tensor, gamma: Tensor, beta: Tensor, /, *, eps: Float = 0.00100000005) -> tuple[Tensor, Tensor, Tensor]:
    """Normalizes every channel of every sample by itself. Hidden outputs: mean and variance.

    data (n, c, ...), gamma and beta (c,) -> data's shape. Source: src/operator/instance_norm-inl.h
    """
    if data.ndim < 3:
        raise MXNetError(f"InstanceNorm only supports input tensors of rank >= 3, got shape {list(data.shape)}")
    n, c = data.shape[:2]
    out, mean, inverse = torch.native_group_norm(data.contiguous(), gamma.contiguous(), beta.contiguous(), n, c, data.numel() // max(1, n * c), c, eps)
    return out, mean.detach(), inverse.detach().pow(-2) - eps
