"""mx.monitor / mx.mon: statistics of an executor's outputs and parameters, every few batches."""

from __future__ import annotations

import ctypes
import logging
import re
from collections.abc import Callable
from math import sqrt
from typing import Any

from . import ndarray as nd
from .base import NDArrayHandle
from .ndarray.core import NDArray

__all__ = ["Monitor"]


class Monitor:
    """Collects `stat_func(array)` of every operator output (inputs too with monitor_all) whose name matches `pattern`.

    interval: batches between two collections. stat_func: NDArray -> NDArray or list of them; default norm(x) / sqrt(x.size).
    sort: order results by name. Use: install(executor); tic() before a batch; toc() or toc_print() after it.
    """

    def __init__(
        self, interval: int, stat_func: Callable[[Any], Any] | None = None, pattern: str = ".*", sort: bool = False, monitor_all: bool = False
    ) -> None:
        self.interval = interval
        self.stat_func = stat_func if stat_func is not None else lambda x: nd.norm(x) / sqrt(x.size)
        self.re_prog = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Any] = []

    def stat_helper(self, name: bytes | str, array: Any) -> None:
        """The callback that executors call: an array's name and handle."""
        text = name.decode() if isinstance(name, bytes) else name
        if self.activated and self.re_prog.match(text):
            self.queue.append((self.step, text, self.stat_func(NDArray(ctypes.cast(array, NDArrayHandle), writable=False))))

    def install(self, exe: Any) -> None:
        """Watches an executor; may be called for several."""
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Starts a collection if this batch's number is a multiple of the interval."""
        if self.step % self.interval == 0:
            self._wait()
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """Ends the collection: (step, name, text of the statistic) of every output seen and of every argument and auxiliary state."""
        if not self.activated:
            return []
        self._wait()
        for exe in self.exes:
            names = [*exe._symbol.list_arguments(), *exe._symbol.list_auxiliary_states()]
            for name, array in zip(names, [*exe.arg_arrays, *exe.aux_arrays], strict=False):
                if self.re_prog.match(name):
                    self.queue.append((self.step, name, self.stat_func(array)))
        self.activated = False
        if self.sort:
            self.queue.sort(key=lambda entry: entry[1])
        result = [(step, name, _text(value)) for step, name, value in self.queue]
        self.queue = []
        return result

    def toc_print(self) -> None:
        """`toc`, logged at level INFO."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %30s %s", step, name, text)

    def _wait(self) -> None:
        for exe in self.exes:
            for array in [*exe.arg_arrays, *exe.aux_arrays]:
                array.wait_to_read()


def _text(value: Any) -> str:
    """One or several arrays as text, each followed by a tab."""
    arrays = value if isinstance(value, list) else [value]
    if not all(isinstance(array, NDArray) for array in arrays):
        raise AssertionError(f"stat_func must return an NDArray or a list of them, not {type(value).__name__}")
    return "".join(str(array.asscalar() if array.shape == (1,) else array.asnumpy()) + "\t" for array in arrays)
