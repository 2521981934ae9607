"""Recurrent cells: fused against single ones, names, weights packed and unpacked, sentences."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx

STEPS, BATCH, INPUTS, HIDDEN = 3, 2, 4, 5


def _run(outputs: Any, weights: dict[str, Any], data: np.ndarray) -> list[np.ndarray]:
    net = outputs if isinstance(outputs, mx.sym.Symbol) else mx.sym.Group(outputs)
    executor = net.simple_bind(mx.cpu(), data=data.shape)
    executor.copy_params_from(weights, allow_extra_params=True)
    return [out.asnumpy() for out in executor.forward(data=mx.nd.array(data))]


@pytest.mark.parametrize("mode", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_fused_cells_equal_single_ones(mode: str, bidirectional: bool) -> None:
    fused = mx.rnn.FusedRNNCell(HIDDEN, num_layers=2, mode=mode, bidirectional=bidirectional, prefix="net_")
    stack = fused.unfuse()
    data = mx.sym.Variable("data")
    together, _ = fused.unroll(STEPS, data, layout="NTC", merge_outputs=True)
    single, _ = stack.unroll(STEPS, data, layout="NTC", merge_outputs=True)
    values = np.random.RandomState(0).uniform(-1, 1, (BATCH, STEPS, INPUTS))
    size = dict(zip(together.list_arguments(), together.infer_shape(data=values.shape)[0], strict=True))["net_parameters"]
    packed = {"net_parameters": mx.nd.array(np.random.RandomState(1).uniform(-0.5, 0.5, size))}
    weights = stack.pack_weights(fused.unpack_weights(packed))
    np.testing.assert_allclose(_run(together, packed, values)[0], _run(single, weights, values)[0], rtol=1e-5, atol=1e-6)
    again = fused.pack_weights(stack.unpack_weights(weights))["net_parameters"]
    np.testing.assert_array_equal(again.asnumpy(), packed["net_parameters"].asnumpy())


def test_names_are_mxnets() -> None:
    cell = mx.rnn.LSTMCell(HIDDEN, prefix="l_")
    outputs, states = cell.unroll(2, mx.sym.Variable("data"))
    assert [out.name for out in outputs] == ["l_t0_out", "l_t1_out"] and states[1].name == "l_t1_state"
    assert sorted(cell.params._params) == ["l_h2h_bias", "l_h2h_weight", "l_i2h_bias", "l_i2h_weight"]
    gates = cell.unpack_weights({name: mx.nd.ones((4 * HIDDEN, 3)) for name in cell.params._params})
    assert {"l_i2h_i_weight", "l_h2h_f_bias", "l_i2h_c_bias", "l_h2h_o_weight"} <= set(gates)


@pytest.mark.parametrize("kind", ["ConvRNNCell", "ConvLSTMCell", "ConvGRUCell"])
def test_convolutional_cells(kind: str) -> None:
    cell = getattr(mx.rnn, kind)(input_shape=(1, 3, 6, 6), num_hidden=4, prefix="c_")
    outputs, _ = cell.unroll(2, [mx.sym.Variable(f"t{i}") for i in range(2)])
    shapes = mx.sym.Group(outputs).infer_shape(t0=(2, 3, 6, 6), t1=(2, 3, 6, 6))[1]
    assert shapes == [(2, 4, 6, 6)] * 2


def test_modifiers() -> None:
    data = [mx.sym.Variable(f"t{i}") for i in range(2)]
    base = mx.rnn.RNNCell(INPUTS, prefix="r_")
    outputs, _ = mx.rnn.ResidualCell(base).unroll(2, data)
    assert outputs[0].name == "r_t0_out_plus_residual"
    zoneout = mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(INPUTS, prefix="z_"), zoneout_outputs=0.5, zoneout_states=0.2)
    shapes = mx.sym.Group(zoneout.unroll(2, data)[0]).infer_shape(t0=(2, INPUTS), t1=(2, INPUTS))[1]
    assert shapes == [(2, INPUTS)] * 2
    with pytest.raises(AssertionError, match="unfuse"):
        mx.rnn.ZoneoutCell(mx.rnn.FusedRNNCell(3))
    with pytest.raises(AssertionError, match="modifier"):
        base.begin_state()


def test_fused_parameters_are_initialised_part_by_part() -> None:
    cell = mx.rnn.FusedRNNCell(HIDDEN, mode="lstm", prefix="f_", forget_bias=2.0)
    output, _ = cell.unroll(STEPS, mx.sym.Variable("data"), layout="TNC", merge_outputs=True)
    module = mx.mod.Module(output, label_names=None)
    module.bind([("data", (STEPS, BATCH, INPUTS))])
    module.init_params(mx.init.Xavier())
    parts = cell.unpack_weights(module.get_params()[0])
    assert (parts["f_l0_i2h_f_bias"].asnumpy() == 2).all() and (parts["f_l0_i2h_i_bias"].asnumpy() == 0).all()
    assert parts["f_l0_i2h_i_weight"].asnumpy().std() > 0.1


def test_checkpoints_hold_gates(tmp_path: Path) -> None:
    cell = mx.rnn.GRUCell(HIDDEN, prefix="g_")
    net = mx.sym.Group(cell.unroll(1, mx.sym.Variable("data"))[0])
    weights = {"g_i2h_weight": mx.nd.ones((15, 4)), "g_i2h_bias": mx.nd.ones((15,)), "g_h2h_weight": mx.nd.ones((15, 5)), "g_h2h_bias": mx.nd.ones((15,))}
    prefix = str(tmp_path / "net")
    mx.rnn.do_rnn_checkpoint(cell, prefix)(0, net, weights, {})
    assert "g_i2h_r_weight" in mx.model.load_params(prefix, 1)[0]
    assert sorted(mx.rnn.load_rnn_checkpoint(cell, prefix, 1)[1]) == sorted(weights)


def test_sentences() -> None:
    codes, vocabulary = mx.rnn.encode_sentences([["a", "b"], ["b", "c", "a"]], invalid_label=0, start_label=0)
    assert codes == [[1, 2], [2, 3, 1]] and vocabulary == {"\n": 0, "a": 1, "b": 2, "c": 3}
    known = mx.rnn.encode_sentences([["a", "x"]], vocab=dict(vocabulary), unknown_token="c")[0]
    assert known[0][0] == 1
    with pytest.raises(AssertionError, match="Unknown token"):
        mx.rnn.encode_sentences([["x"]], vocab=dict(vocabulary))


def test_buckets_of_sentences() -> None:
    random.seed(0)
    np.random.seed(0)
    sentences = [[1, 2, 3]] * 4 + [[4, 5]] * 4 + [[1] * 9]
    source = mx.rnn.BucketSentenceIter(sentences, 2, buckets=[2, 4], invalid_label=0)
    assert source.default_bucket_key == 4 and source.provide_data[0].shape == (2, 4)
    batches = list(source)
    assert sorted(batch.bucket_key for batch in batches) == [2, 2, 4, 4]
    longest = next(batch for batch in batches if batch.bucket_key == 4)
    assert longest.data[0].asnumpy().tolist() == [[1, 2, 3, 0]] * 2 and longest.label[0].asnumpy().tolist() == [[2, 3, 0, 0]] * 2
