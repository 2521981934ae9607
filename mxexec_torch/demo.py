"""`mxexec-torch demo`: legacy executor code at work on real digits, beside the figures that MXNet 1.9.1 gave.

The functions that take `mx` are plain legacy code. They run unchanged in MXNet 1.9.1 (that is how the figures were recorded), so this
module imports nothing of the package.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["checkpoint", "digits", "lenet", "main", "train"]

DATA = Path(__file__).parent / "data"
RECORDED = DATA / "demo_mxnet191.json"
EPOCHS, BATCH, RATE, MOMENTUM = 8, 32, 0.02, 0.9
HELD_OUT = 357  # 1,797 = 45 batches of 32 to train on + 357


def digits() -> tuple[np.ndarray, np.ndarray]:
    """The UCI digits: images (1797, 1, 8, 8) in 0..1 and classes (1797,), both float32."""
    with gzip.open(DATA / "digits.csv.gz", "rt") as stream:
        table = np.loadtxt(stream, delimiter=",", dtype=np.float32)
    return table[:, :64].reshape(-1, 1, 8, 8) / 16, table[:, 64]


def lenet(mx: Any) -> Any:
    """A LeNet for 8x8 images."""
    net = mx.sym.Variable("data")
    for number, filters in enumerate((16, 32), 1):
        net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{number}")
        net = mx.sym.Activation(net, act_type="tanh", name=f"tanh{number}")
        net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{number}")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=64, name="fc1")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh", name="tanh3"), num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def train(mx: Any, report: Callable[[int, float, float], None] = lambda *_: None) -> dict[str, list[float]]:
    """Trains the LeNet; returns the mean training loss and the held-out accuracy after each epoch. `report` is told as it goes."""
    images, classes = digits()
    train_x, train_y, test_x, test_y = images[:-HELD_OUT], classes[:-HELD_OUT], images[-HELD_OUT:], classes[-HELD_OUT:]
    executor = lenet(mx).simple_bind(ctx=mx.cpu(), data=(BATCH, 1, 8, 8), softmax_label=(BATCH,), grad_req="write")
    rng = np.random.RandomState(1)
    weights = [name for name in sorted(executor.arg_dict) if name not in ("data", "softmax_label")]
    for name in weights:
        shape = executor.arg_dict[name].shape
        bound = np.sqrt(3.0 / np.prod(shape[1:])) if name.endswith("weight") else 0.0
        executor.arg_dict[name][:] = rng.uniform(-bound, bound, shape).astype("float32")
    momenta = {name: mx.nd.zeros(executor.arg_dict[name].shape) for name in weights}
    losses, accuracies = [], []
    for epoch in range(EPOCHS):
        order, total = rng.permutation(len(train_x)), 0.0
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            executor.arg_dict["data"][:] = train_x[batch]
            executor.arg_dict["softmax_label"][:] = train_y[batch]
            executor.forward(is_train=True)
            executor.backward()
            for name in weights:
                weight, gradient = executor.arg_dict[name], executor.grad_dict[name]
                mx.nd.sgd_mom_update(weight, gradient, momenta[name], out=weight, lr=RATE, momentum=MOMENTUM, rescale_grad=1.0 / BATCH)
            chosen = executor.outputs[0].asnumpy()[np.arange(BATCH), train_y[batch].astype(int)]
            total -= float(np.log(np.maximum(chosen, 1e-12)).sum())
        losses.append(total / len(order))
        test = executor.reshape(data=test_x.shape, softmax_label=test_y.shape, allow_up_sizing=True)
        test.arg_dict["data"][:] = test_x
        accuracies.append(float((test.forward(is_train=False)[0].asnumpy().argmax(axis=1) == test_y).mean()))
        report(epoch, losses[-1], accuracies[-1])
    return {"losses": losses, "accuracies": accuracies}


def _enlarge(images: np.ndarray) -> np.ndarray:
    """8x8 digits the way MNIST frames its own: 20x20 (bilinear) in the middle of 28x28, scaled by MNIST's mean and deviation."""
    place = np.linspace(0, 7, 20)
    low = np.minimum(place.astype(int), 6)
    mix = np.zeros((20, 8))
    mix[np.arange(20), low], mix[np.arange(20), low + 1] = 1 - (place - low), place - low
    large = np.einsum("ip,ncpq,jq->ncij", mix, images, mix)
    framed = np.pad(large, ((0, 0), (0, 0), (4, 4), (4, 4)))
    return ((framed - 0.1307) / 0.3081).astype(np.float32)


def checkpoint(mx: Any) -> dict[str, Any]:
    """Runs the legacy checkpoint on all digits; returns its accuracy and the probabilities of the first eight images."""
    images, classes = digits()
    symbol = mx.sym.load(str(DATA / "lenet_mnist-symbol.json"))
    saved = mx.nd.load(str(DATA / "lenet_mnist-0010.params"))
    executor = symbol.simple_bind(ctx=mx.cpu(), data=(len(images), 1, 28, 28), softmax_label=(len(images),), grad_req="null")
    executor.copy_params_from({key[4:]: value for key, value in saved.items() if key.startswith("arg:")})
    executor.arg_dict["data"][:] = _enlarge(images)
    found = executor.forward(is_train=False)[0].asnumpy()
    return {"accuracy": float((found.argmax(axis=1) == classes).mean()), "probabilities": found[:8].astype(float).tolist()}


def main(mx: Any) -> int:
    """Prints both runs beside MXNet's figures. Returns 1 when they do not agree."""
    recorded = json.loads(RECORDED.read_text())
    started = time.perf_counter()
    print("Training a LeNet with legacy executor code on the UCI digits (1,440 to train on, 357 held out), MXNet 1.9.1's figures in brackets")

    def report(epoch: int, loss: float, accuracy: float) -> None:
        there = recorded["train"]
        figures = f"loss {loss:.4f} ({there['losses'][epoch]:.4f})  held-out accuracy {accuracy:.1%} ({there['accuracies'][epoch]:.1%})"
        print(f"  epoch {epoch + 1}/{EPOCHS}  {figures}  {time.perf_counter() - started:.1f} s", flush=True)

    trained = train(mx, report)
    apart = float(np.max(np.abs(np.array(trained["losses"]) / np.array(recorded["train"]["losses"]) - 1)))
    print(f"  losses agree with MXNet 1.9.1 to {apart:.1e} relative\n")
    print("Running a legacy checkpoint (LeNet trained on MNIST with MXNet 1.3.1) on all 1,797 digits")
    run = checkpoint(mx)
    difference = float(np.max(np.abs(np.array(run["probabilities"]) - np.array(recorded["checkpoint"]["probabilities"]))))
    print(f"  accuracy {run['accuracy']:.2%} ({recorded['checkpoint']['accuracy']:.2%}); largest difference of a probability {difference:.1e}")
    agree = apart < 1e-2 and difference < 1e-4
    print(f"\n{'Both agree with MXNet 1.9.1' if agree else 'These do NOT agree with MXNet 1.9.1'} ({time.perf_counter() - started:.1f} s)")
    return 0 if agree else 1
