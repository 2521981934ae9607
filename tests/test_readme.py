"""The README's Python examples print what the README says they print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL | re.MULTILINE)


def test_all_examples_found() -> None:
    """No Python block without its output."""
    assert len(EXAMPLES) == README.count("```python") > 3


@pytest.mark.parametrize(("title", "code", "output"), EXAMPLES, ids=[title for title, _, _ in EXAMPLES])
def test_example(title: str, code: str, output: str) -> None:
    """Runs in a process of its own, as a reader would."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == output
