"""Records what MXNet 1.9.1 gives for the demo: `python -m tests.record_demo`."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from .oracle import ROOT, Oracle

DEMO = ROOT / "mxexec_torch" / "demo.py"


def _demo(path: Path = DEMO) -> ModuleType:
    """The demo's module without its package, which needs torch."""
    spec = importlib.util.spec_from_file_location("demo", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def figures(mx: Any) -> dict[str, Any]:
    """Runs in the oracle."""
    demo = _demo()
    return {"train": demo.train(mx), "checkpoint": demo.checkpoint(mx)}


if __name__ == "__main__":
    oracle = Oracle()
    found = oracle.call(figures)
    oracle.close()
    _demo().RECORDED.write_text(json.dumps(found, indent=1) + "\n")
    print(found["train"], found["checkpoint"]["accuracy"])
