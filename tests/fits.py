"""Fifty steps of `fit` for five networks and many optimizers, here and in MXNet 1.9.1 alike, from the same weights and batches.

`fit` gives weights, auxiliary states, optimizer states and metrics at every tenth step. `python -m tests.fits --record` asks MXNet for the
digests that the tests compare with; `python -m tests.fits` compares every network and optimizer with MXNet at this moment, and prints a table.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "EPOCHS", "FILE", "GOING_ON", "NETS", "OPTIMIZERS", "RECORDED", "agree", "deviation", "digest", "feed_forward", "fit", "mlp", "packed", "parting",
    "run_here", "trained",
]  # fmt: skip

FILE = Path(__file__).parent / "data" / "fits.npz"
BATCH, BATCHES, EPOCHS = 8, 10, 5
# optimizer, its settings; `schedule`: class and arguments of its learning rate scheduler
OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.001, "schedule": ("FactorScheduler", 20, 0.5)}),
    "sgd_plain": ("sgd", {"learning_rate": 0.2, "clip_gradient": 0.5, "schedule": ("MultiFactorScheduler", [15, 30], 0.3)}),
    "adam": ("adam", {"learning_rate": 0.01, "wd": 0.001}),
    "rmsprop": ("rmsprop", {"learning_rate": 0.005, "wd": 0.001}),
    "rmsprop_centered": ("rmsprop", {"learning_rate": 0.005, "centered": True}),
    "nag": ("nag", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.001, "schedule": ("PolyScheduler", 60)}),
    "adagrad": ("adagrad", {"learning_rate": 0.05, "wd": 0.001}),
    "adadelta": ("adadelta", {"wd": 0.0001}),
    "ftrl": ("ftrl", {"learning_rate": 0.2}),
    "ftml": ("ftml", {"learning_rate": 0.01}),
    "signum": ("signum", {"learning_rate": 0.005, "wd": 0.001, "wd_lh": 0.001}),
    "lamb": ("lamb", {"learning_rate": 0.02, "wd": 0.01, "schedule": ("CosineScheduler", 60)}),
    "adamax": ("adamax", {"wd": 0.001}),
    "nadam": ("nadam", {}),
    "dcasgd": ("dcasgd", {"learning_rate": 0.1}),
    "lars": ("lars", {"learning_rate": 0.2, "momentum": 0.9, "wd": 0.001, "eta": 0.1}),
    "lbsgd": ("lbsgd", {"learning_rate": 0.1, "momentum": 0.9, "batch_scale": 2, "warmup_epochs": 1, "updates_per_epoch": 10}),
}
# what is recorded: every optimizer for the smallest network, some for the others
RECORDED = [
    *(("mlp", kind) for kind in OPTIMIZERS),
    *(("lenet", kind) for kind in ("sgd", "rmsprop", "nag", "lamb")), *(("resnet", kind) for kind in ("sgd", "adam", "adadelta")),
    *(("lstm", kind) for kind in ("sgd", "adam", "ftrl", "adagrad")), *(("factors", kind) for kind in ("sgd", "adam", "adagrad", "signum")),
]  # fmt: skip

GOING_ON = (("mlp", "adam"), ("lstm", "sgd"))  # runs that are cut after two epochs, saved and loaded


class Net:
    """A network with its data.  make(mx): symbol, or bucket key -> (symbol, data names, label names) with `key`, the largest bucket."""

    def __init__(self, make: Callable[[Any], Any], data: Callable[[Any], Any], metrics: Any, names: tuple[Any, Any] = (("data",), ("softmax_label",)),
                 key: int | None = None) -> None:  # fmt: skip
        self.make, self.data, self.metrics, self.names, self.key = make, data, metrics, names, key

    def module(self, mx: Any, contexts: int) -> Any:
        """The module, not bound."""
        where = [mx.cpu(i) for i in range(contexts)]
        if self.key is not None:
            return mx.mod.BucketingModule(self.make(mx), default_bucket_key=self.key, context=where)
        return mx.mod.Module(self.make(mx), self.names[0], self.names[1], context=where)

    def first(self, mx: Any, iterator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Weights and auxiliary states to begin with."""
        symbol = self.make(mx) if self.key is None else self.make(mx)(self.key)[0]
        given = {name: shape for name, shape, *_ in [*iterator.provide_data, *iterator.provide_label]}
        arguments, _, auxiliary = symbol.infer_shape(**given)
        generator = np.random.RandomState(5)
        weights = {}
        for name, shape in sorted(zip(symbol.list_arguments(), arguments)):  # noqa: B905 - old Python runs this too
            if name not in given:
                value = generator.normal(0, 1.4 / np.sqrt(max(6.0, np.prod(shape[1:]))), shape) + name.endswith("gamma")
                weights[name] = mx.nd.array(value.astype("float32"))
        states = zip(symbol.list_auxiliary_states(), auxiliary)  # noqa: B905
        return weights, {name: mx.nd.array(np.full(shape, float(name.endswith("var")))) for name, shape in states}


