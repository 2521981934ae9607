"""`python -m tests.benchmarks.peak`: the most memory that ResNet-50 takes on top of the imports, each engine in a process of its own."""

from __future__ import annotations

import importlib
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from ..oracle import ROOT, OracleUnavailable, environment, interpreter

__all__ = ["measure"]

STEPS = 5
WORKLOADS = ("resnet50_train_4", "resnet50_infer_8")


def _resident() -> float:
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * resource.getpagesize() / 2**20


def measure(engine: str, name: str) -> float:
    """MiB beyond what the process holds before the network is built."""
    step: Callable[[], Any]
    if engine == "torch":
        from .by_hand import BY_HAND

        before = _resident()
        step = BY_HAND[name]()
    else:
        from . import workloads

        mx = importlib.import_module(engine)
        mx.nd.ones((2, 2)).asnumpy()
        before = _resident()
        step = workloads.WORKLOADS[name](mx)
    for _ in range(STEPS):
        step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10 - before


def _in_process(python: str, engine: str, name: str) -> float:
    code = f"from tests.benchmarks.peak import measure; print(measure({engine!r}, {name!r}))"
    done = subprocess.run([python, "-c", code], env=environment(), cwd=ROOT, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    """Prints a table."""
    print("| workload | here, MiB | torch by hand, MiB | MXNet 1.9.1, MiB |\n|---|---|---|---|")
    for name in WORKLOADS:
        row = [f"{_in_process(sys.executable, engine, name):.0f}" for engine in ("mxexec_torch", "torch")]
        try:
            row.append(f"{_in_process(interpreter(), 'mxnet', name):.0f}")
        except OracleUnavailable:
            row.append("-")
        print(f"| {name} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
