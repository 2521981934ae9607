"""mx.contrib.io: a Gluon DataLoader feeds a Module."""

from __future__ import annotations

import numpy as np

import mxexec_torch as mx
from mxexec_torch.contrib.io import DataLoaderIter


def test_data_loader_iter_for_a_module() -> None:
    """The short last batch is filled up and says so."""
    samples = mx.gluon.data.ArrayDataset(np.arange(20, dtype="float32").reshape(5, 4), np.arange(5, dtype="float32"))
    batches = DataLoaderIter(mx.gluon.data.DataLoader(samples, batch_size=2))
    assert batches.provide_data[0].shape == (2, 4) and batches.provide_label[0].name == "softmax_label"
    seen = [(batch.data[0].shape, batch.pad) for batch in batches]
    assert seen == [((2, 4), 0), ((2, 4), 0), ((2, 4), 1)]
    batches.reset()
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5), name="softmax")
    module = mx.mod.Module(net)
    module.fit(batches, num_epoch=1)
    assert module.predict(batches).shape == (5, 5)