def mlp(mx: Any) -> Any:
    """Two hidden layers and a softmax."""
    net = mx.sym.Variable("data")
    for number, (units, kind) in enumerate(((16, "relu"), (8, "tanh")), 1):
        net = mx.sym.Activation(mx.sym.FullyConnected(net, num_hidden=units, name=f"fc{number}"), act_type=kind, name=f"{kind}{number}")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=4, name="fc3"), name="softmax")


def _lenet(mx: Any) -> Any:
    """Two convolutions with batch normalisation and max pooling, two dense layers."""
    net = mx.sym.Variable("data")
    for number, filters in ((1, 4), (2, 8)):
        net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=filters, no_bias=True, name=f"conv{number}")
        net = mx.sym.BatchNorm(net, fix_gamma=number == 1, momentum=0.8, name=f"bn{number}")
        net = mx.sym.Activation(net, act_type="tanh", name=f"tanh{number}")
        net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{number}")
    net = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=16, name="fc1"), act_type="tanh", name="tanh3")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=4, name="fc2"), name="softmax")


def _resnet(mx: Any) -> Any:
    """Three pre-activation residual units, the last of which halves the image."""

    def before(net: Any, name: str) -> Any:
        return mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False, eps=2e-5, name=f"{name}_bn"), act_type="relu", name=f"{name}_relu")

    net = mx.sym.BatchNorm(mx.sym.Variable("data"), fix_gamma=True, eps=2e-5, name="bn_data")
    net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=4, no_bias=True, name="conv0")
    for number, (filters, stride) in enumerate(((4, 1), (4, 1), (8, 2)), 1):
        conv = dict(kernel=(3, 3), pad=(1, 1), num_filter=filters, no_bias=True)
        start = before(net, f"unit{number}_a")
        inner = mx.sym.Convolution(start, stride=(stride, stride), name=f"unit{number}_conv1", **conv)
        inner = mx.sym.Convolution(before(inner, f"unit{number}_b"), name=f"unit{number}_conv2", **conv)
        if stride > 1:
            net = mx.sym.Convolution(start, kernel=(1, 1), stride=(stride, stride), num_filter=filters, no_bias=True, name=f"unit{number}_short")
        net = net + inner
    net = mx.sym.Pooling(before(net, "last"), kernel=(2, 2), global_pool=True, pool_type="avg", name="pool")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=4, name="fc"), name="softmax")


def _lstm(mx: Any) -> Any:
    """Word after word: embedding, two LSTM layers, a dense layer; a symbol for each length."""

    def generate(length: int) -> Any:
        embedded = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=12, output_dim=8, name="embed")
        stack = mx.rnn.SequentialRNNCell()
        for layer in range(2):
            stack.add(mx.rnn.LSTMCell(num_hidden=8, prefix=f"lstm_l{layer}_"))
        outputs, _ = stack.unroll(length, inputs=embedded, merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.Reshape(outputs, shape=(-1, 8)), num_hidden=12, name="pred")
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        return mx.sym.SoftmaxOutput(scores, label, name="softmax"), ("data",), ("softmax_label",)

    return generate


def _factors(mx: Any) -> Any:
    """Matrix factorisation: the product of a user's and an item's vector."""
    sides = []
    for side, count in (("user", 20), ("item", 15)):
        vector = mx.sym.Embedding(mx.sym.Variable(side), input_dim=count, output_dim=6, name=f"{side}_embed")
        sides.append(mx.sym.FullyConnected(mx.sym.Activation(vector, act_type="relu"), num_hidden=6, name=f"{side}_fc"))
    score = mx.sym.Flatten(mx.sym.sum(sides[0] * sides[1], axis=1))
    return mx.sym.LinearRegressionOutput(score, mx.sym.Variable("score"), name="lro")


