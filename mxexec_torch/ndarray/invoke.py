"""Running operators on NDArrays: argument checks, outputs, in-place writes and recording for autograd.

A `Plan` is an operator with parsed attributes; it is made once per set of attribute values. `run` is the path of every call, so what can be
decided per plan is decided there, and shapes and types are checked by the operator's own inference rules once per combination.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .. import registry
from ..context import Context, current_context
from ..errors import MXNetError
from ..infer.rules import any_dtype, elementwise, same_dtype
from ..infer.state import Dtypes, Shapes, show
from ..registry import Attrs, Grad, OpDef, Out
from .core import NDArray, wrap
from .tape import Record, constant_record, state

__all__ = ["Plan", "call", "invoke", "plan_of", "record", "run", "run1", "run2"]

_IN_GRAPH = (
    "Assigning to NDArrays that are already in a computational graph has no defined gradient: call backward first, or write outside of record(). "
    "This concerns +=, *=, relu(x, out=x), y[idx] = x and the like."
)
_IN_PLACE = "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd."
_new = object.__new__
_STORAGE_OPS = ("cast_storage", "_sparse_retain", "_square_sum", "_contrib_getnnz")
_TORCH_ERRORS = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError)

# Replaced by ndarray.sparse: runs an operator that was given sparse arrays, or returns NotImplemented.
sparse_handler: Callable[[Plan, Sequence[NDArray], Any], Any] | None = None


class Plan:
    """An operator with its attributes, ready to run on arrays.

    given: the attributes as the user wrote them (for get_symbol). seen: combinations of input shapes and types found to be right.
    """

    __slots__ = (
        "_bodies", "attrs", "checks", "checks_dtype", "checks_shape", "ctx", "device", "given", "layout", "num_inputs", "op", "quick", "seen", "sparse", "train",
    )

    def __init__(self, op: OpDef, given: Mapping[str, Any], num_inputs: int | None = None) -> None:
        self.op = op
        self.given = dict(given)
        self.attrs: Attrs = op.parse(given)
        specs = op.node_inputs(self.attrs, num_inputs)
        self.num_inputs = len(specs)
        self.layout: tuple[int, ...] | None = None
        if op.present and not op.variadic:
            positions = iter(range(len(specs)))
            self.layout = tuple(next(positions) if s.name not in op.present or op.present[s.name](self.attrs) else -1 for s in op.inputs)
        self.train = next((k for k, what in op.injected.items() if what == "train"), None)
        self.device = next((k for k, what in op.injected.items() if what == "device"), None)
        self.checks_shape = op.shape is not None and not (op.shape is elementwise and self.num_inputs < 2)
        self.checks_dtype = op.dtype is not any_dtype and not ((op.dtype is None or op.dtype is same_dtype) and self.num_inputs < 2)
        self.seen: set[Any] = set()
        self.checks = self.checks_shape or self.checks_dtype
        writes = any(spec.kind != "arg" for spec in op.inputs)
        # the result may be sparse although all inputs are dense
        self.sparse = op.name in _STORAGE_OPS or self.attrs.get("forward_stype") is not None
        simple = not self.sparse and self.layout is None and self.device is None and self.train is None and not writes
        # the bound body where nothing depends on the device or the mode and nothing is written
        self.quick: Callable[..., Any] | None = None
        self.ctx: Context | None = context_argument(self.attrs["ctx"]) if self.attrs.get("ctx") else None
        self._bodies: list[Callable[..., Any] | None] = [None, None]
        if simple:
            self.quick = self.body(False)

    def body(self, train: bool) -> Callable[..., Any]:
        """The body with its attributes bound."""
        found = self._bodies[train]
        if found is None:
            kwargs = {name: self.attrs[name] for name in self.op.passed}
            if self.op.any_attrs:
                kwargs.update({k: v for k, v in self.attrs.items() if k not in self.op.attrs})
            if self.train is not None:
                kwargs[self.train] = train
            found = self._bodies[train] = functools.partial(self.op.body, **kwargs) if kwargs else self.op.body
        return found

    def apply(self, tensors: Sequence[torch.Tensor], device: torch.device | None) -> Any:
        """Runs the body; absent optional inputs become None."""
        arguments: Sequence[torch.Tensor | None] = tensors if self.layout is None else [None if i < 0 else tensors[i] for i in self.layout]
        body = self.body(state.training)
        return body(*arguments, **{self.device: device}) if self.device is not None else body(*arguments)

    def check(self, tensors: Sequence[torch.Tensor]) -> None:
        """Runs the operator's shape and type rules on these inputs. Errors: MXNetError as the rules word it."""
        key = tuple((t.shape, t.dtype) for t in tensors)
        if key in self.seen:
            return
        op, a = self.op, self.attrs
        names = [spec.name for spec in op.node_inputs(a, len(tensors))]
        unknown = [None] * op.num_outputs(a)
        if self.checks_dtype:
            (op.dtype or same_dtype)(a, Dtypes(op, a, op.name, [t.dtype for t in tensors], unknown, names))
        if self.checks_shape and op.shape is not None:
            op.shape(a, Shapes(op, a, op.name, [tuple(t.shape) for t in tensors], unknown, names))
        if len(self.seen) > 4096:
            self.seen.clear()
        self.seen.add(key)


