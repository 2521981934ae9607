"""mx.contrib.autograd: the first interface of autograd, where recording and training mode are one switch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .. import autograd as _autograd
from ..base import c_array, c_array_buf, c_handle_array, check_call
from ..ndarray import NDArray
from ..ndarray.invoke import call

__all__ = [
    "NDArray", "TrainingStateScope", "backward", "c_array", "c_array_buf", "c_handle_array", "check_call", "compute_gradient",
    "grad", "grad_and_loss", "mark_variables", "set_is_training", "test_section",
    "train_section",
]  # fmt: skip


def set_is_training(is_train: bool) -> bool:
    """Switches recording and training mode together; returns whether recording was on."""
    _autograd.set_training(is_train)
    return _autograd.set_recording(is_train)


class TrainingStateScope:
    """`with` block that sets both switches and puts them back."""

    def __init__(self, enter_state: bool) -> None:
        self._enter_state = enter_state
        self._previous: bool | None = None

    def __enter__(self) -> None:
        self._previous = set_is_training(self._enter_state)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._previous is not None and self._previous != self._enter_state:
            set_is_training(self._previous)


def train_section() -> TrainingStateScope:
    """`with train_section():` what runs inside is recorded, in training mode."""
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """`with test_section():` what runs inside is not recorded, in inference mode."""
    return TrainingStateScope(False)


def mark_variables(variables: Any, gradients: Any, grad_reqs: Any = "write") -> None:
    """Makes arrays leaves whose gradients go to the given buffers."""
    _autograd.mark_variables(variables, gradients, grad_reqs)


def backward(outputs: Any, out_grads: Any = None, retain_graph: bool = False) -> None:
    """Writes the gradients of a list of outputs into the buffers of the leaves. Errors: AssertionError unless a list or tuple is given."""
    assert isinstance(outputs, (list, tuple)), "outputs must be a list or tuple of NDArrays"
    if out_grads is not None:
        assert len(out_grads) == len(outputs), "outputs and out_grads must have the same length"
    _autograd.backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs: Any) -> None:
    """Older name of `backward`."""
    backward(outputs)


def grad_and_loss(func: Callable[..., Any], argnum: int | list[int] | None = None) -> Callable[..., tuple[list[NDArray], Any]]:
    """A function that returns the gradients of func's arguments (all, or those of argnum) and func's result."""

    @functools.wraps(func)
    def wrapped(*args: Any) -> tuple[list[NDArray], Any]:
        variables = list(args) if argnum is None else [args[i] for i in (argnum if isinstance(argnum, list) else [argnum])]
        for variable in variables:
            assert isinstance(variable, NDArray), "type of autograd input should NDArray."
        grads = [call("zeros_like", variable) for variable in variables]
        mark_variables(variables, grads)
        with train_section():
            outputs = func(*args)
        compute_gradient([outputs] if isinstance(outputs, NDArray) else outputs)
        return grads, outputs

    return wrapped


def grad(func: Callable[..., Any], argnum: int | list[int] | None = None) -> Callable[..., list[NDArray]]:
    """A function that returns the gradients of func's arguments."""
    both = grad_and_loss(func, argnum)

    @functools.wraps(both)
    def wrapped(*args: Any) -> list[NDArray]:
        return both(*args)[0]

    return wrapped
