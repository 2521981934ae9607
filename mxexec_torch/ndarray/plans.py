"""Plans: an operator with parsed attributes, ready to run on tensors; and what is done with the results of every call."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import copysign
from typing import Any

import torch

from .. import ranges
from ..context import Context
from ..errors import MXNetError, translated
from ..infer.rules import any_dtype, elementwise, same_dtype
from ..infer.state import Dtypes, Shapes, show
from ..infer.storage import STORED_ONLY
from ..registry import Attrs, Grad, OpDef, Out
from .core import NDArray
from .tape import state

__all__ = ["TORCH_ERRORS", "Plan", "context_argument", "failure", "out_arrays", "owned", "results_of", "store", "write_inputs"]

TORCH_ERRORS = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError)


class Plan:
    """An operator with its attributes, ready to run on arrays.

    given: the attributes as the user wrote them (for get_symbol). seen: combinations of input shapes and types found to be right.
    zeros: whether an attribute was given as 0.0, which as a key is equal to -0.0: see `serves`.
    quick: the bodies for inference and for training, where tensors are all they need and nothing is written.
    """

    __slots__ = (
        "__weakref__", "attrs", "bodies", "checks", "checks_dtype", "checks_shape", "ctx", "device", "given", "in_place", "layout", "names", "no_bools",
        "num_inputs", "op", "plain", "quick", "seen", "sparse", "visible", "zeros",
    )

    def __init__(self, op: OpDef, given: Mapping[str, Any], num_inputs: int | None = None) -> None:
        self.op = op
        self.given = dict(given)
        self.zeros = any(v.__class__ is float and v == 0.0 for v in given.values())
        self.attrs: Attrs = op.parse(given)
        specs = op.node_inputs(self.attrs, num_inputs)
        self.names = [spec.name for spec in specs]
        self.num_inputs = len(specs)
        self.visible = op.num_visible(self.attrs)
        self.layout: tuple[int, ...] | None = None
        if op.present and not op.variadic:
            positions = iter(range(len(specs)))
            layout = [next(positions) if s.name not in op.present or op.present[s.name](self.attrs) else -1 for s in op.inputs]
            while layout and layout[-1] < 0:
                layout.pop()  # the body's own default is None
            self.layout = None if layout == list(range(len(layout))) else tuple(layout)
        self.device = next((k for k, what in op.injected.items() if what == "device"), None)
        self.checks_shape = op.shape is not None and not (op.shape is elementwise and self.num_inputs < 2)
        self.checks_dtype = op.dtype is not any_dtype and not ((op.dtype is None or op.dtype is same_dtype) and self.num_inputs < 2)
        self.seen: set[Any] = set()
        self.no_bools = not op.takes_bool and self.num_inputs > 0
        self.checks = self.checks_shape or self.checks_dtype or op.floats_only or (self.no_bools and self.num_inputs > 1)
        # the result may be sparse although all inputs are dense
        self.sparse = op.name in STORED_ONLY or self.attrs.get("forward_stype") is not None
        self.ctx: Context | None = context_argument(self.attrs["ctx"]) if self.attrs.get("ctx") else None
        self.prepare()
        _live.add(self)
        # torch's autograd through the body is all there is to recording
        self.plain = op.grad is Grad.AUTO and not op.refused_grads and op.backward_writes is None and op.name != "Cast"

    def prepare(self) -> None:
        """Binds the attributes to what runs; while the profiler records, all of it inside ranges."""
        op = self.op
        inference, training = self._bound_bodies()
        if ranges.is_recording():
            inference, training = _in_range(op.name, inference), _in_range(op.name, training)
        self.bodies = (inference, training)
        plain_inputs = self.layout is None and self.device is None and all(spec.kind == "arg" for spec in op.inputs)
        self.quick = self.bodies if plain_inputs and not self.sparse else None
        self.in_place: Callable[..., None] | None = None
        if op.in_place is not None and not self.sparse and not ranges.is_recording():
            self.in_place = functools.partial(op.in_place, **{name: self.attrs[name] for name in op.passed})

    def _bound_bodies(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The body with its attributes bound, for inference and for training."""
        op = self.op
        kwargs = {name: self.attrs[name] for name in op.passed}
        if op.any_attrs:
            kwargs.update({k: v for k, v in self.attrs.items() if k not in op.attrs})
        train = next((k for k, what in op.injected.items() if what == "train"), None)
        if train is not None:
            return functools.partial(op.body, **kwargs, **{train: False}), functools.partial(op.body, **kwargs, **{train: True})
        body = functools.partial(op.body, **kwargs) if kwargs else op.body
        return body, body

    def serves(self, values: Iterable[Any]) -> bool:
        """Whether a plan found under the key `values` is meant: its zeros are positive ones."""
        return not any(v.__class__ is float and v == 0.0 and copysign(1.0, v) < 0 for v in values)

    def apply(self, tensors: Sequence[torch.Tensor], device: torch.device | None) -> Any:
        """Runs the body; absent optional inputs become None."""
        arguments: Sequence[torch.Tensor | None] = tensors if self.layout is None else [None if i < 0 else tensors[i] for i in self.layout]
        body = self.bodies[state.training]
        return body(*arguments) if self.device is None else body(*arguments, **{self.device: device})

    def check(self, tensors: Sequence[torch.Tensor]) -> None:
        """Runs the operator's shape and type rules on these inputs, once for each combination. Errors: MXNetError as the rules word it."""
        key = (*[t.shape for t in tensors], *[t.dtype for t in tensors])
        if key in self.seen:
            return
        op, a, names = self.op, self.attrs, self.names
        unknown = [None] * op.num_outputs(a)
        op.check_types(tensors)
        if self.checks_dtype:
            (op.dtype or same_dtype)(a, Dtypes(op, a, op.name, [t.dtype for t in tensors], unknown, names))
        if self.checks_shape and op.shape is not None:
            op.shape(a, Shapes(op, a, op.name, [tuple(t.shape) for t in tensors], unknown, names))
        if len(self.seen) > 4096:
            self.seen.clear()
        self.seen.add(key)