def context_argument(value: Any) -> Context:
    """The context of a `ctx` attribute: a Context or its text, 'gpu(0)'. Errors: MXNetError for other text."""
    if isinstance(value, Context):
        return value
    text = str(value)
    kind, bracket, number = text.partition("(")
    if kind not in Context.devstr2type or not bracket or not number.endswith(")") or not number[:-1].lstrip("-").isdigit():
        raise MXNetError(f"Invalid context string {text}")
    return Context(kind, int(number[:-1]))


def plan_of(op: OpDef, given: Mapping[str, Any], num_inputs: int | None = None) -> Plan:
    """A plan for attributes as given (text or Python values)."""
    return Plan(op, given, num_inputs)


# -- results ------------------------------------------------------------------------------------------------------------------
def owned(result: torch.Tensor, inputs: Sequence[torch.Tensor]) -> torch.Tensor:
    """The result in contiguous memory of its own: operators return new arrays, torch often views of its inputs."""
    if result._is_view() or not result.is_contiguous():
        return result.clone(memory_format=torch.contiguous_format)
    pointer = result.data_ptr()
    for tensor in inputs:
        if tensor.data_ptr() == pointer:
            return result.clone(memory_format=torch.contiguous_format)
    return result


def _results(result: Any) -> tuple[Sequence[torch.Tensor], Out | None]:
    if isinstance(result, torch.Tensor):
        return (result,), None
    if isinstance(result, Out):
        return result.outputs, result
    return result, None


def _failure(plan: Plan, tensors: Sequence[torch.Tensor], error: Exception) -> MXNetError:
    given = ", ".join(f"{show(tuple(t.shape))} {show(t.dtype)}" for t in tensors)
    return MXNetError(f"Error in operator {plan.op.name}: inputs {given or 'none'} are not accepted: {error}")


def _out_arrays(out: Any) -> list[NDArray]:
    if isinstance(out, NDArray):
        return [out]
    arrays = list(out) if len(out) >= 0 else []
    for array in arrays:
        if not isinstance(array, NDArray):
            raise TypeError(f"out must be an NDArray or a list of them, not {type(array).__name__}")
    return arrays


def store(array: NDArray, result: torch.Tensor, where: str, index: int = 0) -> None:
    """Writes a result into an existing array. Errors: MXNetError when its shape or type differs."""
    target = array._t
    if target.dtype is not result.dtype:
        raise MXNetError(f"Error in operator {where}: Incompatible attr in node {where} at {index}-th output: expected {show(target.dtype)}, got {show(result.dtype)}")
    if target.shape != result.shape:
        expected, got = show(tuple(target.shape)), show(tuple(result.shape))
        raise MXNetError(
            f"Error in operator {where}: Shape inconsistent, Provided = {expected}, inferred shape={got} "
            f"(Incompatible attr in node {where} at {index}-th output: expected {expected}, got {got})"
        )
    target.copy_(result.detach())


