"""Worker processes with nothing shared: each has a pipe of its own.

multiprocessing.Pool shares queues and their locks among its workers: when one is killed (by the kernel for want of memory, say) while it holds
a lock, the others, `get` and even `terminate` wait for ever. Here the loss of a worker is noticed and said, and stopping waits for nobody.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.pool import ExceptionWithTraceback  # type: ignore[attr-defined]
from multiprocessing.reduction import ForkingPickler
from typing import Any

from ...errors import MXNetError

__all__ = ["Workers"]

_AHEAD = 2  # tasks that a worker has been sent at a time: one to do and one to go on with
_SMALL = 16384  # bytes: larger tasks are sent to idle workers only, since a pipe may be full of the answer before
_LOOK = 5.0  # seconds after which an idle worker looks whether its parent is still there


def _serve(pipe: Connection, parent: int, initializer: Callable[..., None], arguments: Sequence[Any], packed: Callable[[Any], bytes]) -> None:
    """A worker: answers each (function, arguments) with (True, result) or (False, exception) until the pipe or the parent is gone."""
    initializer(*arguments)
    while True:
        while not pipe.poll(_LOOK):
            if os.getppid() != parent:
                return
        try:
            function, given = pipe.recv()
        except EOFError:
            return
        try:
            answer: Any = (True, function(*given))
        except Exception as error:  # noqa: BLE001 - the user's code may raise anything; it is raised again in the parent
            answer = (False, ExceptionWithTraceback(error, error.__traceback__))
        try:
            pipe.send_bytes(packed(answer))
        except BrokenPipeError:
            return
        except Exception as error:  # noqa: BLE001 - a result or an exception that does not pickle
            pipe.send((False, MXNetError(f"what a DataLoader worker made cannot be sent to its parent: {error}")))


class _Worker:
    """One process and the tasks that are for it, in order."""

    def __init__(self, context: Any, *task: Any) -> None:
        self._pipe, end = context.Pipe()
        self.process = context.Process(target=_serve, args=(end, os.getpid(), *task), daemon=True)
        self.process.start()
        end.close()
        self._unsent: deque[tuple[_Task, bytes]] = deque()
        self._sent: deque[_Task] = deque()

    def add(self, task: _Task, work: Any) -> None:
        self._unsent.append((task, bytes(ForkingPickler.dumps(work))))
        self._send()

    def _send(self) -> None:
        while self._unsent and (not self._sent or (len(self._sent) < _AHEAD and len(self._unsent[0][1]) < _SMALL)):
            task, work = self._unsent.popleft()
            self._sent.append(task)
            try:
                self._pipe.send_bytes(work)
            except OSError as error:
                task.answer = (False, self._lost(error))

    def take_in(self) -> None:
        """Takes in the answers that are there, so that the worker goes on with what was not sent yet."""
        while self._sent and self._pipe.poll():
            try:
                self.receive(0)
            except MXNetError:
                return  # said again when a result is asked for

    def receive(self, timeout: float) -> None:
        """Takes in one answer. Errors: TimeoutError of multiprocessing, MXNetError when the worker is gone."""
        ready = wait([self._pipe, self.process.sentinel], timeout)
        if not ready:
            raise multiprocessing.TimeoutError
        try:
            if self._pipe not in ready and not self._pipe.poll():
                raise EOFError
            answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise self._lost(error) from None
        self._sent.popleft().answer = answer
        self._send()

    def _lost(self, error: BaseException) -> MXNetError:
        self.process.join(1)
        text = f"DataLoader worker (process {self.process.pid}) is gone, exit code {self.process.exitcode}"
        return MXNetError(f"{text}: killed by signal 9 where memory is short ({type(error).__name__}). Use fewer workers or smaller batches.")

    def stop(self) -> None:
        self.process.kill()
        self._pipe.close()


class _Task:
    """A result to come."""

    def __init__(self, worker: _Worker) -> None:
        self._worker = worker
        self.answer: Any = None

    def get(self, timeout: float | None = None) -> Any:
        """The result, or the exception that the function raised. Errors: multiprocessing.TimeoutError, MXNetError for a lost worker."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.answer is None:
            self._worker.receive(3600.0 if end is None else max(0.0, end - time.monotonic()))
        done, value = self.answer
        if done:
            return value
        raise value


class Workers:
    """Processes that take turns. The part of multiprocessing.Pool that DataLoaders use: `apply_async` and `terminate`.

    initializer(*arguments) runs first in each process. packed: pickles an answer there; the parent reads it as soon as it is noticed, so that
    shared memory which it names does not wait for a caller. Where the platform has fork, workers share what the parent has in memory.
    """

    def __init__(self, count: int, initializer: Callable[..., None], arguments: Sequence[Any], packed: Callable[[Any], bytes] = pickle.dumps) -> None:
        context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else None)
        self._workers = [_Worker(context, initializer, arguments, packed) for _ in range(count)]
        self._turn = 0

    def apply_async(self, function: Callable[..., Any], args: Sequence[Any] = ()) -> _Task:
        """`function(*args)` in the process whose turn it is."""
        for worker in self._workers:
            worker.take_in()
        worker = self._workers[self._turn % len(self._workers)]
        self._turn += 1
        task = _Task(worker)
        worker.add(task, (function, args))
        return task

    def terminate(self) -> None:
        """Ends the processes at once, whatever they do."""
        for worker in self._workers:
            worker.stop()
