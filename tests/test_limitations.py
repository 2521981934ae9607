"""How a limitation finds its checks."""

from __future__ import annotations

import pytest

from .opdb.case import Case, Limitation


@pytest.mark.parametrize(
    ("named", "check", "matches"),
    [("grad", "sym.grad.data", True), ("sym.grad", "sym.grad.data", True), ("sym", "sym.grad.data", True), ("grad.data", "nd.grad.data", True),
     ("gra", "sym.grad.data", False), ("grad.dat", "sym.grad.data", False), ("types", "types", True), ("sym.eval", "nd.eval.0", False)],
)  # fmt: skip
def test_check_names(named: str, check: str, matches: bool) -> None:
    """By itself or by any run of its parts."""
    assert Limitation("op", named, "*", "").names(check) is matches


def test_cases() -> None:
    """By operator and label pattern, or predicate."""
    case = Case("Pooling", "full_max", attrs={"pool_type": "max"})
    assert Limitation("Pooling", "grad", "full_*", "").covers(case)
    assert not Limitation("Pooling", "grad", "valid_*", "").covers(case)
    assert not Limitation("Convolution", "grad", "*", "").covers(case)
    assert Limitation("Pooling", "grad", lambda c: c.attrs["pool_type"] == "max", "").covers(case)
