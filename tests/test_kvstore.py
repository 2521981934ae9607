"""Key-value stores of one process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mxexec_torch as mx


def test_values_over_devices_are_summed() -> None:
    store = mx.kv.create("local")
    store.init("a", mx.nd.zeros((2, 3)))
    store.push("a", [mx.nd.full((2, 3), i, ctx=mx.cpu(i)) for i in range(4)])
    outs = [mx.nd.zeros((2, 3), ctx=mx.cpu(i)) for i in range(2)]
    store.pull("a", out=outs)
    assert all((out.asnumpy() == 6).all() for out in outs)
    grads = [mx.nd.ones((2, 3)), mx.nd.ones((2, 3))]
    store.pushpull("a", grads)
    assert (grads[1].asnumpy() == 2).all()


def test_lists_of_keys() -> None:
    store = mx.kv.create()
    store.init([1, 2], [mx.nd.ones((2,)), mx.nd.zeros((3,))])
    store.push([1, 2], [[mx.nd.ones((2,))] * 3, mx.nd.full((3,), 4)])
    outs = [mx.nd.zeros((2,)), mx.nd.zeros((3,))]
    store.pull([1, 2], out=outs)
    assert outs[0].asnumpy().tolist() == [3, 3] and outs[1].asnumpy().tolist() == [4, 4, 4]


def test_the_optimizer_updates_stored_weights(tmp_path: Path) -> None:
    store = mx.kv.create("device")
    store.init("w", mx.nd.ones((2,)))
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.5, momentum=0.9))
    out = mx.nd.zeros((2,))
    for _ in range(2):
        store.pushpull("w", [mx.nd.ones((2,))] * 2, out=out)
    np.testing.assert_allclose(out.asnumpy(), 1 - 1 - 1.9)
    path = str(tmp_path / "states")
    store.save_optimizer_states(path)
    other = mx.kv.create("device")
    other.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.5, momentum=0.9))
    other.load_optimizer_states(path)
    np.testing.assert_allclose(other._updater.states["w"].asnumpy(), -1.9)


def test_rows_of_sparse_values() -> None:
    store = mx.kv.create()
    store.init("e", mx.nd.array(np.arange(8).reshape(4, 2)).tostype("row_sparse"))
    out = mx.nd.sparse.zeros("row_sparse", (4, 2))
    store.row_sparse_pull("e", out=out, row_ids=mx.nd.array([3, 1, 3]))
    np.testing.assert_array_equal(out.asnumpy(), [[0, 0], [2, 3], [0, 0], [6, 7]])
    with pytest.raises(mx.MXNetError, match="row_sparse"):
        store.row_sparse_pull("e", out=mx.nd.zeros((4, 2)), row_ids=mx.nd.array([1]))


def test_compression_keeps_the_rest_for_later() -> None:
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init("w", mx.nd.zeros((4,)))
    out = mx.nd.zeros((4,))
    seen = []
    for _ in range(3):
        store.pushpull("w", mx.nd.array([0.3, -0.6, 0.2, 1.2]), out=out)
        seen.append(out.asnumpy().tolist())
    assert seen == [[0, -0.5, 0, 0.5], [0.5, -0.5, 0, 0.5], [0, -0.5, 0.5, 0.5]]
    with pytest.raises(Exception, match="not supported"):
        mx.kv.create("local").set_gradient_compression({"type": "2bit"})


def test_mistakes_are_named() -> None:
    store = mx.kv.create()
    store.init("a", mx.nd.zeros((2,)))
    for action, text in (
        (lambda: store.init("a", mx.nd.zeros((2,))), "duplicate init"), (lambda: store.push("b", mx.nd.zeros((2,))), "not been inited"),
        (lambda: store.init(3, mx.nd.zeros((2,))), "mixed types"), (lambda: store.push("a", mx.nd.zeros((3,))), "shape"),
        (lambda: mx.kv.create("dist_sync"), "distributed"),
    ):  # fmt: skip
        with pytest.raises(mx.MXNetError, match=text):
            action()
    with pytest.raises(TypeError):
        mx.kv.create(3)  # type: ignore[arg-type]


def test_settings_that_mxnet_refuses() -> None:
    for params in ({}, {"threshold": 2}, {"type": "none"}, {"type": "1bit"}, {"type": "2bit", "threshold": 0}):
        with pytest.raises(mx.MXNetError):
            mx.kv.create("device").set_gradient_compression(params)
    store = mx.kv.create()
    store.init("e", mx.nd.ones((4, 2)).tostype("row_sparse"))
    with pytest.raises(mx.MXNetError, match="rows 0 to 3"):
        store.row_sparse_pull("e", out=mx.nd.sparse.zeros("row_sparse", (4, 2)), row_ids=mx.nd.array([1, 9]))
