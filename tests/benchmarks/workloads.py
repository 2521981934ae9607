"""What is timed, as legacy code: `make(mx, name)` prepares a workload and returns a function that runs it once, to the end.

The same file runs here and in MXNet 1.9.1 (`timed`, called through `tests.oracle`).
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from . import networks
from .detection import DETECTION

__all__ = ["IMAGE", "LSTM_BATCH", "WORKLOADS", "make", "timed"]

IMAGE, LSTM_BATCH = 160, 32
Step = Callable[[], Any]
WORKLOADS: dict[str, Callable[[Any], Step]] = {}


def workload(function: Callable[[Any], Step]) -> Callable[[Any], Step]:
    """Registers a workload under the function's name."""
    WORKLOADS[function.__name__] = function
    return function


def _executor(mx: Any, net: Any, train: bool, **shapes: tuple[int, ...]) -> Any:
    executor = net.simple_bind(ctx=mx.cpu(), grad_req={n: "write" if train and n not in shapes else "null" for n in net.list_arguments()}, **shapes)
    rng = np.random.RandomState(0)
    for name, array in executor.arg_dict.items():
        if "label" in name:
            array[:] = rng.randint(0, 10, array.shape).astype("float32")
        elif name.endswith("gamma"):
            array[:] = 1
        elif not name.endswith(("bias", "beta")):
            array[:] = rng.normal(0, 0.05, array.shape).astype("float32")
    for name, array in executor.aux_dict.items():
        array[:] = float("var" in name)
    return executor


def _training(mx: Any, executor: Any) -> Step:
    pairs = [(executor.arg_dict[n], g) for n, g in executor.grad_dict.items() if g is not None]

    def step() -> None:
        executor.forward(is_train=True)
        executor.backward()
        for weight, grad in pairs:
            mx.nd.sgd_update(weight, grad, lr=1e-4, wd=0.0, out=weight)
        mx.nd.waitall()

    return step


def _inference(executor: Any) -> Step:
    def step() -> None:
        executor.forward(is_train=False)[0].wait_to_read()

    return step


@workload
def mlp_train(mx: Any) -> Step:
    return _training(mx, _executor(mx, networks.mlp(mx), True, data=(64, 784), softmax_label=(64,)))


@workload
def lenet_train(mx: Any) -> Step:
    return _training(mx, _executor(mx, networks.lenet(mx), True, data=(64, 1, 28, 28), softmax_label=(64,)))


@workload
def resnet50_train_4(mx: Any) -> Step:
    return _training(mx, _executor(mx, networks.resnet(mx, (3, 4, 6, 3)), True, data=(4, 3, IMAGE, IMAGE), softmax_label=(4,)))


@workload
def resnet50_infer_1(mx: Any) -> Step:
    return _inference(_executor(mx, networks.resnet(mx, (3, 4, 6, 3)), False, data=(1, 3, IMAGE, IMAGE), softmax_label=(1,)))


@workload
def resnet50_infer_8(mx: Any) -> Step:
    return _inference(_executor(mx, networks.resnet(mx, (3, 4, 6, 3)), False, data=(8, 3, IMAGE, IMAGE), softmax_label=(8,)))


@workload
def fused_lstm_train(mx: Any) -> Step:
    shapes = {"data": (networks.STEPS, LSTM_BATCH, networks.HIDDEN), "softmax_label": (networks.STEPS * LSTM_BATCH,)}
    return _training(mx, _executor(mx, networks.fused_lstm(mx), True, **shapes))


def _unrolled_shapes(steps: int = networks.STEPS) -> dict[str, tuple[int, ...]]:
    states = {f"l{k}_init_{s}": (LSTM_BATCH, networks.HIDDEN) for k in range(networks.LAYERS) for s in "hc"}
    return dict(data=(LSTM_BATCH, steps, networks.HIDDEN), softmax_label=(LSTM_BATCH * steps,), **states)


@workload
def unrolled_lstm_train(mx: Any) -> Step:
    return _training(mx, _executor(mx, networks.unrolled_lstm(mx), True, **_unrolled_shapes()))


@workload
def chain_infer(mx: Any) -> Step:
    return _inference(_executor(mx, networks.chain(mx), False, data=(16, 16)))


@workload
def chain_train(mx: Any) -> Step:
    executor = networks.chain(mx).simple_bind(ctx=mx.cpu(), grad_req="write", data=(16, 16))
    head = mx.nd.ones((16, 16))

    def step() -> None:
        executor.forward(is_train=True)
        executor.backward([head])
        mx.nd.waitall()

    return step


def _grown(mx: Any, length: int) -> Step:
    """Bind and one training step of a chain: how the cost grows with the graph."""
    net = networks.chain(mx, length)
    head = mx.nd.ones((4, 4))

    def step() -> None:
        executor = net.simple_bind(ctx=mx.cpu(), grad_req="write", data=(4, 4))
        executor.forward(is_train=True)
        executor.backward([head])
        mx.nd.waitall()

    return step


@workload
def grow_100(mx: Any) -> Step:
    return _grown(mx, 100)


@workload
def grow_1000(mx: Any) -> Step:
    return _grown(mx, 1000)


@workload
def grow_10000(mx: Any) -> Step:
    return _grown(mx, 10000)


@workload
def bind_resnet152(mx: Any) -> Step:
    net = networks.resnet(mx, (3, 8, 36, 3))
    return lambda: net.simple_bind(ctx=mx.cpu(), grad_req="write", data=(1, 3, 32, 32), softmax_label=(1,))


