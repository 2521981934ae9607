"""Records what MXNet 1.9.1 gives: `python -m tests.models.record` (checkpoints) and the 20-step training runs of tests/training.py."""

from __future__ import annotations

import numpy as np

from .. import training
from ..oracle import ROOT, Oracle
from .run import HERE, MODELS, run

if __name__ == "__main__":
    oracle = Oracle()
    np.savez_compressed(HERE / "recorded.npz", **{f"{name}|{key}": v for name in MODELS for key, v in oracle.call(run, name).items()})
    for name in training.NETS:
        np.savez_compressed(ROOT / "tests" / "data" / f"training_{name}.npz", **oracle.call(training.run, name))
    oracle.close()
