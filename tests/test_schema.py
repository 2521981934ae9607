"""Every declared operator against MXNet 1.9.1's registry: argument table, published `def` lines, names.

`data/operators.json.gz`: name, argument table, the attribute that counts variadic inputs, `def` line in mx.nd and in mx.sym, read off
the installed package.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

import mxexec_torch  # noqa: F401 - declares the operators
from mxexec_torch.published import def_line
from mxexec_torch.registry import all_names

from .oracle import ROOT

with gzip.open(ROOT / "tests" / "data" / "operators.json.gz", "rt") as stream:
    FACTS: dict[str, list[Any]] = {name: rest for name, *rest in json.load(stream)}


@pytest.mark.parametrize("name", sorted(name for name in all_names() if not name.startswith("_backward")))  # their tables are not recorded
def test_operator_equals_mxnets(name: str) -> None:
    """Argument names, order, type texts and defaults, and the functions' parameter lists."""
    operator = all_names()[name]
    table, key, nd_line, sym_line = FACTS[name]
    assert [list(row) for row in operator.argument_table()] == table
    assert operator.key_var_num_args == key
    assert def_line(operator, name, "nd") == nd_line
    assert def_line(operator, name, "sym") == sym_line