_live: weakref.WeakSet[Plan] = weakref.WeakSet()


@ranges.on_switch
def _profiling(_on: bool) -> None:
    for plan in list(_live):
        plan.prepare()


def _in_range(name: str, body: Callable[..., Any]) -> Callable[..., Any]:
    def run(*tensors: Any, **kwargs: Any) -> Any:
        with ranges.named(name):
            return body(*tensors, **kwargs)

    return run


def context_argument(value: Any) -> Context:
    """The context of a `ctx` attribute: a Context or its text, 'gpu(0)'. Errors: MXNetError for other text."""
    if isinstance(value, Context):
        return value
    text = str(value)
    kind, bracket, number = text.partition("(")
    if kind not in Context.devstr2type or not bracket or not number.endswith(")") or not number[:-1].lstrip("-").isdigit():
        raise MXNetError(f"Invalid context string {text}")
    return Context(kind, int(number[:-1]))


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


def results_of(result: Any) -> tuple[Sequence[torch.Tensor], Out | None]:
    if isinstance(result, torch.Tensor):
        return (result,), None
    if isinstance(result, Out):
        return result.outputs, result
    return result, None


def failure(plan: Plan, tensors: Sequence[torch.Tensor], error: Exception) -> MXNetError:
    given = ", ".join(f"{show(tuple(t.shape))} {show(t.dtype)}" for t in tensors)
    return translated(error, f"Error in operator {plan.op.name}: inputs {given or 'none'} are not accepted: {error}")


def out_arrays(out: Any) -> list[NDArray]:
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
        types = f"expected {show(target.dtype)}, got {show(result.dtype)}"
        raise MXNetError(f"Error in operator {where}: Incompatible attr in node {where} at {index}-th output: {types}")
    if target.shape != result.shape:
        expected, got = show(tuple(target.shape)), show(tuple(result.shape))
        raise MXNetError(
            f"Error in operator {where}: Shape inconsistent, Provided = {expected}, inferred shape={got} "
            f"(Incompatible attr in node {where} at {index}-th output: expected {expected}, got {got})"
        )
    target.copy_(result.detach())


def write_inputs(plan: Plan, inputs: Sequence[NDArray], writes: Mapping[str, torch.Tensor]) -> None:
    for name, value in writes.items():
        inputs[plan.names.index(name)]._t.copy_(value.detach())
