"""The command `mxexec-torch` (also `python -m mxexec_torch`): demo, run, info, im2rec, matrix."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence

from . import im2rec
from .errors import MXNetError

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mxexec-torch", description="Runs legacy MXNet code on PyTorch.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{demo,run,info,im2rec,matrix}")
    commands.add_parser("demo", help="train a LeNet with legacy code and run a legacy checkpoint, beside MXNet 1.9.1's figures")
    run = commands.add_parser("run", help="run a script in which `import mxnet` means this package")
    names = "give scripts the names of NumPy 1.x and of older Pythons (np.bool, collections.Iterable, ...) that these lack"
    run.add_argument("--numpy-compat", action=argparse.BooleanOptionalAction, default=True, help=names)
    run.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module, as in `python -m`")
    run.add_argument("script", help="the script, or with -m the module")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script sees in sys.argv[1:]")
    info = commands.add_parser("info", help="what a checkpoint contains and whether this package runs it")
    info.add_argument("symbol", help="model-symbol.json")
    info.add_argument("params", nargs="?", help="model-0000.params")
    im2rec.add_arguments(commands.add_parser("im2rec", help="make image lists (.lst) from a folder and records (.rec, .idx) from lists"))
    matrix = commands.add_parser("matrix", help="write compat_matrix.md from the recorded operator cases (in a checkout)")
    matrix.add_argument("--check", action="store_true", help="write nothing; fail when the file differs from what would be written")
    return parser


def _run(script: str, arguments: Sequence[str], as_module: bool, old_names: bool) -> int:
    """Runs the script as `python script arguments...` would. Its exit status is ours (SystemExit passes through)."""
    from . import as_mxnet, numpy_compat, python_compat

    as_mxnet.install()
    if old_names:
        numpy_compat.restore()
        python_compat.restore()
    if not as_module and not os.path.exists(script):
        print(f"mxexec-torch: no such script: {script}", file=sys.stderr)
        return 2
    sys.argv = [script, *arguments]
    if as_module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(script, run_name="__main__", alter_sys=True)
    else:
        sys.path[:0] = [os.path.dirname(os.path.abspath(script)), os.getcwd()]
        runpy.run_path(script, run_name="__main__")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    if options.command == "run":
        return _run(options.script, options.arguments, options.module, options.numpy_compat)
    try:
        if options.command == "demo":
            import torch

            import mxexec_torch

            from . import demo

            torch.set_num_threads(1)  # tensors this small: two threads only wait for each other (10 s became 80 s on a busy machine)
            return demo.main(mxexec_torch)
        if options.command == "info":
            from . import info

            print(info.describe(options.symbol, options.params))
            return 0
        if options.command == "im2rec":
            return im2rec.main(options)
        from . import matrix

        return matrix.main(check=options.check)
    except (MXNetError, OSError, ValueError) as error:
        print(f"mxexec-torch: {error}", file=sys.stderr)
        return 1