def _arrays(shape: tuple[int, ...]) -> Callable[[Any], Any]:
    def make(mx: Any) -> Any:
        generator = np.random.RandomState(3)
        label = generator.randint(0, 4, BATCH * BATCHES)
        data = generator.uniform(-1, 1, (len(label), *shape)) + np.sin(label * 2.0).reshape(-1, *(1 for _ in shape)) * 0.3
        return mx.io.NDArrayIter(data.astype("float32"), label.astype("float32"), BATCH)

    return make


def _sentences(mx: Any) -> Any:
    generator = np.random.RandomState(3)
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002 - the iterator draws from the global generators
    sentences = []
    for number in range(BATCH * BATCHES):
        start = generator.randint(1, 12)
        sentences.append([1 + (start + step * (1 + start % 3)) % 11 for step in range((3, 5, 4, 7, 6)[number % 5])])
    return mx.rnn.BucketSentenceIter(sentences, BATCH, buckets=[4, 7], invalid_label=0)


def _ratings(mx: Any) -> Any:
    generator = np.random.RandomState(3)
    users, items = generator.randint(0, 20, BATCH * BATCHES), generator.randint(0, 15, BATCH * BATCHES)
    score = np.sin(users * 0.7) + np.cos(items * 0.9) + generator.normal(0, 0.1, len(users))
    named = {"user": users.astype("float32"), "item": items.astype("float32")}
    return mx.io.NDArrayIter(named, {"score": score.astype("float32")}, BATCH)


NETS = {
    "mlp": Net(mlp, _arrays((20,)), ["acc", "ce"]),
    "lenet": Net(_lenet, _arrays((1, 12, 12)), ["acc", "ce"]),
    "resnet": Net(_resnet, _arrays((2, 8, 8)), ["acc", "ce"]),
    "lstm": Net(_lstm, _sentences, "perplexity", key=7),
    "factors": Net(_factors, _ratings, ["mse", "rmse", "mae"], names=(("user", "item"), ("score",))),
}


def _settings(mx: Any, kind: str) -> tuple[str, dict[str, Any]]:
    name, given = OPTIMIZERS[kind]
    params = dict(given)
    if "schedule" in params:
        scheduler, *arguments = params.pop("schedule")
        params["lr_scheduler"] = getattr(mx.lr_scheduler, scheduler)(*arguments, base_lr=params["learning_rate"])
    return name, params


def _named(prefix: str, state: Any) -> Iterable[tuple[str, Any]]:
    """The arrays of an optimizer state, however nested."""
    if isinstance(state, (list, tuple)):
        for number, part in enumerate(state):
            yield from _named(f"{prefix}.{number}", part)
    elif state is not None:
        yield prefix, state


def fit(
    mx: Any, net: str, kind: str, contexts: int = 1, begin: int = 0, end: int = EPOCHS, prefix: str | None = None, every: int = 10
) -> tuple[dict[str, np.ndarray], Any]:
    """(what there is at every tenth (`every`) step, by `step/what:name`; the module).

    begin > 0: goes on from the checkpoint `prefix` of that epoch, which an earlier call wrote at its end. Steps count from `begin`.
    """
    built = NETS[net]
    iterator = built.data(mx)
    name, params = _settings(mx, kind)
    weights, auxiliary = built.first(mx, iterator)
    module = built.module(mx, contexts)
    metric = mx.metric.Perplexity(ignore_label=0) if built.metrics == "perplexity" else mx.metric.create(built.metrics)
    if begin:
        params["begin_num_update"] = begin * BATCHES  # update counts are no part of a checkpoint
        if built.key is None:
            module = mx.mod.Module.load(prefix, begin, load_optimizer_states=True, data_names=built.names[0], label_names=built.names[1])
        else:
            module = mx.mod.BucketingModule.load(prefix, begin, sym_gen=built.make(mx), default_bucket_key=built.key)
        weights = auxiliary = None
        module.bind(iterator.provide_data, iterator.provide_label)
        module.init_optimizer(optimizer=name, optimizer_params=params)
        if built.key is not None:
            module._curr_module.load_optimizer_states(f"{prefix}-{begin:04d}.states")
    found: dict[str, np.ndarray] = {}
    steps = [0]

    def after_batch(param: Any) -> None:
        steps[0] += 1
        if steps[0] % every:
            return
        mx.nd.waitall()
        step = begin * BATCHES + steps[0]
        for what, values in zip(("arg", "aux"), module.get_params()):  # noqa: B905
            found.update({f"{step}/{what}:{n}": value.asnumpy().copy() for n, value in values.items()})
        inner = getattr(module, "_curr_module", module)
        for index, state in (inner._updater or inner._kvstore._updater).states.items():
            found.update({f"{step}/{n}": array.asnumpy().copy() for n, array in _named(f"state:{index}", state)})
        found.update({f"{step}/metric:{n}": np.array([value]) for n, value in param.eval_metric.get_name_value()})

    module.fit(
        iterator, eval_metric=metric, num_epoch=end, begin_epoch=begin, arg_params=weights, aux_params=auxiliary,
        batch_end_callback=after_batch, optimizer=name, optimizer_params=params,
    )  # fmt: skip
    if prefix is not None and not begin:
        module.save_checkpoint(prefix, end)
        getattr(module, "_curr_module", module).save_optimizer_states(f"{prefix}-{end:04d}.states")
    return found, module


