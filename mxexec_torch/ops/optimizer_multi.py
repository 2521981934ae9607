"""Optimizer updates of many tensors in one call. Inputs come interleaved: weight_0, grad_0, mom_0, weight_1, grad_1, mom_1, ...

A row of `_SGD` describes one operator of the sgd family. The states (mom, mean, var, weight32) are written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes
from ..registry import Attrs, Aux, Grad, Out, Tensor, op
from ..values import Bool, Float, FloatTuple, Int, Shape
from .optimizer_update import (
    adamw_step,
    clipped,
    finite_scale,
    lamb_direction,
    trust_ratio,
)

__all__: list[str] = []

STATES = ("mom", "mean", "var", "weight32")  # what the operators write; also the names of auxiliary states


def _names(parts: Sequence[str], shared: Sequence[str]) -> Callable[[Attrs, int], list[str]]:
    def names(a: Attrs, n: int) -> list[str]:
        return [f"{part}_{i}" for i in range((n - len(shared)) // len(parts)) for part in parts] + list(shared)

    return names


def _rules(parts: Sequence[str], shared: Sequence[str] = (), number: str = "num_weights", full: Sequence[str] = ()) -> dict[str, Any]:
    """The rules of a multi-tensor operator. parts: names of one group of inputs, shared: of the trailing inputs, full: the float32 ones."""
    size = len(parts)

    def shape(a: Attrs, s: Shapes) -> None:
        for i in range(a[number]):
            group = range(i * size, (i + 1) * size)
            known = next((x for x in [*(s.inputs[j] for j in group), s.out(i)] if x is not None), None)
            for j in group:
                s.unify(j, known)
            s.unify_out(known, i)

    def dtype(a: Attrs, t: Dtypes) -> None:
        for i in range(a[number]):
            tied = [i * size + j for j, part in enumerate(parts) if part not in full]
            known = next((d for d in [*(t.inputs[j] for j in tied), t.out(i)] if d is not None), None)
            for j in range(size):
                t.unify(i * size + j, torch.float32 if parts[j] in full else known)
            t.unify_out(known, i)
        for j in range(len(shared)):
            t.unify(a[number] * size + j, torch.float32 if full or shared[j] != "rescale_grad" else t.get(0))

    return {
        "count": lambda a: a[number] * size + len(shared),
        "variadic_names": _names(parts, shared),
        "outputs": lambda a: tuple(f"output{i}" for i in range(a[number])) if a[number] > 1 else ("output",),
        "shape": shape, "dtype": dtype, "grad": Grad.MISSING, "written": STATES,
    }  # fmt: skip


def _groups(data: Sequence[Tensor], size: int) -> list[list[Tensor]]:
    """The columns of the interleaved inputs: all weights, all gradients, ..."""
    return [list(data[i::size]) for i in range(size)]


def _same_length(operator: str, number: int, **lists: Sequence[Any]) -> None:
    for name, values in lists.items():
        if len(values) != number:
            raise MXNetError(f"{operator}: {name} needs one entry for each of the {number} weights, got {len(values)}")


def _per_weight(*names: str, number: str = "num_weights") -> Callable[[Attrs], None]:
    def check(a: Attrs) -> None:
        _same_length("multi-tensor update", a[number], **{name: a[name] for name in names})

    return check


# -- sgd ----------------------------------------------------------------------------------------------------------------------
def _sgd(
    data: Sequence[Tensor], parts: Sequence[str], lrs: Sequence[Any], wds: Sequence[Any], momentum: float, rescale: float, limit: float
) -> Out:
    """w <- w + m with m = momentum m - lr wd w - lr clip(rescale g), for every group. lrs and wds are numbers or 0-d tensors."""
    columns = dict(zip(parts, _groups(data, len(parts)), strict=True))
    weights, half = columns["weight"], "weight32" in columns
    full = columns["weight32"] if half else weights
    grads = [g.to(w.dtype) for g, w in zip(columns["grad"], full, strict=True)] if half else columns["grad"]
    if rescale != 1:
        grads = list(torch._foreach_mul(grads, rescale))
    if limit >= 0:
        grads = [clipped(g, limit) for g in grads]
    if isinstance(lrs[0], Tensor):
        steps = [(g + w * wd) * lr for g, w, lr, wd in zip(grads, full, lrs, wds, strict=True)]
    else:
        if any(wds):
            grads = list(torch._foreach_add(grads, torch._foreach_mul(full, list(wds))))
        steps = list(torch._foreach_mul(grads, list(lrs)))
    writes: dict[str, Tensor] = {}
    if "mom" in columns:
        moms = list(torch._foreach_sub(torch._foreach_mul(columns["mom"], momentum), steps))
        writes.update({f"mom_{i}": m for i, m in enumerate(moms)})
        new = list(torch._foreach_add(full, moms))
    else:
        new = list(torch._foreach_sub(full, steps))
    if half:
        writes.update({f"weight32_{i}": w for i, w in enumerate(new)})
        new = [w.to(old.dtype) for w, old in zip(new, weights, strict=True)]
    return Out(*new, writes=writes)


_PLAIN, _MOM = ("weight", "grad"), ("weight", "grad", "mom")
_MP, _MP_MOM = ("weight", "grad", "weight32"), ("weight", "grad", "mom", "weight32")
_SGD = {"": (_PLAIN, ()), "_mom": (_MOM, ()), "mp_": (_MP, ("weight32",)), "mp__mom": (_MP_MOM, ("mom", "weight32"))}
_DOC = """{what} of many tensors: m <- momentum m - lr (wd w + clip(rescale g)); w <- w + m, per tensor.

    data: {parts} for each tensor{shared}, of one shape -> the new weights. Source: src/operator/{source}
    """


def _declare_sgd(mp: str, mom: str) -> None:
    parts, full = _SGD[mp + mom]
    what = f"{'mp_' if mp else ''}sgd{mom}_update"
    listed = ", ".join(parts)

    if mom:

        def momentum_body(
            *data: Aux, lrs: FloatTuple, wds: FloatTuple, momentum: Float = 0.0, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0,
            num_weights: Int = 1,
        ) -> Out:
            return _sgd(data, parts, lrs, wds, momentum, rescale_grad, clip_gradient)

        def preloaded_momentum_body(
            *data: Aux, momentum: Float = 0.0, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0, num_weights: Int = 1
        ) -> Out:
            return _sgd(data[:-2], parts, data[-2].unbind(0), data[-1].unbind(0), momentum, rescale_grad, clip_gradient)

        bodies: tuple[Callable[..., Out], ...] = (momentum_body, preloaded_momentum_body)
    else:

        def body(
            *data: Aux, lrs: FloatTuple, wds: FloatTuple, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0, num_weights: Int = 1
        ) -> Out:
            return _sgd(data, parts, lrs, wds, 0.0, rescale_grad, clip_gradient)

        def preloaded_body(*data: Aux, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0, num_weights: Int = 1) -> Out:
            return _sgd(data[:-2], parts, data[-2].unbind(0), data[-1].unbind(0), 0.0, rescale_grad, clip_gradient)

        bodies = (body, preloaded_body)

    doc = _DOC.format(what=what, parts=listed, shared="", source="optimizer_op.cc")
    op(f"multi_{what}", doc=doc, check=_per_weight("lrs", "wds"), **_rules(parts, full=full))(bodies[0])
    doc = _DOC.format(what=what, parts=listed, shared=", then lrs and wds as tensors (n,)", source="contrib/preloaded_multi_sgd.cc")
    op(f"preloaded_multi_{what}", doc=doc, **_rules(parts, ("lrs", "wds"), full=full))(bodies[1])


for _mp in ("", "mp_"):
    for _mom in ("", "_mom"):
        _declare_sgd(_mp, _mom)


# -- adamw --------------------------------------------------------------------------------------------------------------------
def _adamw(
    data: Sequence[Tensor], parts: Sequence[str], lrs: Sequence[float], wds: Sequence[float], etas: Sequence[float],
    beta1: float, beta2: float, epsilon: float, limit: float,
) -> Out:
    usable, scale = finite_scale(data[-1])
    new: list[Tensor] = []
    writes: dict[str, Tensor] = {}
    for i, group in enumerate(zip(*_groups(data[:-1], len(parts)), strict=True)):
        weight, grad, mean, var = group[:4]
        full = group[4] if len(group) == 5 else weight
        updated, mean, var = adamw_step(
            full, clipped(grad.to(full.dtype) * scale, limit), mean, var, usable, lr=lrs[i], beta1=beta1, beta2=beta2, epsilon=epsilon,
            wd=wds[i], eta=etas[i],
        )  # fmt: skip
        writes.update({f"mean_{i}": mean, f"var_{i}": var})
        if full is not weight:
            writes[f"weight32_{i}"] = updated
            updated = torch.where(usable, updated.to(weight.dtype), weight)
        new.append(updated)
    return Out(*new, writes=writes)


_ADAM, _MP_ADAM = ("weight", "grad", "mean", "var"), ("weight", "grad", "mean", "var", "weight32")


@op("_multi_adamw_update", check=_per_weight("lrs", "wds", "etas"), **_rules(_ADAM, ("rescale_grad",)))
def multi_adamw_update(
    *data: Aux, lrs: FloatTuple, beta1: Float = 0.9, beta2: Float = 0.999, epsilon: Float = 1e-8, wds: FloatTuple, etas: FloatTuple,
    clip_gradient: Float = -1.0, num_weights: Int = 1,
) -> Out:
    """_adamw_update of many tensors. data: weight, grad, mean, var for each, then rescale_grad (1,) -> the new weights.

    Source: src/operator/contrib/adamw.cc
    """
    return _adamw(data, _ADAM, lrs, wds, etas, beta1, beta2, epsilon, clip_gradient)


@op("_multi_mp_adamw_update", check=_per_weight("lrs", "wds", "etas"),
    **_rules(_MP_ADAM, ("rescale_grad",), full=("mean", "var", "weight32")))  # fmt: skip
def multi_mp_adamw_update(
    *data: Aux, lrs: FloatTuple, beta1: Float = 0.9, beta2: Float = 0.999, epsilon: Float = 1e-8, wds: FloatTuple, etas: FloatTuple,
    clip_gradient: Float = -1.0, num_weights: Int = 1,
) -> Out:
    """_mp_adamw_update of many tensors. data: weight, grad, mean, var, weight32 for each, then rescale_grad (1,) -> the new weights.

    Source: src/operator/contrib/adamw.cc
    """
    return _adamw(data, _MP_ADAM, lrs, wds, etas, beta1, beta2, epsilon, clip_gradient)


# -- lamb ---------------------------------------------------------------------------------------------------------------------
def _lamb(
    data: Sequence[Tensor], parts: Sequence[str], lrs: Sequence[float], wds: Sequence[float], steps: Sequence[int],
    beta1: float, beta2: float, epsilon: float, rescale: float, bounds: tuple[float, float], limit: float, bias_correction: bool,
) -> Out:
    new: list[Tensor] = []
    writes: dict[str, Tensor] = {}
    for i, group in enumerate(zip(*_groups(data, len(parts)), strict=True)):
        weight, grad, mean, var = group[:4]
        full = group[4] if len(group) == 5 else weight
        direction, mean, var = lamb_direction(
            full, grad.to(full.dtype), mean, var, beta1=beta1, beta2=beta2, epsilon=epsilon, t=steps[i], bias_correction=bias_correction,
            wd=wds[i], rescale=rescale, limit=limit,
        )  # fmt: skip
        r1, r2 = ((x * x).sum(dtype=torch.float32).sqrt() for x in (weight, direction))  # MXNet too squares in the element type
        updated = full - (lrs[i] * trust_ratio(r1, r2, *bounds)).to(full.dtype) * direction
        writes.update({f"mean_{i}": mean, f"var_{i}": var})
        if full is not weight:
            writes[f"weight32_{i}"] = updated
        new.append(updated.to(weight.dtype))
    return Out(*new, writes=writes)


_LAMB_CHECK = _per_weight("learning_rates", "wds", "step_count", number="num_tensors")


@op("_multi_lamb_update", check=_LAMB_CHECK, **_rules(_ADAM, number="num_tensors"))
def multi_lamb_update(
    *data: Aux, learning_rates: FloatTuple, beta1: Float = 0.9, beta2: Float = 0.999, epsilon: Float = 1e-6, wds: FloatTuple,
    rescale_grad: Float = 1.0, lower_bound: Float = -1.0, upper_bound: Float = -1.0, clip_gradient: Float = -1.0,
    bias_correction: Bool = True, step_count: Shape, num_tensors: Int = 1,
) -> Out:
    """Both phases of lamb for many tensors. data: weight, grad, mean, var for each -> the new weights.

    Source: src/operator/contrib/multi_lamb.cc
    """
    return _lamb(
        data, _ADAM, learning_rates, wds, step_count, beta1, beta2, epsilon, rescale_grad, (lower_bound, upper_bound), clip_gradient,
        bias_correction,
    )  # fmt: skip


@op("_multi_mp_lamb_update", check=_LAMB_CHECK, **_rules(_MP_ADAM, number="num_tensors", full=("mean", "var", "weight32")))
def multi_mp_lamb_update(
    *data: Aux, learning_rates: FloatTuple, beta1: Float = 0.9, beta2: Float = 0.999, epsilon: Float = 1e-6, wds: FloatTuple,
    rescale_grad: Float = 1.0, lower_bound: Float = -1.0, upper_bound: Float = -1.0, clip_gradient: Float = -1.0,
    bias_correction: Bool = True, step_count: Shape, num_tensors: Int = 1,
) -> Out:
    """_multi_lamb_update on float32 copies. data: weight, grad, mean, var, weight32 for each -> the new weights.

    Source: src/operator/contrib/multi_lamb.cc
    """
    return _lamb(
        data, _MP_ADAM, learning_rates, wds, step_count, beta1, beta2, epsilon, rescale_grad, (lower_bound, upper_bound), clip_gradient,
        bias_correction,
    )  # fmt: skip
