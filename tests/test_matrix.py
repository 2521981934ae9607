"""The generator of compat_matrix.md (that the file is up to date is checked by `mxexec-torch matrix --check`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxexec_torch import cli, matrix, registry

from .opdb.case import Case, Limitation, normal


def evidence(verdicts: dict[str, str | None], *limits: Limitation) -> matrix._Evidence:
    found = matrix._Evidence()
    matrix._count(found, Case("Activation", "x", inputs={"data": normal(2)}), verdicts, list(limits))
    return found


def row(found: matrix._Evidence | None) -> tuple[str, str]:
    return matrix._operator_row("Activation", "Activation", registry.get("Activation"), found)


def test_names() -> None:
    """All of MXNet's names, and nothing declared here that MXNet does not have."""
    names = matrix.operator_names()
    assert len(names) == 892
    declared = {name: operator for name, operator in registry.all_names().items() if not name.startswith("_backward")}
    assert set(declared) <= set(names)
    assert all(names[name][0] == operator.name for name, operator in declared.items())


def test_full() -> None:
    """All checks agree."""
    assert row(evidence({"sym.eval.0": None, "sym.grad.data": None})) == ("full", "| `Activation` | full | yes | f32 | 1/1 |  |")


def test_partial_with_reason() -> None:
    """A limitation's reason is shown."""
    limit = Limitation("Activation", "grad", "*", "no gradient yet")
    found = evidence({"sym.eval.0": None, "sym.grad.data": "differs"}, limit)
    assert row(found) == ("partial", "| `Activation` | partial |  |  | 0/1 | no gradient yet |")


def test_unexplained_difference_shows() -> None:
    """A difference that nobody has declared cannot hide."""
    assert "case x does not agree" in row(evidence({"sym.eval.0": "differs"}))[1]


def test_untested_and_unsupported() -> None:
    """An operator without cases is no supported operator, one that is not declared even less."""
    assert row(None)[0] == "untested"
    assert matrix._operator_row("MoonOp", "MoonOp", None, None)[0] == "unsupported"


def test_only_in_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A clear error elsewhere."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["matrix"]) == 1
    assert "run this in a checkout" in capsys.readouterr().err
