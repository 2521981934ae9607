"""How operators are published as functions of mx.nd and mx.sym: namespace, function name and parameter list.

MXNet generates these functions from its registry (python/mxnet/base.py `_init_op_module`, python/mxnet/{ndarray,symbol}/register.py);
`facts` recorded from it are what tests compare `def_line` with.
"""

from __future__ import annotations

import inspect

from .registry import OpDef

__all__ = ["def_line", "parameters", "place", "signature"]


class _NullType:
    """The type of `_Null`, the default of attributes in published functions: not given (None may be a value)."""

    def __new__(cls, value: object = None) -> _NullType:
        return _Null

    def __repr__(self) -> str:
        return "_Null"

    def __bool__(self) -> bool:
        return False


_Null: _NullType = object.__new__(_NullType)

_PREFIXES = ("_contrib_", "_linalg_", "_sparse_", "_image_", "_random_")


def place(name: str) -> tuple[str, str]:
    """(submodule, function name) of an operator name: ('contrib', 'box_nms'), ('op', 'FullyConnected'), ('_internal', '_plus_scalar').

    '' never occurs; functions of 'op' are visible in the package itself.
    """
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            if prefix == "_random_" and not name.endswith("_like"):
                return "_internal", name
            return prefix.strip("_"), name[len(prefix) :]
    return ("_internal", name) if name.startswith("_") else ("op", name)


def parameters(op: OpDef, kind: str) -> list[str]:
    """The parameter list of the published function; kind is 'nd' or 'sym'. Defaults: None for tensors, _Null for attributes."""
    if op.variadic and op.table != ():  # an empty table: MXNet lists no inputs at all, and publishes none
        return [f"*{next(i.name for i in op.inputs if i.variadic)}", "**kwargs"]
    tensors = {i.name for i in op.inputs}
    names = [name for name, _ in op.argument_table()]
    own = [f"{n}=None" for n in names if n in tensors] + [f"{n}=_Null" for n in names if n not in tensors]  # whatever the table's order
    return own + (["out=None", "name=None"] if kind == "nd" else ["name=None", "attr=None", "out=None"]) + ["**kwargs"]


def def_line(op: OpDef, name: str, kind: str) -> str:
    """The published `def` line, for example ``def Flatten(data=None, out=None, name=None, **kwargs):``."""
    return f"def {name}({', '.join(parameters(op, kind))}):"


def signature(op: OpDef, kind: str) -> inspect.Signature:
    """`parameters` as inspect has them."""
    result = []
    for text in parameters(op, kind):
        name, _, default = text.partition("=")
        if name.startswith("**"):
            result.append(inspect.Parameter(name[2:], inspect.Parameter.VAR_KEYWORD))
        elif name.startswith("*"):
            result.append(inspect.Parameter(name[1:], inspect.Parameter.VAR_POSITIONAL))
        else:
            result.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=_Null if default == "_Null" else None))
    return inspect.Signature(result)
