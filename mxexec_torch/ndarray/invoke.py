"""Running operators on NDArrays: numbers of inputs, outputs and in-place writes. Recorded operations go to `recording`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .. import registry
from ..context import Context, current_context
from ..errors import MXNetError
from ..registry import OpDef
from . import arithmetic, core, indexing
from .core import NDArray, wrap
from .plans import TORCH_ERRORS, Plan, context_argument, failure, out_arrays, owned, results_of, store, write_inputs
from .recording import connected, record, run_recorded, with_history
from .tape import guard_write, state

__all__ = ["Plan", "call", "connected", "context_argument", "invoke", "record", "run", "run1", "run2", "run_dense", "store", "with_history"]

BOOL = torch.bool
_new = object.__new__

# Replaced by ndarray.sparse_ops: runs an operator that was given sparse arrays, or returns NotImplemented.
sparse_handler: Callable[[Plan, Sequence[NDArray], Any], Any] | None = None


def run(plan: Plan, inputs: Sequence[NDArray], out: Any = None, dense: bool = False) -> Any:
    """Runs a plan on as many arrays as it has inputs; returns the visible outputs, or `out`. dense: called by the sparse handler itself.

    Errors: MXNetError for wrong numbers of inputs, shapes and types.
    """
    if len(inputs) != plan.num_inputs:
        raise MXNetError(f"Operator {plan.op.name} expects {plan.num_inputs} inputs, but got {len(inputs)} instead.")
    if not dense:
        if plan.sparse:
            return _run_sparse(plan, inputs, out)
        for array in inputs:
            if array.__class__ is not NDArray and array.stype != "default":
                return _run_sparse(plan, inputs, out)
    if state.recording:
        records = connected(inputs)
        if records is not None:
            return run_recorded(plan, inputs, records, out)
    tensors = [array._t for array in inputs]
    if plan.checks or (plan.no_bools and tensors[0].dtype is BOOL):
        plan.check(tensors)
    if plan.in_place is not None and out is inputs[0] and not state.recording and len({t.data_ptr() for t in tensors}) == len(tensors):
        try:
            plan.in_place(*tensors)
        except TORCH_ERRORS as error:
            raise failure(plan, tensors, error) from error
        return out
    ctx = inputs[0]._ctx if inputs else _output_context(plan, out)
    try:
        result = plan.apply(tensors, ctx.device)
    except MXNetError:
        raise
    except TORCH_ERRORS as error:
        raise failure(plan, tensors, error) from error
    if out is None and result.__class__ is torch.Tensor:
        return wrap(owned(result, tensors), ctx)
    outputs, extra = results_of(result)
    if extra is not None and extra.writes:
        # outputs that share memory with what is overwritten now must be taken first
        outputs = [owned(o, tensors) for o in outputs]
        write_inputs(plan, inputs, extra.writes)
    visible = outputs[: plan.visible]
    if out is not None:
        return _into(plan, visible, inputs, out)
    arrays = [wrap(owned(o, tensors), ctx) for o in visible]
    return arrays[0] if len(arrays) == 1 else arrays


def _output_context(plan: Plan, out: Any) -> Context:
    if plan.ctx is not None:
        return plan.ctx
    if out is not None:
        arrays = out_arrays(out)
        if arrays:
            return arrays[0]._ctx
    return current_context()


def _into(plan: Plan, outputs: Sequence[torch.Tensor], inputs: Sequence[NDArray], out: Any) -> Any:
    arrays = out_arrays(out)
    if len(arrays) > len(outputs):
        raise MXNetError(f"Operator {plan.op.name} has {len(outputs)} outputs, but out holds {len(arrays)} arrays")
    if state.recording:
        for array in arrays:
            guard_write(array)
    for index, (array, result) in enumerate(zip(arrays, outputs, strict=False)):
        if array.__class__ is not NDArray and array.stype != "default":
            array._assign_dense(result)  # type: ignore[attr-defined]
        elif plan.op.fills_out:
            array._t.copy_(result)
        else:
            store(array, result if plan.op.joins_out is None else plan.op.joins_out(plan.attrs, result, array._t), plan.op.name, index)
    return out


def _run_sparse(plan: Plan, inputs: Sequence[NDArray], out: Any) -> Any:
    if sparse_handler is not None:
        result = sparse_handler(plan, inputs, out)
        if result is not NotImplemented:
            return result
    return run(plan, [array if array.stype == "default" else array.tostype("default") for array in inputs], out)


# -- by name ------------------------------------------------------------------------------------------------------------------
def invoke(op: OpDef, inputs: Sequence[NDArray | None], given: Mapping[str, Any], out: Any = None) -> Any:
    """Runs an operator. Absent optional inputs are None or left out; attributes are text or Python values."""
    arrays = [array for array in inputs if array is not None]
    if op.variadic and op.key_var_num_args and op.key_var_num_args not in given:
        given = {**given, op.key_var_num_args: len(arrays)}
    return run(Plan(op, given, len(arrays)), arrays, out)


_plans: dict[tuple[Any, ...], Plan] = {}


def call(name: str, *inputs: NDArray, out: Any = None, **attrs: Any) -> Any:
    """Runs an operator by name, for use inside the package; plans are kept by the attribute values."""
    key = (name, len(inputs), *attrs.items())
    try:
        plan = _plans.get(key)
    except TypeError:
        return invoke(registry.get(name), inputs, attrs, out)
    if plan is None or (plan.zeros and not plan.serves(attrs.values())):
        op = registry.get(name)
        values = attrs
        if op.variadic and op.key_var_num_args:
            values = {op.key_var_num_args: len(inputs), **attrs}
        plan = Plan(op, values, len(inputs))
        if len(_plans) > 4096:
            _plans.clear()
        if not plan.zeros or plan.serves(attrs.values()):
            _plans[key] = plan
    return run(plan, inputs, out)


def run1(plan: Plan, x: NDArray, out: Any) -> Any:
    """`run` for one dense array: the common case without detours."""
    if out is not None or state.recording or plan.quick is None or x.__class__ is not NDArray:
        return run(plan, (x,), out)
    tensor = x._t
    if (plan.checks and (tensor.shape, tensor.dtype) not in plan.seen) or (plan.no_bools and tensor.dtype is BOOL):
        plan.check((tensor,))
    try:
        result = plan.quick[state.training](tensor)
    except MXNetError:
        raise
    except TORCH_ERRORS as error:
        raise failure(plan, (tensor,), error) from error
    if result.__class__ is not torch.Tensor:
        return _several(plan, result, (tensor,), x._ctx)
    if result._is_view() or not result.is_contiguous() or result.data_ptr() == tensor.data_ptr():
        result = result.clone(memory_format=torch.contiguous_format)
    array = _new(NDArray)
    array._t, array._ctx, array._ag, array._rec, array._x = result, x._ctx, None, None, None
    return array


def run2(plan: Plan, x: NDArray, y: NDArray, out: Any) -> Any:
    """`run` for two dense arrays."""
    if out is not None or state.recording or plan.quick is None or plan.num_inputs != 2 or x.__class__ is not NDArray or y.__class__ is not NDArray:
        return run(plan, (x, y), out)
    first, second = x._t, y._t
    if plan.checks and (first.shape, second.shape, first.dtype, second.dtype) not in plan.seen:
        plan.check((first, second))
    try:
        result = plan.quick[state.training](first, second)
    except MXNetError:
        raise
    except TORCH_ERRORS as error:
        raise failure(plan, (first, second), error) from error
    if result.__class__ is not torch.Tensor:
        return _several(plan, result, (first, second), x._ctx)
    if result._is_view() or not result.is_contiguous() or result.data_ptr() == first.data_ptr() or result.data_ptr() == second.data_ptr():
        result = result.clone(memory_format=torch.contiguous_format)
    array = _new(NDArray)
    array._t, array._ctx, array._ag, array._rec, array._x = result, x._ctx, None, None, None
    return array


def run_dense(plan: Plan, arrays: Sequence[NDArray], out: Any) -> Any:
    """`run` for any number of dense arrays."""
    if out is not None or state.recording or plan.quick is None or plan.num_inputs != len(arrays):
        return run(plan, arrays, out)
    tensors = [array._t for array in arrays]
    if plan.checks or (plan.no_bools and tensors[0].dtype is BOOL):
        plan.check(tensors)
    try:
        result = plan.quick[state.training](*tensors)
    except MXNetError:
        raise
    except TORCH_ERRORS as error:
        raise failure(plan, tensors, error) from error
    if result.__class__ is torch.Tensor:
        return wrap(owned(result, tensors), arrays[0]._ctx if arrays else current_context())
    return _several(plan, result, tensors, arrays[0]._ctx)


def _several(plan: Plan, result: Any, tensors: Sequence[torch.Tensor], ctx: Context) -> Any:
    outputs, _ = results_of(result)
    arrays = [wrap(owned(o, tensors), ctx) for o in outputs[: plan.visible]]
    return arrays[0] if len(arrays) == 1 else arrays


def _plan_by_name(name: str, given: Mapping[str, Any]) -> Plan:
    op = registry.get(name)
    return Plan(op, given, len(op.inputs))


core.bind(call, record)
arithmetic.bind(NDArray, run1, run2, _plan_by_name)
indexing.bind(NDArray, record)