@workload
def bind_and_step_resnet152(mx: Any) -> Step:
    net = networks.resnet(mx, (3, 8, 36, 3))
    return lambda: _bind_and_step(mx, net, data=(1, 3, 32, 32), softmax_label=(1,))


@workload
def bind_unrolled_lstm(mx: Any) -> Step:
    net = networks.unrolled_lstm(mx)
    return lambda: net.simple_bind(ctx=mx.cpu(), grad_req="write", **_unrolled_shapes())


@workload
def bind_and_step_unrolled_lstm(mx: Any) -> Step:
    net = networks.unrolled_lstm(mx)
    return lambda: _bind_and_step(mx, net, **_unrolled_shapes())


def _bind_and_step(mx: Any, net: Any, **shapes: tuple[int, ...]) -> float:
    """Seconds of binding and the first step beyond those of a later step."""
    times = [time.perf_counter()]
    executor = net.simple_bind(ctx=mx.cpu(), grad_req="write", **shapes)
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward()
        mx.nd.waitall()
        times.append(time.perf_counter())
    return times[1] - times[0] - min(times[2] - times[1], times[3] - times[2])


@workload
def build_and_tojson_resnet152(mx: Any) -> Step:
    return lambda: networks.resnet(mx, (3, 8, 36, 3)).tojson()


@workload
def small_adds_1000(mx: Any) -> Step:
    a, b = mx.nd.ones((4, 4)), mx.nd.ones((4, 4))

    def step() -> None:
        for _ in range(1000):
            c = a + b
        c.wait_to_read()

    return step


@workload
def recorded_100(mx: Any) -> Step:
    x = mx.nd.ones((16, 16))
    x.attach_grad()

    def step() -> None:
        with mx.autograd.record():
            y = x
            for _ in range(50):
                y = mx.nd.tanh(y * 0.9)
        y.backward()
        x.grad.wait_to_read()

    return step


@workload
def save_load_40mb(mx: Any) -> Step:
    arrays = {f"w{k}": mx.nd.array(np.random.rand(1024, 1024).astype("float32")) for k in range(10)}
    path = os.path.join(tempfile.mkdtemp(), "bench.params")

    def step() -> None:
        mx.nd.save(path, arrays)
        for array in mx.nd.load(path).values():
            array.wait_to_read()

    return step


@workload
def module_fit_40_batches(mx: Any) -> Step:
    rng = np.random.RandomState(0)
    data = mx.io.NDArrayIter(rng.rand(2560, 784).astype("float32"), rng.randint(0, 10, 2560).astype("float32"), batch_size=64)
    module = mx.mod.Module(networks.mlp(mx), context=mx.cpu())

    def step() -> None:
        data.reset()
        module.fit(data, num_epoch=1, optimizer="sgd", optimizer_params={"learning_rate": 0.01, "momentum": 0.9})

    return step


WORKLOADS.update(DETECTION)
def _image_records(mx: Any) -> str:
    """The path of 200 JPEG images of 500x375 in a .rec file, with its index; made by whichever engine has an encoder."""
    path = os.path.join(tempfile.gettempdir(), f"mxexec_torch_bench_{os.getuid()}.rec")
    if not os.path.exists(path):
        rng = np.random.RandomState(0)
        writer = mx.recordio.MXIndexedRecordIO(path[:-3] + "idx", path + ".part", "w")
        for number in range(200):
            coarse = np.kron(rng.randint(0, 200, (15, 20, 3)), np.ones((25, 25, 1), int)) + rng.randint(0, 40, (375, 500, 3))
            writer.write_idx(number, mx.recordio.pack_img(mx.recordio.IRHeader(0, number % 10, number, 0), coarse.astype("uint8"), quality=90))
        writer.close()
        os.replace(path + ".part", path)
    return path


@workload
def image_record_iter_200(mx: Any) -> Step:
    path = _image_records(mx)
    images = mx.io.ImageRecordIter(
        path_imgrec=path, path_imgidx=path[:-3] + "idx", batch_size=20, data_shape=(3, 224, 224), preprocess_threads=1, resize=256, rand_crop=True,
        rand_mirror=True, shuffle=True, mean_r=123, mean_g=117, mean_b=104, std_r=58, std_g=57, std_b=57, verbose=False,
    )  # fmt: skip

    def step() -> None:
        images.reset()
        for batch in images:
            batch.data[0].wait_to_read()

    return step


_made: dict[str, Step] = {}


def make(mx: Any, name: str) -> Step:
    """The workload, prepared once in a process and run twice to warm up. MultiBox and others raise here where they are not available."""
    if name not in _made:
        _made[name] = WORKLOADS[name](mx)
        for _ in range(2):
            _made[name]()
    return _made[name]


def timed(mx: Any, name: str, repeats: int, cpu: bool = False) -> list[float]:
    """Seconds of each of `repeats` runs."""
    return measure(make(mx, name), repeats, cpu)


def measure(step: Step, repeats: int, cpu: bool = False) -> list[float]:
    """Seconds of each run, of the clock or of the process's processor time; a workload that returns seconds of its own counts with those."""
    now = time.process_time if cpu else time.perf_counter
    times = []
    for _ in range(repeats):
        start = now()
        own = step()
        times.append(own if isinstance(own, float) else now() - start)
    return times


def free(mx: Any, name: str) -> None:
    """Forgets a prepared workload."""
    _made.pop(name, None)
