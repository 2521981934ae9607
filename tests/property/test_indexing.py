"""Indexing against NumPy: reads, views and writes with keys of every kind."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mxexec_torch as mx

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def _source(shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@st.composite
def basic(draw, newaxis=True):
    """A shape and a basic key without empty results (MXNet refuses some of them)."""
    shape = draw(SHAPES)
    key = draw(hnp.basic_indices(shape, allow_newaxis=newaxis, allow_ellipsis=True))
    return shape, key


@st.composite
def advanced(draw):
    """A shape and a key of slices, ints and at least one index array; arrays broadcast. New axes beside arrays are MXNet's own affair."""
    shape = draw(SHAPES)
    block = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2).map(tuple))
    count = draw(st.integers(1, len(shape)))
    at = draw(st.integers(0, count - 1))
    key = []
    for axis in range(count):
        kind = "array" if axis == at else draw(st.sampled_from(["array", "int", "slice"]))
        size = shape[axis]
        if kind == "array":
            entry = draw(hnp.arrays(np.int64, block, elements=st.integers(-size, size - 1)))
            key.append(entry.tolist() if draw(st.booleans()) else entry)
        elif kind == "int":
            key.append(draw(st.integers(-size, size - 1)))
        else:
            key.append(draw(st.slices(size)))
    return shape, tuple(key)


def _matches(taken, expected):
    """Equal, where an element alone has shape (1,)."""
    return taken.shape == (expected.shape or (1,)) and np.array_equal(taken.asnumpy().reshape(expected.shape), expected)


@given(basic())
@settings(deadline=None)
def test_basic_reads_agree_with_numpy(case):
    shape, key = case
    source = _source(shape)
    expected = source[key]
    if expected.size:
        assert _matches(mx.nd.array(source)[key], np.asarray(expected))


@given(basic(newaxis=False))
@settings(deadline=None)
def test_contiguous_blocks_are_views_and_others_copies(case):
    shape, key = case
    source = _source(shape)
    block = np.asarray(source[key])
    if block.size == 0:
        return
    array = mx.nd.array(source)
    array[key][:] = -1
    touched = (array.asnumpy() == -1).sum()
    assert touched == (block.size if block.flags.c_contiguous else 0)


@given(basic(newaxis=False), st.floats(-8, 8, width=32))
@settings(deadline=None)
def test_basic_writes_agree_with_numpy(case, value):
    shape, key = case
    expected = _source(shape)
    block = np.asarray(expected[key])
    if block.size == 0:
        return
    array, values = mx.nd.array(expected), np.linspace(-1, 1, block.size, dtype=np.float32).reshape(block.shape)
    expected[key] = values
    array[key] = values
    assert np.array_equal(array.asnumpy(), expected)
    expected[key] = value
    array[key] = value
    assert np.array_equal(array.asnumpy(), expected)


@given(advanced())
@settings(deadline=None)
def test_advanced_reads_agree_with_numpy_and_copy(case):
    shape, key = case
    source = _source(shape)
    array, expected = mx.nd.array(source), source[key]
    if expected.size == 0:
        return
    taken = array[key]
    assert taken.shape == expected.shape and np.array_equal(taken.asnumpy(), expected)
    taken[:] = -1
    assert np.array_equal(array.asnumpy(), source)


@given(advanced())
@settings(deadline=None)
def test_advanced_writes_agree_with_numpy(case):
    shape, key = case
    expected = _source(shape)
    if expected[key].size == 0:
        return
    array = mx.nd.array(expected)
    expected[key] = -3
    array[key] = -3
    assert np.array_equal(array.asnumpy(), expected)
    # repeated indices have no defined order, so that distinct values are only written where each element is hit once
    places = np.arange(expected.size).reshape(shape)[key]
    if len(np.unique(places)) == places.size:
        values = np.arange(places.size, dtype=np.float32).reshape(places.shape)
        expected[key] = values
        array[key] = mx.nd.array(values)
        assert np.array_equal(array.asnumpy(), expected)


@given(advanced())
@settings(deadline=None)
def test_gradients_through_advanced_reads_count_uses(case):
    shape, key = case
    source = _source(shape)
    if source[key].size == 0:
        return
    array = mx.nd.array(source)
    array.attach_grad()
    with mx.autograd.record():
        taken = array[key] * 1
    taken.backward()
    expected = np.zeros(shape, np.float32)
    np.add.at(expected, key, 1)
    assert np.array_equal(array.grad.asnumpy(), expected)