def _write_inputs(plan: Plan, inputs: Sequence[NDArray], writes: Mapping[str, torch.Tensor]) -> None:
    names = [spec.name for spec in plan.op.node_inputs(plan.attrs, len(inputs))]
    for name, value in writes.items():
        inputs[names.index(name)]._t.copy_(value.detach())


# -- running ------------------------------------------------------------------------------------------------------------------
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
            return _run_recorded(plan, inputs, records, out)
    tensors = [array._t for array in inputs]
    if plan.checks:
        plan.check(tensors)
    ctx = inputs[0]._ctx if inputs else _output_context(plan, out)
    try:
        result = plan.apply(tensors, ctx.device)
    except MXNetError:
        raise
    except _TORCH_ERRORS as error:
        raise _failure(plan, tensors, error) from error
    if out is None and result.__class__ is torch.Tensor:
        return wrap(owned(result, tensors), ctx)
    outputs, extra = _results(result)
    if extra is not None and extra.writes:
        # outputs that share memory with what is overwritten now must be taken first
        outputs = [owned(o, tensors) for o in outputs]
        _write_inputs(plan, inputs, extra.writes)
    visible = outputs[: plan.op.num_visible(plan.attrs)]
    if out is not None:
        return _into(plan, visible, inputs, out)
    arrays = [wrap(owned(o, tensors), ctx) for o in visible]
    return arrays[0] if len(arrays) == 1 else arrays


def _output_context(plan: Plan, out: Any) -> Context:
    if plan.ctx is not None:
        return plan.ctx
    if out is not None:
        arrays = _out_arrays(out)
        if arrays:
            return arrays[0]._ctx
    return current_context()


def _into(plan: Plan, outputs: Sequence[torch.Tensor], inputs: Sequence[NDArray], out: Any) -> Any:
    arrays = _out_arrays(out)
    if len(arrays) > len(outputs):
        raise MXNetError(f"Operator {plan.op.name} has {len(outputs)} outputs, but out holds {len(arrays)} arrays")
    if state.recording:
        for array in arrays:
            guard_write(array)
    for index, (array, result) in enumerate(zip(arrays, outputs, strict=False)):
        if array.__class__ is not NDArray and array.stype != "default":
            array._assign_dense(result)  # type: ignore[attr-defined]
        else:
            store(array, result, plan.op.name, index)
    return out


def _run_sparse(plan: Plan, inputs: Sequence[NDArray], out: Any) -> Any:
    if sparse_handler is not None:
        result = sparse_handler(plan, inputs, out)
        if result is not NotImplemented:
            return result
    return run(plan, [array if array.stype == "default" else array.tostype("default") for array in inputs], out)


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


def guard_write(array: NDArray, value: Any = None) -> None:
    """Refuses to write to an array that recording has seen, or a recorded value into a part of one. Errors: MXNetError."""
    if array._rec is not None and not array._rec.freed:
        raise MXNetError(_IN_GRAPH)
    if isinstance(value, NDArray) and value._rec is not None and not (value._rec.freed or value._rec.constant):
        raise MXNetError(_IN_PLACE)


def guard_write_recorded(array: NDArray, inputs: Sequence[NDArray]) -> None:
    """`guard_write` for the output of a recorded operation whose inputs have just been put on the tape."""
    rec = array._rec
    if rec is None or rec.freed:
        return
    raise MXNetError(_IN_PLACE if rec.constant and any(array is x for x in inputs) else _IN_GRAPH)


def with_history(inputs: Sequence[NDArray]) -> list[torch.Tensor]:
    """The tensors to run a recorded operation on. Constants go in as aliases, so that later writes to them are not torch errors."""
    return [array._t.data if array._ag is None else array._ag for array in inputs]


