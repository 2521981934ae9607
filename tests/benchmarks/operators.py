"""`python -m tests.benchmarks.operators [--only NAME ...] [--rounds N] [--worst N]`: what a call of mx.nd costs beyond the operator's body.

Each operator is called as its first plain case in tests/opdb calls it, with a stub in place of its body that gives the results the body gave:
what is left is the cost of the call. Bodies are timed by themselves. Figures are microseconds of processor time, the fastest of the rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

import mxexec_torch as mx
from mxexec_torch import registry
from mxexec_torch.errors import MXNetError
from mxexec_torch.ndarray.plans import Plan

from ..opdb.case import Case
from ..opdb.runner import published
from ..opdb.store import families, load

SLICE_SECONDS = 0.0004  # of one round of one engine


def plain_cases() -> Iterator[Case]:
    """The first case of each operator that calls it with dense arrays, imperatively and without an error."""
    seen: set[str] = set()
    for case in (case for family in families() for case in load(family)[0]):
        dense = all(spec.stype == "default" for spec in case.inputs.values())
        if case.op not in seen and case.build is None and not case.sample and not case.np_shape and "nd" in case.paths and dense and not case.error:
            seen.add(case.op)
            yield case


def prepared(case: Case) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """(the call with a stub for the body, the body on the same tensors)"""
    op = registry.get(case.op)
    arrays = [mx.nd.array(case.array(name), dtype=case.array(name).dtype) for name in case.inputs]
    attrs = dict(case.attrs)
    plan = Plan(op, {op.key_var_num_args: len(arrays), **attrs} if op.variadic and op.key_var_num_args else attrs, len(arrays))
    tensors = [array._t.clone() for array in arrays]
    arguments = tensors if plan.layout is None else [None if i < 0 else tensors[i] for i in plan.layout]
    injected = {} if plan.device is None else {plan.device: torch.device("cpu")}
    body = plan.bodies[0]
    result = body(*arguments, **injected)
    object.__setattr__(op, "body", lambda *_, **__: result)  # plans made from here on are bound to the stub
    function = published(mx.nd, case.op)
    out = {"out": arrays[list(case.inputs).index(case.out[0])]} if len(case.out) == 1 and op.in_place is None else {}
    return lambda: function(*arrays, **attrs, **out), lambda: body(*arguments, **injected)


def seconds(step: Callable[[], Any], repeats: int) -> float:
    """Processor time of one step: what else the machine does counts less than in wall time."""
    start = time.thread_time()
    for _ in range(repeats):
        step()
    return (time.thread_time() - start) / repeats


def cost(step: Callable[[], Any], rounds: int) -> float:
    """Seconds of a step: the fastest round."""
    for _ in range(3):
        step()
    repeats = max(1, min(500, int(SLICE_SECONDS / max(seconds(step, 3), 1e-7))))
    return min(seconds(step, repeats) for _ in range(rounds))


def main() -> None:
    """Prints the median over all operators and the worst ones."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.operators")
    parser.add_argument("--only", nargs="*", help="operator names, or parts of them")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--worst", type=int, default=20)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    nothing = cost(lambda: None, arguments.rounds)
    found: list[tuple[float, float, str]] = []
    skipped = []
    for case in plain_cases():
        if arguments.only and not any(part in case.op for part in arguments.only):
            continue
        try:
            call, body = prepared(case)
            extra, own = cost(call, arguments.rounds) - nothing, cost(body, 3)
        except (MXNetError, TypeError, ValueError, AssertionError, RuntimeError) as error:
            skipped.append(f"{case.op} ({type(error).__name__}: {str(error)[:60]})")
            continue
        found.append((extra * 1e6, own * 1e6, case.op))
    found.sort(reverse=True)
    print(f"{len(found)} operators, {len(skipped)} not run: {'; '.join(skipped)}")
    print(f"median {statistics.median(f[0] for f in found):.2f} us, below 3 us: {sum(f[0] < 3 for f in found)}")
    for extra, body, name in found[: arguments.worst]:
        print(f"{extra:9.2f} us beyond {body:9.2f} us  {name}")


if __name__ == "__main__":
    main()
