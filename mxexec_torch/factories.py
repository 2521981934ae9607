"""Factories of named classes: initializers, metrics and the like register under a name and are made from it. Public as mx.registry."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]

_REGISTRY: dict[type, dict[str, type]] = {}


def get_registry(base_class: type) -> dict[str, type]:
    """A copy of the classes registered under a base class, by lower-case name."""
    return dict(_REGISTRY.setdefault(base_class, {}))


def get_register_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """A function `register(klass, name=None)` for subclasses of `base_class`; replacing a registered name warns."""
    known = _REGISTRY.setdefault(base_class, {})

    def register(klass: type, name: str | None = None) -> type:
        assert issubclass(klass, base_class), f"Can only register subclass of {base_class.__name__}"
        key = (name or klass.__name__).lower()
        if key in known:
            old = known[key]
            text = f"New {nickname} {klass.__module__}.{klass.__name__} registered with name {key} replaces {old.__module__}.{old.__name__}"
            warnings.warn(text, UserWarning, stacklevel=2)
        known[key] = klass
        return klass

    register.__doc__ = f"Registers a class as {nickname}."
    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """A class decorator `alias(*names)` that registers further names."""
    register = get_register_func(base_class, nickname)

    def alias(*names: str) -> Callable[[type], type]:
        def decorate(klass: type) -> type:
            for name in names:
                register(klass, name)
            return klass

        return decorate

    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """A function `create(what, *args, **kwargs)`: an instance from a name, a dict, JSON of either form; instances pass through.

    JSON forms: `["name", {arguments}]` and `{"<nickname>": "name", arguments}`. Errors: AssertionError for unknown names.
    """
    known = _REGISTRY.setdefault(base_class, {})

    def create(*args: Any, **kwargs: Any) -> Any:
        what, rest = (args[0], args[1:]) if args else (kwargs.pop(nickname), ())
        if isinstance(what, base_class):
            assert not rest and not kwargs, f"{nickname} is already an instance. Additional arguments are invalid"
            return what
        if isinstance(what, dict):
            return create(**what)
        assert isinstance(what, str), f"{nickname} must be of string type"
        if what[:1] in ("[", "{"):
            assert not rest and not kwargs, f"{nickname} given as JSON takes no further arguments"
            parsed = json.loads(what)
            return create(**parsed) if isinstance(parsed, dict) else create(parsed[0], **parsed[1])
        key = what.lower()
        assert key in known, f"{key} is not registered. Please register with {nickname}.register first"
        return known[key](*rest, **kwargs)

    create.__doc__ = f"Makes a {nickname} from its name or configuration."
    return create
