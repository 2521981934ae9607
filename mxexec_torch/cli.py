"""The command `mxexec-torch` (also `python -m mxexec_torch`): demo, run, info, im2rec, matrix."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import runpy
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from . import im2rec
from .errors import MXNetError

__all__ = ["main"]


class _Version(argparse.Action):
    """Prints the versions that an error report needs, and exits."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        try:
            own = metadata.version("mxexec_torch")
        except metadata.PackageNotFoundError:  # run from a checkout
            own = "(not installed)"
        print(f"mxexec_torch {own}, torch {metadata.version('torch')}, numpy {metadata.version('numpy')}, Python {platform.python_version()}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mxexec-torch", description="Runs legacy MXNet code on PyTorch.")
    parser.add_argument("--version", action=_Version, nargs=0, help="the versions of this package and of torch")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{demo,run,info,im2rec,matrix}")
    commands.add_parser("demo", help="train a LeNet with legacy code and run a legacy checkpoint, beside MXNet 1.9.1's figures")
    run = commands.add_parser("run", help="run a script in which `import mxnet` means this package")
    names = "give scripts the names of NumPy 1.x and of older Pythons (np.bool, collections.Iterable, ...) that these lack"
    run.add_argument("--numpy-compat", action=argparse.BooleanOptionalAction, default=True, help=names)
    run.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module, as for `python -m`")
    run.add_argument("script", metavar="SCRIPT", help="the script, or with -m the module")
    rest = run.add_argument("arguments", metavar="ARGUMENTS", nargs=argparse.REMAINDER, help="what the script sees in sys.argv[1:]")
    rest.required = False  # argparse would name it among what is missing
    info = commands.add_parser("info", help="what a checkpoint contains and whether this package runs it")
    info.add_argument("symbol", metavar="SYMBOL", help="the graph: model-symbol.json")
    info.add_argument("params", metavar="PARAMS", nargs="?", help="its parameters: model-0000.params; tells inputs from parameters")
    im2rec.add_arguments(commands.add_parser("im2rec", help="make image lists (.lst) from a folder and records (.rec, .idx) from lists"))
    matrix = commands.add_parser("matrix", help="write compat_matrix.md from the recorded operator cases (in a checkout)")
    matrix.add_argument("--check", action="store_true", help="write nothing; fail when the file differs from what would be written")
    return parser


def _missing(script: str, as_module: bool) -> str | None:
    """Why there is nothing to run under that name; None when there is."""
    if as_module:
        try:
            found = importlib.util.find_spec(script)
            if found is not None and found.submodule_search_locations is not None and importlib.util.find_spec(f"{script}.__main__") is None:
                return f"{script} is a package without __main__, which cannot be run"
        except ModuleNotFoundError as error:
            if error.name is None or not f"{script}.".startswith(f"{error.name}."):
                raise  # a package above the module imports what is not there
            found = None
        return None if found is not None else f"no such module: {script}"
    if not os.path.exists(script):
        return f"no such script: {script}"
    return f"{script} is a folder without __main__.py" if os.path.isdir(script) and not os.path.exists(os.path.join(script, "__main__.py")) else None


def _run(script: str, arguments: Sequence[str], as_module: bool, old_names: bool) -> int:
    """Runs the script as `python script arguments...` would. Its exit status is ours (SystemExit passes through)."""
    from . import as_mxnet, numpy_compat, python_compat

    as_mxnet.install()
    if old_names:
        numpy_compat.restore()
        python_compat.restore()
    if as_module:
        sys.path.insert(0, os.getcwd())
    problem = _missing(script, as_module)
    if problem is not None:
        print(f"mxexec-torch: {problem}", file=sys.stderr)
        return 2
    sys.argv = [script, *arguments]
    if as_module:
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
        named = isinstance(error, OSError) and error.filename is not None and f"{error.filename}: {error.strerror}"
        print(f"mxexec-torch: {named or error}", file=sys.stderr)
        return 1
