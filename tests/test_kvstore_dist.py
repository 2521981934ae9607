"""Distributed stores: two processes over gloo train like one, and notice when the other is gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx

BATCH = 16
SECONDS = 120.0  # for starting two interpreters on a busy machine


def _network(mx: Any) -> Any:
    hidden = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="fc1"), act_type="relu")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=4, name="fc2"), name="softmax")


def train(store: Any, optimizer: str, settings: dict[str, Any], killed_in: int | None = None) -> dict[str, Any]:
    """Ten epochs of four batches of which each worker takes its share; parameters by name. `killed_in`: worker 1 dies in that epoch."""
    random = np.random.RandomState(0)
    data, label = random.randn(4 * BATCH, 10).astype(np.float32), random.randint(0, 4, 4 * BATCH).astype(np.float32)
    share = BATCH // store.num_workers
    mine = np.arange(4 * BATCH).reshape(4, store.num_workers, share)[:, store.rank].ravel()
    iterator = mx.io.NDArrayIter(data[mine], label[mine], share)
    module = mx.mod.Module(_network(mx), context=mx.cpu())
    module.bind(iterator.provide_data, iterator.provide_label)
    module.init_params(mx.init.Zero())
    if store.rank == 0:  # the others get these from the store
        first = {name: mx.nd.array(random.randn(*value.shape) * 0.3) for name, value in sorted(module.get_params()[0].items())}
        module.set_params(first, {})
    module.init_optimizer(kvstore=store, optimizer=optimizer, optimizer_params=settings)
    for epoch in range(10):
        iterator.reset()
        for batch in iterator:
            if epoch == killed_in and store.rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            module.forward_backward(batch)
            module.update()
    return {name: value.asnumpy() for name, value in module.get_params()[0].items()}


def rows(store: Any) -> Any:
    """Row_sparse gradients of different rows, summed."""
    store.init("w", mx.nd.ones((6, 2)).tostype("row_sparse"))
    own = mx.nd.sparse.row_sparse_array((np.full((2, 2), store.rank + 1, np.float32), [store.rank, 3]), shape=(6, 2))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0))
    store.push("w", own)
    out = mx.nd.zeros((6, 2)).tostype("row_sparse")
    store.row_sparse_pull("w", out=out, row_ids=mx.nd.array([0, 1, 2, 3]))
    return out.asnumpy()


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("sgd", {"learning_rate": 0.1, "momentum": 0.9}),
    "adam": ("adam", {"learning_rate": 0.01}),
    "sgld": ("sgld", {"learning_rate": 0.01}),
}


def worker(task: str, folder: str) -> None:
    """The program of one worker."""
    store = mx.kv.create("dist_sync")
    mx.random.seed(store.rank)
    if task == "rows":
        found = {"rows": rows(store)}
    else:
        found = train(store, *CASES["sgd" if task == "killed" else task], killed_in=2 if task == "killed" else None)
    np.savez(Path(folder) / f"{task}{store.rank}.npz", **found)
    store._barrier()


def start(task: str, folder: Path) -> list[subprocess.Popen[str]]:
    """Two workers, with what torchrun sets."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "MXEXEC_TORCH_DIST_TIMEOUT": "60"}
    program = f"from tests.test_kvstore_dist import worker; worker({task!r}, {str(folder)!r})"
    root = Path(__file__).resolve().parent.parent
    return [
        subprocess.Popen([sys.executable, "-c", program], env={**shared, "RANK": str(rank)}, cwd=root, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]


def finish(workers: Sequence[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    """Exit status and standard error of each worker, which must end in time."""
    try:
        return [(w.wait(SECONDS), w.stderr.read() if w.stderr else "") for w in workers]
    finally:
        for w in workers:
            w.kill()


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_two_workers_train_like_one(tmp_path: Path, name: str) -> None:
    workers = start(name, tmp_path)
    single = train(mx.kv.create("local"), *CASES[name])
    for status, text in finish(workers):
        assert status == 0, text
    for rank in range(2):
        found = np.load(tmp_path / f"{name}{rank}.npz")
        for key, value in single.items():
            np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-5)


def test_random_updates_stay_equal(tmp_path: Path) -> None:
    for status, text in finish(start("sgld", tmp_path)):
        assert status == 0, text
    first, second = (np.load(tmp_path / f"sgld{rank}.npz") for rank in range(2))
    for key in first.files:
        np.testing.assert_array_equal(first[key], second[key])


def test_row_sparse_gradients_are_summed(tmp_path: Path) -> None:
    for status, text in finish(start("rows", tmp_path)):
        assert status == 0, text
    expected = np.array([[0, 0], [-1, -1], [1, 1], [-2, -2], [0, 0], [0, 0]], np.float32)
    for rank in range(2):
        np.testing.assert_array_equal(np.load(tmp_path / f"rows{rank}.npz")["rows"], expected)


def test_a_killed_worker_is_an_error_for_the_other(tmp_path: Path) -> None:
    workers = start("killed", tmp_path)
    assert workers[1].wait(SECONDS) == -signal.SIGKILL
    since = time.monotonic()
    (status, text), _ = finish(workers)
    assert status == 1 and "MXNetError: worker 0 of 2: pushing key" in text and "has died" in text
    assert time.monotonic() - since < 60


@pytest.mark.parametrize(("kind", "text"), [("dist_async", "dist_sync"), ("dist_sync", "torchrun"), ("dist_fast", "Unknown KVStore type")])
def test_refusals(monkeypatch: pytest.MonkeyPatch, kind: str, text: str) -> None:
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(mx.MXNetError, match=text):
        mx.kv.create(kind)
