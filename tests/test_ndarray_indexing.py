"""Indexing of NDArrays: which keys give views, the forms of assignment, errors. Expected values are MXNet 1.9.1's."""

from __future__ import annotations

import numpy as np
import pytest

import mxexec_torch as mx

nd = mx.nd
S = slice


def grid(*shape):
    return nd.array(np.arange(np.prod(shape)).reshape(shape))


@pytest.mark.parametrize(
    "key, shape, view",
    [
        (1, (4,), True), (-1, (4,), True), (S(1, 3), (2, 4), True), (S(None), (3, 4), True), ((1, 2), (1,), True), ((0, S(1, 3)), (2,), True),
        ((S(0, 2), S(None)), (2, 4), True), ((None, 1), (1, 4), True), ((Ellipsis, 1), (3,), False), ((S(None), 2), (3,), False),
        ((S(0, 2), S(1, 3)), (2, 2), False), (S(0, 3, 2), (2, 4), False), (S(None, None, -1), (3, 4), False), ([0, 2], (2, 4), False),
        (([0, 2], [1, 3]), (2,), False), (np.array([0, 2]), (2, 4), False), ((S(0, 2), [3, 0]), (2, 2), False), (range(2), (2, 4), False),
        (np.int64(1), (4,), True), ((S(2, 3), S(1, 2)), (1, 1), True),
    ],
)  # fmt: skip
def test_views_and_copies(key, shape, view):
    a = grid(3, 4)
    expected = a.asnumpy()[key]
    taken = a[key]
    assert taken.shape == shape and np.array_equal(taken.asnumpy().reshape(expected.shape), expected)
    taken[:] = -5
    assert (a.asnumpy() == -5).any() == view


def test_views_chain():
    a = grid(2, 3, 4)
    a[1][2][3:4] = 100
    a[0][1:3][0] = 50
    assert a.asnumpy()[1, 2, 3] == 100 and (a.asnumpy()[0, 1] == 50).all()


def test_masks_and_true_count_as_integers():
    a = grid(3, 4)
    assert a[True].asnumpy().tolist() == [4, 5, 6, 7]
    assert a[np.array([True, False, True])].asnumpy()[:, 0].tolist() == [4, 0, 4]
    assert a[nd.array([1.9])].asnumpy().tolist() == [[4, 5, 6, 7]]


def test_new_axes_beside_arrays_are_placed_as_mxnet_does():
    a = grid(3, 4)
    assert a[[0, 1], None].shape == (1, 2, 4) and a[[0, 1], :, None].shape == (2, 1, 4)


@pytest.mark.parametrize(
    "key, error, text",
    [
        (3, IndexError, "index 3 is out of bounds for axis 0 with size 3"), (-4, IndexError, "index -4 is out of bounds"),
        ((0, 4), IndexError, "index 4 is out of bounds"), ([5], IndexError, "index 5 is out of bounds for axis 0 with size 3"),
        ((0, 0, 0), IndexError, r"too many indices \(3\) for array with 2 dimensions"), (1.0, ValueError, "1.0"), ("a", ValueError, "'?a'?"),
        ((Ellipsis, Ellipsis), IndexError, "ellipsis"), (S(None, None, 0), ValueError, "step"),
        (([0, 1], [0, 1, 2]), ValueError, "not broadcastable"),
    ],
)  # fmt: skip
def test_key_errors(key, error, text):
    with pytest.raises(error, match=text):
        grid(3, 4)[key]
    if error is IndexError:
        with pytest.raises(IndexError):
            grid(3, 4)[key] = 1


@pytest.mark.parametrize(
    "key, value",
    [
        (S(None), 7), (S(None), [1, 2, 3, 4]), (S(None), [[1], [2], [3]]), (1, [1, 2, 3, 4]), (1, np.arange(4)), ((1, 2), 99),
        ((S(0, 2), S(1, 3)), [[1, 2], [3, 4]]), (S(0, 3, 2), 5), (S(None, None, -1), np.arange(12).reshape(3, 4)), ([0, 2], 5),
        (([0, 2], [1, 3]), [50, 60]), (Ellipsis, 2), ((S(None), -1), [7, 8, 9]), ((S(None), S(None, None, -2)), [[1, 2]]), ((1, [0, 3]), -1),
    ],
)  # fmt: skip
def test_assignment(key, value):
    expected = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected[key] = value
    for given in (value, nd.array(value), np.array(value, dtype=np.float64)):
        a = grid(3, 4)
        a[key] = given
        assert np.array_equal(a.asnumpy(), expected)


def test_assignment_converts():
    a = nd.array([1, 2], dtype="int32")
    a[0] = 7.9
    a[1:] = nd.array([3.9])
    assert a.asnumpy().tolist() == [7, 3]
    small = nd.zeros(2, dtype="uint8")
    small[:] = -2
    assert small.asnumpy().tolist() == [254, 254]
    floats = nd.ones(2)
    floats[0] = None
    assert np.isnan(floats.asnumpy()).tolist() == [True, False]
    floats[0] = nd.ones((1, 1, 1, 1))
    assert floats.asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize(
    "key, value, error", [(S(None), [1, 2, 3], ValueError), (1, nd.ones(3), ValueError), (1, "x", TypeError), (0, np.ones(5), ValueError)]
)
def test_assignment_errors(key, value, error):
    with pytest.raises(error):
        grid(3, 4)[key] = value


def test_false_as_index_of_an_assignment_is_refused():
    a = grid(3, 4)
    with pytest.raises(IndexError):
        a[False] = 1
    a[True] = 2  # selects everything
    assert (a.asnumpy() == 2).all()


def test_iteration_and_scalars():
    assert [x.shape for x in nd.ones((2, 3))] == [(3,), (3,)] and [x.shape for x in nd.ones(2)] == [(1,), (1,)]
    scalar = nd.array(5)
    scalar[()] = 7
    assert scalar[()].asscalar() == 7
    with pytest.raises(IndexError):
        scalar[0]


def test_a_slice_may_be_empty():
    assert grid(3, 4)[5:7].shape == (0, 4)
