"""Modules: batches split over contexts, reshaping, buckets, chains of modules, checkpoints, monitors, FeedForward."""

from __future__ import annotations

import logging
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx
from tests.fits import fit
from tests.fits import mlp as network


def _module(**kwargs: Any) -> Any:
    module = mx.mod.Module(network(mx), **kwargs)
    module.bind([("data", (8, 20))], [("softmax_label", (8,))])
    module.init_params(mx.init.Xavier())
    return module


def _batch(size: int = 8) -> Any:
    random = np.random.RandomState(2)
    return mx.io.DataBatch([mx.nd.array(random.uniform(-1, 1, (size, 20)))], [mx.nd.array(random.randint(0, 4, size))], pad=0)


def test_the_optimizer_of_a_module() -> None:
    module = _module()
    module.init_optimizer(optimizer="sgd")
    assert module._optimizer.rescale_grad == 1 / 8  # one over the batch, whatever the loss layer divides by
    assert module._optimizer.wd_mult == {"fc1_bias": 0, "fc2_bias": 0, "fc3_bias": 0}


@pytest.mark.parametrize("load, parts", [(None, [(4, 20), (4, 20)]), ([1, 3], [(2, 20), (6, 20)])])
def test_batches_are_split_by_work_load(load: Any, parts: list[tuple[int, int]]) -> None:
    module = _module(context=[mx.cpu(0), mx.cpu(1)], work_load_list=load)
    assert [one.arg_dict["data"].shape for one in module._exec_group.execs] == parts
    single = _module()
    single.set_params(*module.get_params())
    batch = _batch()
    for one in (module, single):
        one.forward(batch, is_train=True)
        one.backward()
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), single.get_outputs()[0].asnumpy(), rtol=1e-5, atol=1e-6)
    assert len(module.get_outputs(merge_multi_context=False)[0]) == 2
    halves = module._exec_group.grad_arrays[0]
    np.testing.assert_allclose((halves[0] + halves[1]).asnumpy(), single._exec_group.grad_arrays[0][0].asnumpy(), rtol=1e-4, atol=1e-6)


def test_gradients_of_inputs_and_fixed_parameters() -> None:
    module = mx.mod.Module(network(mx), fixed_param_names=["fc1_weight"])
    module.bind([("data", (8, 20))], [("softmax_label", (8,))], inputs_need_grad=True)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    before = {name: value.copy() for name, value in module.get_params()[0].items()}
    module.forward_backward(_batch())
    module.update()
    assert np.abs(module.get_input_grads()[0].asnumpy()).max() > 0
    after = module.get_params()[0]
    changed = {name for name in before if not np.array_equal(before[name].asnumpy(), after[name].asnumpy())}
    assert changed == set(before) - {"fc1_weight"}


def test_batches_of_another_size_reshape_the_module() -> None:
    module = _module()
    for size in (8, 3, 12, 8):
        module.forward(_batch(size), is_train=False)
        assert module.get_outputs()[0].shape == (size, 4)
    assert module.output_shapes == [("softmax_output", (8, 4))]


def test_predict_and_score_drop_the_fill() -> None:
    module = _module()
    data = np.random.RandomState(0).uniform(-1, 1, (13, 20)).astype("float32")
    source = mx.io.NDArrayIter(data, np.zeros(13), 8)
    outputs = module.predict(source)
    assert outputs.shape == (13, 4)
    assert [out[0].shape[0] for out, _, _ in module.iter_predict(source)] == [8, 5]
    assert len(module.predict(source, merge_batches=False)) == 2
    expected = float((outputs.asnumpy().argmax(1) == 0).mean())
    scored = module.score(source, "acc")[0]
    assert scored[0] == "accuracy" and 0 <= scored[1] <= 1 and 0 <= expected <= 1


