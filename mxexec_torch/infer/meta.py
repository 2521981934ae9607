"""Running operator bodies on meta tensors without paying for torch's compiler.

Some of torch's shape functions are Python code marked `torch._disable_dynamo`; their first call imports torch._dynamo and sympy, more than a
second that a process which never compiles does not need. While bodies run on meta tensors here, that import finds a stand-in whose
`disable` returns the function as it is. The stand-in is gone afterwards, so that torch.compile imports the real module when it is used.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import torch

__all__ = ["META", "meta_run"]

META = torch.device("meta")
_NAME = "torch._dynamo"


def _stand_in() -> types.ModuleType:
    module = types.ModuleType(_NAME)
    module.disable = lambda fn=None, *args, **kwargs: fn if fn is not None else (lambda f: f)  # type: ignore[attr-defined]
    return module


class meta_run:  # noqa: N801 - a context manager, named like a function
    """`with meta_run():` around a body that runs on meta tensors: no gradients, no compiler import."""

    def __enter__(self) -> None:
        self._grad = torch.no_grad()
        self._grad.__enter__()
        self._added = _NAME not in sys.modules
        if self._added:
            sys.modules[_NAME] = _stand_in()

    def __exit__(self, *exc: Any) -> None:
        if self._added:
            sys.modules.pop(_NAME, None)
            torch.__dict__.pop("_dynamo", None)
        self._grad.__exit__(*exc)
