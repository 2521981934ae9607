"""Running operations so that torch records them, and putting them on the tape.

A recorded operation runs on `_ag` tensors, constants go in as aliases of their data; the result's `_t` is an alias of the recorded result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..context import Context
from ..errors import MXNetError
from ..infer.state import show
from ..registry import Attrs, Grad, OpDef, Out
from .core import NDArray, wrap
from .plans import TORCH_ERRORS, Plan, failure, out_arrays, owned, results_of, store, write_inputs
from .tape import IN_GRAPH, IN_PLACE, Record, constant_record, guard_write, state

__all__ = ["connected", "guard_write", "record", "run_recorded", "with_history"]


def connected(inputs: Sequence[NDArray]) -> tuple[Record, ...] | None:
    """The tape records of the inputs, or None when none of them depends on a leaf. History that backward has freed is dropped.

    Where one does, the other inputs are put on the tape as constants.
    """
    found = False
    for array in inputs:
        rec = array._rec
        if rec is not None:
            if rec.freed:
                array._rec = array._ag = None
            elif not rec.constant:
                found = True
    if not found:
        return None
    for array in inputs:
        if array._rec is None:
            array._rec = constant_record()
    return tuple([array._rec for array in inputs])  # type: ignore[misc]


def guard_write_recorded(array: NDArray, inputs: Sequence[NDArray]) -> None:
    """`guard_write` for the output of a recorded operation whose inputs have just been put on the tape."""
    rec = array._rec
    if rec is None or rec.freed:
        return
    raise MXNetError(IN_PLACE if rec.constant and any(array is x for x in inputs) else IN_GRAPH)


def with_history(inputs: Sequence[NDArray]) -> list[torch.Tensor]:
    """The tensors to run a recorded operation on. Constants go in as aliases, so that later writes to them are not torch errors."""
    return [array._t.data if array._ag is None else array._ag for array in inputs]


def run_recorded(plan: Plan, inputs: Sequence[NDArray], records: tuple[Record, ...], out: Any) -> Any:
    """`invoke.run` for inputs of which one at least depends on a leaf."""
    op = plan.op
    ctx = inputs[0]._ctx
    values = [array._t for array in inputs]
    if plan.checks:
        plan.check(values)
    if out is not None:
        for array in out_arrays(out):
            guard_write_recorded(array, inputs)
    try:
        pairs, extra = _with_gradients(plan, inputs, values, ctx)
    except MXNetError:
        raise
    except TORCH_ERRORS as error:
        raise failure(plan, values, error) from error
    arrays = [_recorded_array(history, value, ctx) for history, value in pairs]
    _put_on_tape(arrays, Record(op, plan.given, records))
    if extra is not None and extra.writes:
        write_inputs(plan, inputs, extra.writes)
    if op.backward_writes is not None and state.training:
        _write_in_backward(plan, inputs, arrays, extra)
    visible = arrays[: plan.visible]
    if out is not None:
        for index, (target, array) in enumerate(zip(out_arrays(out), visible, strict=False)):
            store(target, array._t, op.name, index)
            target._ag, target._rec = array._ag, array._rec
        return out
    return visible[0] if len(visible) == 1 else visible


_Pairs = list[tuple[torch.Tensor | None, torch.Tensor]]  # per output: tensor with history or None, values


def _with_gradients(plan: Plan, inputs: Sequence[NDArray], values: list[torch.Tensor], ctx: Context) -> tuple[_Pairs, Out | None]:
    op = plan.op
    if op.grad is Grad.ZERO:
        outputs, extra = results_of(plan.apply(values, ctx.device))
        return [(None, owned(o, values)) for o in outputs], extra
    tensors = with_history(inputs)
    for tensor, value in zip(tensors, values, strict=True):
        if tensor.dtype is not value.dtype:
            return _shadowed(plan, inputs, values, ctx)
    if plan.plain and torch.is_grad_enabled():
        outputs, extra = results_of(plan.apply(tensors, ctx.device))
        return [_pair(owned(o, tensors)) for o in outputs], extra
    refused = _refused(op, plan.attrs, inputs) if op.refused_grads else None
    if op.grad is Grad.MISSING or refused is not None:
        outputs, extra = results_of(plan.apply(values, ctx.device))
        return [(_refuse(op.name, refused, o.data, tensors), owned(o, values)) for o in outputs], extra
    with torch.enable_grad():
        outputs, extra = results_of(plan.apply(tensors, ctx.device))
        if op.name == "Cast" and not outputs[0].is_floating_point():
            return [(_straight(tensors[0], outputs[0]), owned(outputs[0], tensors))], extra
        return [_pair(owned(o, tensors)) for o in outputs], extra


class _Straight(torch.autograd.Function):
    """The values of a cast to integers as float64, with the gradient passed straight back."""

    @staticmethod
    def forward(ctx: Any, source: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        ctx.dtype = source.dtype
        return values.double()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0].to(ctx.dtype), None


def _straight(source: torch.Tensor, values: torch.Tensor) -> torch.Tensor | None:
    """History for the integer result of a cast; None when the source has none."""
    if not source.requires_grad:
        return None
    result: torch.Tensor = _Straight.apply(source, values)
    return result


def _pair(result: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor]:
    return (result, result.data) if result.requires_grad else (None, result)


def _shadowed(plan: Plan, inputs: Sequence[NDArray], values: list[torch.Tensor], ctx: Context) -> tuple[_Pairs, Out | None]:
    """Integer arrays with gradients: torch has none for them, so that gradients run through a float64 copy beside the integer result."""
    op = plan.op
    outputs, extra = results_of(plan.apply(values, ctx.device))
    whole = {v.dtype for v, array in zip(values, inputs, strict=True) if array._ag is not None and array._ag.dtype is not v.dtype}
    shadows = [s.double() if s.dtype in whole else s for s in with_history(inputs)]
    if op.grad is Grad.MISSING:
        return [(_refuse(op.name, None, o.data, shadows), owned(o, values)) for o in outputs], extra
    if not op.integer_grad:
        return [(None, owned(o, values)) for o in outputs], extra
    try:
        with torch.enable_grad():
            histories, _ = results_of(plan.apply(shadows, ctx.device))
    except MXNetError:
        raise
    except TORCH_ERRORS as error:
        raise MXNetError(f"operator {op.name} cannot be recorded for arrays of type {show(values[0].dtype)}: {error}") from error
    return [(h if h.requires_grad else None, owned(o, values)) for h, o in zip(histories, outputs, strict=True)], extra


class _Refusal(torch.autograd.Function):
    """Passes a value through; asking for its gradient is MXNet's error."""

    @staticmethod
    def forward(ctx: Any, message: str, value: torch.Tensor, *inputs: torch.Tensor) -> torch.Tensor:
        ctx.message = message
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        raise MXNetError(ctx.message)