def test_checkpoints_go_on(tmp_path: Path) -> None:
    _, module = fit(mx, "mlp", "sgd", end=2)
    prefix = str(tmp_path / "net")
    module.save_checkpoint(prefix, 2, save_optimizer_states=True)
    loaded = mx.mod.Module.load(prefix, 2, load_optimizer_states=True)
    for one in (module, loaded):
        if one is loaded:
            one.bind([("data", (8, 20))], [("softmax_label", (8,))])
            one.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.05, "momentum": 0.9, "wd": 0.001})
        one.forward_backward(_batch())
        one.update()
    for name, value in module.get_params()[0].items():
        np.testing.assert_allclose(loaded.get_params()[0][name].asnumpy(), value.asnumpy(), rtol=1e-5, atol=1e-6)


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="Did you mean"):
        mx.mod.Module(network(mx), data_names=["input"])
    with pytest.warns(UserWarning, match="label_names"):
        mx.mod.Module(network(mx), label_names=["label"])
    module = mx.mod.Module(network(mx))
    with pytest.raises(AssertionError, match="bind"):
        module.init_params()
    with pytest.raises(ValueError, match="don't match"):
        module.bind([("input", (8, 20))])
    module.bind([("data", (8, 20))], [("softmax_label", (8,))])
    with pytest.raises(RuntimeError, match="is not presented"):
        module.init_params(arg_params={}, aux_params={})


