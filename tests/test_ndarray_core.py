"""NDArray: creation, description, conversion, copies, contexts, exchange. Expected values are MXNet 1.9.1's."""

from __future__ import annotations

import copy
import ctypes
import pickle
import warnings

import numpy as np
import pytest
import torch

import mxexec_torch as mx
from mxexec_torch import MXNetError
from mxexec_torch.base import NDArrayHandle
from mxexec_torch.ndarray.core import handle_of, wrap

nd = mx.nd


@pytest.mark.parametrize("source", [np.arange(3), np.arange(3.0), np.array([True, False]), [1, 2], (1, 2), 3, np.float64(2)])
def test_array_is_float32_unless_told_otherwise(source):
    made = nd.array(source)
    assert made.dtype is np.float32 and made.shape == np.shape(source)
    assert nd.array(source, dtype="int32").dtype is np.int32


def test_array_keeps_the_type_of_an_ndarray_and_copies():
    source = nd.array([1, 2], dtype="int64")
    made = nd.array(source)
    made[0] = 7
    assert made.dtype is np.int64 and source.asnumpy().tolist() == [1, 2]


@pytest.mark.parametrize("bad, error", [([[1, 2], [3]], TypeError), ("x", TypeError), (None, None)])
def test_array_refuses_what_is_not_array_like(bad, error):
    if error is None:
        assert np.isnan(nd.array(bad).asscalar())  # None becomes NaN
    else:
        with pytest.raises(error):
            nd.array(bad)


def test_unknown_types_are_refused_as_mxnet_does():
    with pytest.raises(TypeError):
        nd.zeros(2, dtype="foo")
    with pytest.raises(KeyError):
        nd.array([1], dtype="complex64")


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (-1,)])
def test_constants_refuse_unknown_shapes(shape):
    with pytest.raises(mx.MXNetError):
        nd.zeros(shape)


def test_scalars_and_empty_arrays_exist_under_np_shape():
    with mx.np_shape():
        assert nd.zeros(()).shape == () and nd.ones((2, 0)).shape == (2, 0)


def test_arange_linspace_eye_full():
    assert nd.arange(3).asnumpy().tolist() == [0, 1, 2]
    assert nd.arange(2, 6, step=2, repeat=2, dtype="int32").asnumpy().tolist() == [2, 2, 4, 4]
    assert nd.linspace(0, 1, 5, endpoint=False).asnumpy() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])
    assert nd.eye(2, 3, k=1).asnumpy().tolist() == [[0, 1, 0], [0, 0, 1]]
    assert nd.full((1, 2), 3, dtype="uint8").asnumpy().tolist() == [[3, 3]]
    out = nd.zeros(2)
    assert nd.ones((2,), out=out) is out and out.asnumpy().tolist() == [1, 1]


def test_description():
    a = nd.zeros((2, 3))
    assert (a.shape, a.ndim, a.size, len(a), a.stype) == ((2, 3), 2, 6, 2, "default")
    assert type(a.shape) is tuple and a.dtype is np.float32 and a.dtype != "float32"
    assert repr(a) == "\n[[0. 0. 0.]\n [0. 0. 0.]]\n<NDArray 2x3 @cpu(0)>"
    with pytest.raises(AttributeError):
        a.shape = (3, 2)


def test_truth_and_scalars():
    assert bool(nd.array([2])) and not bool(nd.array([0]))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(nd.ones(2))
    assert nd.array([3.5]).asscalar() == np.float32(3.5)
    with pytest.raises(ValueError, match="not a scalar"):
        nd.ones(2).asscalar()


def test_numpy_makes_objects_of_ndarrays_and_refuses_numbers():
    objects = np.array(nd.array([1, 2]))
    assert objects.dtype == object and objects.size == 2
    with pytest.raises(ValueError, match="asnumpy"):
        np.array(nd.array([1, 2]), dtype=np.float32)
    with pytest.raises(TypeError):
        np.ones(2) + nd.ones(2)
    assert (np.float64(2) * nd.ones(2)).asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize(
    "values, dtype, expected",
    [([1.7, -1.7], "int32", [1, -1]), ([1.7, 300], "uint8", [1, 44]), ([1e6, 1], "float16", [np.inf, 1]), ([2, 0], "bool", [True, False])],
)
def test_astype(values, dtype, expected):
    assert nd.array(values).astype(dtype).asnumpy().tolist() == expected


def test_astype_copies_unless_told_not_to():
    a = nd.ones(2)
    assert a.astype("float32") is not a and a.astype("float32", copy=False) is a