def _refuse(name: str, argument: str | None, value: torch.Tensor, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    of = f" with respect to input {argument}" if argument else ""
    text = f"Operator {name} is non-differentiable{of}: MXNet defines no gradient (didn't register FGradient attribute)"
    result: torch.Tensor = _Refusal.apply(text, value, *tensors)
    return result


def _refused(op: OpDef, a: Attrs, inputs: Sequence[NDArray]) -> str | None:
    """The input whose gradient MXNet refuses although one is asked for (the indices of Embedding)."""
    for spec, array in zip(op.node_inputs(a, len(inputs)), inputs, strict=True):
        rec = array._rec
        if spec.name in op.refused_grads and rec is not None and not rec.constant and (rec.leaf is None or rec.leaf.req != "null"):
            return spec.name
    return None


def _recorded_array(history: torch.Tensor | None, values: torch.Tensor, ctx: Context) -> NDArray:
    array = wrap(values, ctx)
    array._ag = history
    return array


def _put_on_tape(arrays: Sequence[NDArray], rec: Record) -> None:
    for index, array in enumerate(arrays):
        array._rec = rec if index == 0 else Record(None, None, (rec,), index)


def _write_in_backward(plan: Plan, inputs: Sequence[NDArray], arrays: Sequence[NDArray], extra: Out | None) -> None:
    """BatchNorm's moving statistics change each time backward runs, from what the arrays hold then."""
    if arrays[0]._ag is None or plan.op.backward_writes is None:
        return
    names = plan.names
    kept = list(inputs)
    tensors = tuple(array._t for array in arrays[1:]) + tuple(s.data for s in (extra.saved if extra is not None else ()))
    rule, a = plan.op.backward_writes, plan.attrs

    def write(gradient: torch.Tensor) -> None:
        with torch.no_grad():
            new = rule(a, {name: array._t.data for name, array in zip(names, kept, strict=True)}, tensors)
            for name, value in new.items():
                kept[names.index(name)]._t.copy_(value)

    arrays[0]._ag.register_hook(write)


def record(
    name: str, given: Mapping[str, Any], function: Callable[..., torch.Tensor], inputs: Sequence[NDArray], values: torch.Tensor | None = None
) -> NDArray:
    """Runs a function of tensors as an operation of that (MXNet) name, recorded when an input depends on a leaf.

    values: the result where it must share memory with an array (views); otherwise the result gets memory of its own.
    """
    ctx = inputs[0]._ctx
    tensors = [array._t for array in inputs]
    records = connected(inputs) if state.recording else None
    if records is None:
        return wrap(owned(function(*tensors), tensors) if values is None else values, ctx)
    shadow = [t._t.data if t._ag is None else t._ag for t in inputs]
    with torch.enable_grad():
        result = function(*shadow)
        if name == "_copyto" and not result.is_floating_point():
            array = _recorded_array(_straight(shadow[0], result), owned(function(*tensors), tensors), ctx)
            array._rec = Record(name, dict(given), records)
            return array
        if values is None:
            result = owned(result, shadow)
    if values is None:
        values = result.data if all(s.dtype is t.dtype for s, t in zip(shadow, tensors, strict=True)) else owned(function(*tensors), tensors)
    array = _recorded_array(result if result.requires_grad else None, values, ctx)
    array._rec = Record(name, dict(given), records)
    return array
