"""`python -m tests.benchmarks [--only NAME ...] [--rounds N] [--no-oracle] [--write]`: times this package, MXNet 1.9.1 and hand-written torch.

The three take turns within each round, so that whatever else the machine does hits all of them; a ratio is taken round by round, and
its median and quartiles are what counts. MXNet runs in a process of its own with oneDNN, as users had it. Every engine gets one thread.
"""

from __future__ import annotations

import argparse
import functools
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

import mxexec_torch as mx

from ..oracle import Oracle, OracleUnavailable
from . import workloads
from .by_hand import BY_HAND

PAGE = Path(__file__).with_name("RESULTS.md")
ROUND_SECONDS = 0.25


def spread(values: list[float]) -> str:
    """Median and quartiles."""
    if len(values) < 3:
        return f"{statistics.median(values):.2f}"
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f} ({low:.2f} - {high:.2f})"


def compare(name: str, rounds: int, oracle: Oracle | None, cpu: bool) -> list[str]:
    """One row of the page."""
    engines: dict[str, Callable[[int], list[float]]] = {"here": lambda n: workloads.timed(mx, name, n, cpu)}
    if name in BY_HAND:
        step = BY_HAND[name]()
        step()
        engines["torch"] = lambda n: workloads.measure(step, n, cpu)
    if oracle is not None:
        engines["mxnet"] = lambda n: oracle.call(workloads.timed, name, n, cpu)
    repeats = {}
    for engine, run in list(engines.items()):
        try:
            repeats[engine] = max(1, min(50, int(ROUND_SECONDS / max(1e-6, min(run(2))))))
        except Exception as error:  # noqa: BLE001 - a workload that an engine cannot run is reported, the others go on
            print(f"{name}: {engine}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            del engines[engine]
    medians: dict[str, list[float]] = {engine: [] for engine in engines}
    for _ in range(rounds):
        for engine, run in engines.items():
            medians[engine].append(min(run(repeats[engine])))
    row = [name, *(f"{statistics.median(medians[e]) * 1e3:.3g}" if e in medians else "-" for e in ("here", "torch", "mxnet"))]
    for other in ("torch", "mxnet"):
        row.append(spread([h / o for h, o in zip(medians["here"], medians[other], strict=True)]) if other in medians and "here" in medians else "-")
    workloads.free(mx, name)
    if oracle is not None:
        oracle.call(workloads.free, name)
    return row


def import_times(rounds: int) -> list[str]:
    """The row of the import: what `import mxexec_torch` adds to `import torch`."""
    code = "import time, torch; t = time.perf_counter(); import mxexec_torch; print(time.perf_counter() - t)"
    with tempfile.TemporaryDirectory() as cache:  # byte code is kept, as in an installation
        env = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
        run = functools.partial(subprocess.run, [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=env)
        found = [float(run().stdout) for _ in range(rounds + 1)][1:]
    return ["import_beyond_torch", f"{statistics.median(found) * 1e3:.3g}", "-", "-", "-", "-"]


def main() -> None:
    """Runs, prints and, with --write, renews the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--only", nargs="*", help="names of workloads, or parts of them")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-oracle", action="store_true", help="without MXNet")
    parser.add_argument("--cpu", action="store_true", help="count processor time: for machines that others use too")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    oracle = None
    if not arguments.no_oracle:
        try:
            oracle = Oracle(onednn=True, timeout=300)
        except OracleUnavailable as error:
            print(f"without MXNet: {error}", file=sys.stderr)
    names = [n for n in workloads.WORKLOADS if not arguments.only or any(part in n for part in arguments.only)]
    lines = [
        "| workload | here, ms | torch by hand, ms | MXNet 1.9.1, ms | here / torch | here / MXNet |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    print(*lines, sep="\n", flush=True)
    for name in names:
        lines.append("| " + " | ".join(compare(name, arguments.rounds, oracle, arguments.cpu)) + " |")
        print(lines[-1], flush=True)
    if not arguments.only:
        lines.append("| " + " | ".join(import_times(arguments.rounds)) + " |")
        print(lines[-1])
    if oracle is not None:
        oracle.close()
    if arguments.write:
        PAGE.write_text(_head(arguments.rounds, arguments.cpu) + "\n".join(lines) + "\n", encoding="utf-8")


def _head(rounds: int, cpu: bool) -> str:
    kind = "processor times" if cpu else "times"
    return (
        "# Benchmarks\n\nGenerated by `python -m tests.benchmarks --write`; figures, no verdicts.\n\n"
        f"{time.strftime('%Y-%m-%d')}, {platform.machine()} with {os.cpu_count()} cores (load {os.getloadavg()[0]:.1f}), Python {platform.python_version()}, "
        f"torch {torch.__version__}, one thread each, back-end {os.environ.get('MXEXEC_TORCH_BACKEND', 'eager')}. "
        f"{rounds} rounds in which the engines take turns; {kind} are the "
        "median over rounds of the fastest run of a round, ratios are taken round by round: median (lower quartile - upper quartile), below 1 is faster.\n"
        "`bind_and_step` counts binding and the first training step less a later step.\n\n"
    )


if __name__ == "__main__":
    main()
