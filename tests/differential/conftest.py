"""The live oracle of the differential tests."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from ..oracle import Oracle, OracleUnavailable

COUNTS: Counter[str] = Counter()  # what was compared


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says how much was compared."""
    if COUNTS:
        terminalreporter.write_line("live comparison: " + ", ".join(f"{count} {what}" for what, count in COUNTS.items()))


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """MXNet 1.9.1 in a process of its own; skips where none is asked for or can be had."""
    if not os.environ.get("MXEXEC_TORCH_ORACLE"):
        pytest.skip("set MXEXEC_TORCH_ORACLE to an interpreter with MXNet 1.9.1, or to 'auto', for live comparison")
    try:
        made = Oracle()
    except OracleUnavailable as error:
        pytest.skip(str(error))
    yield made
    made.close()