def test_copyto():
    a, b = nd.array([1.9, 2]), nd.zeros(2, dtype="int32")
    assert a.copyto(b) is b and b.asnumpy().tolist() == [1, 2]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert a.copyto(a) is False and caught
    moved = a.copyto(mx.cpu(1))
    moved[:] = 0
    assert moved.context == mx.cpu(1) and a.asnumpy()[1] == 2
    with pytest.raises(mx.MXNetError, match=r"expected \[2\], got \[3\]"):
        a.copyto(nd.zeros(3))
    with pytest.raises(TypeError):
        a.copyto(3)


def test_as_in_context_returns_the_array_itself_where_it_lives():
    a = nd.ones(2)
    assert a.as_in_context(mx.cpu(0)) is a and a.as_in_context(mx.cpu(1)) is not a
    assert copy.deepcopy(a) is not a


def test_contexts():
    assert str(mx.cpu(3)) == "cpu(3)" and mx.cpu(1) != mx.cpu(0) and len({mx.cpu(), mx.Context("cpu")}) == 1
    with mx.cpu(2):
        with mx.cpu(3):
            assert nd.ones(1).context == mx.cpu(3)
        assert mx.current_context() == mx.cpu(2)
    with pytest.raises(KeyError):
        mx.Context("tpu")
    assert pickle.loads(pickle.dumps(mx.gpu(1))) == mx.gpu(1)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_missing_gpu_is_an_mxnet_error():
    with pytest.raises(mx.MXNetError, match="gpu"):
        nd.ones(2, ctx=mx.gpu(0))


def test_handles_stand_for_arrays():
    a = nd.ones(2)
    again = nd.NDArray(ctypes.cast(handle_of(a), NDArrayHandle), writable=False)
    again._t.add_(1)
    assert a.asnumpy().tolist() == [2, 2] and not again.writable
    with pytest.raises(ValueError, match="trying to add to a readonly NDArray"):
        again += 1
    handle = a.handle.value
    del a
    with pytest.raises(mx.MXNetError):
        nd.NDArray(NDArrayHandle(handle))


def test_pickle():
    a = nd.array([[1, 2]], dtype="float16", ctx=mx.cpu(1))
    b = pickle.loads(pickle.dumps(a))
    assert b.dtype is np.float16 and b.asnumpy().tolist() == [[1, 2]] and b.context == mx.cpu(0)


def test_dlpack_and_from_numpy_share_memory():
    a = nd.zeros(2)
    nd.from_dlpack(a.to_dlpack_for_write())[:] = 3
    torch.from_dlpack(a.to_dlpack_for_read())[0] = 4
    assert a.asnumpy().tolist() == [4, 3]
    source = np.zeros(2)
    shared = nd.from_numpy(source)
    shared[:] = 5
    assert source.tolist() == [5, 5] and not source.flags.writeable and shared.dtype is np.float64
    with pytest.raises(ValueError, match="contiguous"):
        nd.from_numpy(np.zeros((2, 2)).T)


@pytest.mark.parametrize("name", ["expand_dims", "flatten", "T", "swapaxes", "broadcast_to", "squeeze", "slice_axis", "identity"])
def test_operators_copy(name):
    a = nd.ones((1, 2))
    made = {
        "expand_dims": lambda: a.expand_dims(0), "flatten": lambda: a.flatten(), "T": lambda: a.T, "swapaxes": lambda: a.swapaxes(0, 1),
        "broadcast_to": lambda: a.broadcast_to((1, 2)), "squeeze": lambda: a.squeeze(), "slice_axis": lambda: a.slice_axis(axis=1, begin=0, end=1),
        "identity": lambda: nd.identity(a),
    }[name]()  # fmt: skip
    made[:] = 9
    assert a.asnumpy().tolist() == [[1, 1]]


@pytest.mark.parametrize(
    "shape, expected", [((2, 6), (2, 6)), ((-1,), (12,)), ((0, -1), (3, 4)), ((-3,), (12,)), ((-4, 3, 1, -2), (3, 1, 4)), ((2, -1, 2), (2, 3, 2))]
)
def test_reshape_gives_views(shape, expected):
    a = nd.zeros((3, 4))
    view = a.reshape(shape)
    view[:] = 1
    assert view.shape == expected and a.asnumpy().sum() == 12
    assert a.reshape(*shape).shape == expected


