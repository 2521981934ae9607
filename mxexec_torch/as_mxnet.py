"""Makes `import mxnet` mean this package.

After `import mxexec_torch.as_mxnet`, `import mxnet`, `import mxnet as mx` and `from mxnet.x.y import z` give this package's modules:
`sys.modules["mxnet.x.y"] is sys.modules["mxexec_torch.x.y"]`, each loaded once. As a pytest plugin: `pytest -p mxexec_torch.as_mxnet`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from . import numpy_compat, python_compat

__all__ = ["install"]

_OURS = __name__.partition(".")[0]
_THEIRS = "mxnet"
# Of the standard library, what `import mxnet` has always loaded: packages use these without importing them themselves (`multiprocessing.pool`).
_COMPANIONS = ("html.entities", "http.cookiejar", "multiprocessing.pool", "multiprocessing.queues", "xml.parsers.expat")


class _AliasLoader(Loader):
    """Hands out an already importable module under a second name."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._target)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # importlib has just put the alias's own in its place


class _Finder(MetaPathFinder):
    """Finds `mxnet` and everything below it in this package."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != _THEIRS and not fullname.startswith(_THEIRS + "."):
            return None
        ours = _OURS + fullname[len(_THEIRS) :]
        found = sys.modules.get(ours)
        if found is None:
            try:
                spec = importlib.util.find_spec(ours)
            except ModuleNotFoundError:
                spec = None
            if spec is None:
                text = f"No module named '{fullname}': mxexec_torch, which stands in for mxnet here, does not have '{ours}' (yet)"
                raise ModuleNotFoundError(text, name=fullname)
            package = spec.submodule_search_locations is not None
        else:
            package = hasattr(found, "__path__")
        return ModuleSpec(fullname, _AliasLoader(ours), is_package=package)


def install() -> None:
    """Puts the finder in place; importing this module has done it already. Errors: ImportError when a real mxnet is loaded."""
    present = sys.modules.get(_THEIRS)
    if present is not None and present is not sys.modules[_OURS]:
        raise ImportError(f"mxnet is imported already (from {getattr(present, '__file__', '?')}); import mxexec_torch.as_mxnet first")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    for name in (_THEIRS, *_COMPANIONS):
        importlib.import_module(name)


def pytest_addoption(parser: Any) -> None:
    """pytest hook: the options --numpy-compat (the default, as in `mxexec-torch run`) and --no-numpy-compat."""
    text = "restore the names (np.bool, np.int, collections.Iterable, ...) that NumPy and Python have dropped and old tests use (default: yes)"
    parser.addoption("--numpy-compat", action="store_true", default=True, help=text)
    parser.addoption("--no-numpy-compat", action="store_false", dest="numpy_compat", help="do not")


def pytest_configure(config: Any) -> None:
    """pytest hook: restores dropped names before any test module is imported."""
    if config.getoption("numpy_compat"):
        numpy_compat.restore()
        python_compat.restore()


install()
if os.environ.get(numpy_compat.ENVIRONMENT, "") not in ("", "0"):
    numpy_compat.restore()
