"""The published functions mx.nd.X, made from the registry when they are first asked for.

Each is compiled with MXNet's parameter list; its plans (parsed attributes) are kept by the attribute values as the caller wrote them.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import ops as _ops  # noqa: F401 - declares all operators
from .. import registry
from ..base import _Null
from ..dtypes import BFLOAT16
from ..published import parameters, place, signature
from ..registry import OpDef
from .core import NDArray
from .invoke import Plan, run, run1, run2, run_dense

__all__ = ["function_of", "module_functions", "names_of"]

_index: dict[str, dict[str, str]] = {}
_indexed = 0
_made: dict[str, Callable[..., Any]] = {}
_lock = threading.Lock()
_MAX_PLANS = 1024


def names_of(submodule: str) -> dict[str, str]:
    """Function name -> operator name of a submodule ('op', '_internal', 'contrib', 'linalg', 'image', 'random', 'sparse')."""
    global _indexed
    if _indexed != len(registry.all_names()):
        with _lock:
            for operator in list(registry.all_names()):
                module, function = place(operator)
                _index.setdefault(module, {})[function] = operator
            _indexed = len(registry.all_names())
    return _index.get(submodule, {})


def module_functions(submodule: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module whose functions come from the registry."""

    def get(name: str) -> Any:
        operator = names_of(submodule).get(name)
        if operator is None:
            raise AttributeError(f"module 'mxexec_torch.ndarray.{submodule}' has no attribute {name!r}")
        return function_of(operator, name)

    def names() -> list[str]:
        return sorted(names_of(submodule))

    return get, names


def function_of(operator: str, name: str) -> Callable[..., Any]:
    """The published function of an operator name, compiled once."""
    found = _made.get(operator)
    if found is None:
        with _lock:
            found = _made.setdefault(operator, _compile(registry.get(operator), name))
    return found


_POSITIONAL = "Positional arguments must have NDArray type, but got {}"


def _compile(op: OpDef, name: str) -> Callable[..., Any]:
    function = _variadic(op) if op.variadic else _fixed(op, name)
    function.__name__ = function.__qualname__ = name
    if op.variadic:
        function.__signature__ = signature(op, "nd")  # type: ignore[attr-defined]
    function.__module__ = "mxexec_torch.ndarray"
    rows = "".join(f"\n{argument} : {text}" for argument, text in op.argument_table())
    function.__doc__ = f"{op.doc}\n\nArguments:{rows}\nout : NDArray, optional: where the result is written."
    return function


def _fixed(op: OpDef, name: str) -> Callable[..., Any]:
    """A function of a fixed number of array parameters, its attributes after them."""
    listed_names = [n for n, _ in op.argument_table()]
    arrays = [spec.name for spec in op.inputs if spec.name in listed_names]
    attributes = [n for n in listed_names if n not in arrays]  # the listed ones; others arrive in kwargs
    plans: dict[Any, Plan] = {}

    def make(values: tuple[Any, ...]) -> Plan:
        given = {n: _attribute(n, v) for n, v in zip(attributes, values, strict=True) if v is not _Null}
        plan = Plan(op, given, len(arrays))
        _keep(plans, values if len(values) != 1 else values[0], values, plan)
        return plan

    def general(inputs: Sequence[Any], values: tuple[Any, ...], kwargs: dict[str, Any], out: Any, plan: Plan | None = None) -> Any:
        given_arrays = []
        for parameter, value in zip(arrays, inputs, strict=True):
            if value is not None:
                assert isinstance(value, NDArray), f"Argument {parameter} must have NDArray type, but got {value}"
                given_arrays.append(value)
        if kwargs and op.attrs:  # without any parameters MXNet ignores unknown keywords
            given = dict(kwargs) | {n: _attribute(n, v) for n, v in zip(attributes, values, strict=True) if v is not _Null}
            plan = Plan(op, given, len(given_arrays))
        if plan is None:
            plan = make(values)
        if not op.inputs and out is not None:
            plan = _shaped_by(plan, out)
        return run(plan, given_arrays, out)

    listed = ", ".join(parameters(op, "nd"))
    values = f"({', '.join(attributes)}{',' if len(attributes) == 1 else ''})"
    key = "(" + ", ".join(attributes) + ")" if len(attributes) != 1 else attributes[0]
    inputs = f"({', '.join(arrays)}{',' if len(arrays) == 1 else ''})"
    lines = [f"def {name}({listed}):", "    if kwargs:", f"        return _general({inputs}, {values}, kwargs, out)"]
    if attributes:
        lines += ["    try:", f"        plan = _plans[{key}]", "    except (KeyError, TypeError):", f"        plan = _make({values})"]
        lines += [f"    if plan.zeros and not plan.serves({values}):", f"        plan = _make({values})"]
    else:
        lines += ["    plan = _only"]
    if not op.inputs:
        lines += ["    if out is None:", "        return _run(plan, (), None)"]
    elif len(arrays) == len(op.inputs):  # else MXNet publishes no parameter for some, and refuses the call
        optional = len(list(itertools.takewhile(lambda array: array in op.present, reversed(arrays))))
        for count in range(len(arrays), len(arrays) - optional - 1, -1):
            lines += _dense_call(arrays[:count], arrays[count:])
    lines += [f"    return _general({inputs}, {values}, kwargs, out, plan)"]
    scope: dict[str, Any] = {
        "_Null": _Null, "_plans": plans, "_make": make, "_general": general, "_NDArray": NDArray,
        "_run": run, "_run1": run1, "_run2": run2, "_run_dense": run_dense,
    }  # fmt: skip
    if not attributes:
        scope["_only"] = Plan(op, {}, len(arrays))
    exec(compile("\n".join(lines), f"<mx.nd.{name}>", "exec"), scope)  # the text holds registry names only
    function: Callable[..., Any] = scope[name]
    return function