def test_reshape_errors():
    a = nd.zeros((3, 4))
    with pytest.raises(ValueError, match=r"Cannot reshape array of size 12 into shape \(5,\)"):
        a.reshape((5,))
    with pytest.raises(mx.MXNetError, match="target shape size is larger than the current shape"):
        a.reshape((13,))
    with pytest.raises(mx.MXNetError):
        a.reshape((-1, -1))
    with pytest.raises(AssertionError):
        a.reshape()
    with pytest.raises(TypeError, match="Got unknown keywords"):
        a.reshape(12, foo=1)


def test_views_of_other_methods():
    a = nd.zeros((1, 2))
    for view in (a.detach(), a.expand_dims(0, inplace=True), a.squeeze(inplace=True), a.flatten(inplace=True), a.as_in_context(mx.cpu())):
        view[:] = view + 1
    assert a.asnumpy().tolist() == [[5, 5]]


def test_moveaxis_concatenate_split_histogram():
    assert nd.moveaxis(nd.zeros((2, 3, 4)), 0, -1).shape == (3, 4, 2)
    with pytest.raises(ValueError):
        nd.moveaxis(nd.zeros((2, 3)), 2, 0)
    one = nd.ones((1, 2))
    assert nd.concatenate([one], always_copy=False) is one and nd.concatenate([one, one], axis=1).shape == (1, 4)
    assert [part.shape for part in nd.split_v2(nd.zeros((5, 2)), (1, 3))] == [(1, 2), (2, 2), (2, 2)]
    counts, edges = nd.histogram(nd.array([1, 2, 2, 9]), bins=2, range=(0, 4))
    assert counts.asnumpy().tolist() == [1, 2] and edges.asnumpy().tolist() == [0, 2, 4]


def test_wrap_takes_a_tensor_as_it_is():
    tensor = torch.zeros(2)
    array = wrap(tensor, mx.cpu(2))
    array += 1
    assert tensor.tolist() == [1, 1] and array.context == mx.cpu(2) and wrap(tensor).context == mx.cpu(0)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: nd.zeros((2.0, 3)), MXNetError), (lambda: nd.ones(None), MXNetError), (lambda: nd.zeros("a"), MXNetError),
        (lambda: nd.zeros(np.array([2, 3])), MXNetError), (lambda: nd.zeros((2,), dtype="int16"), MXNetError),
        (lambda: nd.array([1], dtype="int16"), KeyError), (lambda: nd.ones((2,)).astype("uint32"), KeyError),
        (lambda: nd.ones((2,)).astype("foo"), TypeError), (lambda: nd.empty((-1, 2)), OverflowError),
        (lambda: nd.ones((6,)).reshape((2.0, 3)), TypeError), (lambda: nd.ones((6,)).reshape("x"), TypeError),
        (lambda: nd.ones((6,)).reshape(shape=-1), TypeError), (lambda: nd.ones((1,)).broadcast_to(3), TypeError),
        (lambda: nd.ones((2, 2)).tostype("foo"), MXNetError), (lambda: nd.array(np.array(["a"])), ValueError),
        (lambda: nd.sparse.zeros("csr", (2.0, 3)), TypeError), (lambda: nd.sparse.zeros("csr", (0, 3)), MXNetError),
        (lambda: nd.sparse.zeros("row_sparse", (-1, 3)), OverflowError), (lambda: nd.ones((3, 2))[[]], MXNetError),
        (lambda: nd.ones((3, 2)).__setitem__(slice(3, None), nd.ones((1, 2))), MXNetError), (lambda: nd.from_dlpack(3), AssertionError),
    ],
)  # fmt: skip
def test_refusals_are_of_mxnets_classes(call, error):
    with pytest.raises(error) as caught:
        call()
    assert caught.type is error or issubclass(caught.type, MXNetError)


@pytest.mark.filterwarnings("error")
def test_numbers_out_of_range_wrap_silently():
    assert nd.array([1.7, -2.2], dtype="uint8").asnumpy().tolist() == [1, 254]
    assert nd.array([300, -1], dtype="uint8").asnumpy().tolist() == [44, 255]
    assert np.isinf(nd.array([1e40]).asnumpy()).all()
    assert np.isnan(nd.array(np.array([None])).asnumpy()).all()
    assert nd.ones((2,), dtype="float64").astype(None).dtype is np.float32


def test_an_array_stands_for_its_element_type() -> None:
    """`x.astype(y)`, as NumPy 1 let an object with a dtype stand for it."""
    like = mx.nd.ones((2,), dtype="float16")
    assert mx.nd.ones((3,)).astype(like).dtype is np.float16
