"""`import mxnet` after `import mxexec_torch.as_mxnet`. Each check runs in a process of its own: imports are global."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def run(code: str, *options: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, cwd=cwd, timeout=120)


def check(code: str) -> None:
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_modules_are_the_same_objects() -> None:
    """Every way of importing gives one module object, whose spec stays its own."""
    check(
        """
import sys
import mxexec_torch.as_mxnet
import mxnet, mxnet as mx, mxexec_torch
import mxnet.symbol
from mxnet.ndarray import NDArray
from mxnet import nd, sym
from mxnet.base import MXNetError
assert mx is mxexec_torch and sys.modules["mxnet.symbol"] is sys.modules["mxexec_torch.symbol"]
assert NDArray is mxexec_torch.nd.NDArray and sym is mxexec_torch.symbol and MXNetError is mxexec_torch.MXNetError
assert mxexec_torch.symbol.__name__ == "mxexec_torch.symbol" == mxexec_torch.symbol.__spec__.name
assert mxexec_torch.__spec__.name == "mxexec_torch"
"""
    )


def test_alias_first() -> None:
    """A submodule imported under the old name first is the same module under the new one."""
    check(
        """
import mxexec_torch.as_mxnet
import importlib
context = importlib.import_module("mxnet.context")
import mxexec_torch.context
assert context is mxexec_torch.context
"""
    )


def test_missing_submodule_says_so() -> None:
    """ImportError names the module and who stands in for mxnet."""
    done = run("import mxexec_torch.as_mxnet, mxnet.no_such_thing")
    assert "ModuleNotFoundError: No module named 'mxnet.no_such_thing': mxexec_torch" in done.stderr, done.stderr


def test_real_mxnet_loaded_first_is_refused(tmp_path: Path) -> None:
    """Mixing the two would give half of each."""
    (tmp_path / "mxnet.py").write_text("")
    done = run("import sys; sys.path.insert(0, '.'); import mxnet, mxexec_torch.as_mxnet", cwd=tmp_path)
    assert "ImportError: mxnet is imported already" in done.stderr, done.stderr


def test_companions() -> None:
    """Packages rely on modules of the standard library that mxnet imports."""
    check("import mxexec_torch.as_mxnet, multiprocessing as mp, http, xml.parsers; mp.pool.Pool; mp.queues.Queue; http.cookiejar; xml.parsers.expat")


def test_numpy_compat() -> None:
    """The old names are there when asked for, and NumPy's own names are left alone."""
    check(
        """
import numpy as np
before = {n: getattr(np, n) for n in ("float64", "int64", "bool_", "prod")}
from mxexec_torch import numpy_compat
added = numpy_compat.restore()
assert np.int is int and np.float is float and np.object is object and np.zeros(2, dtype=np.bool).dtype == bool
assert np.product([2, 3]) == 6 and np.asscalar(np.array([3])) == 3 and "int" in added
assert all(getattr(np, n) is v for n, v in before.items())
assert numpy_compat.restore() == []
assert np.fromstring(b"\\x01\\xff", dtype=np.uint8).tolist() == [1, 255] and np.fromstring("1 2", sep=" ").tolist() == [1, 2]
"""
    )


@pytest.mark.parametrize(("options", "passes"), [([], True), (["--numpy-compat"], True), (["--no-numpy-compat"], False)])
def test_pytest_plugin(tmp_path: Path, options: list[str], passes: bool) -> None:
    """`pytest -p mxexec_torch.as_mxnet` gives test modules mxnet, and the old NumPy names on request."""
    module = "import mxnet as mx\nimport numpy as np\nKIND = np.int\ndef test_it():\n    assert mx.__name__ == 'mxexec_torch'\n"
    (tmp_path / "test_old.py").write_text(module)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mxexec_torch.as_mxnet", "-p", "no:cacheprovider", *options, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode == 0) is passes, done.stdout + done.stderr
