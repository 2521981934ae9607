"""Generated cases, run in MXNet 1.9.1 and here at the same moment. MXEXEC_TORCH_EXAMPLES sets how many (default 60 a strategy)."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mxexec_torch as mx

from ..opdb.case import Case
from ..opdb.judge import judge
from ..opdb.runner import run
from ..oracle import Oracle
from . import strategies

MANY = int(os.environ.get("MXEXEC_TORCH_EXAMPLES", "60"))
KINDS = {name: getattr(strategies, name)() for name in strategies.__all__}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck), derandomize=MANY == 60)
@given(data=st.data())
def test_agrees(oracle: Oracle, kind: str, data: Any) -> None:
    """Names, shapes, types, values, gradients and errors."""
    case: Case = data.draw(KINDS[kind])
    there = oracle.call(run, case)
    wrong = {check: verdict for check, verdict in judge(case, run(mx, case), there).items() if verdict}
    assert not wrong, f"{case}\n{wrong}"
