"""Generated cases, run in MXNet 1.9.1 and here at the same moment. MXEXEC_TORCH_EXAMPLES sets how many (default 60 a strategy)."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mxexec_torch as mx

from ..opdb import store
from ..opdb.case import Case, Limitation
from ..opdb.judge import compare_arrays, judge
from ..opdb.runner import run
from ..oracle import Oracle, OracleDied
from . import schema, strategies
from .conftest import COUNTS
from .evaluation import Plan, evaluate
from .graphs import plans

MANY = int(os.environ.get("MXEXEC_TORCH_EXAMPLES", "60"))
LIMITATIONS: dict[str, list[Limitation]] = {}  # known differences are not looked for again
for family in store.families():
    for limitation in store.load(family)[1]:
        LIMITATIONS.setdefault(limitation.op, []).append(limitation)
KINDS = {name: getattr(strategies, name)() for name in strategies.__all__}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck), derandomize=MANY == 60)
@given(data=st.data())
def test_agrees(oracle: Oracle, kind: str, data: Any) -> None:
    """Names, shapes, types, values, gradients and errors."""
    case: Case = data.draw(KINDS[kind])
    there = oracle.call(run, case)
    COUNTS["examples of written strategies"] += 1
    wrong = {check: verdict for check, verdict in judge(case, run(mx, case), there).items() if verdict}
    assert not wrong, f"{case}\n{wrong}"


def _differences(oracle: Oracle, case: Case) -> dict[str, str]:
    """What differs and is repeatable. Not judged: what ends MXNet's process, results it leaves undefined, cases of no elements that it refuses.

    Gradients that it overwrites where it was asked to add are not judged either: here they are added.
    """
    try:
        there = oracle.call(run, case)
    except OracleDied:
        COUNTS["that end MXNet's process"] += 1
        return {}
    here = run(mx, case)
    COUNTS["operator examples"] += 1
    COUNTS["of them refused by MXNet"] += bool(there.errors)
    wrong = {check: verdict for check, verdict in judge(case, here, there).items() if verdict}
    if there.errors:
        lenient = case.np_shape
        wrong = {check: verdict for check, verdict in wrong.items() if verdict != "missing" and not (lenient and "nothing is raised" in verdict)}
    wrong = {check: verdict for check, verdict in wrong.items() if not any(known.names(check) for known in LIMITATIONS.get(case.op, ()))}
    if wrong and any(judge(case, oracle.call(run, case), there).values()):
        return {}
    if wrong and case.req == "add":
        written = oracle.call(run, dataclasses.replace(case, req="write")).arrays
        wrong = {check: v for check, v in wrong.items() if check not in written or compare_arrays(there.arrays[check], written[check])}
    return wrong


@pytest.mark.skipif("MXEXEC_TORCH_EXAMPLES" not in os.environ, reason="a search for differences, not a check: set MXEXEC_TORCH_EXAMPLES")
@pytest.mark.parametrize("name", schema.operators())
def test_every_operator(oracle: Oracle, name: str) -> None:
    """Sizes, element types and attributes drawn from the operator's schema."""

    @settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=schema.mutated(name))
    def check(case: Case) -> None:
        wrong = _differences(oracle, case)
        assert not wrong, f"{case}\n{wrong}"

    check()


@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck), derandomize=MANY == 60)
@given(plan=plans())
def test_graphs(oracle: Oracle, plan: Plan) -> None:
    """Graphs of 5 to 40 nodes: names, JSON and its round trip, shapes, outputs, gradients."""
    there, here = oracle.call(evaluate, plan), evaluate(mx, plan)
    COUNTS["graphs"] += 1
    for what, expected in there.items():
        if what == "values":
            for a, b in zip(here[what], expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
        elif what == "gradients":
            for name, b in expected.items():
                np.testing.assert_allclose(here[what][name], b, rtol=2e-3, atol=1e-3, err_msg=name)
        else:
            assert here[what] == expected, what
