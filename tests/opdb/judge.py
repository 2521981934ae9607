"""Compares a run with its golden: names and shapes and types first, then values under one tolerance table."""

from __future__ import annotations

import numpy as np

from .case import Case
from .runner import Result

__all__ = ["TOLERANCES", "compare_arrays", "judge"]

# |here - MXNet| <= atol + rtol * |MXNet|. Accumulation order differs between the two engines: a few units in the last place times the
# square root of the reduction lengths met in the cases. Whole-number types must be equal.
TOLERANCES: dict[str, tuple[float, float]] = {"float16": (1e-2, 2e-3), "float32": (1e-4, 1e-5), "float64": (1e-7, 1e-9)}


def compare_arrays(here: np.ndarray, golden: np.ndarray, tolerance: tuple[float, float] | None = None) -> str | None:
    """What is wrong with `here`, or None."""
    if here.shape != golden.shape:
        return f"shape {here.shape}, MXNet {golden.shape}"
    if here.dtype != golden.dtype:
        return f"type {here.dtype}, MXNet {golden.dtype}"
    if golden.dtype.kind not in "f":
        wrong = here != golden
        if not wrong.any():
            return None
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        return f"{int(wrong.sum())} of {golden.size} values differ, at {at}: {here[at]}, MXNet {golden[at]}"
    rtol, atol = tolerance or TOLERANCES[golden.dtype.name]
    a, b = here.astype("float64"), golden.astype("float64")
    with np.errstate(invalid="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= atol + rtol * np.abs(b))
    if same.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    with np.errstate(invalid="ignore"):
        worst = float(np.nanmax(np.abs(a - b))) if np.isfinite(a - b).any() else float("nan")
    return f"{int((~same).sum())} of {golden.size} values differ (largest {worst:.3g}), at {at}: {a[at]:.8g}, MXNet {b[at]:.8g}"


def judge(case: Case, here: Result, golden: Result) -> dict[str, str | None]:
    """Every check of the case: check name -> None (agrees) or what is wrong."""
    verdicts: dict[str, str | None] = {}
    tolerance = (case.tolerance.rtol, case.tolerance.atol) if case.tolerance else None
    for path in case.paths:
        expected, got = golden.errors.get(path), here.errors.get(path)
        if expected is not None:
            raised = expected["class"]  # a file holds the class, a live run its whole line of ancestors
            verdicts[f"{path}.error"] = _judge_error(raised if isinstance(raised, str) else raised[0], got)
        elif got is not None:
            verdicts[f"{path}.run"] = f"{got['class'][0]} at {got['stage']}: {got['text']}"
        else:
            verdicts[f"{path}.run"] = None
    failed = {path for path in case.paths if verdicts.get(f"{path}.run")}
    for check, fact in golden.facts.items():
        if check.split(".")[0] in failed:
            continue
        if check not in here.facts:
            if "sym" not in failed:
                verdicts[check] = "missing"
            continue
        verdicts[check] = _judge_moments(here.facts[check], fact) if ".moments." in check else _judge_fact(here.facts[check], fact)
    for check, array in golden.arrays.items():
        if check.split(".")[0] in failed:
            continue
        verdicts[check] = compare_arrays(here.arrays[check], array, tolerance) if check in here.arrays else "missing"
    for check in here.arrays.keys() - golden.arrays.keys():
        if ".after." in check and check.split(".")[0] not in golden.errors:
            verdicts[check] = "changed here, MXNet leaves it"
    return {check: verdict for check, verdict in verdicts.items() if not any(_matches(check, u) for u in case.unjudged)}


def _matches(check: str, named: str) -> bool:
    return check == named or check.startswith(named + ".")


def _judge_error(expected: str, got: dict[str, object] | None) -> str | None:
    if got is None:
        return f"MXNet raises {expected}, here nothing is raised"
    classes = got["class"]
    assert isinstance(classes, list)
    if expected == "Crash":  # MXNet's process ends: any exception is better
        return None
    return None if expected in classes else f"MXNet raises {expected}, here {classes[0]}: {got['text']}"


def _judge_fact(here: object, golden: object) -> str | None:
    return None if here == golden else f"{here}, MXNet {golden}"


def _judge_moments(here: list[float], golden: list[float]) -> str | None:
    mean, std, low, high, size = golden
    spread = 6.0 * max(std, 1e-6) / np.sqrt(size)
    if abs(here[0] - mean) > 1.5 * spread + 1e-6:
        return f"mean {here[0]:.5g}, MXNet {mean:.5g}"
    if abs(here[1] - std) > 3.0 * spread + 1e-6:
        return f"deviation {here[1]:.5g}, MXNet {std:.5g}"
    return None
