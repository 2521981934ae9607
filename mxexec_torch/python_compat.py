"""Names of older Python 3 versions (`collections.Iterable`, `time.clock`, `inspect.getargspec`, `xml.etree.cElementTree`, ...) for old scripts.

`mxexec-torch run` and the pytest plugin restore them together with NumPy's (see numpy_compat).
"""

from __future__ import annotations

import base64
import collections
import collections.abc
import fractions
import importlib.util
import inspect
import math
import sys
import time
import xml.etree.ElementTree
from types import ModuleType
from typing import Any, NamedTuple

__all__ = ["restore"]


class ArgSpec(NamedTuple):
    """What inspect.getargspec returned."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def _getargspec(function: Any) -> ArgSpec:
    return ArgSpec(*inspect.getfullargspec(function)[:4])


def _imp() -> ModuleType:
    """The part of the module imp that scripts use."""

    def load_source(name: str, pathname: str, file: Any = None) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, pathname)
        assert spec is not None and spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    module: Any = ModuleType("imp", "Stands in for the module that Python 3.12 took away.")
    module.reload, module.load_source, module.new_module = importlib.reload, load_source, ModuleType
    return module  # type: ignore[no-any-return]  # typed Any to take attributes


def restore() -> list[str]:
    """Adds the names that this Python lacks; returns them."""
    wanted: list[tuple[Any, str, Any]] = [(collections, name, getattr(collections.abc, name)) for name in collections.abc.__all__]
    wanted += [
        (inspect, "getargspec", _getargspec), (time, "clock", time.perf_counter), (fractions, "gcd", math.gcd),
        (base64, "encodestring", base64.encodebytes), (base64, "decodestring", base64.decodebytes),
    ]  # fmt: skip
    missing = [(owner, name, value) for owner, name, value in wanted if not hasattr(owner, name)]
    for owner, name, value in missing:
        setattr(owner, name, value)
    added = [f"{owner.__name__}.{name}" for owner, name, _ in missing]
    if "xml.etree.cElementTree" not in sys.modules:
        sys.modules["xml.etree.cElementTree"] = xml.etree.ElementTree
        xml.etree.cElementTree = xml.etree.ElementTree  # type: ignore[attr-defined]
        added.append("xml.etree.cElementTree")
    if "imp" not in sys.modules and importlib.util.find_spec("imp") is None:
        sys.modules["imp"] = _imp()
        added.append("imp")
    return added
