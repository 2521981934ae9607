"""What `amp.init` does to mx.nd and mx.sym: operator functions that cast their inputs before they run.

Functions are replaced in the modules that publish them; methods and arithmetic of arrays follow them.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from ... import ndarray, symbol
from ...dtypes import name_of
from ...graph import Entry
from ...ndarray import arithmetic, fluent
from ...ndarray.core import NDArray
from ...published import place
from ...registry import lookup
from ...symbol import Symbol

__all__ = ["cast", "wrap_arithmetic", "wrap_functions", "wrap_loss_functions"]

_FLOATS = ("float16", "bfloat16", "float32")
_Function = Callable[..., Any]


def cast(value: Any, dtype: str) -> Any:
    """An array or symbol in a floating type; arrays of types that mixed precision leaves alone and other values as they are."""
    if isinstance(value, Symbol):
        return symbol.amp_cast(value, dtype=dtype)
    if isinstance(value, NDArray) and value.stype == "default" and name_of(value.dtype) in _FLOATS and name_of(value.dtype) != dtype:
        return ndarray.amp_cast(value, dtype=dtype)
    return value


def _widen(arrays: Sequence[Any], low: str) -> list[Any]:
    """Arrays of the low type as float32 if any of the arrays is."""
    wide = any(isinstance(a, NDArray) and name_of(a.dtype) == "float32" for a in arrays)
    return [cast(a, "float32") if wide and isinstance(a, NDArray) and name_of(a.dtype) == low else a for a in arrays]


def _array_function(function: _Function, dtype: str, kept: Sequence[str] = (), only: tuple[str, Sequence[str]] | None = None) -> _Function:
    """A function of mx.nd that casts its inputs. kept: names by position of inputs left alone; only: (keyword, values) that call for it."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if only is not None and kwargs.get(only[0]) not in only[1]:
            return function(*args, **kwargs)
        given = [a if i < len(kept) and kept[i] else cast(a, dtype) for i, a in enumerate(args)]
        named = {k: v if k == "out" or k in kept else cast(v, dtype) for k, v in kwargs.items()}
        return function(*given, **named)

    return wrapped


def _symbol_function(function: _Function, dtype: str, kept: Sequence[str] = (), only: tuple[str, Sequence[str]] | None = None) -> _Function:
    """The same for mx.sym: the casts go between the new node and its inputs, variables made for them included; states are left alone."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if only is not None and kwargs.get(only[0]) not in only[1]:
            return result
        node = result._single_node()
        for position, (spec, entry) in enumerate(zip(node.input_specs(), node.inputs, strict=True)):
            if spec.kind == "arg" and not (position < len(kept) and kept[position]):
                node.inputs[position] = _cast_entry(entry, dtype)
        return result

    return wrapped


def _cast_entry(entry: Entry, dtype: str) -> Entry:
    found: Entry = symbol.amp_cast(Symbol([entry]), dtype=dtype)._entries[0]
    return found


def _widest_array_function(function: _Function, low: str) -> _Function:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        names = [name for name in kwargs if name != "out"]
        values = _widen([*args, *(kwargs[name] for name in names)], low)
        return function(*values[: len(args)], **{**kwargs, **dict(zip(names, values[len(args) :], strict=True))})

    return wrapped


def _widest_symbol_function(function: _Function, low: str) -> _Function:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        positions = [i for i, a in enumerate(args) if isinstance(a, Symbol)]
        names = [k for k, v in kwargs.items() if isinstance(v, Symbol)]
        given = [*(args[i] for i in positions), *(kwargs[k] for k in names)]
        if given:
            casts = list(symbol.amp_multicast(*given, num_outputs=len(given)))
            by_position = dict(zip(positions, casts, strict=False))
            args = tuple(by_position.get(i, a) for i, a in enumerate(args))
            kwargs = {**kwargs, **dict(zip(names, casts[len(positions) :], strict=True))}
        return function(*args, **kwargs)

    return wrapped


def _replace(package: ModuleType, operator: str, wrap: Callable[[_Function], _Function]) -> None:
    """Replaces an operator's published function wherever the package shows it. Operators that this package lacks have none."""
    if lookup(operator) is None:
        return
    where, name = place(operator)
    module = getattr(package, where)
    wrapped = wrap(getattr(module, name))
    setattr(module, name, wrapped)
    if where == "op":
        setattr(package, name, wrapped)


def wrap_functions(
    low: str, low_ops: Iterable[str], fp32_ops: Iterable[str], conditional: Iterable[tuple[str, str, Sequence[str]]], widest_ops: Iterable[str],
    kept: Mapping[str, Sequence[str]],
) -> None:  # fmt: skip
    """Replaces the functions of mx.nd and mx.sym. kept: operator -> names by position of the inputs that stay float32."""
    groups = (tuple(low_ops), tuple(fp32_ops), tuple(conditional), tuple(widest_ops))
    for package in (symbol, ndarray):
        plain = _symbol_function if package is symbol else _array_function
        widest = _widest_symbol_function if package is symbol else _widest_array_function
        for name in groups[0]:
            _replace(package, name, functools.partial(plain, dtype=low, kept=kept.get(name, ())))
        for name in groups[1]:
            _replace(package, name, functools.partial(plain, dtype="float32"))
        for name, keyword, values in groups[2]:
            _replace(package, name, functools.partial(plain, dtype="float32", only=(keyword, values)))
        for name in groups[3]:
            _replace(package, name, functools.partial(widest, low=low))
    for name in fluent.FLUENT:  # methods keep the function that they found first
        setattr(fluent.Fluent, name, fluent._method(name))


def wrap_arithmetic(low: str, fp32_ops: Iterable[str], widest_ops: Iterable[str]) -> None:
    """The same for `+`, `*`, `<`, ... of arrays, which run operators without going through mx.nd."""
    fp32, widest = _real_names(fp32_ops), _real_names(widest_ops)
    run1, run2 = arithmetic._run1, arithmetic._run2

    def one(plan: Any, data: Any, out: Any) -> Any:
        return run1(plan, cast(data, "float32") if plan.op.name in fp32 else data, out)

    def two(plan: Any, lhs: Any, rhs: Any, out: Any) -> Any:
        if plan.op.name in fp32:
            lhs, rhs = cast(lhs, "float32"), cast(rhs, "float32")
        elif plan.op.name in widest:
            lhs, rhs = _widen([lhs, rhs], low)
        return run2(plan, lhs, rhs, out)

    arithmetic.bind(arithmetic._array_class, one, two, arithmetic._plan)


def _real_names(operators: Iterable[str]) -> frozenset[str]:
    return frozenset(found.name for found in map(lookup, operators) if found is not None)


def wrap_loss_functions(operators: Iterable[str], scaler: Any) -> None:
    """Loss heads of mx.nd multiply their grad_scale by the loss scale; those of mx.sym, where it cannot change later, warn."""
    for name in operators:
        _replace(ndarray, name, functools.partial(_scaled, scaler=scaler))
        _replace(symbol, name, _warned)


def _scaled(function: _Function, scaler: Any) -> _Function:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{**kwargs, "grad_scale": kwargs.get("grad_scale", 1.0) * scaler.loss_scale})

    return wrapped


def _warned(function: _Function) -> _Function:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        logging.warning("%s: dynamic loss scaling has no effect in symbolic and hybridized execution", function.__name__)
        return function(*args, **kwargs)

    return wrapped
