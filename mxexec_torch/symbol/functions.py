"""The published operator functions of mx.sym, made from the registry the first time each is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from .. import ops as _ops  # noqa: F401 - declares the operators
from ..attribute import current_scope
from ..dtypes import NAME_TO_CODE, name_of
from ..graph import Entry
from ..name import current_manager
from ..published import _Null, parameters, place, signature
from ..registry import OpDef, all_names, lookup
from .base import SymbolBase, symbol_class
from .compose import attribute_text, hidden_key, make_node, visible_entries

__all__ = ["make_function", "module_getattr", "module_names"]

_PREFIX = {"contrib": "_contrib_", "linalg": "_linalg_", "sparse": "_sparse_", "image": "_image_", "random": "_random_"}


def module_getattr(module: str) -> Callable[[str], Any]:
    """A module's `__getattr__` that makes functions of its submodule ('op', '_internal', 'contrib', ...) on demand."""
    qualified = f"{__package__}.{module}"

    def getattr_(name: str) -> Any:
        if name == "__all__":
            return module_names(module)
        for full in (_PREFIX.get(module, "") + name,):
            found = lookup(full)
            if found is not None and place(full) == (module, name):
                function = make_function(found, full, name, qualified)
                _namespace(qualified)[name] = function
                return function
        raise AttributeError(f"module '{qualified}' has no attribute '{name}'")

    return getattr_


def module_names(module: str) -> list[str]:
    """Names of all generated functions of a submodule."""
    return sorted(name for where, name in map(place, all_names()) if where == module)


def _namespace(module: str) -> dict[str, Any]:
    import sys

    return vars(sys.modules[module])


def make_function(op: OpDef, op_name: str, func_name: str, module: str) -> Callable[..., Any]:
    """The published function of one operator name."""
    hint = op.hint or func_name.lower()
    function = _variadic_function(op, func_name, hint) if op.variadic else _plain_function(op, func_name, hint)
    function.__name__ = function.__qualname__ = func_name
    function.__module__ = module
    function.__doc__ = op.doc
    function.__signature__ = signature(op, "sym")  # type: ignore[attr-defined]
    return function


def dtype_text(value: Any) -> str:
    """The name of a type given as `dtype=`; None means float64, as in NumPy. Errors: TypeError for what NumPy knows no type of."""
    if isinstance(value, str) and value in NAME_TO_CODE:
        return value
    if isinstance(value, torch.dtype):
        return name_of(value)
    found = np.dtype(value)
    return "bfloat16" if found.names == ("bfloat16",) else found.name  # a type that MXNet lacks is the operator's to refuse


def single_entry(symbol: SymbolBase, what: str) -> Entry:
    """The only output of an input symbol. Errors: MXNetError when it has several."""
    entries = symbol._entries
    if len(entries) != 1:
        from ..errors import MXNetError

        raise MXNetError(f"{what} is a tuple, single value is required: it has {len(entries)} outputs")
    return entries[0]


def _add_attributes(op: OpDef, attrs: dict[str, str], given: Mapping[str, Any]) -> None:
    """Adds attribute values as text; the first of two spellings of a key wins."""
    known = op.attrs
    for key, value in given.items():
        if key in known:
            attrs.setdefault(key, dtype_text(value) if key == "dtype" else value if type(value) is str else attribute_text(value))
        else:
            text = attribute_text(value)
            attrs.setdefault(hidden_key(key, text) or key, text)


def _plain_function(op: OpDef, func_name: str, hint: str) -> Callable[..., Any]:
    order = [text.partition("=")[0] for text in parameters(op, "sym")][:-1]
    limit = len(order)
    inputs = frozenset(spec.name for spec in op.inputs)
    attributes = op.attrs

    def function(*args: Any, **kwargs: Any) -> Any:
        if args:
            if len(args) > limit:
                raise TypeError(f"{func_name}() takes from 0 to {limit} positional arguments but {len(args)} were given")
            for key, value in zip(order, args, strict=False):
                if key in kwargs:
                    raise TypeError(f"{func_name}() got multiple values for argument '{key}'")
                kwargs[key] = value
        name = kwargs.pop("name", None)
        scope = current_scope().get(kwargs.pop("attr", None))
        kwargs.pop("out", None)
        symbols: dict[str, Entry] = {}
        attrs: dict[str, str] = {}
        if scope:
            _add_attributes(op, attrs, scope)
        values: dict[str, Any] = {}
        for key, value in kwargs.items():
            if isinstance(value, SymbolBase):
                symbols[key] = single_entry(value, f"Keyword Argument {key}")
            elif key in inputs:
                if value is not None:
                    raise AssertionError(f"Argument {key} must be Symbol instances, but got {value}")
            elif value is not _Null or key not in attributes:
                values[key] = value
        if values:
            _add_attributes(op, attrs, values)
        full_name = current_manager().get(name, hint)
        return symbol_class()(visible_entries(make_node(op, full_name, attrs, (), symbols)))

    return function


def _variadic_function(op: OpDef, func_name: str, hint: str) -> Callable[..., Any]:
    counter = op.key_var_num_args

    def function(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if not isinstance(value, SymbolBase):
                raise AssertionError(f"Positional arguments must be Symbol instances, but got {value}")
        scope = current_scope().get(kwargs.pop("attr", None))
        full_name = current_manager().get(kwargs.pop("name", None), hint)
        kwargs.pop("out", None)
        values = {**kwargs, **scope}
        symbols = {k: single_entry(v, f"Keyword Argument {k}") for k, v in values.items() if isinstance(v, SymbolBase)}
        attrs: dict[str, str] = {}
        _add_attributes(op, attrs, {k: v for k, v in values.items() if k not in symbols})
        if counter and counter not in values:
            attrs.setdefault(counter, str(len(args) + len(symbols)))
        if args and symbols:
            raise TypeError("Operators with variable length input can only accept inputSymbols either as positional or keyword arguments, not both")
        entries = [single_entry(v, f"Argument {i}") for i, v in enumerate(args)]
        return symbol_class()(visible_entries(make_node(op, full_name, attrs, entries, symbols)))

    return function
