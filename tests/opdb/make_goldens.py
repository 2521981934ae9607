"""Records goldens from MXNet 1.9.1: `python -m tests.opdb.make_goldens [--family X ...]`, run with any interpreter.

The parent asks `tests.oracle` for an interpreter that has MXNet and runs this module there, once per kernel library (oneDNN off and on).
"""

from __future__ import annotations

import argparse
import io
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

from ..oracle import environment, interpreter
from . import store
from .case import Case
from .runner import Result, refer, run

ROOT = Path(__file__).resolve().parent.parent.parent


def _record(family: str, onednn: bool, skip: list[str], target: Path) -> None:
    """In the oracle's interpreter: appends one pickle (case id, result) a case to `target`."""
    import mxnet as mx

    with target.open("ab") as stream:
        for case in store.load(family)[0]:
            if case.onednn == onednn and case.reference is None and case.id not in skip:
                pickle.dump(case.id, stream)
                stream.flush()
                pickle.dump(run(mx, case), stream)
                stream.flush()


def _in_oracle(python: str, family: str, onednn: bool) -> dict[str, Result]:
    """All cases of a family; one that ends the process is recorded as such and the rest goes on in a new one."""
    env = {**environment(), "MXNET_MKLDNN_ENABLED": "1" if onednn else "0"}
    found: dict[str, Result] = {}
    while True:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "results.pickle"
            command = [python, "-m", "tests.opdb.make_goldens", "--child", str(target), "--family", family, "--skip", *found]
            done = subprocess.run(command + (["--onednn"] if onednn else []), cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True)
            unfinished = None
            with target.open("rb") if target.exists() else io.BytesIO() as stream:
                try:
                    while True:
                        unfinished = pickle.load(stream)
                        found[unfinished] = pickle.load(stream)
                        unfinished = None
                except EOFError:
                    pass
        if done.returncode == 0:
            return found
        if unfinished is None:
            raise RuntimeError(f"recording {family} failed:\n{done.stderr[-3000:]}")
        ended = {"stage": "crash", "class": ["Crash"], "text": f"MXNet's process ended with {done.returncode}: {done.stderr.strip()[-300:]}"}
        found[unfinished] = Result(errors=dict.fromkeys(("sym", "nd"), ended))


def _complain(case: Case, result: Result) -> list[str]:
    if case.error:
        silent = [p for p in case.paths if p not in result.errors]
        return [f"{case.id}: an error case, but MXNet raises nothing on {p}" for p in silent]
    return [f"{case.id}: MXNet raises on {p} at {e['stage']}: {e['class'][0]}: {e['text']}" for p, e in result.errors.items()]


def main(arguments: list[str] | None = None) -> int:
    """The command line. Returns 1 when a case that should run raises in MXNet (the golden is written all the same)."""
    parser = argparse.ArgumentParser(prog="python -m tests.opdb.make_goldens", description=__doc__)
    parser.add_argument("--family", action="append", help="only these families (default: all)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--onednn", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--skip", nargs="*", default=[], help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    names = options.family or store.families()
    if options.child:
        _record(names[0], options.onednn, options.skip, Path(options.child))
        sys.stdout.flush()
        os._exit(0)  # MXNet's engine threads need not be joined
    python = interpreter()
    complaints: list[str] = []
    for family in names:
        cases = store.load(family)[0]
        found: dict[str, Result] = {}
        found.update({c.id: refer(c) for c in cases if c.reference is not None})
        for onednn in sorted({c.onednn for c in cases if c.reference is None}):
            found.update(_in_oracle(python, family, onednn))
        store.save_goldens(family, found)
        complaints += [text for case in cases for text in _complain(case, found[case.id])]
        print(f"{family}: {len(found)} cases recorded")
    for text in complaints:
        print("!", text)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