def trained(mx: Any, *arguments: Any) -> dict[str, np.ndarray]:
    """The figures of `fit`, for an oracle process."""
    return fit(mx, *arguments)[0]


def feed_forward(mx: Any, prefix: str, begin: int, end: int) -> dict[str, np.ndarray]:
    """FeedForward from its checkpoint `begin` (0: new) to `end`, where it is saved; its parameters and predictions."""
    iterator = NETS["lenet"].data(mx)
    if begin:
        model = mx.model.FeedForward.load(prefix, begin, learning_rate=0.1, momentum=0.9, wd=0.001, num_epoch=end)
    else:
        weights, auxiliary = NETS["lenet"].first(mx, iterator)
        symbol = NETS["lenet"].make(mx)
        model = mx.model.FeedForward(symbol, num_epoch=end, arg_params=weights, aux_params=auxiliary, learning_rate=0.1, momentum=0.9, wd=0.001)
    model.fit(iterator, eval_metric="ce")
    model.save(prefix, end)
    iterator.reset()
    found = {f"arg:{name}": value.asnumpy() for name, value in model.arg_params.items()}
    found.update({f"aux:{name}": value.asnumpy() for name, value in model.aux_params.items()})
    return {**found, "predicted": model.predict(iterator)}


def digest(array: np.ndarray) -> np.ndarray:
    """An array in short: its size, norm and largest element, and ten elements spread over it; whole, where it is not longer."""
    flat = array.ravel().astype("float64")
    if flat.size <= 13:
        return flat.astype("float32")
    spread = flat[np.linspace(0, flat.size - 1, 10).astype(int)]
    return np.array([flat.size, np.linalg.norm(flat), np.abs(flat).max(), *spread], dtype="float32")


