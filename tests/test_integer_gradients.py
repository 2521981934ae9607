"""Gradients through integer values, gradient arrays of another type, and which head gradients backward looks at (numbers recorded from MXNet 1.9.1)."""

import numpy as np
import pytest

import mxexec_torch as mx
from mxexec_torch import autograd, gluon

A, B = mx.sym.Variable("a"), mx.sym.Variable("b")
INT, FLOAT = "int32", "float32"


def gradients(symbol, types, grads=None, head=3.0):
    """The gradient arrays (by name, filled with 7 before) for a = b = [[1, 2], [3, 4]] and constant head gradients."""
    args = {name: mx.nd.array([[1, 2], [3, 4]], dtype=types[name]) for name in symbol.list_arguments()}
    arrays = {name: mx.nd.ones((2, 2), dtype=dtype) * 7 for name, dtype in (grads or types).items() if name in args}
    executor = symbol.bind(mx.cpu(), args, args_grad=arrays)
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(out.shape, dtype=out.dtype) * head for out in executor.outputs])
    return {name: array.asnumpy().tolist() for name, array in arrays.items()}


SIX = [[6, 6], [6, 6]]
RISING = [[6, 12], [18, 24]]


@pytest.mark.parametrize(
    ("symbol", "types", "expected"),
    [
        (mx.sym.cast(mx.sym.cast(A, INT), FLOAT) * 2, {"a": FLOAT}, {"a": SIX}),
        (mx.sym.cast(mx.sym.cast(A, INT) * B, FLOAT) * 2, {"a": FLOAT, "b": INT}, {"a": RISING, "b": RISING}),
        (mx.sym.cast(mx.sym.cast(A, INT) * mx.sym.cast(B, INT), FLOAT) * 2, {"a": FLOAT, "b": FLOAT}, {"a": RISING, "b": RISING}),
        (mx.sym.cast(mx.sym.cast(A, INT), FLOAT) * B + A, {"a": FLOAT, "b": FLOAT}, {"a": [[6, 9], [12, 15]], "b": [[3, 6], [9, 12]]}),
        (mx.sym.cast(A, INT) * 3, {"a": FLOAT}, {"a": [[9, 9], [9, 9]]}),
        (A * B, {"a": INT, "b": INT}, {"a": [[3, 6], [9, 12]], "b": [[3, 6], [9, 12]]}),
        (mx.sym.cast(A, INT) % 2, {"a": FLOAT}, {"a": [[0, 0], [0, 0]]}),
        (mx.sym.one_hot(mx.sym.cast(A, INT), depth=3), {"a": FLOAT}, {"a": [[0, 0], [0, 0]]}),
    ],
)
def test_gradients_pass_casts_to_integers(symbol, types, expected):
    assert gradients(symbol, types) == expected


def test_one_integer_factor_may_be_without_gradient():
    assert gradients(A * B, {"a": INT, "b": INT}, {"a": INT}) == {"a": [[3, 6], [9, 12]]}


class Quantized(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.cast(F.cast(F.Dropout(x, p=0.0) * 2, dtype=INT), dtype=FLOAT) * 3


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_block_with_a_straight_through_estimator_learns(hybrid):
    block = Quantized()
    if hybrid:
        block.hybridize()
    x = mx.nd.array([1.2, 2.7])
    x.attach_grad()
    with autograd.record():
        y = block(x)
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), [6, 15])
    np.testing.assert_array_equal(x.grad.asnumpy(), [6, 6])


def test_gradient_arrays_of_another_type():
    assert gradients(mx.sym.sum(A), {"a": FLOAT}, {"a": "float64"}) == {"a": [[3, 3], [3, 3]]}
    assert gradients(mx.sym.round(A), {"a": FLOAT}, {"a": "float16"}) == {"a": [[0, 0], [0, 0]]}
    with pytest.raises(mx.MXNetError, match="data type do not match"):
        gradients(mx.sym.relu(A), {"a": FLOAT}, {"a": "float64"})


@pytest.mark.parametrize("symbol", [mx.sym.round(A), mx.sym.BlockGrad(A) + 1, mx.sym.topk(A), mx.sym.contrib.index_array(A)])
def test_head_gradients_that_nothing_depends_on_are_not_looked_at(symbol):
    executor = symbol.bind(mx.cpu(), {"a": mx.nd.ones((2, 2))}, args_grad={"a": mx.nd.ones((2, 2))})
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((5,))])
    executor.backward()
    assert executor.grad_dict["a"].asnumpy().tolist() == [[0, 0], [0, 0]]


def test_a_gradient_may_be_differentiated_and_its_head_again():
    x, w = mx.nd.array([1.0, 2.0]), mx.nd.array([5.0, 7.0])
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        y = x * w
        first = autograd.grad(y, x, create_graph=True, retain_graph=True)[0]
        mixed = autograd.grad(first, w, create_graph=False)[0]
        other = autograd.grad(y, w, create_graph=False)[0]
    np.testing.assert_array_equal(first.asnumpy(), [5, 7])
    np.testing.assert_array_equal(mixed.asnumpy(), [1, 1])
    np.testing.assert_array_equal(other.asnumpy(), [1, 2])
