"""Mixed precision: converted graphs and models (names and casts as MXNet 1.9.1 makes them), the loss scaler, and `init` in processes of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx
from mxexec_torch.contrib import amp
from mxexec_torch.contrib.amp.loss_scaler import LossScaler


def network() -> Any:
    data = mx.sym.Variable("data")
    conv = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="conv")
    norm = mx.sym.BatchNorm(conv, name="norm")
    soft = mx.sym.Activation(norm, act_type="softrelu", name="soft")
    total = mx.sym.elemwise_add(norm, soft, name="total")
    full = mx.sym.FullyConnected(total, num_hidden=3, name="full")
    scaled = mx.sym.broadcast_mul(full, mx.sym.Variable("factor"), name="scaled")
    return mx.sym.SoftmaxOutput(scaled, name="softmax")


def casts(sym: Any) -> dict[str, str | None]:
    """Cast nodes: name -> type, None for amp_multicast."""
    nodes = json.loads(sym.tojson(remove_amp_cast=False))["nodes"]
    return {n["name"]: n["attrs"].get("dtype") for n in nodes if n["op"].startswith("amp_")}


def parameters(sym: Any, data: tuple[int, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    shapes, _, aux_shapes = sym.infer_shape(data=data, factor=(1, 3))
    rng = np.random.default_rng(0)
    args = {n: mx.nd.array(rng.normal(size=s)) for n, s in zip(sym.list_arguments(), shapes) if n not in ("data", "softmax_label")}
    return args, {n: mx.nd.ones(s) for n, s in zip(sym.list_auxiliary_states(), aux_shapes)}


def test_convert_symbol_inserts_casts() -> None:
    assert casts(amp.convert_symbol(network())) == {
        "data_amp_cast_float16": "float16",
        "conv_weight_amp_cast_float16": "float16",
        "conv_bias_amp_cast_float16": "float16",
        "norm_output_amp_cast_float32": "float32",
        "total_output_amp_cast_float16": "float16",
        "full_weight_amp_cast_float16": "float16",
        "full_bias_amp_cast_float16": "float16",
        "full_output_amp_multicast": None,
        "scaled_0_amp_cast_float32": "float32",
    }


def test_convert_symbol_leaves_the_given_one() -> None:
    sym = network()
    before = sym.tojson()
    amp.convert_symbol(sym, cast_optional_params=True, data_names=["data", "softmax_label"])
    assert sym.tojson() == before


def test_excluded_nodes_stay_float32() -> None:
    found = casts(amp.convert_symbol(network(), excluded_sym_names=["conv"]))
    assert not any(name.startswith(("data", "conv")) for name in found)


def test_lists_are_checked() -> None:
    with pytest.raises(AssertionError, match="one list"):
        amp.convert_symbol(network(), target_dtype_ops=["exp"], fp32_ops=["exp"])
    with pytest.raises(AssertionError, match="nonsense"):
        amp.convert_symbol(network(), target_dtype_ops=["nonsense"])
    with pytest.raises(AssertionError, match="float64"):
        amp.convert_symbol(network(), target_dtype="float64")
    with pytest.raises(mx.base.MXNetError, match="nothing"):
        amp.convert_symbol(network(), data_names=["nothing"])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("cast_params", [False, True])
def test_converted_model_computes_the_same(dtype: str, cast_params: bool) -> None:
    sym, shape = network(), (2, 3, 6, 6)
    args, aux = parameters(sym, shape)
    data = mx.nd.array(np.random.default_rng(1).normal(size=shape))
    expected = sym.bind(mx.cpu(), {**args, "data": data, "softmax_label": mx.nd.zeros(2)}, aux_states=aux, grad_req="null").forward()[0].asnumpy()
    low, low_args, low_aux = amp.convert_model(sym, dict(args), dict(aux), target_dtype=dtype, cast_optional_params=cast_params)
    stored = np.dtype(low_args["conv_weight"].dtype)
    assert (stored.name if stored.names is None else stored.names[0]) == (dtype if cast_params else "float32")
    assert low_args["norm_gamma"].dtype == np.float32
    executor = low.bind(mx.cpu(), {**low_args, "data": data, "softmax_label": mx.nd.zeros(2)}, aux_states=low_aux, grad_req="null")
    out = executor.forward()[0]
    assert out.dtype == np.float32
    np.testing.assert_allclose(out.asnumpy(), expected, atol=0.02 if dtype == "float16" else 0.15)


def test_convert_hybrid_block() -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(4, 3), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(3))
    net.initialize()
    with pytest.raises(RuntimeError, match="hybridize"):
        amp.convert_hybrid_block(net, ctx=mx.cpu())
    net.hybridize()
    data = mx.nd.random.uniform(shape=(2, 3, 6, 6))
    expected = net(data).asnumpy()
    low = amp.convert_hybrid_block(net, ctx=mx.cpu(), cast_optional_params=True)
    assert {np.dtype(p.dtype).name for p in low.collect_params().values()} == {"float16", "float32"}
    np.testing.assert_allclose(low(data).asnumpy(), expected, atol=0.01)


class Parameter:
    def __init__(self, *values: float) -> None:
        self._grad = [mx.nd.array(values)]


def test_loss_scaler() -> None:
    scaler = LossScaler()
    assert scaler.loss_scale == 2.0**16
    assert scaler.has_overflow([Parameter(1.0), Parameter(2.0, np.inf)])
    assert scaler.loss_scale == 2.0**16  # the smaller factor is for the step after
    assert not scaler.has_overflow([Parameter(1.0)] * 450)
    assert scaler.loss_scale == 2.0**15
    for _ in range(2000):
        assert not scaler.has_overflow([Parameter(1.0)])
    assert scaler.loss_scale == 2.0**16


def test_overflow_after_the_first_chunk_counts() -> None:
    assert LossScaler().has_overflow([*[Parameter(1.0)] * 300, Parameter(np.nan)])
    assert LossScaler().has_overflow([Parameter(np.nan), *[Parameter(1.0)] * 300])


def run(text: str) -> None:
    """`init` changes mx.nd and mx.sym for good, so it gets a process."""
    head = "import numpy as np\nimport mxexec_torch as mx\nfrom mxexec_torch.contrib import amp\n"
    done = subprocess.run([sys.executable, "-c", head + textwrap.dedent(text)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_init_casts(dtype: str) -> None:
    run(f"""
    low = mx.nd.zeros(1, dtype="{dtype}").dtype
    amp.init("{dtype}")
    amp.init("float16")  # does nothing any more
    x, w = mx.nd.ones((2, 3)), mx.nd.ones((4, 3))
    y = mx.nd.FullyConnected(x, w, no_bias=True, num_hidden=4)
    assert y.dtype == low and x.dtype == np.float32
    assert mx.nd.exp(y).dtype == y.exp().dtype == mx.nd.op.exp(data=y).dtype == np.float32
    assert (y + mx.nd.ones((2, 4))).dtype == np.float32 and (y + y).dtype == low
    assert mx.nd.broadcast_mul(y, rhs=mx.nd.ones((2, 4))).dtype == mx.nd.stack(y, mx.nd.ones((2, 4))).dtype == np.float32
    assert mx.nd.Activation(y, act_type="softrelu").dtype == np.float32 and mx.nd.Activation(y, act_type="relu").dtype == low
    w.attach_grad()
    with mx.autograd.record():
        mx.nd.FullyConnected(x, w, no_bias=True, num_hidden=4).sum().backward()
    assert w.grad.dtype == np.float32 and (w.grad.asnumpy() == 2).all()

    a = mx.sym.FullyConnected(mx.sym.Variable("a"), num_hidden=4, name="fc")
    s = mx.sym.exp(a) + mx.sym.Variable("b")
    assert a.name == "fc" and s.list_arguments() == ["a", "fc_weight", "fc_bias", "b"]
    nodes = [n.attr("op_name") for n in s.get_internals()]
    assert nodes.count("amp_cast") == 4 and nodes.count("amp_multicast") >= 1, nodes
    executor = s.simple_bind(mx.cpu(), a=(2, 3), b=(2, 4))
    assert executor.forward()[0].dtype == np.float32
    """)


@pytest.mark.parametrize("hybrid", [False, True])
def test_training(hybrid: bool) -> None:
    run(f"""
    amp.init()
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(8, activation="relu"), mx.gluon.nn.Dense(1))
    net.initialize(mx.init.Xavier())
    if {hybrid}:
        net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", dict(learning_rate=0.1), update_on_kvstore=False)
    amp.init_trainer(trainer)
    x = mx.nd.random.normal(shape=(32, 4))
    target = x.sum(axis=1, keepdims=True)
    loss_of = mx.gluon.loss.L2Loss()
    losses = []
    for step in range(60):
        with mx.autograd.record():
            loss = loss_of(net(x), target)
            with amp.scale_loss(loss, trainer) as scaled:
                mx.autograd.backward(scaled)
        if step % 2:
            amp.unscale(trainer)
            assert trainer._scale == 1.0
        trainer.step(32)
        losses.append(loss.mean().asscalar())
    assert net[0].weight.data().dtype == np.float32
    assert losses[-1] < 0.2 * losses[0], losses
    """)


def test_init_trainer_refuses_others() -> None:
    run("""
    try:
        amp.init_trainer(None)
        raise SystemExit("not refused")
    except AssertionError:
        pass
    amp.init()
    for other in (None, mx.optimizer.SGD()):
        for function in (amp.init_trainer, amp.unscale):
            try:
                function(other)
                raise SystemExit("not refused")
            except TypeError:
                pass
    """)


def test_loss_heads_are_scaled() -> None:
    run("""
    def gradient():
        x = mx.nd.array([[1.0, 2.0]])
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.SoftmaxOutput(x, mx.nd.array([0.0]))
        y.backward()
        return x.grad.asnumpy()
    plain = gradient()
    amp.init()
    np.testing.assert_allclose(gradient(), plain * 2.0**16, rtol=1e-5)
    """)
