"""DataLoader with worker processes: order, exceptions, a killed worker, an end in the middle; nothing waits for ever."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx
from mxexec_torch.gluon.data import DataLoader, Dataset


class Numbers(Dataset):  # type: ignore[misc]
    """Sample i is i; sample `bad` raises, sample `fatal` kills its process, sample `slow` takes long."""

    def __init__(self, length: int, bad: int = -1, fatal: int = -1, slow: int = -1) -> None:
        self._length, self._bad, self._fatal, self._slow = length, bad, fatal, slow

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Any:
        if index == self._bad:
            raise KeyError("sample without a label")
        if index == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        if index == self._slow:
            time.sleep(30)
        return np.full((3,), index, dtype="float32")


def test_order_and_several_passes() -> None:
    """Batches come in order, also after a pass that was left in the middle, with large batches and many workers."""
    loader = DataLoader(Numbers(40), batch_size=4, num_workers=5, prefetch=20)
    for step, _ in enumerate(loader):
        if step == 2:
            break
    for _ in range(2):
        found = np.concatenate([batch.asnumpy()[:, 0] for batch in loader])
        np.testing.assert_array_equal(found, np.arange(40))


def test_large_tasks() -> None:
    """Index lists and batches larger than a pipe holds."""
    loader = DataLoader(Numbers(60000), batch_size=20000, num_workers=1)
    assert [batch.shape for batch in loader] == [(20000, 3)] * 3


def test_exception_of_a_dataset() -> None:
    """It is raised in the parent with its type."""
    with pytest.raises(KeyError, match="label"):
        list(DataLoader(Numbers(8, bad=5), batch_size=2, num_workers=2))


def test_killed_worker() -> None:
    """An error that names the process instead of waiting, and the loader can be dropped."""
    started = time.monotonic()
    loader = DataLoader(Numbers(8, fatal=2), batch_size=2, num_workers=2, timeout=60)
    with pytest.raises(mx.MXNetError, match="worker .* is gone, exit code -9"):
        list(loader)
    del loader
    assert time.monotonic() - started < 30


def test_timeout(capsys: pytest.CaptureFixture[str]) -> None:
    """A batch that takes too long."""
    loader = DataLoader(Numbers(4, slow=1), batch_size=2, num_workers=1, timeout=1)
    with pytest.raises(multiprocessing.TimeoutError):
        list(loader)
    assert "timed out" in capsys.readouterr().out


def test_end_of_the_program_with_busy_workers() -> None:
    """A program may end in the middle of a pass, whatever its workers do."""
    code = (
        "import mxexec_torch as mx; from tests.test_data_workers import Numbers\n"
        "loader = mx.gluon.data.DataLoader(Numbers(64, slow=9), batch_size=4, num_workers=6); it = iter(loader); next(it); print('over')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout == "over\n", done.stderr
