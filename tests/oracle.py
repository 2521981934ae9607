"""MXNet 1.9.1 in an interpreter of its own ("the oracle"): finds or makes it, and runs code there.

`MXEXEC_TORCH_ORACLE` names the interpreter. Without it, or with `auto`, one is made, once, in a cache folder: a Python 3.11 (or older)
environment with `mxnet==1.9.1 numpy==1.23.5` from the package index. Nothing but recording goldens and the live differential tests needs it,
and the latter run only where the variable is set.
"""

from __future__ import annotations

import functools
import os
import pickle
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

__all__ = ["Oracle", "OracleDied", "OracleUnavailable", "environment", "interpreter"]

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("mxnet==1.9.1", "numpy==1.23.5")
PROBE = "import mxnet, numpy; assert mxnet.__version__ == '1.9.1', mxnet.__version__"


class OracleUnavailable(RuntimeError):
    """No MXNet 1.9.1 can be had on this machine; the text says why."""


def environment() -> dict[str, str]:
    """The environment of an oracle process: unfused graphs, one thread, this checkout's `tests` package importable."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONHOME", "VIRTUAL_ENV")}
    mxnet = {"MXNET_SUBGRAPH_BACKEND": "NONE", "MXNET_STORAGE_FALLBACK_LOG_VERBOSE": "0"}
    return {**kept, **mxnet, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def _works(python: str) -> str | None:
    try:
        done = subprocess.run([python, "-c", PROBE], env=environment(), capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


@functools.cache
def interpreter() -> str:
    """Path of a Python that has MXNet 1.9.1. Errors: OracleUnavailable."""
    named = os.environ.get("MXEXEC_TORCH_ORACLE")
    if named and named != "auto":
        wrong = _works(named)
        if wrong:
            raise OracleUnavailable(f"MXEXEC_TORCH_ORACLE={named}: {wrong}")
        return named
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mxexec_torch"
    home = cache / "oracle"
    python = home / "bin" / "python"
    if python.exists() and _works(str(python)) is None:
        return str(python)
    _make(home)
    wrong = _works(str(python))
    if wrong:
        raise OracleUnavailable(f"MXNet was installed in {home} but does not work: {wrong}")
    return str(python)


def _make(home: Path) -> None:
    base = next((p for p in ("python3.11", "python3.10", "python3.9", "python3.8") if shutil.which(p)), None)
    if base is None or not sys.platform.startswith("linux"):
        raise OracleUnavailable("MXNet 1.9.1 needs Linux on x86-64 and Python 3.8 to 3.11")
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    for command in ([base, "-m", "venv", str(home)], [str(home / "bin" / "python"), "-m", "pip", "install", "-q", *PACKAGES]):
        done = subprocess.run(command, env=environment(), capture_output=True, text=True)
        if done.returncode:
            raise OracleUnavailable(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-400:]}")


class OracleDied(RuntimeError):
    """MXNet ended the process."""


class Oracle:
    """A worker process with MXNet: `oracle.call(function, *arguments)` runs a module-level function of `tests` there.

    The function gets MXNet's module as its first argument; arguments and result travel by pickle, so they must be plain data and NumPy
    arrays. An exception over there is raised here as RuntimeError with its class name in front.
    """

    def __init__(self, onednn: bool = False, timeout: float = 120.0) -> None:
        self._env = {**environment(), "MXNET_MKLDNN_ENABLED": str(int(onednn))}
        self._timeout = timeout
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [interpreter(), "-m", "tests.oracle", "--serve"]
        return subprocess.Popen(command, cwd=ROOT, env=self._env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The function's result. Errors: RuntimeError when it raises; OracleDied when it dies or does not answer in time (the next call has a new one)."""
        watch = threading.Timer(self._timeout, self._process.kill)
        watch.start()
        try:
            assert self._process.stdin and self._process.stdout
            _send(self._process.stdin, (_importable(function), function.__qualname__, arguments))
            worked, value = _receive(self._process.stdout)
        except (EOFError, BrokenPipeError):
            self.close()
            self._process = self._start()
            raise OracleDied(f"the oracle died or took over {self._timeout:.0f} s in {function.__qualname__}{arguments!r:.500}") from None
        finally:
            watch.cancel()
        if not worked:
            raise RuntimeError(value)
        return value

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()


def _importable(function: Callable[..., Any]) -> str:
    main = sys.modules["__main__"].__spec__ if function.__module__ == "__main__" else None
    return main.name if main else function.__module__


def _send(stream: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value, protocol=4)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    data = stream.read(struct.unpack("<Q", head)[0])
    return pickle.loads(data)


def _serve() -> None:
    import importlib

    import mxnet as mx

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what MXNet prints must not get between the answers
    while True:
        try:
            module, name, arguments = _receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            found: Any = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
            answer = (True, found(mx, *arguments))
        except Exception as error:  # noqa: BLE001 - it travels to the caller
            answer = (False, f"{type(error).__name__}: {error}")
        _send(answers, answer)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        _serve()
    else:
        print(interpreter())
