"""Small graphs used by several tests; built with any module that offers MXNet's interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["debug_graphs"]


def debug_graphs(mx: Any) -> Iterator[tuple[str, Any, dict[str, tuple[int, ...]], Any]]:
    """(name, symbol, input shapes, grad_req): graphs whose Executor.debug_str is recorded from MXNet 1.9.1."""
    with mx.name.NameManager():
        yield from _debug_graphs(mx.sym)


def _debug_graphs(S: Any) -> Iterator[tuple[str, Any, dict[str, tuple[int, ...]], Any]]:  # noqa: N803 - the usual short name of mx.sym
    data, h, c = S.Variable("data"), S.Variable("h"), S.Variable("c")
    yield "sum", 2 * S.Variable("a") + S.Variable("b"), {"a": (2,), "b": (2,)}, "write"
    net = S.Activation(S.BatchNorm(S.FullyConnected(data, num_hidden=8, name="fc1"), name="bn"), act_type="relu", name="r")
    net = S.FullyConnected(net, num_hidden=4, name="fc2")
    net = S.SoftmaxOutput(net + net * 2, name="softmax")
    yield "mlp", net, {"data": (2, 5)}, "write"
    yield "mlp_inference", net, {"data": (2, 5)}, "null"
    yield "mlp_one_gradient", net, {"data": (2, 5)}, {"fc2_weight": "write"}
    net = S.Activation(S.Convolution(data, kernel=(3, 3), num_filter=4, name="c1"), act_type="tanh", name="t1")
    net = S.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name="p1")
    net = S.Convolution(net, kernel=(3, 3), num_filter=4, no_bias=True, name="c2")
    net = S.Flatten(S.Pooling(net, pool_type="avg", kernel=(2, 2), stride=(2, 2), name="p2"), name="fl")
    net = S.FullyConnected(S.Dropout(net, p=0.5, name="dp"), num_hidden=3, name="fc")
    yield "lenet", S.SoftmaxOutput(net, name="softmax"), {"data": (2, 1, 14, 14)}, "write"
    gates = S.FullyConnected(data, num_hidden=8, name="i2h") + S.FullyConnected(h, num_hidden=8, name="h2h")
    i, f, o, g = S.SliceChannel(gates, num_outputs=4, name="sl")
    cell = S.Activation(i, act_type="sigmoid") * c + S.Activation(f, act_type="sigmoid") * S.Activation(o, act_type="tanh")
    out = S.Activation(g, act_type="sigmoid") * S.Activation(cell, act_type="tanh")
    yield "lstm_step", S.Group([out, cell]), {"data": (2, 3), "h": (2, 2), "c": (2, 2)}, "write"
    joined = S.Concat(data, data * 2, S.transpose(h), dim=1, name="cc")
    total = S.broadcast_add(joined, S.sum(joined, axis=1, keepdims=True))
    yield "reductions", S.MakeLoss(S.mean(S.square(total) - S.BlockGrad(total))), {"data": (2, 3), "h": (2, 2)}, "write"
    net = S.Reshape(S.Embedding(data, input_dim=4, output_dim=2, name="em"), shape=(-1, 2))
    yield "embedding", S.LinearRegressionOutput(S.dot(net, h), name="lr"), {"data": (2,), "h": (2, 1)}, {"em_weight": "write", "h": "add"}
    net = S.LeakyReLU(S.Deconvolution(data, kernel=(2, 2), num_filter=2, name="dc"), act_type="prelu", name="pr")
    net = S.UpSampling(net, scale=2, sample_type="nearest")
    net = S.Pad(net, mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 1, 1))
    yield "deconvolution", S.softmax(S.LRN(S.L2Normalization(net), nsize=3)), {"data": (1, 2, 3, 3)}, "write"