def deviation(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> dict[str, tuple[float, str]]:
    """The worst of each kind (arg, aux, state, metric) and where: the largest difference of an array over its largest element."""
    assert sorted(found) == sorted(expected), sorted(set(found) ^ set(expected))
    worst: dict[str, tuple[float, str]] = {}
    for key, theirs in expected.items():
        assert found[key].shape == theirs.shape, key
        ours, size = found[key].astype("float64"), np.nanmax(np.abs(theirs), initial=0.0)
        finite = np.isfinite(theirs)
        same = np.array_equal(ours[~finite], theirs[~finite], equal_nan=True) and np.isfinite(ours[finite]).all()
        value = float(np.abs(ours - theirs)[finite].max(initial=0.0) / (size or 1.0)) if same else np.inf
        kind = key.partition("/")[2].partition(":")[0]
        worst[kind] = max(worst.get(kind, (0.0, "")), (value, key))
    return worst


def packed(found: Mapping[str, np.ndarray]) -> np.ndarray:
    """The digests of a run, by name, in one array."""
    return np.concatenate([digest(found[key]) for key in sorted(found)])


def _record() -> None:
    from .oracle import Oracle

    oracle = Oracle()
    found = {f"{net}/{kind}": packed(oracle.call(trained, net, kind)) for net, kind in RECORDED}
    found["mlp/sgd/2"] = packed(oracle.call(trained, "mlp", "sgd", 2))
    with tempfile.TemporaryDirectory() as folder:
        for net, kind in GOING_ON:
            oracle.call(trained, net, kind, 1, 0, 2, f"{folder}/{net}")
            found[f"{net}/{kind}>"] = packed(oracle.call(trained, net, kind, 1, 2, EPOCHS, f"{folder}/{net}"))
        for path in Path(folder).iterdir():
            found[f"file/{path.name}"] = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    oracle.close()
    np.savez_compressed(FILE, **found)  # type: ignore[arg-type]


def agree(found: Mapping[str, tuple[float, str]]) -> bool:
    """Whether weights and states are within 1e-3, metrics equal to four digits."""
    return all(value <= (5e-5 if kind == "metric" else 1e-3) for kind, (value, _) in found.items())


def relu_inputs(mx: Any, net: str, kind: str) -> tuple[dict[str, np.ndarray], list[dict[str, np.ndarray]]]:
    """(a run with every step, what reached the relus at each step after the first, by the layer before)."""
    run = trained(mx, net, kind, 1, 0, EPOCHS, None, 1)
    built = NETS[net]
    symbol = built.make(mx)
    nodes = json.loads(symbol.tojson())["nodes"]
    names = [nodes[node["inputs"][0][0]]["name"] for node in nodes if node.get("attrs", {}).get("act_type") == "relu"]
    batches = list(built.data(mx))
    internals = symbol.get_internals()
    group = mx.sym.Group([internals[f"{name}_output"] for name in names])
    executor = group.simple_bind(ctx=mx.cpu(), grad_req="null", data=batches[0].data[0].shape)
    found = []
    for step in range(1, BATCHES * EPOCHS):
        for arrays, what in ((executor.arg_dict, "arg"), (executor.aux_dict, "aux")):
            for name in arrays:
                if name != "data":
                    arrays[name][:] = mx.nd.array(run[f"{step}/{what}:{name}"])
        outputs = executor.forward(is_train=True, data=batches[step % BATCHES].data[0])
        found.append({name: output.asnumpy() for name, output in zip(names, outputs)})  # noqa: B905
    return run, found


def parting(net: str, kind: str, ours: Any, theirs: Any) -> str | None:
    """Where two engines part for good at a relu: its input is on one side of 0 for one of them and on the other side for the other.

    Rounding decides the side, and with it which way the gradient goes. The weights must agree to 1e-4 up to there; None otherwise.
    ours, theirs: run a function of this module in the one engine and in the other.
    """
    runs, inputs = zip(ours(relu_inputs, net, kind), theirs(relu_inputs, net, kind), strict=True)
    for step, (mine, other) in enumerate(zip(*inputs, strict=True), 1):
        weights = max(value for value, _ in deviation(*(_at(run, step) for run in runs)).values())
        if weights > 1e-4:
            return None
        for name, value in mine.items():
            flipped = (value > 0) != (other[name] > 0)
            if flipped.any():
                return (
                    f"step {step + 1}: the relu after {name} gets {value[flipped][0]:.1e} here, {other[name][flipped][0]:.1e} there "
                    f"(weights agree to {weights:.1e})"
                )
    return None


def _at(run: Mapping[str, np.ndarray], step: int) -> dict[str, np.ndarray]:
    return {key: value for key, value in run.items() if key.startswith((f"{step}/arg", f"{step}/aux"))}


def run_here(mx: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """What `Oracle.call` does, in this process."""
    return function(mx, *arguments)


def _compare(nets: list[str], kinds: list[str]) -> None:
    import mxexec_torch as here

    from .oracle import Oracle

    oracle = Oracle()
    print("| network | optimizer | weights | auxiliary | states | metrics | worst at | they part at |\n|---|---|---|---|---|---|---|---|")
    for net in nets:
        for kind in kinds:
            found = deviation(trained(here, net, kind), oracle.call(trained, net, kind))
            row = [f"{found[what][0]:.1e}" if what in found else "-" for what in ("arg", "aux", "state", "metric")]
            kink = "" if agree(found) else parting(net, kind, partial(run_here, here), oracle.call) or "?"
            print(f"| {net} | {kind} | {' | '.join(row)} | {max(found.values())[1]} | {kink} |", flush=True)
    oracle.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.fits")
    parser.add_argument("--record", action="store_true", help=f"write {FILE.name}")
    parser.add_argument("--nets", nargs="*", default=list(NETS))
    parser.add_argument("--optimizers", nargs="*", default=list(OPTIMIZERS))
    given = parser.parse_args()
    if given.record:
        _record()
    else:
        _compare(given.nets, given.optimizers)
