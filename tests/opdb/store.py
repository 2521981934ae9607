"""Finding the families' cases, and reading and writing their goldens."""

from __future__ import annotations

import functools
import importlib
import json
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np

from . import cases
from .case import Case, Limitation
from .runner import Result

__all__ = ["GOLDENS", "families", "load", "load_goldens", "save_goldens"]

GOLDENS = Path(__file__).resolve().parent.parent / "goldens"


def families() -> list[str]:
    """Names of all families."""
    return sorted(m.name for m in pkgutil.iter_modules(cases.__path__))


@functools.cache
def load(family: str) -> tuple[list[Case], list[Limitation]]:
    """Cases and limitations of a family. Errors: ValueError for two cases of one id."""
    module = importlib.import_module(f"{cases.__name__}.{family}")
    found: list[Case] = list(module.CASES)
    seen: set[str] = set()
    for case in found:
        if case.id in seen:
            raise ValueError(f"{family}: two cases are called {case.id}")
        seen.add(case.id)
    return found, list(getattr(module, "LIMITATIONS", []))


def save_goldens(family: str, results: dict[str, Result]) -> None:
    """Writes <family>.json (facts, errors, which array is stored where) and <family>.npz (each distinct array of a case once)."""
    arrays: dict[str, np.ndarray] = {}
    index: dict[str, Any] = {}
    for case_id in sorted(results):
        result = results[case_id]
        stored: dict[str, str] = {}
        by_content: dict[tuple[Any, ...], str] = {}
        for check, array in result.arrays.items():
            content = (array.shape, array.dtype.str, array.tobytes())
            key = by_content.setdefault(content, f"{case_id}|{check}")
            stored[check] = key.split("|", 1)[1]
            arrays.setdefault(key, array)
        errors = {path: {"stage": e["stage"], "class": e["class"][0]} for path, e in result.errors.items()}
        index[case_id] = {"arrays": stored, "facts": result.facts, **({"errors": errors} if errors else {})}
    GOLDENS.mkdir(exist_ok=True)
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in index.items())
    (GOLDENS / f"{family}.json").write_text("{\n" + lines + "\n}\n")
    np.savez_compressed(GOLDENS / f"{family}.npz", **{k.replace("/", "\\"): v for k, v in arrays.items()})


@functools.cache
def load_goldens(family: str) -> dict[str, Result]:
    """The recorded results by case id; empty when none were recorded."""
    path = GOLDENS / f"{family}.json"
    if not path.exists():
        return {}
    index = json.loads(path.read_text())
    results = {}
    with np.load(GOLDENS / f"{family}.npz") as stored:
        for case_id, row in index.items():
            read = {check: stored[f"{case_id}|{key}".replace("/", "\\")] for check, key in row["arrays"].items()}
            results[case_id] = Result(read, row["facts"], row.get("errors", {}))
    return results
