"""Fifty steps of Module.fit for a small MLP, here and in MXNet 1.9.1 alike, from the same weights and batches, for every optimizer.

`python tests/fit_mlp.py OUT.npz`, with real MXNet, records what the tests compare with (MXNET_SUBGRAPH_BACKEND=NONE).
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

__all__ = ["SETTINGS", "fit", "network"]

BATCH, SAMPLES, INPUTS = 8, 80, 20
# optimizer, its settings; `halve`: steps after which the rate halves
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("sgd", {"learning_rate": 0.2, "momentum": 0.9, "wd": 0.001, "halve": 20}),
    "adam": ("adam", {"learning_rate": 0.01, "wd": 0.001}),
    "rmsprop": ("rmsprop", {"learning_rate": 0.005}),
    "rmsprop_centered": ("rmsprop", {"learning_rate": 0.005, "centered": True}),
    "nag": ("nag", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.001}),
    "adagrad": ("adagrad", {"learning_rate": 0.05, "wd": 0.001}),
    "adadelta": ("adadelta", {"wd": 0.0001}),
    "ftrl": ("ftrl", {"learning_rate": 0.2}),
    "ftml": ("ftml", {"learning_rate": 0.01}),
    "signum": ("signum", {"learning_rate": 0.005, "wd": 0.001, "wd_lh": 0.001}),
    "lamb": ("lamb", {"learning_rate": 0.02, "wd": 0.01}),
    "adamax": ("adamax", {}),
    "nadam": ("nadam", {}),
    "dcasgd": ("dcasgd", {"learning_rate": 0.1}),
    "lars": ("lars", {"learning_rate": 0.2, "momentum": 0.9, "wd": 0.001, "eta": 0.1}),
    "lbsgd": ("lbsgd", {"learning_rate": 0.1, "momentum": 0.9, "batch_scale": 2, "warmup_epochs": 1, "updates_per_epoch": 10}),
}


def network(mx: Any) -> Any:
    """Two hidden layers and a softmax."""
    net = mx.sym.Variable("data")
    for number, (units, kind) in enumerate(((16, "relu"), (8, "tanh")), 1):
        net = mx.sym.Activation(mx.sym.FullyConnected(net, num_hidden=units, name=f"fc{number}"), act_type=kind, name=f"{kind}{number}")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=4, name="fc3"), name="softmax")


def fit(mx: Any, kind: str, contexts: int = 1, epochs: int = 5) -> tuple[dict[str, np.ndarray], Any]:
    """(weights and metrics at every tenth step by `step/name`, the module)."""
    random = np.random.RandomState(5)
    data = random.uniform(-1, 1, (SAMPLES, INPUTS)).astype("float32")
    label = random.randint(0, 4, SAMPLES).astype("float32")
    net = network(mx)
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(BATCH, INPUTS))[0]))  # noqa: B905 - runs on old Python too
    names = [name for name in net.list_arguments() if name not in ("data", "softmax_label")]
    weights = {name: mx.nd.array(random.normal(0, 0.3, shapes[name])) for name in names}
    name, given = SETTINGS[kind]
    params = dict(given)
    if "halve" in params:
        params["lr_scheduler"] = mx.lr_scheduler.FactorScheduler(params.pop("halve"), 0.5, base_lr=params["learning_rate"])
    module = mx.mod.Module(net, context=[mx.cpu(i) for i in range(contexts)])
    found: dict[str, np.ndarray] = {}
    steps = [0]

    def after_batch(param: Any) -> None:
        steps[0] += 1
        if steps[0] % 10 == 0:
            found.update({f"{steps[0]}/{n}": value.asnumpy().copy() for n, value in module.get_params()[0].items()})
            found[f"{steps[0]}/metric"] = np.array([value for _, value in param.eval_metric.get_name_value()])

    module.fit(
        mx.io.NDArrayIter(data, label, BATCH), eval_metric=["acc", "ce"], num_epoch=epochs, arg_params=weights, aux_params={},
        batch_end_callback=after_batch, optimizer=name, optimizer_params=params,
    )  # fmt: skip
    return found, module


def _record(path: str) -> None:
    import mxnet as mx

    recorded = {f"{kind}/{key}": value for kind in SETTINGS for key, value in fit(mx, kind)[0].items()}
    recorded.update({f"sgd_two_contexts/{key}": value for key, value in fit(mx, "sgd", 2)[0].items()})
    module = fit(mx, "adam", epochs=2)[1]
    module.save_checkpoint("/tmp/fit_mlp", 2, save_optimizer_states=True)
    for suffix in ("symbol.json", "0002.params", "0002.states"):
        with open(f"/tmp/fit_mlp-{suffix}", "rb") as file:
            recorded[f"checkpoint/{suffix}"] = np.frombuffer(file.read(), dtype=np.uint8)
    np.savez_compressed(path, **recorded)


if __name__ == "__main__":
    _record(sys.argv[1])