def _dense_call(given: Sequence[str], absent: Sequence[str]) -> list[str]:
    """The lines of a published function for dense arrays of these names while others, optional ones, are None."""
    tests = [f"{array}.__class__ is _NDArray" for array in given] + [f"{array} is None" for array in absent]
    if absent:
        tests.append(f"plan.num_inputs == {len(given)}")
    if not given:
        return []
    runner = {1: f"_run1(plan, {given[0]}, out)", 2: f"_run2(plan, {', '.join(given)}, out)"}.get(len(given), f"_run_dense(plan, ({', '.join(given)}), out)")
    return [f"    if {' and '.join(tests)}:", f"        return {runner}"]


def _variadic(op: OpDef) -> Callable[..., Any]:
    """A function of any number of arrays; attributes are keywords."""
    plans: dict[Any, Plan] = {}

    def call(*data: Any, **kwargs: Any) -> Any:
        kwargs.pop("name", None)
        out = kwargs.pop("out", None)
        dense = True
        for value in data:
            if value.__class__ is not NDArray:
                assert isinstance(value, NDArray), _POSITIONAL.format(value)
                dense = False
        key = (len(data), *kwargs.items())
        try:
            plan = plans.get(key)
        except TypeError:
            plan = None
        if plan is None or (plan.zeros and not plan.serves(kwargs.values())):
            given = {n: _attribute(n, v) for n, v in kwargs.items()}
            if op.key_var_num_args:
                given.setdefault(op.key_var_num_args, len(data))
            plan = Plan(op, given, len(data))
            _keep(plans, key, kwargs.values(), plan)
        return run_dense(plan, data, out) if dense else run(plan, data, out)

    return call


def _attribute(name: str, value: Any) -> Any:
    """A dtype in any of NumPy's forms as its name; other attributes as they are. Errors: TypeError for what is no dtype."""
    if name != "dtype":
        return value
    if isinstance(value, str) and value == "bfloat16" or value is BFLOAT16:
        return "bfloat16"
    kind = np.dtype(value)
    return kind.names[0] if kind.names else kind.name


def _keep(plans: dict[Any, Plan], key: Any, values: Iterable[Any], plan: Plan) -> None:
    """Remembers a plan under its attribute values, unless they cannot be a key or hold a negative zero."""
    try:
        hash(key)
    except TypeError:
        return
    if not plan.zeros or plan.serves(values):
        if len(plans) > _MAX_PLANS:
            plans.clear()
        plans[key] = plan


def _shaped_by(plan: Plan, out: Any) -> Plan:
    """An operator without inputs takes the shape and type it was not given from `out`."""
    target = out if isinstance(out, NDArray) else out[0]
    given = dict(plan.given)
    if "shape" in plan.op.attrs and given.get("shape") is None:
        given["shape"] = target.shape
    if "dtype" in plan.op.attrs and "dtype" not in given:
        given["dtype"] = np.dtype(target.dtype).name
    return Plan(plan.op, given) if given != plan.given else plan
