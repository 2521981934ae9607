"""Records MXNet 1.9.1's texts and names of symbol graphs: `python -m tests.record_symbols` writes data/symbols.json.gz."""

from __future__ import annotations

import gzip
import json
from typing import Any

from .oracle import ROOT, Oracle
from .symbol_graphs import GRAPHS, SUMMARIES, describe, operator_nodes, summary

TARGET = ROOT / "tests" / "data" / "symbols.json.gz"
# Operators that end MXNet's process when a node of them is made from guessed attributes.
CRASHES = ("_contrib_dgl_csr_neighbor_non_uniform_sample", "_sg_mkldnn_fully_connected", "reset_arrays")


def graphs(mx: Any) -> dict[str, Any]:
    """Runs in the oracle."""
    return {name: describe(mx, name) for name in GRAPHS}


def summaries(mx: Any) -> dict[str, str]:
    """Runs in the oracle."""
    return {key: summary(mx, key) for key in SUMMARIES}


def nodes(mx: Any) -> dict[str, Any]:
    """Runs in the oracle."""
    with gzip.open(ROOT / "tests" / "data" / "operators.json.gz", "rt") as stream:
        facts = json.load(stream)
    skipped = ("_backward", "_np", "_foreach", "_while_loop", "_cond", "_sg_", "_contrib_quantized_dummy")
    found = {}
    for name, table, counted, *_ in facts:
        if name not in CRASHES and not name.startswith(skipped) and table is not None:
            found[name] = operator_nodes(mx, name, table, counted)
    return found


if __name__ == "__main__":
    oracle = Oracle(onednn=True)  # its registry differs: max Pooling has a hidden output
    recorded = {"graphs": oracle.call(graphs), "summaries": oracle.call(summaries), "nodes": oracle.call(nodes)}
    oracle.close()
    with gzip.GzipFile(TARGET, "wb", mtime=0) as stream:
        stream.write(json.dumps(recorded).encode())
    print({key: len(value) for key, value in recorded.items()}, TARGET.stat().st_size, "bytes")
