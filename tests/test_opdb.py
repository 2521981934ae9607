"""Every operator case against its golden (recorded from MXNet 1.9.1). `pytest tests/test_opdb.py -k FullyConnected`."""

from __future__ import annotations

import pytest

import mxexec_torch as mx

from .opdb import store
from .opdb.case import Case, Limitation
from .opdb.judge import judge
from .opdb.runner import run

ALL = [(family, case) for family in store.families() for case in store.load(family)[0]]
LIMITATIONS = [(family, limit) for family in store.families() for limit in store.load(family)[1]]


@pytest.mark.parametrize(("family", "case"), ALL, ids=[f"{family}-{case.id}" for family, case in ALL])
def test_case(family: str, case: Case) -> None:
    """Agrees with MXNet in every check, but for the checks a limitation names: those must differ."""
    golden = store.load_goldens(family).get(case.id)
    assert golden is not None, f"no golden: python -m tests.opdb.make_goldens --family {family}"
    limits = [limit for limit in store.load(family)[1] if limit.covers(case)]
    wrong, limited = [], []
    for check, verdict in judge(case, run(mx, case), golden).items():
        named = [limit for limit in limits if limit.names(check)]
        if verdict is None:
            continue
        (limited if named else wrong).append((check, verdict, named))
    assert not wrong, "\n".join(f"{check}: {verdict}" for check, verdict, _ in wrong)
    for limit in limits:
        assert any(limit in named for _, _, named in limited), f"agrees with MXNet now, take the limitation out: {limit}"
    if limited:
        pytest.xfail("; ".join(limit.reason for limit in limits))


@pytest.mark.parametrize(("family", "limit"), LIMITATIONS, ids=[f"{family}-{limit.op}-{limit.check}" for family, limit in LIMITATIONS])
def test_limitation_matches_a_case(family: str, limit: Limitation) -> None:
    """A limitation that is about no case is out of date."""
    assert any(limit.covers(case) for case in store.load(family)[0]), limit


@pytest.mark.parametrize("family", store.families())
def test_goldens_match_cases(family: str) -> None:
    """No golden without a case."""
    assert set(store.load_goldens(family)) == {case.id for case in store.load(family)[0]}
