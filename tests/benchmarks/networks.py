"""Networks as legacy symbols; they run here and in MXNet 1.9.1 alike."""

from __future__ import annotations

from typing import Any

__all__ = ["chain", "fused_lstm", "lenet", "mlp", "resnet", "unrolled_lstm"]

HIDDEN, LAYERS, STEPS, VOCABULARY = 200, 2, 35, 200


def mlp(mx: Any) -> Any:
    """784-128-64-10."""
    net = mx.sym.Variable("data")
    for number, size in enumerate((128, 64), 1):
        net = mx.sym.Activation(mx.sym.FullyConnected(net, num_hidden=size, name=f"fc{number}"), act_type="relu", name=f"relu{number}")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=10, name="fc3"), name="softmax")


def lenet(mx: Any) -> Any:
    """LeNet of MXNet's examples: 20 and 50 filters of 5x5, tanh."""
    net = mx.sym.Variable("data")
    for number, filters in ((1, 20), (2, 50)):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters, name=f"conv{number}")
        net = mx.sym.Activation(net, act_type="tanh", name=f"tanh{number}")
        net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{number}")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=500, name="fc1")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh", name="tanh3"), num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _layer(mx: Any, net: Any, name: str, filters: int, kernel: int, stride: int, relu: bool = True) -> Any:
    pad = kernel // 2
    net = mx.sym.Convolution(net, kernel=(kernel, kernel), stride=(stride, stride), pad=(pad, pad), num_filter=filters, no_bias=True, name=name)
    net = mx.sym.BatchNorm(net, fix_gamma=False, eps=1e-5, name=name + "_bn")
    return mx.sym.Activation(net, act_type="relu", name=name + "_relu") if relu else net


def resnet(mx: Any, blocks: tuple[int, ...]) -> Any:
    """A residual net of bottleneck blocks: (3, 4, 6, 3) is ResNet-50, (3, 8, 36, 3) ResNet-152."""
    net = _layer(mx, mx.sym.Variable("data"), "conv0", 64, 7, 2)
    net = mx.sym.Pooling(net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pool0")
    for stage, count in enumerate(blocks):
        size = 64 * 2**stage
        for block in range(count):
            name, stride = f"stage{stage}_block{block}", 2 if stage and not block else 1
            inner = _layer(mx, net, name + "_conv1", size, 1, 1)
            inner = _layer(mx, inner, name + "_conv2", size, 3, stride)
            inner = _layer(mx, inner, name + "_conv3", 4 * size, 1, 1, relu=False)
            short = net if block else _layer(mx, net, name + "_short", 4 * size, 1, stride, relu=False)
            net = mx.sym.Activation(inner + short, act_type="relu", name=name + "_relu")
    net = mx.sym.Pooling(net, global_pool=True, kernel=(7, 7), pool_type="avg", name="pool1")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=1000, name="fc1"), name="softmax")


def fused_lstm(mx: Any) -> Any:
    """Two layers of 200 over data (steps, batch, features), a dense layer on every step."""
    net = mx.sym.RNN(
        mx.sym.Variable("data"), mx.sym.Variable("parameters"), mx.sym.Variable("state"), mx.sym.Variable("state_cell"),
        state_size=HIDDEN, num_layers=LAYERS, mode="lstm", name="lstm",
    )  # fmt: skip
    net = mx.sym.FullyConnected(mx.sym.Reshape(net, shape=(-1, HIDDEN)), num_hidden=VOCABULARY, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def unrolled_lstm(mx: Any, steps: int = STEPS) -> Any:
    """The same net cell by cell, as examples wrote it before fused layers: data (batch, steps, features)."""
    inputs = list(mx.sym.SliceChannel(mx.sym.Variable("data"), num_outputs=steps, axis=1, squeeze_axis=True, name="steps"))
    for layer in range(LAYERS):
        own = {k: mx.sym.Variable(f"l{layer}_{k}") for k in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")}
        hidden, cell = mx.sym.Variable(f"l{layer}_init_h"), mx.sym.Variable(f"l{layer}_init_c")
        for t in range(steps):
            name = f"l{layer}_t{t}"
            from_input = mx.sym.FullyConnected(inputs[t], own["i2h_weight"], own["i2h_bias"], num_hidden=4 * HIDDEN, name=name + "_i2h")
            from_hidden = mx.sym.FullyConnected(hidden, own["h2h_weight"], own["h2h_bias"], num_hidden=4 * HIDDEN, name=name + "_h2h")
            gates = mx.sym.SliceChannel(from_input + from_hidden, num_outputs=4, name=name + "_gates")
            kinds = ("sigmoid", "sigmoid", "tanh", "sigmoid")
            into, forget, new, out = (mx.sym.Activation(gates[k], act_type=kind, name=f"{name}_gate{k}") for k, kind in enumerate(kinds))
            cell = forget * cell + into * new
            hidden = out * mx.sym.Activation(cell, act_type="tanh", name=name + "_tanh")
            inputs[t] = hidden
    net = mx.sym.Concat(*[mx.sym.expand_dims(x, axis=1) for x in inputs], dim=1, name="all")
    net = mx.sym.FullyConnected(mx.sym.Reshape(net, shape=(-1, HIDDEN)), num_hidden=VOCABULARY, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def chain(mx: Any, length: int = 1000) -> Any:
    """Elementwise operators one after the other."""
    net = mx.sym.Variable("data")
    for number in range(length // 4):
        net = mx.sym.tanh(net * 0.9 + 0.1, name=f"tanh{number}") - 0.05
    return net
