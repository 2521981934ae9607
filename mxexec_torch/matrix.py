"""Generates compat_matrix.md: what of MXNet 1.9.1 runs here, from what the operator cases show. Nothing in it is typed by hand.

An operator's status comes from running its cases against the goldens recorded from MXNet 1.9.1 (tests/opdb, so a checkout is needed);
an API name's from looking it up in this package.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import importlib.util
import io
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from . import registry
from .registry import Grad, OpDef

__all__ = ["generate", "main", "operator_names"]

DATA = Path(__file__).parent / "data"
TARGET = "compat_matrix.md"
SHORT = {
    "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16",
    "uint8": "u8", "int8": "i8", "int32": "i32", "int64": "i64", "bool": "b",
}  # fmt: skip


@functools.cache
def operator_names() -> dict[str, tuple[str, str]]:
    """Every operator name of MXNet 1.9.1 -> (the name it is registered under, family)."""
    names = {}
    for line in (DATA / "operators.tsv").read_text().splitlines()[1:]:
        real, family, *more = line.split("\t")
        for name in (real, *(more[0].split() if more else ())):
            names[name] = (real, family)
    return names


@dataclass
class _Evidence:
    """What the cases of one operator showed."""

    cases: int = 0
    passed: int = 0
    gradients: int = 0
    dtypes: set[str] = field(default_factory=set)
    reasons: dict[str, None] = field(default_factory=dict)  # a set that keeps its order


def _evidence() -> dict[str, _Evidence]:
    """Runs every case. Needs the checkout's `tests` package on the path."""
    store, runner, judging = (importlib.import_module(f"tests.opdb.{name}") for name in ("store", "runner", "judge"))
    package = importlib.import_module(__package__ or "mxexec_torch")
    found: dict[str, _Evidence] = {}
    for family in store.families():
        cases, limitations = store.load(family)
        goldens = store.load_goldens(family)
        for case in cases:
            operator = registry.lookup(case.op)
            if operator is None or case.id not in goldens:
                continue
            evidence = found.setdefault(operator.name, _Evidence())
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # error cases print what MXNet prints
                verdicts = judging.judge(case, runner.run(package, case), goldens[case.id])
            _count(evidence, case, verdicts, [limit for limit in limitations if limit.covers(case)])
    return found


def _count(evidence: _Evidence, case: Any, verdicts: dict[str, str | None], limits: list[Any]) -> None:
    wrong = [check for check, verdict in verdicts.items() if verdict is not None]
    explained = {check: limit for check in wrong for limit in limits if limit.names(check)}
    evidence.cases += 1
    evidence.passed += not wrong
    evidence.gradients += any(".grad." in check and verdict is None for check, verdict in verdicts.items())
    if not wrong and not case.error and case.inputs:
        evidence.dtypes.add(next(iter(case.inputs.values())).dtype)
    if case.reference is not None:
        evidence.reasons[f"judged against a NumPy reference: {case.reference.reason}"] = None
    for limit in explained.values():
        evidence.reasons[limit.reason] = None
    if len(explained) < len(wrong):
        evidence.reasons[f"case {case.label} does not agree"] = None


