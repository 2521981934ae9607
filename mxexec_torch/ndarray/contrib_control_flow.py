"""mx.nd.contrib.foreach, while_loop and cond: plain Python control flow over NDArrays, recorded as what it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .core import NDArray
from .invoke import call

__all__ = ["cond", "foreach", "while_loop"]

Nested = Any  # an NDArray or a nested list of them


def _flatten(value: Nested, what: str) -> tuple[list[NDArray], Any]:
    """The arrays of a nested list, and its nesting (0: an array)."""
    if isinstance(value, NDArray):
        return [value], 0
    assert isinstance(value, (list, tuple)), f"{what} must be (nested) list of NDArray, but got {value} of type {type(value)}"
    parts = [_flatten(item, what) for item in value]
    return [array for flat, _ in parts for array in flat], [nesting for _, nesting in parts]


def _regroup(flat: Sequence[NDArray], nesting: Any) -> Nested:
    remaining = iter(flat)

    def take(part: Any) -> Nested:
        return next(remaining) if part == 0 else [take(item) for item in part]

    return take(nesting)


def _scalar(value: Any, kind: type, name: str) -> Any:
    try:
        return kind(value.asscalar() if hasattr(value, "asscalar") else value)
    except (TypeError, ValueError):
        raise ValueError(f"Cannot convert {name} to python {kind.__name__}") from None


def foreach(body: Callable[..., tuple[Nested, Nested]], data: Nested, init_states: Nested) -> tuple[Nested, Nested]:
    """Runs body(slice of data, states) -> (output, new states) over axis 0 of data, an NDArray or a list of them.

    Returns the stacked outputs, nested as body returns them, and the last states. Errors: AssertionError for anything but arrays.
    """
    _flatten(data, "foreach input")
    _flatten(init_states, "foreach states")
    single = isinstance(data, NDArray)
    states, steps, nesting = init_states, [], None
    for i in range(data.shape[0] if single else data[0].shape[0]):
        out, states = body(data[i] if single else [d[i] for d in data], states)
        flat, nesting = _flatten(out, "foreach output")
        steps.append(flat)
    stacked = [call("stack", *column, axis=0) for column in zip(*steps, strict=True)]
    return _regroup(stacked, nesting) if steps else [], states


def while_loop(cond: Callable[..., Any], func: Callable[..., tuple[Any, Any]], loop_vars: Nested, max_iterations: Any = None) -> tuple[Nested, Nested]:
    """Runs func(*loop_vars) -> (step output, new loop_vars) while cond(*loop_vars), at most max_iterations times.

    Returns the step outputs stacked to max_iterations rows (0 past the last step; [] when no step ran) and the last loop_vars.
    Errors: ValueError for a missing or unreadable max_iterations, no loop_vars, or steps that differ in their number of arrays.
    """
    if max_iterations is None:
        raise ValueError("max_iterations should be specified")
    limit = _scalar(max_iterations, int, "max_iteration")
    if len(loop_vars) == 0:
        raise ValueError("loop_vars should contain at least one element")
    single = isinstance(loop_vars, NDArray)
    variables: list[Any] = [loop_vars] if single else list(loop_vars)
    steps: list[list[NDArray]] = []
    nesting: Any = None
    while len(steps) < limit and _scalar(cond(*variables), bool, "Return value of cond"):
        output, new = func(*variables)
        new = [] if new is None else list(new) if isinstance(new, (list, tuple)) else [new]
        if len(new) != len(variables):
            raise ValueError("The length of loop_vars should be consistent during the loop")
        flat, nesting = _flatten([] if output is None else output, "while output")
        if steps and len(flat) != len(steps[0]):
            raise ValueError("Number of elements in step_output should be the same in each step")
        steps.append(flat)
        variables = new
    stacked = [_rows(index, column, limit) for index, column in enumerate(zip(*steps, strict=True), 1)]
    return _regroup(stacked, nesting) if steps else [], variables[0] if single else variables


def _rows(index: int, column: Sequence[NDArray], limit: int) -> NDArray:
    from .creation import zeros

    shapes = [array.shape for array in column]
    if any(shape != shapes[0] for shape in shapes):
        listed = "".join(f"\n  Step {i}, shape is {shape}" for i, shape in enumerate(shapes))
        raise ValueError(f"Shapes of {index}-th elements in step_outputs are inconsistent, which are:{listed}")
    rows: NDArray = call("stack", *column, axis=0)
    if len(column) == limit:
        return rows
    missing = zeros((limit - len(column), *shapes[0]), ctx=rows.context, dtype=rows.dtype)
    filled: NDArray = call("Concat", rows, missing, dim=0)
    return filled


def cond(pred: Any, then_func: Callable[[], Nested], else_func: Callable[[], Nested]) -> Nested:
    """then_func() when pred, an array of one number, is true, else else_func(). Errors: ValueError when pred is no number."""
    return then_func() if _scalar(pred, bool, "pred") else else_func()
