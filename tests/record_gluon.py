"""Records what MXNet 1.9.1 gives for tests/gluon_cases.py: `python -m tests.record_gluon` writes data/gluon.npz.

It also checks that MXNet reads the files written here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mxexec_torch

from .gluon_cases import NETWORKS, TRAINERS, read_back, run, save, train
from .oracle import ROOT, Oracle

TARGET = ROOT / "tests" / "data" / "gluon.npz"

if __name__ == "__main__":
    oracle = Oracle(onednn=True)  # without oneDNN, MXNet counts the inputs of RNN wrongly in backward
    found: dict[str, Any] = {f"run|{name}|{key}": value for name in NETWORKS for key, value in oracle.call(run, name).items()}
    found.update({f"train|{kind}|{key}": value for kind in TRAINERS for key, value in oracle.call(train, kind).items()})
    files = oracle.call(save)
    found.update({f"file|{name}|bytes": np.frombuffer(data, np.uint8) for name, data in files.items()})
    found.update({f"read|files|{key}": value for key, value in oracle.call(read_back, files).items()})
    here = oracle.call(read_back, save(mxexec_torch))
    oracle.close()
    for key, value in here.items():
        np.testing.assert_allclose(value, found[f"read|files|{key}"], rtol=1e-4, atol=1e-5)
    np.savez_compressed(TARGET, **found)
    print(len(found), TARGET.stat().st_size, "bytes")