def _operator_row(name: str, real: str, operator: OpDef | None, evidence: _Evidence | None) -> tuple[str, str]:
    """(status, row)."""
    title = f"`{name}`" + (f" = `{real}`" if name != real else "")
    if operator is None or registry.lookup(name) is not operator:
        return "unsupported", f"| {title} | unsupported | | | | not implemented yet |"
    notes = [*operator.limits, *(evidence.reasons if evidence else ())]
    if evidence is None:
        status, notes = "untested", [*notes, "implemented, no case recorded"]
    else:
        status = "full" if evidence.passed == evidence.cases and not notes else "partial"
    gradient = {Grad.ZERO: "zero", Grad.MISSING: "none"}.get(operator.grad) or ("yes" if evidence and evidence.gradients else "")
    dtypes = " ".join(short for long, short in SHORT.items() if evidence and long in evidence.dtypes)
    cases = f"{evidence.passed}/{evidence.cases}" if evidence else ""
    return status, f"| {title} | {status} | {gradient} | {dtypes} | {cases} | {_cell('; '.join(notes))} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _operators() -> Iterator[str]:
    evidence = _evidence()
    names = operator_names()
    rows: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for name, (real, family) in names.items():
        operator = registry.lookup(real)
        status, row = _operator_row(name, real, operator, evidence.get(operator.name) if operator else None)
        counts[status] += 1
        rows.setdefault(family, []).append(row)
    yield "## Operators"
    yield ""
    yield f"{len(names)} names: " + ", ".join(f"{counts[s]} {s}" for s in ("full", "partial", "untested", "unsupported")) + "."
    yield "Full: every recorded case agrees with MXNet 1.9.1 (names, shapes, types, values, gradients, errors) and no limit is known."
    yield "Element types: those of the first input in agreeing cases. Cases: agreeing / recorded."
    for family, listed in rows.items():
        yield from ("", f"### {family[0].upper()}{family[1:]}", "")
        yield from ("| operator | status | gradient | types | cases | limits |", "|---|---|---|---|---|---|")
        yield from listed


def _api_rows() -> dict[str, list[tuple[str, str, list[str]]]]:
    """Module -> (name, kind, own public members)."""
    modules: dict[str, list[tuple[str, str, list[str]]]] = {}
    module = ""
    for line in (DATA / "api.tsv").read_text().splitlines()[1:]:
        first, name, kind, *members = line.split("\t")
        module = first or module
        modules.setdefault(module, []).append((name, kind, members[0].split() if members else []))
    return modules


def _import(name: str) -> ModuleType | None:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        spec = None
    return importlib.import_module(name) if spec else None


def _has(module: ModuleType, dotted: str) -> bool:
    thing: Any = module
    for part in dotted.split("."):
        try:
            thing = getattr(thing, part)
        except (AttributeError, ImportError):  # ImportError: a name made on demand out of a module that does not exist yet
            return False
    return True


def _api() -> Iterator[str]:
    yield from ("", "## Python API", "", "Names that a module of MXNet 1.9.1 offers (modules it imports left out), and members of its classes.", "")
    yield from ("| module | present | missing |", "|---|---|---|")
    present = total = 0
    for module, names in _api_rows().items():
        ours = _import((__package__ or "mxexec_torch") + module[len("mxnet") :])
        found, missing = 0, []
        for name, kind, members in names:
            if kind == "m":
                continue
            for dotted in (name, *(f"{name}.{member}" for member in members)):
                if ours is not None and _has(ours, dotted):
                    found += 1
                else:
                    missing.append(dotted)
        present, total = present + found, total + found + len(missing)
        listed = "the module" if ours is None else " ".join(missing)
        yield f"| `{module}` | {found} of {found + len(missing)} | {listed} |"
    yield ""
    yield f"{present} of {total} names present."


def generate() -> str:
    """The text of compat_matrix.md."""
    head = ["# What of MXNet 1.9.1 runs here", "", "Generated by `mxexec-torch matrix`; do not edit.", ""]
    return "\n".join([*head, *_operators(), *_api()]) + "\n"


def main(check: bool = False) -> int:
    """Writes compat_matrix.md in the current directory, or with `check` compares. Errors: OSError outside a checkout."""
    if not Path("tests/opdb").is_dir():
        raise FileNotFoundError("no tests/opdb here: run this in a checkout of mxexec_torch")
    sys.path.insert(0, str(Path.cwd()))
    text, target = generate(), Path(TARGET)
    if not check:
        target.write_text(text)
        return 0
    stands = target.read_text() if target.exists() else ""
    if stands == text:
        return 0
    sys.stdout.writelines(difflib.unified_diff(stands.splitlines(True), text.splitlines(True), TARGET, "generated"))
    print(f"{TARGET} differs from what the cases show: run `mxexec-torch matrix`")
    return 1
