"""Recording and gradients with NDArrays. Expected values and error texts are MXNet 1.9.1's."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import mxexec_torch as mx
from mxexec_torch import autograd as ag

nd = mx.nd


def leaf(values=(1.0, 2.0), req="write", dtype="float32"):
    array = nd.array(values, dtype=dtype)
    array.attach_grad(req)
    return array


def grad(array):
    return array.grad.asnumpy().tolist()


def test_scopes():
    assert not ag.is_recording() and not ag.is_training()
    with ag.record():
        assert ag.is_recording() and ag.is_training()
        with ag.pause():
            assert not ag.is_recording() and not ag.is_training()
        with ag.predict_mode():
            assert ag.is_recording() and not ag.is_training()
    with ag.record(train_mode=False):
        assert not ag.is_training()
    assert not ag.set_recording(True) and ag.set_recording(False)


def test_backward_without_head_gradient_uses_ones():
    a = leaf()
    assert grad(a) == [0, 0]
    with ag.record():
        y = a * a
    y.backward()
    assert grad(a) == [2, 4]
    with ag.record():
        y = a * 5
    y.backward(nd.array([1, 10]))
    assert grad(a) == [5, 50]


def test_requests():
    a, b, c = leaf(), leaf(req="add"), leaf(req="null")
    for _ in range(2):
        with ag.record():
            y = a * b * c
        y.backward()
    assert grad(a) == [1, 4] and grad(b) == [2, 8] and grad(c) == [0, 0]
    with pytest.raises(KeyError):
        leaf(req="foo")
    with ag.record():
        y = c * 2
    with pytest.raises(mx.MXNetError, match="no inputs in computation graph that require gradients"):
        y.backward()


def test_a_second_backward_needs_retain_graph():
    a = leaf()
    with ag.record():
        y = a + 1
        z = y * 2
    z.backward(retain_graph=True)
    z.backward()
    for array in (z, y):  # the whole history is freed, also where torch would not notice
        with pytest.raises(mx.MXNetError, match="Cannot differentiate node because it is not in a computational graph"):
            array.backward()


def test_freed_history_counts_as_constant():
    a = leaf()
    with ag.record():
        y = a * 3
    y.backward()
    with ag.record():
        z = y * a
    z.backward()
    assert grad(a) == [3, 6]


def test_arrays_that_were_not_recorded_are_refused():
    with pytest.raises(mx.MXNetError, match="You need to set is_recording to true or use autograd.record"):
        nd.ones(2).backward()
    with ag.record():
        y = nd.ones(2) * 2
    with pytest.raises(mx.MXNetError):
        y.backward()


def test_in_place_changes_while_recording_are_refused():
    a, constant = leaf(), nd.zeros(2)
    with ag.record():
        b = a * 2
        with pytest.raises(mx.MXNetError, match="already in a computational graph"):
            b += 1
        with pytest.raises(mx.MXNetError, match="Inplace operations"):
            b[0] = 5
        with pytest.raises(mx.MXNetError, match="Inplace operations"):
            constant += a
        with pytest.raises(mx.MXNetError, match="already in a computational graph"):
            a[:] = 1
    fresh = nd.zeros(2)
    with ag.record():
        fresh[:] = a * 2  # a whole array may take a recorded value
    fresh.backward()
    assert grad(a) == [2, 2]


def test_inputs_are_saved_by_reference():
    a = leaf()
    with ag.record():
        y = a * a
    a[:] = 100
    y.backward()
    assert grad(a) == [200, 200]
    factor = nd.array([1.0, 1.0])
    with ag.record():
        y = a * factor
    factor[:] = 7
    y.backward()
    assert grad(a) == [7, 7]


def test_unused_and_cut_leaves():
    a, b = leaf(), leaf()
    b.grad[:] = 9
    with ag.record():
        y = a * 2
        z = nd.BlockGrad(b) + y.detach()
    z.backward(retain_graph=True)
    assert grad(b) == [0, 0]  # behind BlockGrad: zeros
    b.grad[:] = 9
    y.backward()
    assert grad(b) == [9, 9]  # not involved


def test_attach_grad_inside_record_makes_a_new_leaf():
    a = leaf()
    with ag.record():
        y = a * 2
        y.attach_grad()
        z = y * 3
    z.backward()
    assert grad(y) == [3, 3] and grad(a) == [0, 0]


def test_gradients_through_views_indices_and_conversions():
    a = nd.array([[1.0, 2.0], [3.0, 4.0]])
    a.attach_grad()
    weights = nd.array([1, 2, 3, 4])
    for function, expected in (
        (lambda: a.reshape((4,)) * weights, [[1, 2], [3, 4]]),
        (lambda: a[[0, 0]] * 5, [[10, 10], [0, 0]]),
        (lambda: a[1] * 2, [[0, 0], [2, 2]]),
        (lambda: a[:, ::-1] * nd.array([1, 2]), [[2, 1], [2, 1]]),
        (lambda: a.astype("float64") * 2, [[2, 2], [2, 2]]),
        (lambda: a.as_in_context(mx.cpu(1)) * 3, [[3, 3], [3, 3]]),
        (lambda: (a * 2.6).astype("int32").astype("float32") * 3, [[7.8, 7.8], [7.8, 7.8]]),
        (lambda: a.copy() + a, [[2, 2], [2, 2]]),
    ):
        with ag.record():
            y = function()
        y.backward()
        assert a.grad.asnumpy() == pytest.approx(np.array(expected))


def test_integer_leaves():
    a = leaf([1, 2], dtype="int32")
    with ag.record():
        y = a * a + 1
    y.backward()
    assert y.dtype is np.int32 and a.grad.dtype is np.int32 and grad(a) == [2, 4]


def test_heads_in_a_list():
    a = leaf()
    with ag.record():
        y, z = a * 2, a * 5
    ag.backward([y, z], [None, nd.array([10, 10])])
    assert grad(a) == [52, 52]
    with pytest.raises(AssertionError):
        ag.backward([y], [None, None])


def test_grad_returns_arrays_and_leaves_the_buffers():
    a = leaf()
    with ag.record():
        y = a * a
    (found,) = ag.grad(y, a)
    assert found.asnumpy().tolist() == [2, 4] and grad(a) == [0, 0]
    with ag.record():
        y = a * a
    with pytest.raises(mx.MXNetError, match="unreachable from the outputs"):
        ag.grad(y, [leaf()])
    with pytest.raises(mx.MXNetError, match="does not require gradient"):
        ag.grad(y, [y])


def test_second_order():
    a = leaf()
    with ag.record():
        (first,) = ag.grad(nd.log(a), [a], create_graph=True, retain_graph=True)
    first.backward()
    assert first.asnumpy().tolist() == [1, 0.5] and grad(a) == [-1, -0.25]


def test_mark_variables():
    a, buffer = nd.ones(2), nd.zeros(2)
    ag.mark_variables([a], [buffer])
    with ag.record():
        y = a * 3
    y.backward()
    assert buffer.asnumpy().tolist() == [3, 3]


def test_operators_without_a_gradient():
    a = leaf([1.0, 0.0])
    with ag.record():
        y = nd.argmax(a, axis=0) * 2
    a.grad[:] = 5
    y.backward()
    assert grad(a) == [0, 0]
    with ag.record():
        y = nd.Embedding(a, nd.ones((2, 2)), input_dim=2, output_dim=2)
    with pytest.raises(mx.MXNetError, match="data"):
        y.backward()
    with ag.record():
        y = nd.sgd_update(a, a, lr=1)
    with pytest.raises(mx.MXNetError, match="FGradient"):
        y.backward()


def test_labels_of_loss_heads_keep_their_gradient_and_heads_ignore_theirs():
    data, label = leaf([[1.0, 2.0]]), leaf([1.0])
    label.grad[:] = 9
    with ag.record():
        y = nd.SoftmaxOutput(data, label)
    y.backward(nd.array([[100, 100]]))
    assert data.grad.asnumpy() == pytest.approx(np.array([[0.26894143, -0.26894143]])) and grad(label) == [9]


def test_batch_norm_statistics_change_in_backward():
    data, mean, var = leaf([[1.0, 2.0], [3.0, 4.0]]), nd.zeros(2), nd.ones(2)
    gamma, beta = nd.ones(2), nd.zeros(2)
    with ag.record():
        y = nd.BatchNorm(data, gamma, beta, mean, var, fix_gamma=False)
    assert mean.asnumpy().tolist() == [0, 0]
    y.backward()
    assert mean.asnumpy() == pytest.approx([0.2, 0.3])
    nd.BatchNorm(data, gamma, beta, mean, var)
    assert mean.asnumpy() == pytest.approx([0.2, 0.3])


def test_dropout_follows_the_mode():
    ones = nd.ones(1000)
    assert (nd.Dropout(ones, p=0.5).asnumpy() == 1).all()
    with ag.record():
        assert set(nd.Dropout(ones, p=0.5).asnumpy().tolist()) == {0.0, 2.0}


class Scaled(ag.Function):
    def forward(self, x, y):
        self.save_for_backward(x, y)
        return x * y, x + y

    def backward(self, first, second):
        x, y = self.saved_tensors
        return first * y + second, first * x


def test_function():
    a, b = leaf(), leaf([5.0, 6.0])
    function = Scaled()
    with ag.record():
        product, total = function(a, b)
        y = product * 2 + total
    y.backward()
    assert grad(a) == [11, 13] and grad(b) == [2, 4]
    with pytest.raises(AssertionError, match="only be called once"):
        function(a, b)
    assert [o.asnumpy().tolist() for o in Scaled()(a, b)] == [[5, 12], [6, 8]]


def test_errors_inside_a_function_become_mxnet_errors():
    class Broken(ag.Function):
        def forward(self, x):
            return x * 1

        def backward(self, dy):
            raise KeyError("inside")

    class Miscounting(Broken):
        def backward(self, dy):
            return dy, dy

    for kind, text in ((Broken, "inside"), (Miscounting, "Expecting 1 got 2")):
        a = leaf()
        with ag.record():
            y = kind()(a)
        with pytest.raises(mx.MXNetError, match=text):
            y.backward()


def test_get_symbol():
    a, b = leaf([[1.0, 2.0]]), nd.ones((1, 2))
    with ag.record():
        y = nd.FullyConnected(a[0:1], b, num_hidden=1, no_bias=True) + 1
    symbol = ag.get_symbol(y)
    names = symbol.list_arguments()
    executor = symbol.bind(mx.cpu(), {names[0]: a, names[1]: b})
    assert len(names) == 2 and executor.forward()[0].asnumpy().tolist() == y.asnumpy().tolist() == [[4.0]]
    with pytest.raises(mx.MXNetError):
        ag.get_symbol(nd.ones(1))


def test_grad_is_a_new_handle_of_the_same_memory():
    a = leaf()
    assert a.grad is not a.grad
    a.grad[:] = 3
    assert grad(a) == [3, 3]
    assert a.copy().grad is None and a.detach().grad is None and a[0:1].grad is None
    a.attach_grad()
    assert grad(a) == [0, 0]


def test_recorded_arrays_are_freed():
    a = leaf()
    with ag.record():
        y = a * a
        z = y + 1
    alive = [weakref.ref(y), weakref.ref(y._ag)]
    z.backward()
    del y, z
    gc.collect()
    assert all(ref() is None for ref in alive)


def test_first_autograd_interface():
    from mxexec_torch.contrib import autograd as old

    gradients, result = old.grad_and_loss(lambda x: x * x)(nd.array([3.0]))
    assert gradients[0].asnumpy().tolist() == [6] and result.asnumpy().tolist() == [9]
    with old.train_section():
        assert ag.is_recording() and ag.is_training()
        with old.test_section():
            assert not ag.is_recording()