def test_buckets_share_parameters(tmp_path: Path) -> None:
    def generate(length: int) -> Any:
        data = mx.sym.Variable("data")
        hidden = mx.sym.FullyConnected(mx.sym.sum(data, axis=1), num_hidden=6, name="fc")
        return mx.sym.SoftmaxOutput(hidden, name="softmax"), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(generate, default_bucket_key=8)
    module.bind([("data", (4, 8, 5))], [("softmax_label", (4,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="adam")
    before = module.get_params()[0]["fc_weight"].asnumpy().copy()
    for length in (8, 3, 5, 3):
        shapes = {"provide_data": [("data", (4, length, 5))], "provide_label": [("softmax_label", (4,))]}
        batch = mx.io.DataBatch([mx.nd.ones((4, length, 5))], [mx.nd.zeros((4,))], pad=0, bucket_key=length, **shapes)
        module.prepare(batch)
        module.forward_backward(batch)
        module.update()
    assert sorted(module._buckets) == [3, 5, 8]
    weights = [one._exec_group.param_arrays[0][0]._t.data_ptr() for one in module._buckets.values()]
    assert len(set(weights)) == 1
    assert not np.array_equal(before, module.get_params()[0]["fc_weight"].asnumpy())
    module.save_checkpoint(str(tmp_path / "net"), 1)
    loaded = mx.mod.BucketingModule.load(str(tmp_path / "net"), 1, sym_gen=generate, default_bucket_key=8)
    np.testing.assert_array_equal(loaded._curr_module._arg_params["fc_weight"].asnumpy(), module.get_params()[0]["fc_weight"].asnumpy())


def test_a_chain_with_a_loss_in_python() -> None:
    data = mx.sym.Variable("data")
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(mx.sym.FullyConnected(data, num_hidden=6, name="first"), label_names=None))
    chain.add(mx.mod.Module(mx.sym.FullyConnected(data, num_hidden=4, name="second"), label_names=None), auto_wiring=True)
    loss = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores - mx.nd.one_hot(labels, 4))
    chain.add(loss, take_labels=True, auto_wiring=True)
    random = np.random.RandomState(0)
    label = random.randint(0, 4, 40)
    source = mx.io.NDArrayIter(np.eye(4)[label] + random.normal(0, 0.1, (40, 4)), label, 8)
    np.random.seed(0)
    mx.random.seed(0)
    chain.fit(source, num_epoch=20, optimizer_params={"learning_rate": 0.2}, initializer=mx.init.Xavier())
    assert chain.score(source, "acc")[0][1] == 1.0


def test_monitors_and_states() -> None:
    seen: list[str] = []
    module = _module()
    module.install_monitor(mx.mon.Monitor(1, lambda x: seen.append("x") or mx.nd.norm(x), pattern=".*output"))
    source = mx.io.NDArrayIter(np.zeros((16, 20)), np.zeros(16), 8)
    module.fit(source, num_epoch=1, monitor=mx.mon.Monitor(1, lambda x: seen.append("x") or mx.nd.norm(x), pattern=".*output"), force_init=True)
    assert seen
    cell = mx.rnn.LSTMCell(4, prefix="l_")
    begin = cell.begin_state(func=mx.sym.Variable)
    outputs, states = cell.unroll(1, mx.sym.Variable("data"), begin_state=begin)
    keeping = mx.mod.Module(mx.sym.Group([outputs[0], *states]), label_names=None, state_names=["l_begin_state_0", "l_begin_state_1"])
    keeping.bind([("data", (2, 1, 3))], for_training=False)
    keeping.init_params(mx.init.One())
    keeping.set_states(value=1)
    keeping.forward(mx.io.DataBatch([mx.nd.ones((2, 1, 3))]))
    keeping.set_states(states=keeping.get_outputs(merge_multi_context=False)[1:])
    assert (keeping.get_states(merge_multi_context=False)[1][0].asnumpy() > 1).all()


def test_callbacks_see_the_loop(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level(logging.INFO)
    seen = []
    source = mx.io.NDArrayIter(np.zeros((32, 20)), np.zeros(32), 8)
    module = mx.mod.Module(network(mx))
    module.fit(
        source, eval_data=source, num_epoch=2, batch_end_callback=[mx.callback.Speedometer(8, 2), lambda param: seen.append(param)],
        epoch_end_callback=mx.callback.do_checkpoint(str(tmp_path / "net")), eval_end_callback=lambda param: seen.append(param),
    )  # fmt: skip
    assert [param.nbatch for param in seen] == [0, 1, 2, 3, 4] * 2
    assert seen[0].locals["self"] is module and "data_batch" in seen[0].locals
    assert "samples/sec" in caplog.text and "Validation-accuracy" in caplog.text
    assert (tmp_path / "net-0002.params").exists()


def test_feed_forward_trains_arrays(tmp_path: Path) -> None:
    random = np.random.RandomState(0)
    label = random.randint(0, 4, 64)
    data = np.tile(np.eye(4)[label], 5).astype("float32")
    mx.random.seed(0)
    with pytest.warns(DeprecationWarning):
        model = mx.model.FeedForward.create(
            network(mx), data, label.astype("float32"), num_epoch=30, learning_rate=0.5, initializer=mx.init.Xavier(), numpy_batch_size=16
        )
    assert (model.predict(data).argmax(1) == label).all()
    assert model.score(mx.io.NDArrayIter(data, label, 16)) == 1.0
    outputs, seen, _ = model.predict(mx.io.NDArrayIter(data, label, 48), return_data=True)
    np.testing.assert_array_equal(seen, data)
    model.save(str(tmp_path / "net"))
    with pytest.warns(DeprecationWarning):
        again = mx.model.FeedForward.load(str(tmp_path / "net"), 30)
    np.testing.assert_allclose(again.predict(data), outputs, rtol=1e-5, atol=1e-6)


def test_lists_of_batches_go_to_contexts() -> None:
    module = _module(context=[mx.cpu(0), mx.cpu(1)])
    half = namedtuple("Half", ["data", "label"])  # noqa: PYI024
    batch = _batch()
    halves = [half([batch.data[0][s]], [batch.label[0][s]]) for s in (slice(0, 4), slice(4, 8))]
    module.forward(halves, is_train=False)
    apart = module.get_outputs()[0].asnumpy()
    module.forward(batch, is_train=False)
    np.testing.assert_allclose(apart, module.get_outputs()[0].asnumpy(), rtol=1e-6)
    metric = mx.metric.create("acc")
    module.update_metric(metric, [one.label for one in halves], pre_sliced=True)
    assert metric.num_inst == 8
