"""Imperative control flow of mx.nd.contrib: foreach, while_loop and cond are Python loops here; the Symbol forms build subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base import _as_list
from .core import NDArray
from .creation import empty
from .invoke import call

__all__ = ["cond", "foreach", "while_loop"]


def _flatten(nested: Any, what: str) -> tuple[list[NDArray], Any]:
    """The arrays of a nested list, and its form: 0 for an array, a list of forms for a list. Errors: AssertionError for other things."""
    if isinstance(nested, NDArray):
        return [nested], 0
    assert isinstance(nested, (list, tuple)), f"{what} must be (nested) list of NDArray, but got {nested} of type {type(nested)}"
    arrays: list[NDArray] = []
    forms = []
    for item in nested:
        found, form = _flatten(item, what)
        arrays += found
        forms.append(form)
    return arrays, forms


def _regroup(arrays: Sequence[Any], form: Any) -> tuple[Any, Sequence[Any]]:
    """Arrays in the nested form again, and those left over."""
    if form == 0:
        return arrays[0], arrays[1:]
    grouped = []
    for part in form:
        item, arrays = _regroup(arrays, part)
        grouped.append(item)
    return grouped, arrays


def foreach(body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any) -> tuple[Any, Any]:
    """Runs `outputs, states = body(element, states)` over the first axis of data; returns the stacked outputs and the last states.

    data, init_states: an array or a (nested) list of arrays. Errors: AssertionError for other things.
    """
    _flatten(data, "foreach input")
    _flatten(init_states, "foreach states")
    single = isinstance(data, NDArray)
    states, steps, form = init_states, [], None
    for i in range((data if single else data[0]).shape[0]):
        outputs, states = body(data[i] if single else [d[i] for d in data], states)
        flat, form = _flatten(outputs, "foreach output")
        steps.append(flat)
    stacked = [call("stack", *items) for items in zip(*steps, strict=True)]
    return (_regroup(stacked, form)[0] if form is not None else stacked), states


def _scalar(value: Any, kind: type, name: str) -> Any:
    """An array of one element or a number as a Python scalar. Errors: ValueError."""
    try:
        return kind(value.asscalar() if isinstance(value, NDArray) else value)
    except (TypeError, ValueError):
        raise ValueError(f"Cannot convert {name} to python {kind.__name__}") from None


def while_loop(cond: Callable[..., Any], func: Callable[..., tuple[Any, Any]], loop_vars: Any, max_iterations: Any = None) -> tuple[Any, Any]:
    """Runs `output, loop_vars = func(*loop_vars)` while `cond(*loop_vars)`, at most max_iterations times.

    Returns the outputs stacked to max_iterations rows (those of steps that did not run are zero) and the last loop_vars.
    Errors: ValueError without max_iterations or loop_vars, or when a step changes the number or the shapes of what it returns.
    """
    if max_iterations is None:
        raise ValueError("max_iterations should be specified")
    limit = _scalar(max_iterations, int, "max_iteration")
    if len(loop_vars) == 0:
        raise ValueError("loop_vars should contain at least one element")
    single = isinstance(loop_vars, NDArray)
    variables: Any = _as_list(loop_vars)
    steps: list[list[NDArray]] = []
    form = None
    while len(steps) < limit and _scalar(cond(*variables), bool, "Return value of cond"):
        output, new = func(*variables)
        new = list(_as_list([] if new is None else new))
        if len(new) != len(variables):
            raise ValueError("The length of loop_vars should be consistent during the loop")
        flat, form = _flatten([] if output is None else output, "while output")
        steps.append(flat)
        if len(flat) != len(steps[0]):
            raise ValueError("Number of elements in step_output should be the same in each step")
        variables = new
    stacked = [_stack_rows(items, limit, i) for i, items in enumerate(zip(*steps, strict=True), 1)]
    outputs = _regroup(stacked, form)[0] if form is not None else stacked
    return outputs, variables[0] if single else variables


def _stack_rows(items: Sequence[NDArray], rows: int, position: int) -> NDArray:
    if any(item.shape != items[0].shape for item in items):
        listed = "".join(f"\n  Step {i}, shape is {item.shape}" for i, item in enumerate(items))
        raise ValueError(f"Shapes of {position}-th elements in step_outputs are inconsistent, which are:{listed}")
    parts = [item.expand_dims(0) for item in items]
    if len(parts) < rows:
        parts.append(empty((rows - len(parts), *items[0].shape), ctx=items[0].context, dtype=items[0].dtype))
    result: NDArray = call("Concat", *parts, dim=0)
    return result


def cond(pred: Any, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> Any:
    """then_func() if pred (an array of one element) is true, else else_func(). Errors: ValueError when pred is no single value."""
    return then_func() if _scalar(pred, bool, "pred") else else_func()
