"""Operators on NDArrays: arithmetic, published functions, out=, in-place updates, errors, plans."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import mxexec_torch as mx
from mxexec_torch.published import def_line
from mxexec_torch.registry import get

nd = mx.nd


def values(array):
    return array.asnumpy().tolist()


def test_broadcasting_and_scalars():
    a = nd.array([[1, 2], [3, 4]])
    assert values(a + nd.array([10, 20])) == [[11, 22], [13, 24]]
    assert values(2 - a) == [[1, 0], [-1, -2]] and values(2**a) == [[2, 4], [8, 16]] and values(7 % a) == [[0, 1], [1, 3]]
    assert values(a + True) == [[2, 3], [4, 5]] and values(-a) == [[-1, -2], [-3, -4]] and values(abs(-a)) == values(a)


@pytest.mark.parametrize(
    "left, right, text",
    [((2, 3), (3, 2), r"operands could not be broadcast together with shapes \[2,3\] \[3,2\]")],
)
def test_shapes_that_do_not_broadcast(left, right, text):
    for operation in (lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a > b, nd.broadcast_add):
        with pytest.raises(mx.MXNetError, match=text):
            operation(nd.ones(left), nd.ones(right))


def test_elementwise_operators_do_not_broadcast():
    with pytest.raises(mx.MXNetError, match=r"expected \[2,3\], got \[1,3\]"):
        nd.elemwise_add(nd.ones((2, 3)), nd.ones((1, 3)))


def test_types_must_agree_and_numbers_take_the_arrays_type():
    with pytest.raises(mx.MXNetError, match="expected float32, got float64"):
        nd.ones(2) + nd.ones(2, dtype="float64")
    whole = nd.array([7, -7], dtype="int32")
    assert values(whole + 1.7) == [8, -6] and values(whole / 2) == [3, -3] and values(nd.array([1], dtype="uint8") - 3) == [254]
    assert (nd.ones(2, dtype="float16") + 1e9).dtype is np.float16


@pytest.mark.parametrize("other", [None, "x", [1], np.ones(2)])
def test_other_operands_are_type_errors(other):
    for operation in (lambda a: a + other, lambda a: a == other, lambda a: a < other):
        with pytest.raises(TypeError, match="not supported"):
            operation(nd.ones(2))
    with pytest.raises(TypeError):
        nd.ones(2) // 2


def test_comparisons_are_numbers_of_the_operands_type():
    result = nd.array([1, 2], dtype="int32") >= 2
    assert result.dtype is np.int32 and values(result) == [0, 1] and values(nd.array([np.nan]) == np.nan) == [0]
    assert values(nd.maximum(nd.array([1, 5]), 3)) == [3, 5] and nd.maximum(2, 3) == 3 and values(nd.logical_xor(nd.array([0, 2]), 1)) == [1, 0]


def test_signs_of_zero_are_not_mixed_up():
    one = nd.array([1.0])
    assert values(one / 0.0) == [np.inf] and values(one / -0.0) == [-np.inf] and values(one / 0.0) == [np.inf]
    assert values(one % 0) == [0]


def test_in_place_arithmetic_writes_into_the_memory():
    a = nd.array([[1, 2], [3, 4]])
    view = a[0]
    a += 1
    a *= nd.array([1, 2])
    a -= 1
    a /= 2
    assert values(view) == [0.5, 2.5]
    with pytest.raises(mx.MXNetError):
        view += nd.ones((3, 2))
    with pytest.raises(mx.MXNetError):
        view += nd.ones(2, dtype="float64")
    before = view
    view **= 2
    assert view is not before


def test_out_writes_and_is_returned():
    a, out = nd.array([1, -1]), nd.zeros(2)
    assert nd.relu(a, out=out) is out and values(out) == [1, 0]
    assert nd.relu(a, out=a) is a and values(a) == [1, 0]
    with pytest.raises(mx.MXNetError, match="expected"):
        nd.relu(a, out=nd.zeros(3))
    with pytest.raises(mx.MXNetError, match="int32"):
        nd.relu(a, out=nd.zeros(2, dtype="int32"))
    first, second = nd.zeros((1, 2)), nd.zeros((1, 2))
    nd.split(nd.array([[1, 2], [3, 4]]), num_outputs=2, axis=0, out=[first, second])
    assert values(second) == [[3, 4]]


def test_argument_errors():
    a = nd.ones((2, 3))
    with pytest.raises(AssertionError, match="Argument data must have NDArray type, but got 3"):
        nd.relu(3)
    with pytest.raises(AssertionError, match="Positional arguments must have NDArray type, but got 3"):
        nd.concat(a, 3)
    with pytest.raises(mx.MXNetError, match="expects 1 inputs, but got 0"):
        nd.relu()
    with pytest.raises(mx.MXNetError, match="expects 3 inputs, but got 2"):
        nd.FullyConnected(a, a, num_hidden=2)
    with pytest.raises(mx.MXNetError, match="Cannot find argument 'foo'"):
        nd.sum(a, foo=1)
    with pytest.raises(mx.MXNetError, match="Required parameter num_hidden"):
        nd.FullyConnected(a, a)
    assert nd.relu(a, foo=1).shape == (2, 3)  # operators without attributes ignore keywords, as MXNet's do
    with pytest.raises(mx.MXNetError, match="FullyConnected"):
        nd.FullyConnected(a, nd.ones((4, 5)), nd.ones(4), num_hidden=4)
    with pytest.raises(AttributeError):
        nd.no_such_operator  # noqa: B018


@pytest.mark.parametrize("name", ["relu", "FullyConnected", "concat", "sum", "broadcast_add", "BatchNorm", "dot"])
def test_functions_have_mxnets_parameters(name):
    function = getattr(nd, name)
    listed = ", ".join(str(p).split(":")[0].replace(" ", "") for p in inspect.signature(function).parameters.values())
    assert f"def {name}({listed}):" == def_line(get(name), name, "nd")
    assert function.__name__ == name and "Arguments:" in function.__doc__


def test_attributes_in_any_form_mean_the_same():
    a = nd.array(np.arange(6).reshape(2, 3))
    for axis in (1, "1", (1,), [1], np.int64(1)):
        assert values(nd.sum(a, axis=axis)) == [3, 12]
    for dtype in ("int32", np.int32, np.dtype("int32")):
        assert nd.cast(a, dtype=dtype).dtype is np.int32


def test_multi_output_functions_return_lists_except_for_one_output():
    assert isinstance(nd.split(nd.ones((2, 2)), num_outputs=2, axis=0), list)
    assert isinstance(nd.split(nd.ones((2, 2)), num_outputs=1, axis=0), nd.NDArray)
    assert nd.dot(nd.ones(3), nd.ones(3)).shape == (1,) and nd.sum(nd.ones((2, 2))).shape == (1,)


def test_functions_are_where_mxnet_has_them():
    from mxexec_torch.ndarray import FullyConnected, op

    assert op.FullyConnected is FullyConnected is nd.FullyConnected
    assert values(nd._internal._plus_scalar(nd.ones(1), scalar=2)) == [3]
    assert callable(nd.linalg.gemm2) and callable(nd.contrib.box_nms) and "relu" in dir(nd) and "box_nms" in dir(nd.contrib)


def test_optimizer_operators_update_in_place():
    weight, grad, momentum = nd.ones(2), nd.ones(2), nd.zeros(2)
    assert nd.sgd_mom_update(weight, grad, momentum, lr=0.1, momentum=0.9, out=weight) is weight
    assert values(momentum) == pytest.approx([-0.1, -0.1]) and values(weight) == pytest.approx([0.9, 0.9])


def test_fluent_methods():
    a = nd.array([[4.0, 9.0]])
    assert values(a.sqrt()) == [[2, 3]] and values(a.sum(axis=1)) == [13] and values(a.max()) == [9] and a.transpose().shape == (2, 1)
    assert values(a.clip(5, 6)) == [[5, 6]] and a.one_hot(10).shape == (1, 2, 10) and values(a.slice_axis(axis=1, begin=1, end=2)) == [[9]]


def test_cached_op():
    x = mx.sym.Variable("x")
    op = nd.CachedOp(mx.sym.Group([x * 2, x + 1]))
    doubled, more = op(nd.array([3.0]))
    assert values(doubled) == [6] and values(more) == [4]
    leaf = nd.array([3.0])
    leaf.attach_grad()
    with mx.autograd.record():
        doubled, more = op(leaf)
        total = doubled * more
    total.backward()
    assert values(leaf.grad) == [14]
    with pytest.raises(mx.MXNetError, match="expects 1 inputs"):
        op()


def test_control_flow():
    total, states = nd.contrib.foreach(lambda x, s: (x + s, x + s), nd.array([1, 2, 3]), nd.array([0]))
    assert values(total) == [[1], [3], [6]] and values(states) == [6]
    outputs, variables = nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, i + 1), nd.array([1]), max_iterations=4)
    assert outputs.shape == (4, 1) and values(outputs)[:2] == [[1], [2]] and values(variables) == [3]
    assert nd.contrib.cond(nd.array([1]), lambda: "yes", lambda: "no") == "yes"
    with pytest.raises(ValueError, match="max_iterations"):
        nd.contrib.while_loop(lambda i: i, lambda i: (i, i), nd.array([1]))


def test_random_arguments_and_seed():
    mx.random.seed(3)
    first = nd.random.uniform(shape=(2, 3))
    mx.random.seed(3)
    assert values(nd.random.uniform(shape=(2, 3))) == values(first)
    assert nd.random.normal().shape == (1,) and nd.random.randint(0, 5, shape=3).dtype is np.int32
    assert nd.random.uniform(nd.array([0, 10]), nd.array([1, 11]), shape=3).shape == (2, 3)
    out = nd.zeros((2, 2), dtype="float64")
    assert nd.random.normal(out=out) is out and np.abs(out.asnumpy()).sum() > 0
    with pytest.raises(ValueError, match="seed_state must be int"):
        mx.random.seed(1.5)
    with pytest.raises(AssertionError, match="same type"):
        nd.random.uniform(nd.array([0]), 1)
    with pytest.raises(ValueError, match="NDArray or numbers"):
        nd.random.uniform("a", 1)
    rows = nd.random.shuffle(nd.array([[1, 2], [3, 4], [5, 6]])).asnumpy()
    assert sorted(rows.tolist()) == [[1, 2], [3, 4], [5, 6]]