def _run_recorded(plan: Plan, inputs: Sequence[NDArray], records: tuple[Record, ...], out: Any) -> Any:
    op = plan.op
    ctx = inputs[0]._ctx
    values = [array._t for array in inputs]
    if plan.checks:
        plan.check(values)
    if out is not None:
        for array in _out_arrays(out):
            guard_write_recorded(array, inputs)
    function = functools.partial(_apply_all, plan, ctx.device)
    try:
        results, extra = _with_gradients(op, plan.attrs, function, inputs, values)
    except MXNetError:
        raise
    except _TORCH_ERRORS as error:
        raise _failure(plan, values, error) from error
    arrays = [_recorded_array(result, value, ctx) for result, value in results]
    _put_on_tape(arrays, Record(op, plan.given, records))
    if extra is not None:
        if extra.writes:
            _write_inputs(plan, inputs, extra.writes)
        if op.backward_writes is not None and state.training:
            _write_in_backward(plan, inputs, arrays, extra)
    elif op.backward_writes is not None and state.training:
        _write_in_backward(plan, inputs, arrays, None)
    visible = arrays[: op.num_visible(plan.attrs)]
    if out is not None:
        for index, (target, array) in enumerate(zip(_out_arrays(out), visible, strict=False)):
            store(target, array._t, op.name, index)
            target._ag, target._rec = array._ag, array._rec
        return out
    return visible[0] if len(visible) == 1 else visible


def _apply_all(plan: Plan, device: torch.device, *tensors: torch.Tensor) -> tuple[Sequence[torch.Tensor], Out | None]:
    return _results(plan.apply(tensors, device))


_Pairs = list[tuple[torch.Tensor | None, torch.Tensor]]  # per output: tensor with history or None, values


def _with_gradients(
    op: OpDef, a: Attrs, function: Callable[..., tuple[Sequence[torch.Tensor], Out | None]], inputs: Sequence[NDArray], values: list[torch.Tensor]
) -> tuple[_Pairs, Out | None]:
    if op.grad is Grad.ZERO:
        outputs, extra = function(*values)
        return [(None, owned(o, values)) for o in outputs], extra
    tensors = with_history(inputs)
    if any(t.dtype is not v.dtype for t, v in zip(tensors, values, strict=True)):
        return _shadowed(op, function, inputs, values)
    refused = _refused(op, a, inputs) if op.refused_grads else None
    if op.grad is Grad.MISSING or refused is not None:
        outputs, extra = function(*values)
        return [(_refuse(op.name, refused, o.data, tensors), owned(o, values)) for o in outputs], extra
    with torch.enable_grad():
        outputs, extra = function(*tensors)
        if op.name == "Cast" and not outputs[0].is_floating_point():
            return [(straight(tensors[0], outputs[0]), outputs[0])], extra
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


def straight(source: torch.Tensor, values: torch.Tensor) -> torch.Tensor | None:
    """History for the integer result of a cast; None when the source has none."""
    if not source.requires_grad:
        return None
    result: torch.Tensor = _Straight.apply(source, values)
    return result


def _pair(result: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor]:
    return (result, result.data) if result.requires_grad else (None, result)


def _shadowed(
    op: OpDef, function: Callable[..., tuple[Sequence[torch.Tensor], Out | None]], inputs: Sequence[NDArray], values: list[torch.Tensor]
) -> tuple[_Pairs, Out | None]:
    """Integer arrays with gradients: torch has none for them, so that gradients run through a float64 copy beside the integer result."""
    outputs, extra = function(*values)
    whole = {v.dtype for v, array in zip(values, inputs, strict=True) if array._ag is not None and array._ag.dtype is not v.dtype}
    shadows = [(array._t if array._ag is None else array._ag) for array in inputs]
    shadows = [s.double() if s.dtype in whole else s for s in shadows]
    if op.grad is Grad.MISSING:
        return [(_refuse(op.name, None, o.data, shadows), owned(o, values)) for o in outputs], extra
    try:
        with torch.enable_grad():
            differentiable, _ = function(*shadows)
    except MXNetError:
        raise
    except _TORCH_ERRORS as error:
        raise MXNetError(f"operator {op.name} cannot be recorded for arrays of type {show(values[0].dtype)}: {error}") from error
    return [(d if d.requires_grad else None, owned(o, values)) for d, o in zip(differentiable, outputs, strict=True)], extra


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
    result: torch.Tensor = _Refusal.apply(f"Operator {name} is non-differentiable{of}: MXNet defines no gradient (didn't register FGradient attribute)", value, *tensors)
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
    names = [spec.name for spec in plan.op.node_inputs(plan.attrs, len(inputs))]
    kept = list(inputs)
    tensors = tuple(array._t for array in arrays) + tuple(s.data for s in (extra.saved if extra is not None else ()))
    rule, a = plan.op.backward_writes, plan.attrs

    def write(gradient: torch.Tensor) -> None:
        with torch.no_grad():
            new = rule(a, {name: array._t.data for name, array in zip(names, kept, strict=True)}, tensors)
            for name, value in new.items():
                kept[names.index(name)]._t.copy_(value)

    arrays[0]._ag.register_hook(write)


