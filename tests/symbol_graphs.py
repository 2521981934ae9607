"""Symbol graphs for tests: each builder makes one with MXNet or with this package, so that texts can be compared."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

__all__ = ["GRAPHS", "SUMMARIES", "describe", "operator_nodes", "summary"]

GRAPHS: dict[str, Callable[[Any], Any]] = {}
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {}


def graph(**shapes: tuple[int, ...]) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    def add(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
        GRAPHS[build.__name__] = build
        SHAPES[build.__name__] = shapes
        return build

    return add


@graph(data=(2, 5))
def mlp(mx: Any) -> Any:
    net = mx.sym.Variable("data")
    for i, width in enumerate((8, 6)):
        net = mx.sym.FullyConnected(net, num_hidden=width, name=f"fc{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="out"), name="softmax")


@graph(data=(2, 3, 8, 8))
def convolution_block(mx: Any) -> Any:
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=4, no_bias=True, name="conv")
    net = mx.sym.BatchNorm(net, fix_gamma=False, eps=2e-5, momentum=0.9, name="bn")
    net = mx.sym.Pooling(mx.sym.Activation(net, act_type="relu"), kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    return mx.sym.Flatten(net + mx.sym.Convolution(data, kernel=(2, 2), stride=(2, 2), num_filter=4, name="skip"))


@graph(data=(2, 3, 8, 8))
def pooling_kinds(mx: Any) -> Any:
    data = mx.sym.Variable("data")
    pools = [mx.sym.Pooling(data, kernel=(3, 3), stride=(2, 2), pool_type=kind, pooling_convention="full") for kind in ("max", "avg", "sum")]
    return mx.sym.Group([*pools, mx.sym.Pooling(data, global_pool=True, kernel=(1, 1), pool_type="avg")])


@graph(data=(4, 2, 3))
def fused_rnn(mx: Any) -> Any:
    data = mx.sym.Variable("data")
    return mx.sym.RNN(data, state_size=5, num_layers=2, mode="lstm", bidirectional=True, state_outputs=True, p=0.25, name="rnn")


@graph(a=(2, 3), b=(2, 3))
def arithmetic(mx: Any) -> Any:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    total = (a + b) * 2 - 1 / (b - 3) + a**2 - 2**b + a % 3 - 5 % b + (-a) / b
    compared = [(a > b), (a >= 1), (a == b), (a != 2.5), (1 < b), (a <= b)]
    return mx.sym.Group([total, *compared, mx.sym.maximum(a, 2), mx.sym.minimum(3, b), mx.sym.hypot(a, b), abs(a)])


@graph()
def scalar_texts(mx: Any) -> Any:
    a = mx.sym.Variable("a")
    return mx.sym.Group([a + v for v in (1, 1.0, 1e-7, 1e20, -0.0, 123456789, 0.1 + 0.2, float("inf"))])


@graph(a=(2, 3))
def multi_output(mx: Any) -> Any:
    a = mx.sym.Variable("a")
    parts = mx.sym.SliceChannel(a, num_outputs=3, name="parts", squeeze_axis=True)
    top = mx.sym.topk(a, k=2, ret_typ="both", name="top")
    return mx.sym.Group([parts[2], parts[0], top, mx.sym.split_v2(a, (1,), axis=1)[1]])


@graph(x=(2, 3))
def shared_weights(mx: Any) -> Any:
    w, bias = mx.sym.Variable("w"), mx.sym.Variable("bias")
    net = mx.sym.Variable("x")
    for _ in range(3):
        net = mx.sym.FullyConnected(net, weight=w, bias=bias, num_hidden=3)
    return net


@graph(a=(2, 3), b=(2, 4))
def many_inputs(mx: Any) -> Any:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    return mx.sym.broadcast_add(mx.sym.Concat(*([a, b] * 6), dim=1, name="wide"), mx.sym.Concat(a, b, name="narrow").sum())


@graph(data=(3, 4))
def attributes_everywhere(mx: Any) -> Any:
    with mx.AttrScope(ctx_group="dev1", __layer__="first"):
        data = mx.sym.Variable("data", lr_mult=0.5, wd_mult=0, dtype="float32", init='["one", {}]')
        net = mx.sym.FullyConnected(data, num_hidden=2, name="fc", attr={"__mood__": "calm", "lr_mult": "2"})
    with mx.AttrScope(mirror_stage="True", force_mirroring="yes"):
        net = mx.sym.exp(net, attr={"ctx_group": "dev2"})
    return mx.sym.identity(net, name="quoted", attr={"__text__": 'a "b"\\c\n\td/\r'})


@graph(data=(2, 5))
def prefixes(mx: Any) -> Any:
    with mx.name.Prefix("outer_"):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4)
        with mx.name.Prefix("inner_"):
            net = mx.sym.Activation(net, act_type="tanh")
        net = net * 2 + 1
    with mx.name.NameManager():
        return mx.sym.exp(net)


@graph()
def creation(mx: Any) -> Any:
    parts = [
        mx.sym.zeros((2, 3)), mx.sym.ones(4, dtype="int32"), mx.sym.full((2,), 7), mx.sym.arange(5),
        mx.sym.arange(1, 4, 0.5, repeat=2, dtype="float64"),
        mx.sym.linspace(0, 1, 5), mx.sym.eye(3, 4, 1),
    ]  # fmt: skip
    return mx.sym.Group(parts)


@graph(lam=(2,))
def random_numbers(mx: Any) -> Any:
    lam = mx.sym.Variable("lam")
    random = mx.sym.random
    parts = [
        random.uniform(0, 1, shape=(2,)), random.normal(loc=1, scale=2, shape=(2, 2), dtype="float64"), random.poisson(lam, shape=3),
        random.randn(2, 3), random.randint(0, 5, shape=(2,)), random.exponential(2.0, shape=(1,)), random.gamma(shape=(2,)), random.shuffle(lam),
    ]  # fmt: skip
    return mx.sym.Group(parts)


@graph(data=(2, 4, 3, 3))
def shape_operators(mx: Any) -> Any:
    x = mx.sym.Variable("data")
    parts = [
        x.reshape((0, -1)), x.transpose(axes=(0, 2, 3, 1)), x.expand_dims(1), x.slice_axis(axis=1, begin=0, end=2), x.sum(axis=(1, 2), keepdims=True),
        x.flatten(), x.swapaxes(1, 2), x.tile((2, 1, 1, 1)), x.slice(begin=(0, 1), end=(2, 3)), x.reshape(shape=(-1, 2), reverse=True), x.squeeze(),
        x.astype("float16"), x.clip(0, 1), x.one_hot(3), x.diag(),
    ]  # fmt: skip
    return mx.sym.Group(parts)


@graph(ids=(2, 3))
def embedding_loss(mx: Any) -> Any:
    ids = mx.sym.Variable("ids", shape=(0, 3))
    net = mx.sym.Embedding(ids, input_dim=10, output_dim=4, name="emb")
    loss = mx.sym.MakeLoss(mx.sym.sum(mx.sym.square(net)), grad_scale=0.5, name="loss")
    return mx.sym.Group([loss, mx.sym.BlockGrad(net, name="stop"), mx.sym.make_loss(net, name="other")])


@graph(data=(2, 3, 4, 4))
def batch_norm_twice(mx: Any) -> Any:
    first = mx.sym.BatchNorm(mx.sym.Variable("data"), name="first", output_mean_var=True)
    mean = first.get_internals()["first_moving_mean"]
    return mx.sym.Group([first[1], mx.sym.BatchNorm(first[0], moving_mean=mean, name="second", use_global_stats=True)])


@graph(data=(2, 3), other=(2, 3))
def mixed_precision(mx: Any) -> Any:
    data = mx.sym.amp_cast(mx.sym.Variable("data"), dtype="float16")
    net = mx.sym.FullyConnected(data, weight=mx.sym.amp_cast(mx.sym.Variable("w"), dtype="float16"), num_hidden=3, name="fc")
    both = mx.sym.amp_multicast(net, mx.sym.Variable("other"), num_outputs=2)
    return mx.sym.Group([both[0] + both[1], mx.sym.amp_cast(net, dtype="float32", name="head")])


@graph(data=(2, 5), other=(2, 4))
def composed(mx: Any) -> Any:
    inner = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4, name="inner")
    outer = inner * mx.sym.Variable("y")
    return outer(x=mx.sym.tanh(mx.sym.Variable("data")), y=mx.sym.Variable("other"), name="product")


@graph(data=(2, 6))
def aliases(mx: Any) -> Any:
    x = mx.sym.Variable("data")
    net = mx.sym.Softmax(mx.sym.identity(x), name="sm")
    parts = [mx.sym.crop(x, begin=(0, 1), end=(2, 3)), mx.sym.split(x, num_outputs=2), mx.sym.elemwise_add(x, x), mx.sym.stop_gradient(x)]
    return mx.sym.Group([net, *parts])


@graph(data=(1, 4, 4, 4), boxes=(1, 8, 6))
def detection(mx: Any) -> Any:
    data = mx.sym.Variable("data")
    anchors = mx.sym.contrib.MultiBoxPrior(data, sizes=[0.2, 0.4], ratios=(1, 2), name="anchors")
    boxes = mx.sym.contrib.box_nms(mx.sym.Variable("boxes"), overlap_thresh=0.5, topk=10)
    return mx.sym.Group([anchors, boxes, mx.sym.UpSampling(data, scale=2, sample_type="nearest")])


@graph(data=(2, 4), y=(2, 4))
def leaky_and_norms(mx: Any) -> Any:
    x = mx.sym.LeakyReLU(mx.sym.Variable("data"), act_type="prelu", name="prelu")
    x = mx.sym.LayerNorm(mx.sym.Dropout(mx.sym.LeakyReLU(x, slope=0.1), p=0.3, name="drop"), name="ln")
    return mx.sym.LinearRegressionOutput(mx.sym.L2Normalization(x), mx.sym.Variable("y"), grad_scale=2)


@graph(data=(5, 2, 3), w=(2, 3))
def loop(mx: Any) -> Any:
    state = mx.sym.Variable("w")
    factor = mx.sym.exp(mx.sym.Variable("factor"), name="factor_exp")
    out, last = mx.sym.contrib.foreach(lambda x, s: (x * s + factor, s + x), mx.sym.Variable("data"), state)
    return mx.sym.Group([out, last])


@graph(a=(1,), b=(1,))
def branch(mx: Any) -> Any:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    chosen = mx.sym.contrib.cond((a * b).sum() < 5, lambda: (a + 5) * b, lambda: a - b)
    outs, last = mx.sym.contrib.while_loop(lambda i, s: i <= 3, lambda i, s: (s * 2, [i + 1, s + i]), [a, b], max_iterations=4)
    return mx.sym.Group([chosen, outs, *last])


def describe(mx: Any, name: str) -> dict[str, Any]:
    """Everything that is compared of one graph. Counters of automatic names start anew."""
    mx.AttrScope._subgraph_names.clear()
    with mx.name.NameManager():
        net = GRAPHS[name](mx)
    types = dict.fromkeys(SHAPES[name], "float32")
    return {
        "json": net.tojson(),
        "json_amp": net.tojson(remove_amp_cast=False),
        "arguments": net.list_arguments(),
        "auxiliary": net.list_auxiliary_states(),
        "outputs": net.list_outputs(),
        "internals": net.get_internals().list_outputs(),
        "inputs": net.list_inputs(),
        "attributes": net.attr_dict(),
        "debug": net.debug_str(),
        "repr": repr(net),
        "shapes": _plain(net.infer_shape_partial(**SHAPES[name])),
        "types": _plain([[None if t is None else t.__name__ for t in part] for part in net.infer_type_partial(**types)]),
    }


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


SUMMARIES: dict[str, tuple[str, dict[str, Any]]] = {
    "mlp": ("mlp", {}),
    "mlp_shapes": ("mlp", {"shape": {"data": (2, 5)}}),
    "conv": ("convolution_block", {"shape": {"data": (2, 3, 8, 8)}, "line_length": 80, "positions": [0.4, 0.6, 0.7, 1.0]}),
    "absolute": ("shared_weights", {"shape": {"x": (2, 3)}, "positions": [30, 60, 80, 100], "line_length": 100}),
    "no_shapes": ("leaky_and_norms", {}),
}


def summary(mx: Any, key: str) -> str:
    """What `print_summary` prints."""
    name, options = SUMMARIES[key]
    with mx.name.NameManager():
        net = GRAPHS[name](mx)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        mx.viz.print_summary(net, **options)
    return text.getvalue()


# -- one node of every operator -------------------------------------------------------------------------------------------------------
_MODULES = {"_contrib_": "contrib", "_linalg_": "linalg", "_sparse_": "sparse", "_image_": "image"}


def _function(mx: Any, name: str) -> Any:
    for prefix, module in _MODULES.items():
        if name.startswith(prefix):
            return getattr(getattr(mx.sym, module), name[len(prefix) :])
    if name.startswith("_random_") and name.endswith("_like"):
        return getattr(mx.sym.random, name[len("_random_") :])
    return getattr(mx.sym._internal if name.startswith("_") else mx.sym.op, name)


def _guess(text: str) -> Any:
    """A value for a required attribute of this type."""
    if text.startswith("{"):
        return text[1:].split("'")[1]
    for prefix, value in (("int", 2), ("long", 2), ("float", 0.5), ("double", 0.5), ("Shape", (2, 2)), ("tuple", (2, 2)), ("bool", True)):
        if text.startswith(prefix):
            return value
    return "x"


def operator_nodes(mx: Any, name: str, table: list[list[str]], counted: str) -> list[Any]:
    """A node of one operator with guessed attributes and automatic inputs: its JSON and names, or the class of the error."""
    required = {key: _guess(text) for key, text in table if text.endswith("required") and "NDArray" not in text and "Symbol" not in text}
    required.pop(counted, None)
    variadic = any(text.endswith("[]") for _, text in table)
    inputs = [mx.sym.Variable(f"in{i}") for i in range(2)] if variadic else []
    try:
        with mx.name.NameManager():
            automatic = _function(mx, name)(*inputs, **required).name
            node = _function(mx, name)(*inputs, name="n", **required)
    except Exception as error:  # noqa: BLE001 - any class is an answer
        return [type(error).__name__]
    return [automatic, node.tojson(), node.list_arguments(), node.list_auxiliary_states(), node.list_outputs(), node.get_internals().list_outputs()]
