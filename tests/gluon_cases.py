"""Gluon networks that run in MXNet 1.9.1 and here alike: the same parameters, outputs, gradients, training steps and files."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

__all__ = ["FILES", "NETWORKS", "TRAINERS", "read_back", "run", "save", "train"]


def _stack(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, padding=1, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(), nn.Dense(6, activation="tanh"), nn.Dense(3))
    return net


def _sequence(mx: Any) -> Any:
    return mx.gluon.rnn.LSTM(5, num_layers=2, bidirectional=True, prefix="lstm_")


NETWORKS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "dense": (lambda mx: mx.gluon.nn.Dense(4, activation="sigmoid", prefix="dense_"), (3, 5)),
    "convolution": (lambda mx: mx.gluon.nn.Conv2D(4, 3, strides=2, padding=1, groups=2, prefix="conv_"), (2, 4, 7, 7)),
    "transposed": (lambda mx: mx.gluon.nn.Conv2DTranspose(4, 3, strides=2, output_padding=1, prefix="conv_"), (2, 3, 4, 4)),
    "batchnorm": (lambda mx: mx.gluon.nn.BatchNorm(prefix="bn_"), (4, 3, 5)),
    "layernorm": (lambda mx: mx.gluon.nn.LayerNorm(prefix="ln_"), (4, 6)),
    "stack": (_stack, (4, 2, 8, 8)),
    "lstm": (_sequence, (4, 2, 3)),
    "gru": (lambda mx: mx.gluon.rnn.GRU(5, layout="NTC", prefix="gru_"), (2, 4, 3)),
}  # fmt: skip
TRAINERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}), "adam": ("adam", {"learning_rate": 0.01})
}
FILES = ("parameters", "dictionary", "export-symbol.json", "export-0000.params", "states")


def _values(shape: tuple[int, ...], seed: int) -> Any:
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


def _ready(mx: Any, name: str, hybridize: bool) -> tuple[Any, Any]:
    """The network with fixed parameters, and its input."""
    make, shape = NETWORKS[name]
    net, x = make(mx), mx.nd.array(_values(shape, 1))
    net.initialize()
    net(x)
    for seed, parameter in enumerate(net.collect_params().values(), 2):
        values = _values(parameter.shape, seed) * 0.5
        parameter.set_data(mx.nd.array(np.abs(values) + 0.5 if parameter.name.endswith("var") else values))
    if hybridize:
        net.hybridize()
    return net, x


def run(mx: Any, name: str, hybridize: bool = False) -> dict[str, Any]:
    """Output, gradients, statistics after backward, and the output for prediction."""
    net, x = _ready(mx, name, hybridize)
    x.attach_grad()
    with mx.autograd.record():
        out = net(x)
    out.backward(mx.nd.array(_values(out.shape, 99)))
    mx.nd.waitall()
    found = {"output": out.asnumpy(), "grad of x": x.grad.asnumpy()}
    for parameter in net.collect_params().values():
        found[parameter.name] = (parameter.data() if parameter.grad_req == "null" else parameter.grad()).asnumpy()
    found["prediction"] = net(x).asnumpy()
    return found


def _step(mx: Any, net: Any, x: Any, trainer: Any) -> Any:
    with mx.autograd.record():
        loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()(net(x), mx.nd.array([0, 1, 2, 1]))
    loss.backward()
    trainer.step(4)
    mx.nd.waitall()
    return loss.asnumpy().mean()


def train(mx: Any, kind: str, hybridize: bool = False) -> dict[str, Any]:
    """Twenty steps: the losses and the parameters afterwards."""
    net, x = _ready(mx, "stack", hybridize)
    name, options = TRAINERS[kind]
    trainer = mx.gluon.Trainer(net.collect_params(), name, dict(options))
    losses = np.array([_step(mx, net, x, trainer) for _ in range(20)])
    return {"losses": losses, **{p.name: p.data().asnumpy() for p in net.collect_params().values()}}


def save(mx: Any) -> dict[str, bytes]:
    """The files that a network and its trainer write after one step."""
    net, x = _ready(mx, "stack", True)
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    _step(mx, net, x, trainer)
    with tempfile.TemporaryDirectory() as folder:
        net.save_parameters(os.path.join(folder, FILES[0]))
        net.collect_params().save(os.path.join(folder, FILES[1]))
        net.export(os.path.join(folder, "export"))
        trainer.save_states(os.path.join(folder, FILES[4]))
        return {name: _read(os.path.join(folder, name)) for name in FILES}


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def read_back(mx: Any, files: dict[str, bytes]) -> dict[str, Any]:
    """What the files give: outputs of a network loaded in three ways, and the losses of two further steps."""
    with tempfile.TemporaryDirectory() as folder:
        path = {name: os.path.join(folder, name) for name in FILES}
        for name, data in files.items():
            with open(path[name], "wb") as file:
                file.write(data)
        x = mx.nd.array(_values(NETWORKS["stack"][1], 1))
        net = _stack(mx)
        net.load_parameters(path["parameters"])
        other = _stack(mx)
        other.collect_params().load(path["dictionary"])
        imported = mx.gluon.SymbolBlock.imports(path["export-symbol.json"], ["data"], path["export-0000.params"])
        found = {"parameters": net(x).asnumpy(), "dictionary": other(x).asnumpy(), "export": imported(x).asnumpy()}
        trainer = mx.gluon.Trainer(net.collect_params(), "adam")
        trainer.load_states(path["states"])
        found["losses"] = np.array([_step(mx, net, x, trainer) for _ in range(2)])
        return found