def record(name: str, given: Mapping[str, Any], function: Callable[..., torch.Tensor], inputs: Sequence[NDArray], values: torch.Tensor | None = None) -> NDArray:
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
            array = _recorded_array(straight(shadow[0], result), owned(function(*tensors), tensors), ctx)
            array._rec = Record(name, dict(given), records)
            return array
        if values is None:
            result = owned(result, shadow)
    if values is None:
        values = result.data if all(s.dtype is t.dtype for s, t in zip(shadow, tensors, strict=True)) else owned(function(*tensors), tensors)
    array = _recorded_array(result if result.requires_grad else None, values, ctx)
    array._rec = Record(name, dict(given), records)
    return array


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
    if plan is None:
        op = registry.get(name)
        if op.variadic and op.key_var_num_args:
            attrs.setdefault(op.key_var_num_args, len(inputs))
        plan = Plan(op, attrs, len(inputs))
        if len(_plans) > 4096:
            _plans.clear()
        if not any(v == 0.0 and isinstance(v, float) for v in attrs.values()):  # 0.0 and -0.0 are equal keys
            _plans[key] = plan
    return run(plan, inputs, out)


def run1(plan: Plan, x: NDArray, out: Any) -> Any:
    """`run` for one dense array: the common case without detours."""
    if out is not None or state.recording or plan.quick is None:
        return run(plan, (x,), out)
    tensor = x._t
    if plan.checks:
        plan.check((tensor,))
    try:
        result = plan.quick(tensor)
    except MXNetError:
        raise
    except _TORCH_ERRORS as error:
        raise _failure(plan, (tensor,), error) from error
    if result.__class__ is not torch.Tensor:
        return _several(plan, result, (tensor,), x._ctx)
    if result._is_view() or not result.is_contiguous() or result.data_ptr() == tensor.data_ptr():
        result = result.clone(memory_format=torch.contiguous_format)
    array = _new(NDArray)
    array._t, array._ctx, array._ag, array._rec, array._x = result, x._ctx, None, None, None
    return array


def run2(plan: Plan, x: NDArray, y: NDArray, out: Any) -> Any:
    """`run` for two dense arrays."""
    if out is not None or state.recording or plan.quick is None or plan.num_inputs != 2:
        return run(plan, (x, y), out)
    first, second = x._t, y._t
    if plan.checks:
        plan.check((first, second))
    try:
        result = plan.quick(first, second)
    except MXNetError:
        raise
    except _TORCH_ERRORS as error:
        raise _failure(plan, (first, second), error) from error
    if result.__class__ is not torch.Tensor:
        return _several(plan, result, (first, second), x._ctx)
    if result._is_view() or not result.is_contiguous() or result.data_ptr() == first.data_ptr() or result.data_ptr() == second.data_ptr():
        result = result.clone(memory_format=torch.contiguous_format)
    array = _new(NDArray)
    array._t, array._ctx, array._ag, array._rec, array._x = result, x._ctx, None, None, None
    return array


def _several(plan: Plan, result: Any, tensors: Sequence[torch.Tensor], ctx: Context) -> Any:
    outputs, _ = _results(result)
    arrays = [wrap(owned(o, tensors), ctx) for o in outputs[: plan.op.num_visible(plan.attrs)]]
    return arrays[0] if len(arrays) == 1 else arrays
