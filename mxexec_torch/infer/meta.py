"""Running operator bodies on meta tensors, and backward, without paying for torch's compiler.

Some of torch's shape functions are Python code that, when first called, imports torch._dynamo, the symbolic shapes and with them sympy:
more than a second that a process which never compiles does not need. Inside `meta_run` and `plain_shapes` those imports find stand-ins
that know what plain shapes need and become the real module as soon as anything else is asked of them. They leave sys.modules afterwards.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

import torch

__all__ = ["META", "meta_run", "plain_shapes"]

META = torch.device("meta")
_DYNAMO = "torch._dynamo"


def _dynamo() -> types.ModuleType:
    module = types.ModuleType(_DYNAMO)
    module.disable = lambda fn=None, *args, **kwargs: fn if fn is not None else (lambda f: f)  # type: ignore[attr-defined]
    return module


class _StandIn(types.ModuleType):
    """A module until it is really needed. Who imported the stand-in itself keeps a module that works."""

    def __init__(self, name: str, known: dict[str, Any]) -> None:
        super().__init__(name)
        self._known = known
        self.__dict__.update(known)
        sys.modules[name] = self

    def __getattr__(self, name: str) -> Any:
        if name == "__path__" and "." in self.__name__:
            raise AttributeError(name)  # no package: `from ... import` asks
        self.retire()
        return getattr(importlib.import_module(self.__name__), name)

    def retire(self) -> None:
        """From now on everything comes from the real module."""
        for name in self._known:
            self.__dict__.pop(name, None)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]


def _is_plain(value: Any) -> bool:
    return type(value) in (bool, int) or isinstance(value, (tuple, list)) and all(type(v) is int for v in value)


def _plainly(name: str, plain: Callable[..., Any]) -> Any:
    """A function of sizes or conditions on them: `plain` for plain ones, the real function for symbolic ones."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if all(map(_is_plain, args)):
            return plain(*args)
        return getattr(importlib.import_module(_SHAPES), name)(*args, **kwargs)

    return function


_SHAPES = "torch.fx.experimental.symbolic_shapes"
_PLAIN: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(
        ("expect_true", "guard_or_false", "guard_or_true", "guard_size_oblivious", "guarding_hint_or_throw", "statically_known_true"),
        lambda value, *_: value,
    ),
    "sym_and": lambda *values: all(values), "sym_or": lambda *values: any(values),
    "sym_eq": lambda x, y: list(x) == list(y) if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)) else x == y,
    "has_guarding_hint": lambda value: True, "is_nested_int": lambda value: False,
}  # fmt: skip
_STAND_INS: dict[str, dict[str, Any]] = {
    "sympy": {"Basic": type("Basic", (), {})},  # no argument here is an instance of it
    _SHAPES: {name: _plainly(name, plain) for name, plain in _PLAIN.items()},
}


class plain_shapes:
    """`with plain_shapes():` around calls of torch that look at shapes in Python: no import of the compiler's symbolic shapes."""

    def __enter__(self) -> None:
        self._stand_ins = [_StandIn(name, known) for name, known in _STAND_INS.items() if name not in sys.modules]

    def __exit__(self, *exc: object) -> None:
        for module in self._stand_ins:
            module.retire()


class meta_run(plain_shapes):
    """`with meta_run():` around a body that runs on meta tensors: no gradients, no compiler import."""

    def __enter__(self) -> None:
        super().__enter__()
        self._grad = torch.no_grad()
        self._grad.__enter__()
        self._dynamo = _DYNAMO not in sys.modules
        if self._dynamo:
            sys.modules[_DYNAMO] = _dynamo()

    def __exit__(self, *exc: object) -> None:
        if self._dynamo:
            sys.modules.pop(_DYNAMO, None)
            torch.__dict__.pop("_dynamo", None)
        self._grad.__exit__(*exc)
        super().__exit__(*exc)
