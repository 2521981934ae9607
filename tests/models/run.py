"""Runs a legacy checkpoint through the executor, here and in MXNet 1.9.1 alike."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["MODELS", "Model", "run"]

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent.parent / "mxexec_torch" / "data"
SAMPLE = 97  # values kept of each gradient; a prime stride so that no axis is sampled at one place only


@dataclass(frozen=True)
class Model:
    """A checkpoint and the inputs it is run on.

    loss: backward() needs no head gradients. wrong_there: what MXNet itself gets wrong and is not recorded.
    """

    prefix: Path
    epoch: int
    inputs: dict[str, tuple[int, ...]]
    classes: int = 1
    loss: bool = True
    wrong_there: tuple[str, ...] = ()


MODELS = {
    "lenet_mnist": Model(PACKAGE / "lenet_mnist", 10, {"data": (4, 1, 28, 28), "softmax_label": (4,)}, 10),
    # PReLU's gamma: MXNet's memory plan lets the data gradient overwrite the head gradient that gamma's gradient is computed from
    # (a PReLU bound alone is right: tests/opdb has it).
    "mtcnn_det1": Model(HERE / "mtcnn_det1", 1, {"data": (2, 3, 32, 40)}, loss=False, wrong_there=tuple(f"grad.prelu{i}_gamma" for i in (1, 2, 3))),
    "cifar_resnet20_v1": Model(HERE / "cifar_resnet20_v1", 0, {"data": (2, 3, 32, 32)}, loss=False),
    "pose": Model(HERE / "pose", 500, {"data": (4, 30), "softmax_label": (4,)}, 7),
    "linreg": Model(HERE / "linreg", 0, {"data": (3, 2), "lin_reg_label": (3, 1)}),
}


def _seeded(name: str) -> np.random.RandomState:
    return np.random.RandomState(zlib.crc32(name.encode()))


def _sampled(array: np.ndarray) -> np.ndarray:
    flat = array.reshape(-1)
    return np.append(flat[:: max(1, flat.size // SAMPLE)], np.float32(np.linalg.norm(flat.astype("float64"))))


def run(mx: Any, name: str) -> dict[str, np.ndarray]:
    """Outputs in both modes, then samples and norms of all gradients and auxiliary states after one backward."""
    model = MODELS[name]
    symbol, arguments, auxiliary = mx.model.load_checkpoint(str(model.prefix), model.epoch)
    executor = symbol.simple_bind(ctx=mx.cpu(), grad_req="write", **model.inputs)
    executor.copy_params_from(arguments, auxiliary, allow_extra_params=True)
    for key, shape in model.inputs.items():
        rng = _seeded(f"{name}:{key}")
        value = rng.randint(0, model.classes, shape) if key.endswith("label") and model.classes > 1 else rng.uniform(-1, 1, shape)
        executor.arg_dict[key][:] = value.astype("float32")
    found = {f"eval.{i}": o.asnumpy() for i, o in enumerate(executor.forward(is_train=False))}
    outputs = executor.forward(is_train=True)
    mx.nd.waitall()
    found.update({f"train.{i}": o.asnumpy() for i, o in enumerate(outputs)})
    heads = [mx.nd.array(_seeded(f"{name}:head{i}").normal(size=o.shape).astype("float32")) for i, o in enumerate(outputs)]
    executor.backward() if model.loss else executor.backward(heads)
    mx.nd.waitall()
    found.update({f"grad.{key}": _sampled(a.asnumpy()) for key, a in executor.grad_dict.items() if a is not None})
    found.update({f"aux.{key}": _sampled(a.asnumpy()) for key, a in executor.aux_dict.items()})
    return {what: array for what, array in found.items() if what not in model.wrong_there}
