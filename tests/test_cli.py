"""The command `mxexec-torch`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mxexec_torch import cli, info
from mxexec_torch.demo import DATA
from mxexec_torch.errors import FileFormatError

SCRIPT = """
import sys
import mxnet as mx
import helper
print(__name__, sys.argv[1:], mx.__name__, helper.VALUE)
sys.exit(3)
"""


def command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "mxexec_torch", *arguments], capture_output=True, text=True, cwd=cwd, timeout=300)


def test_run(tmp_path: Path) -> None:
    """The script is __main__, sees its own arguments, its folder's modules and mxnet; its exit status is passed on."""
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("VALUE = 7\n")
    done = command("run", str(tmp_path / "script.py"), "--rate", "0.1", "-m", "x")
    assert done.stdout == "__main__ ['--rate', '0.1', '-m', 'x'] mxexec_torch 7\n", done.stderr
    assert done.returncode == 3


def test_run_numpy_compat(tmp_path: Path) -> None:
    """Legacy scripts find NumPy's and Python's old names, unless told otherwise."""
    old = "import collections, inspect, time, imp\nimport xml.etree.cElementTree as ET\nassert isinstance([], collections.Iterable) and time.clock() >= 0\n"
    old += "assert inspect.getargspec(lambda a, *b: 0).varargs == 'b' and imp.new_module('m') and ET.fromstring('<a/>').tag == 'a'\n"
    (tmp_path / "script.py").write_text(old + "import numpy as np\nprint(np.int)\n")
    for options in ((), ("--numpy-compat",)):
        assert "<class 'int'>" in command("run", *options, str(tmp_path / "script.py")).stdout
    assert "AttributeError" in command("run", "--no-numpy-compat", str(tmp_path / "script.py")).stderr


def test_run_missing_script() -> None:
    """No traceback of ours."""
    done = command("run", "nowhere.py")
    assert done.returncode == 2 and done.stderr == "mxexec-torch: no such script: nowhere.py\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["run", "-m", "no_such_module"], "no such module: no_such_module"),
        (["run", "-m", "json.tool.deeper"], "no such module: json.tool.deeper"),
        (["run", "-m", "json"], "json is a package without __main__, which cannot be run"),
        (["run", DATA], f"{DATA} is a folder without __main__.py"),
        (["info", "nowhere.json"], "nowhere.json: No such file or directory"),
        (["info", f"{DATA}/lenet_mnist-0010.params"], "is a parameter file: name the symbol file (-symbol.json) first"),
        (["im2rec", "x", "nowhere", "--list"], "nowhere: no such folder of images"),
        (["im2rec", "x", DATA, "--list"], "--recursive searches the folders below it too"),
    ],
)
def test_mistakes(arguments: list[str], text: str) -> None:
    """One line that says what is wrong, no traceback."""
    done = command(*map(str, arguments))
    assert done.returncode in (1, 2) and text in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_info_checkpoint() -> None:
    """Version, operators with counts, inputs told from parameters, sizes."""
    text = info.describe(f"{DATA}/lenet_mnist-symbol.json", f"{DATA}/lenet_mnist-0010.params")
    assert "written by MXNet 1.3.1, 24 nodes, 12 of them operators" in text
    assert "      3  FullyConnected\n" in text
    assert "Inputs (arguments that the parameter file does not hold)\n  data  " in text and "  softmax_label  " in text
    assert "10 arrays, 44,426 values, 178,346 bytes" in text and "  conv1_weight  (6, 1, 5, 5) float32" in text
    assert text.endswith("Every operator is supported.")


def test_info_without_parameters() -> None:
    """The arguments are listed, and how to learn which are inputs."""
    text = info.describe(f"{DATA}/lenet_mnist-symbol.json")
    assert "Arguments (give the .params file to tell inputs from parameters)\n  data  " in text


def test_info_unsupported(tmp_path: Path) -> None:
    """A graph with unknown operators is described all the same."""
    graph = json.loads(Path(f"{DATA}/lenet_mnist-symbol.json").read_text())
    next(node for node in graph["nodes"] if node["op"] == "Pooling")["op"] = "MoonPooling"
    (tmp_path / "m.json").write_text(json.dumps(graph))
    text = info.describe(str(tmp_path / "m.json"))
    assert "MoonPooling   NOT SUPPORTED" in text
    assert text.endswith("Does not run here: MoonPooling (not an operator of MXNet 1.9.1)")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"nodes": 3}', "\0\1", "[" * 100000])
def test_info_bad_files(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A clear error, exit status 1."""
    (tmp_path / "m.json").write_text(content)
    with pytest.raises(FileFormatError):
        info.describe(str(tmp_path / "m.json"))
    assert cli.main(["info", str(tmp_path / "m.json")]) == 1
    assert capsys.readouterr().err.startswith("mxexec-torch: ")


def test_demo() -> None:
    """Agrees with MXNet's figures and says so."""
    done = command("demo")
    assert done.returncode == 0 and "Both agree with MXNet 1.9.1" in done.stdout, done.stdout + done.stderr


def test_version() -> None:
    done = command("--version")
    assert done.returncode == 0 and "torch" in done.stdout and "numpy" in done.stdout
