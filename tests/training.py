"""Twenty training steps of small nets by legacy executor code, here and in MXNet 1.9.1 alike, from the same weights and batches."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["NETS", "STEPS", "run"]

STEPS, BATCH, RATE, MOMENTUM, DECAY = 20, 8, 0.05, 0.9, 1e-4
IMAGE = (1, 12, 12)


def lenet(mx: Any) -> Any:
    """Two convolutions with max pooling, two dense layers."""
    net = mx.sym.Variable("data")
    for number, filters in ((1, 4), (2, 8)):
        net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=filters, name=f"conv{number}")
        net = mx.sym.Activation(net, act_type="tanh", name=f"tanh{number}")
        net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", pooling_convention="full", name=f"pool{number}")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=16, name="fc1")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="relu", name="relu1"), num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def resnet(mx: Any) -> Any:
    """Two pre-activation residual units (the second halves the image), batch normalisation with and without fixed gamma."""
    net = mx.sym.BatchNorm(mx.sym.Variable("data"), fix_gamma=True, eps=2e-5, name="bn_data")
    net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=4, no_bias=True, name="conv0")
    for number, (filters, stride) in enumerate(((4, 1), (8, 2)), 1):
        before = mx.sym.BatchNorm(net, fix_gamma=False, eps=2e-5, momentum=0.8, name=f"unit{number}_bn1")
        before = mx.sym.Activation(before, act_type="relu", name=f"unit{number}_relu1")
        conv = dict(kernel=(3, 3), pad=(1, 1), num_filter=filters, no_bias=True)
        inner = mx.sym.Convolution(before, stride=(stride, stride), name=f"unit{number}_conv1", **conv)
        inner = mx.sym.BatchNorm(inner, fix_gamma=False, name=f"unit{number}_bn2")
        inner = mx.sym.Activation(inner, act_type="relu", name=f"unit{number}_relu2")
        inner = mx.sym.Convolution(inner, name=f"unit{number}_conv2", **conv)
        short = net
        if stride > 1:
            short = mx.sym.Convolution(before, kernel=(1, 1), stride=(stride, stride), num_filter=filters, no_bias=True, name=f"unit{number}_sc")
        net = inner + short
    net = mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False, name="bn1"), act_type="relu", name="relu1")
    net = mx.sym.Pooling(net, kernel=(2, 2), global_pool=True, pool_type="avg", name="pool1")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=10, name="fc1")
    return mx.sym.SoftmaxOutput(net, name="softmax")


NETS = {"lenet": lenet, "resnet": resnet}


def run(mx: Any, name: str) -> dict[str, np.ndarray]:
    """Trains; returns output, every weight (after the step), gradient and auxiliary state, each stacked over the steps."""
    rng = np.random.RandomState(7)
    executor = NETS[name](mx).simple_bind(ctx=mx.cpu(), data=(BATCH, *IMAGE), softmax_label=(BATCH,), grad_req="write")
    weights = [key for key in sorted(executor.arg_dict) if key not in ("data", "softmax_label")]
    for key in weights:
        shape = executor.arg_dict[key].shape
        value = rng.normal(0, np.sqrt(2.0 / np.prod(shape[1:])), shape) if key.endswith("weight") else rng.uniform(0.5, 1.5, shape)
        executor.arg_dict[key][:] = (value - (1.0 if key.endswith(("bias", "beta")) else 0.0)).astype("float32")
    for key, array in executor.aux_dict.items():
        array[:] = 1.0 if key.endswith("var") else 0.0
    momenta = {key: mx.nd.zeros(executor.arg_dict[key].shape) for key in weights}
    steps: dict[str, list[np.ndarray]] = {}
    for _ in range(STEPS):
        executor.arg_dict["data"][:] = rng.uniform(-1, 1, (BATCH, *IMAGE)).astype("float32")
        executor.arg_dict["softmax_label"][:] = rng.randint(0, 10, BATCH).astype("float32")
        executor.forward(is_train=True)
        executor.backward()
        mx.nd.waitall()
        steps.setdefault("output", []).append(executor.outputs[0].asnumpy())
        for key in weights:
            gradient = executor.grad_dict[key]
            steps.setdefault(f"grad.{key}", []).append(gradient.asnumpy())
            settings = dict(lr=RATE, momentum=MOMENTUM, wd=DECAY if key.endswith("weight") else 0.0, rescale_grad=1.0 / BATCH)
            mx.nd.sgd_mom_update(executor.arg_dict[key], gradient, momenta[key], out=executor.arg_dict[key], **settings)
        mx.nd.waitall()
        for key in weights:
            steps.setdefault(f"weight.{key}", []).append(executor.arg_dict[key].asnumpy())
        for key, array in executor.aux_dict.items():
            steps.setdefault(f"aux.{key}", []).append(array.asnumpy())
    return {key: np.stack(arrays) for key, arrays in steps.items()}
