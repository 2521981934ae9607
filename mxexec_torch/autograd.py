"""Recording computations and their gradients: record(), backward, grad, Function. The machinery is in ndarray.tape and ndarray.gradients."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import torch

from .base import MXCallbackList, c_array, c_array_buf, c_handle_array, check_call
from .errors import MXNetError
from .ndarray import gradients
from .ndarray.core import NDArray, wrap
from .ndarray.invoke import connected, with_history
from .ndarray.tape import Record, state
from .symbol import Symbol

__all__ = [
    "Function", "MXCallbackList", "NDArray", "Symbol", "backward", "c_array", "c_array_buf", "c_handle_array", "check_call",
    "get_symbol", "grad", "is_recording", "is_training", "mark_variables", "pause", "predict_mode", "record", "set_recording",
    "set_training", "train_mode",
]  # fmt: skip


def set_recording(is_recording: bool) -> bool:
    """Switches recording for this thread; returns the previous state."""
    previous, state.recording = state.recording, bool(is_recording)
    return previous


def set_training(train_mode: bool) -> bool:
    """Switches training mode (Dropout, BatchNorm) for this thread; returns the previous state."""
    previous, state.training = state.training, bool(train_mode)
    return previous


def is_recording() -> bool:
    """Whether operations are being recorded."""
    return state.recording


def is_training() -> bool:
    """Whether operators run in training mode."""
    return state.training


class _RecordingStateScope:
    """Sets recording and training mode (None: leaves one as it is) and puts both back at the end."""

    def __init__(self, is_record: bool | None, train_mode: bool | None) -> None:
        self._wanted = (is_record, train_mode)
        self._previous: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._previous.append((state.recording, state.training))
        recording, training = self._wanted
        if recording is not None:
            state.recording = recording
        if training is not None:
            state.training = training

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        state.recording, state.training = self._previous.pop()


def record(train_mode: bool = True) -> _RecordingStateScope:
    """`with record():` operations inside are recorded, in training mode unless told otherwise."""
    return _RecordingStateScope(True, train_mode)


def pause(train_mode: bool = False) -> _RecordingStateScope:
    """`with pause():` operations inside are not recorded."""
    return _RecordingStateScope(False, train_mode)


def train_mode() -> _RecordingStateScope:
    """`with train_mode():` operators run in training mode; recording stays as it is."""
    return _RecordingStateScope(None, True)


def predict_mode() -> _RecordingStateScope:
    """`with predict_mode():` operators run in inference mode; recording stays as it is."""
    return _RecordingStateScope(None, False)


def mark_variables(variables: Any, gradients: Any, grad_reqs: Any = "write") -> None:
    """Makes arrays leaves whose gradients go to the given buffers.

    grad_reqs: one request for all, or one each. Errors: KeyError for an unknown request, MXNetError for a buffer of another shape.
    """
    if isinstance(variables, NDArray):
        assert isinstance(gradients, NDArray)
        variables, gradients = [variables], [gradients]
    requests = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    for variable, buffer, request in zip(variables, gradients, requests, strict=True):
        if variable.shape != buffer.shape:
            raise MXNetError(f"the gradient buffer has shape {buffer.shape}, the variable {variable.shape}")
        _attach(variable, buffer, request)


_attach = gradients.attach


def _heads(heads: Any, head_grads: Any) -> tuple[list[NDArray], list[NDArray | None]]:
    """Heads and head gradients as lists of equal length."""
    if isinstance(heads, NDArray):
        heads = [heads]
    if isinstance(head_grads, NDArray):
        head_grads = [head_grads]
    if head_grads is None:
        head_grads = [None] * len(heads)
    assert len(heads) == len(head_grads), "heads and head_grads must be lists of the same length"
    return list(heads), list(head_grads)


def backward(heads: Any, head_grads: Any = None, retain_graph: bool = False, train_mode: bool = True) -> None:
    """Writes the gradients of the heads (an array or a list) into the buffers of the leaves they depend on.

    head_grads: gradients of the heads, None (or None entries) for ones. Errors: MXNetError as `NDArray.backward`.
    """
    arrays, seeds = _heads(heads, head_grads)
    gradients.backward(arrays, seeds, retain_graph, train_mode)


def grad(
    heads: Any, variables: Any, head_grads: Any = None, retain_graph: bool | None = None, create_graph: bool = False, train_mode: bool = True
) -> list[NDArray]:
    """Gradients of the heads with respect to leaves, returned as new arrays; the gradient buffers stay as they are.

    variables: a leaf or a list of them; the result is a list. create_graph: the gradients can be differentiated again.
    """
    arrays, seeds = _heads(heads, head_grads)
    wanted = [variables] if isinstance(variables, NDArray) else list(variables)
    assert wanted, "variables cannot be an empty list."
    retain = create_graph if retain_graph is None else retain_graph
    return gradients.gradient_list(arrays, seeds, wanted, retain, create_graph, train_mode)


def get_symbol(x: NDArray) -> Any:
    """The recorded computation of an array as a Symbol. Errors: MXNetError when nothing was recorded."""
    from .ndarray.recorded import symbol_of

    if x._rec is None or x._rec.freed or x._rec.constant:
        raise MXNetError("Cannot get the symbol of an array that is not in a computational graph: use autograd.record()")
    return symbol_of(x._rec)


class Function:
    """A differentiable function with a gradient of its own: subclasses define forward(*arrays) and backward(*gradients).

    One instance serves one call. forward may keep arrays for backward with save_for_backward; they are `saved_tensors` there.
    """

    def __init__(self) -> None:
        self._used = False
        self.saved_tensors: tuple[NDArray, ...] = ()

    def save_for_backward(self, *args: NDArray) -> None:
        """Keeps arrays for backward."""
        self.saved_tensors = args

    def __call__(self, *inputs: NDArray) -> Any:
        assert not self._used, "Each Function instance can only be called once. Please create another instance."
        self._used = True
        recording = set_recording(False)
        try:
            outputs = self.forward(*inputs)
        finally:
            set_recording(recording)
        if recording:
            self._record(inputs, [outputs] if isinstance(outputs, NDArray) else list(outputs))
        return outputs

    def _record(self, inputs: Sequence[NDArray], outputs: Sequence[NDArray]) -> None:
        records = connected(inputs)
        if records is None:
            return
        for output in outputs:
            if output._rec is not None and not output._rec.freed:
                raise MXNetError("forward of an autograd.Function returned an array that is already in a computational graph")
        with torch.enable_grad():
            history = _UserFunction.apply(self, [o._t for o in outputs], inputs[0]._ctx, *with_history(inputs))
        entry = Record("_CustomFunction", {}, records)
        for index, (output, tensor) in enumerate(zip(outputs, history, strict=True)):
            output._ag = tensor if tensor.requires_grad else None
            output._rec = entry if index == 0 else Record(None, None, (entry,), index)

    def forward(self, *inputs: NDArray) -> Any:
        """Computes the outputs (one array or several) from the inputs."""
        raise NotImplementedError

    def backward(self, *output_grads: NDArray) -> Any:
        """Computes a gradient for every input from the gradients of the outputs."""
        raise NotImplementedError


class _UserFunction(torch.autograd.Function):
    """Puts a user's Function into torch's graph."""

    @staticmethod
    def forward(ctx: Any, function: Function, values: list[torch.Tensor], context: Any, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.function, ctx.context, ctx.dtypes = function, context, [v.dtype for v in values]
        return tuple(v.data if v.is_floating_point() else v.double() for v in values)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        given = [wrap(g.data.to(dtype), ctx.context) for g, dtype in zip(grads, ctx.dtypes, strict=True)]
        try:
            with pause(state.training):
                returned = ctx.function.backward(*given)
        except Exception as error:
            raise MXNetError(f"Error in Function.backward: {traceback.format_exc()}") from error
        results = [returned] if isinstance(returned, NDArray) else list(returned)
        count = len(ctx.needs_input_grad) - 3
        name = type(ctx.function).__name__
        if len(results) != count:
            raise MXNetError(
                f"{name}.backward must return exactly the same number of NDArrays as the number of NDArrays arguments to forward. "
                f"Expecting {count} got {len(results)}"
            )
        for result in results:
            if not isinstance(result, NDArray):
                raise MXNetError(f"autograd.Function.backward must return NDArrays, not {type(result)}")
        return (None, None, None, *[r._t for r in results])
