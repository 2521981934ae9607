"""What tests depend on around them: contexts, environment variables, stderr, devices, retries."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..context import Context, current_context
from ..ndarray.creation import waitall

__all__ = [
    "EnvManager", "default_context", "discard_stderr", "environment", "get_im2rec_path", "has_tvm_ops", "is_aarch64_run", "is_cd_run",
    "is_op_runnable", "list_gpus", "retry", "set_default_context",
]  # fmt: skip


def default_context() -> Context:
    """The context that tests run on."""
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Makes a context the one that tests, and all new arrays of this thread, are on."""
    Context._default_ctx.value = ctx


def list_gpus() -> range:
    """The numbers of the GPUs."""
    return range(torch.cuda.device_count())


def retry(n: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of tests that depend on chance: an AssertionError counts only the n-th time."""
    assert n > 0, f"{n} tries"

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def wrapper(*args: Any, **kwargs: Any) -> None:
            for attempt in range(n):
                try:
                    f(*args, **kwargs)
                    return
                except AssertionError:
                    if attempt == n - 1:
                        raise
                    waitall()

        return wrapper

    return decorate


@contextlib.contextmanager
def discard_stderr() -> Iterator[None]:
    """`with discard_stderr():` throws away what is written to stderr, by C code too."""
    try:
        target = sys.stderr.fileno()
    except (AttributeError, OSError):  # stderr is no file here
        yield
        return
    saved = os.dup(target)
    try:
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), target)
            yield
    finally:
        os.dup2(saved, target)
        os.close(saved)


@contextlib.contextmanager
def environment(*args: Any) -> Iterator[None]:
    """`with environment(name, value):` or `environment({name: value, ...})` sets environment variables for a while; None unsets them."""
    if len(args) == 1 and isinstance(args[0], dict):
        wanted = args[0]
    else:
        assert len(args) == 2, "Expecting one dict arg or two args: env var name and value"
        wanted = {args[0]: args[1]}
    before = {name: os.environ.get(name) for name in wanted}
    _set_environment(wanted)
    try:
        yield
    finally:
        waitall()
        _set_environment(before)


def _set_environment(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class EnvManager(contextlib.ExitStack):
    """`with EnvManager(name, value):` sets one environment variable for a while; older test suites use it."""

    def __init__(self, key: str, val: str | None) -> None:
        super().__init__()
        self._wanted = (key, val)

    def __enter__(self) -> EnvManager:  # noqa: PYI034 - Self needs Python 3.11
        self.enter_context(environment(*self._wanted))
        return self


def is_cd_run() -> bool:
    """Whether the variable CD_JOB marks a continuous delivery run."""
    return os.environ.get("CD_JOB", "0") == "1"


def is_aarch64_run() -> bool:
    """Whether this is a 64-bit ARM machine."""
    return platform.machine() == "aarch64"


def has_tvm_ops() -> bool:
    """False: there are no operators made by TVM here."""
    return False


def is_op_runnable() -> bool:
    """True: every operator runs on every device."""
    return True


def get_im2rec_path(home_env: str = "MXNET_HOME") -> str:
    """The path of tools/im2rec.py below the folder that an environment variable names, or below this package. Errors: OSError."""
    home = os.environ.get(home_env) or os.path.dirname(os.path.dirname(__file__))
    for parts in (("tools",), ("..", "..", "tools")):
        path = os.path.join(home, *parts, "im2rec.py")
        if os.path.isfile(path):
            return path
    raise OSError(f"Could not find path to tools/im2rec.py below {home}")
