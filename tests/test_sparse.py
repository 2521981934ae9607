"""Sparse arrays. Storage types and stored elements are compared with what MXNet 1.9.1 gave (tests/storage_cases.py)."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx
from mxexec_torch import MXNetError, autograd
from mxexec_torch import ndarray as nd
from mxexec_torch.ndarray.sparse import CSRNDArray, RowSparseNDArray

from . import storage_cases

RECORDED = json.loads(storage_cases.RECORDED.read_text())
DENSE = np.array([[0, 1, 0], [2, 0, 3], [0, 0, 0]], dtype="float32")


def rows(data: Any = ((1.0, 2.0), (3.0, 4.0)), indices: Any = (1, 3), n: int = 5) -> RowSparseNDArray:
    return nd.sparse.row_sparse_array((np.array(data, dtype="float32"), list(indices)), shape=(n, len(data[0])))


def csr() -> CSRNDArray:
    return nd.sparse.csr_matrix(DENSE)


# ------------------------------------------------------------------------------------------------------ against the record
def test_inferred_storage_types() -> None:
    found = storage_cases.inferred(mx)
    assert found.keys() == RECORDED["inferred"].keys()
    different = {k: (v, found[k]) for k, v in RECORDED["inferred"].items() if found[k] != v}
    assert not different


def test_stored_elements_of_results() -> None:
    found = storage_cases.results(mx)
    assert found.keys() == RECORDED["results"].keys()
    for name, wanted in RECORDED["results"].items():
        _compare(name, found[name], wanted)


def _compare(name: str, got: Any, wanted: Any) -> None:
    if isinstance(wanted, list) and wanted and not isinstance(wanted[0], (int, float)):
        assert len(got) == len(wanted), name
        for g, w in zip(got, wanted, strict=True):
            _compare(name, g, w)
    elif isinstance(wanted, list):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, err_msg=name)
    else:
        assert got == wanted, name


# ---------------------------------------------------------------------------------------------------------------- creation
@pytest.mark.parametrize(
    "make",
    [
        lambda: nd.sparse.csr_matrix(DENSE), lambda: nd.sparse.csr_matrix(nd.array(DENSE)), lambda: nd.sparse.csr_matrix(DENSE.tolist()),
        lambda: nd.sparse.csr_matrix(csr()), lambda: nd.sparse.csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 3, 3]), shape=(3, 3)),
        lambda: nd.sparse.csr_matrix((nd.array([1, 2, 3]), nd.array([1, 0, 2]), nd.array([0, 1, 3, 3]))),
        lambda: nd.sparse.array(csr()), lambda: nd.array(csr()), lambda: nd.array(DENSE).tostype("csr"),
    ],
)  # fmt: skip
def test_csr_from_many_things(make: Any) -> None:
    made = make()
    assert made.stype == "csr" and type(made) is CSRNDArray and made.shape == (3, 3) and made.dtype is np.float32
    np.testing.assert_array_equal(made.asnumpy(), DENSE)
    made.check_format()
    assert made.indices.dtype is np.int64 and made.indptr.dtype is np.int64
    np.testing.assert_array_equal(made.indptr.asnumpy(), [0, 1, 3, 3])


def test_csr_from_scipy_and_coordinates() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(DENSE.astype("float64"))
    for made in (nd.sparse.csr_matrix(matrix), nd.sparse.array(matrix), nd.array(matrix)):
        assert made.dtype is np.float64
        np.testing.assert_array_equal(made.asnumpy(), DENSE)
    doubled = nd.sparse.csr_matrix(([1.0, 1.0, 5.0], ([0, 0, 2], [1, 1, 0])), shape=(3, 2))
    np.testing.assert_array_equal(doubled.asnumpy(), [[0, 2], [0, 0], [5, 0]])
    assert (csr().asscipy() != sparse.csr_matrix(DENSE)).nnz == 0


def test_row_sparse_from_many_things() -> None:
    dense = np.zeros((4, 2, 3), dtype="float32")
    dense[2] = 7
    for made in (nd.sparse.row_sparse_array(dense), nd.array(dense).tostype("row_sparse"), nd.sparse.row_sparse_array((dense[2:3], [2]), shape=(4, 2, 3))):
        assert made.stype == "row_sparse" and type(made) is RowSparseNDArray
        np.testing.assert_array_equal(made.asnumpy(), dense)
        np.testing.assert_array_equal(made.indices.asnumpy(), [2])
    assert nd.sparse.row_sparse_array((np.ones((1, 2)), [4])).shape == (5, 2)


def test_empty_ones() -> None:
    for made in (nd.zeros((3, 2), stype="csr"), nd.sparse.csr_matrix((3, 2)), nd.sparse.empty("csr", (3, 2)), nd.empty((3, 2), stype="csr")):
        assert made.data.shape == (0,) and made.indptr.shape == (4,) and not made.asnumpy().any()
    for made in (nd.zeros((3, 2), stype="row_sparse"), nd.sparse.row_sparse_array((3, 2)), nd.sparse.zeros("row_sparse", (3, 2), dtype="int32")):
        assert made.data.shape == (0, 2) and made.indices.shape == (0,) and not made.asnumpy().any()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: nd.sparse.csr_matrix(DENSE, shape=(2, 2)), ValueError), (lambda: nd.sparse.csr_matrix((2, 2), shape=(3, 2)), ValueError),
        (lambda: nd.sparse.csr_matrix(([], [], [0])), ValueError), (lambda: nd.sparse.csr_matrix(rows()), ValueError),
        (lambda: nd.sparse.row_sparse_array(csr()), ValueError), (lambda: nd.sparse.row_sparse_array((2, 2), shape=(3, 2)), ValueError),
        (lambda: nd.sparse.zeros("dense", (2, 2)), ValueError), (lambda: nd.array([1, 2]).tostype("csr"), ValueError),
        (lambda: csr().tostype("row_sparse"), ValueError), (lambda: rows().tostype("csr"), ValueError),
        (lambda: nd.sparse.array(nd.ones(2)), AssertionError), (lambda: nd.sparse.csr_matrix(object()), TypeError),
        (lambda: csr().size, NotImplementedError), (lambda: csr().reshape((9,)), MXNetError), (lambda: rows()[1], Exception),
        (lambda: csr()[::2], ValueError), (lambda: csr()[0, 1], ValueError), (lambda: rows().copyto(nd.zeros((5, 2), stype="csr")), TypeError),
        (lambda: rows().copyto(nd.zeros((4, 2))), MXNetError), (lambda: nd.sparse.retain(nd.ones((2, 2)), nd.ones(1)), MXNetError),
        (lambda: nd.clip(rows(), 1, 2), MXNetError), (lambda: nd.contrib.getnnz(rows()), MXNetError),
    ],
)  # fmt: skip
def test_refusals(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nd.sparse.csr_matrix(([7, 8, 9], [0, 2, 1], [0, 5, 2, 3]), shape=(3, 4)), "must not fall"),
        (lambda: nd.sparse.csr_matrix(([7, 8, 9], [2, 1, 1], [0, 2, 2, 3]), shape=(3, 4)), "must rise"),
        (lambda: nd.sparse.csr_matrix(([7, 8, 9], [1, 2, 1], [0, 2, 2, 4]), shape=(3, 4)), "run from"),
        (lambda: nd.sparse.csr_matrix(([7, 8, 9], [1, 9, 1], [0, 2, 2, 3]), shape=(3, 4)), "outside 0 to 3"),
        (lambda: rows(indices=(1, 9)), "outside 0 to 4"), (lambda: rows(indices=(3, 1)), "must rise"), (lambda: rows(indices=(1, -2)), "outside"),
    ],
)  # fmt: skip
def test_check_format(make: Any, text: str) -> None:
    array = make()
    with pytest.raises(MXNetError, match=text):
        array.check_format()


def test_an_impossible_array_gives_an_error_and_no_crash() -> None:
    for array in (rows(indices=(1, 9)), nd.sparse.csr_matrix(([7], [9], [0, 1, 1]), shape=(2, 3))):
        with pytest.raises(MXNetError, match="outside"):
            array.asnumpy()


# ------------------------------------------------------------------------------------------------------- behaving as array
def test_parts_are_copies_and_description() -> None:
    array = csr()
    array.data[:] = 9
    np.testing.assert_array_equal(array.asnumpy(), DENSE)
    assert repr(array) == str(array) == "\n<CSRNDArray 3x3 @cpu(0)>"
    assert len(array) == 3 and array.ndim == 2 and array.context == mx.cpu() and array._num_aux == 2
    with pytest.raises(NotImplementedError):
        array.data = nd.ones(3)


def test_copies_convert_types_and_contexts() -> None:
    for array in (csr(), rows()):
        wide = array.astype("float64")
        assert wide.dtype is np.float64 and wide.stype == array.stype
        assert array.astype("float32", copy=False) is array and array.astype("float32") is not array
        moved = array.copyto(mx.cpu(1))
        assert moved.context == mx.cpu(1) and moved.stype == array.stype
        assert array.as_in_context(mx.cpu()) is array
        target = nd.zeros(array.shape, stype=array.stype, dtype="float64")
        assert array.copyto(target) is target and target.dtype is np.float64
        np.testing.assert_array_equal(target.asnumpy(), array.asnumpy())
        dense = nd.zeros(array.shape)
        array.copyto(dense)
        np.testing.assert_array_equal(dense.asnumpy(), array.asnumpy())
        with pytest.warns(RuntimeWarning):
            assert array.copyto(array) is False


def test_assignment_takes_over_content() -> None:
    for stype in ("csr", "row_sparse"):
        array = nd.zeros((3, 3), stype=stype)
        for source in (nd.array(DENSE), nd.array(DENSE).tostype(stype)):
            array[:] = 0 * array
            array[:] = source
            np.testing.assert_array_equal(array.asnumpy(), DENSE)
        with pytest.warns(RuntimeWarning):
            array[:] = DENSE * 2
        np.testing.assert_array_equal(array.asnumpy(), DENSE * 2)
        with pytest.raises(Exception, match="only supports"):
            array[1] = 3
        with pytest.raises(TypeError):
            array[:] = "text"
    rows_only = nd.zeros((2, 2), stype="row_sparse")
    rows_only[:] = 2
    assert rows_only.asnumpy().tolist() == [[2, 2], [2, 2]]
    rows_only[:] = 0  # every row is stored all the same
    assert rows_only.indices.asnumpy().tolist() == [0, 1]
    with pytest.raises(TypeError):
        nd.zeros((2, 2))[:] = rows_only
    with pytest.raises(ValueError):
        nd.zeros((2, 2), stype="csr")[:] = 2


def test_rows_of_csr() -> None:
    for key in (0, 1, -1, slice(0, 2), slice(1, None), slice(-2, 3), slice(None, 1)):
        expected = DENSE[[key]] if isinstance(key, int) else DENSE[key]
        got = csr()[key]
        assert got.stype == "csr"
        np.testing.assert_array_equal(got.asnumpy(), expected)
        got.check_format()
    array = csr()
    assert array[:] is array


def test_in_place_arithmetic_keeps_the_array() -> None:
    for array in (csr(), nd.array(DENSE).tostype("row_sparse")):
        same = array
        array += array
        array *= 3
        array -= nd.array(DENSE)
        array /= 5
        assert array is same
        np.testing.assert_allclose(array.asnumpy(), DENSE)


def test_pickle_keeps_storage() -> None:
    for array in (csr(), rows()):
        again = pickle.loads(pickle.dumps(array))
        assert type(again) is type(array)
        again.check_format()
        np.testing.assert_array_equal(again.asnumpy(), array.asnumpy())


def test_results_do_not_share_memory_with_operands() -> None:
    array = csr()
    for other in (array.copy(), nd.identity(array), array + nd.zeros((3, 3), stype="csr"), array.tostype("csr"), array[0:3]):
        other._values.fill_(9)
    np.testing.assert_array_equal(array.asnumpy(), DENSE)


def test_huge_sparse_shapes_need_no_dense_memory() -> None:
    n = 1 << 20
    wide = nd.sparse.csr_matrix(([1.0, 2.0], [5, n - 1], [0, 2]), shape=(1, n))
    tall = nd.sparse.row_sparse_array((np.ones((2, 4)), [3, n * 64]), shape=(n * 128, 4))
    assert float(wide.sum().asscalar()) == 3 and float((wide * wide).norm().asscalar()) == pytest.approx(17**0.5)
    both = nd.elemwise_add(tall, tall)
    assert both.data.asnumpy().sum() == 16
    weight = nd.sparse.row_sparse_array((np.ones((1, 4)), [n - 1]), shape=(n, 4), dtype="float32")
    assert nd.dot(wide, weight).asnumpy().tolist() == [[2, 2, 2, 2]]


# --------------------------------------------------------------------------------------------------------------- gradients
def test_gradient_buffers_take_their_storage_type() -> None:
    weight = nd.array([[1, 2], [3, 4], [5, 6]])
    weight.attach_grad(stype="row_sparse")
    with autograd.record():
        loss = nd.Embedding(nd.array([2, 0, 2]), weight, input_dim=3, output_dim=2, sparse_grad=True).sum()
    loss.backward()
    assert weight.grad.stype == "row_sparse"
    assert weight.grad.indices.asnumpy().tolist() == [0, 2]
    assert weight.grad.asnumpy().tolist() == [[1, 1], [0, 0], [2, 2]]


def test_gradient_of_dot_with_csr() -> None:
    weight = nd.ones((3, 2))
    weight.attach_grad(stype="row_sparse")
    with autograd.record():
        out = nd.dot(csr(), weight)
    out.backward()
    np.testing.assert_array_equal(weight.grad.asnumpy(), DENSE.T @ np.ones((3, 2)))


def test_gradients_through_sparse_arrays() -> None:
    for stype in ("csr", "row_sparse"):
        x = nd.array(DENSE).tostype(stype)
        x.attach_grad()
        assert x.grad.stype == stype
        with autograd.record():
            y = nd.square(x * 2)
        assert y.stype == stype
        y.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), 8 * DENSE)


def test_gradient_request_add_on_sparse_buffers() -> None:
    x = nd.ones((3, 2))
    x.attach_grad(grad_req="add", stype="row_sparse")
    for _ in range(2):
        with autograd.record():
            y = nd.take(x, nd.array([1]))
        y.backward()
    assert x.grad.asnumpy().tolist() == [[0, 0], [2, 2], [0, 0]]


def test_executor_reads_and_writes_sparse_arrays() -> None:
    data, weight = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("w", stype="row_sparse")
    executor = mx.sym.dot(data, weight).simple_bind(mx.cpu(), data=(3, 3), w=(3, 2))
    assert executor.arg_dict["data"].stype == "csr" and executor.grad_dict["w"].stype == "row_sparse"
    executor.arg_dict["data"][:] = csr()
    executor.arg_dict["w"][:] = 1
    out = executor.forward(is_train=True)[0]
    np.testing.assert_array_equal(out.asnumpy(), DENSE @ np.ones((3, 2)))
    executor.backward(nd.ones((3, 2)))
    np.testing.assert_array_equal(executor.grad_dict["w"].asnumpy(), DENSE.T @ np.ones((3, 2)))
    executor.arg_dict["data"][:] = 2 * csr()
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), 2 * DENSE @ np.ones((3, 2)))


def test_executor_outputs_store_what_operators_store() -> None:
    a = mx.sym.Variable("a")
    executor = mx.sym._internal._scatter_plus_scalar(a, scalar=5).bind(mx.cpu(), {"a": rows(((0.0, 0.0), (3.0, 4.0)))})
    out = executor.forward()[0]
    assert out.stype == "row_sparse" and out.indices.asnumpy().tolist() == [1, 3]
    assert out.data.asnumpy().tolist() == [[5, 5], [8, 9]]


def test_unknown_storage_type_is_an_error_of_simple_bind() -> None:
    with pytest.raises(RuntimeError, match="simple_bind error"):
        (mx.sym.Variable("a") * 2).simple_bind(mx.cpu(), a=(3, 2), stype_dict={"a": "foo"})


# ------------------------------------------------------------------------------------------------- what gradients store
def stored(array: Any) -> tuple[Any, ...]:
    """(storage type, row numbers, rows)"""
    return array.stype, array.indices.asnumpy().tolist(), array.data.asnumpy().tolist()


def matrix() -> Any:
    """A 3 x 6 csr matrix with a stored zero in column 5."""
    return nd.sparse.csr_matrix((np.array([1, 5, 0], "f"), np.array([0, 3, 5]), np.array([0, 1, 2, 3])), shape=(3, 6))


def weight(stype: str) -> Any:
    values = np.arange(12, dtype="f").reshape(6, 2) + 1
    return nd.array(values) if stype == "default" else nd.sparse.row_sparse_array((values[[0, 2, 3]], [0, 2, 3]), shape=(6, 2))


GRADIENTS = {
    "embedding": (
        lambda w: nd.Embedding(nd.array([3, 1, 3]), w, input_dim=6, output_dim=2, sparse_grad=True) * nd.array([[1, 1], [0, 0], [1, 2]]),
        ([1, 3], [[0, 0], [2, 3]]),
    ),
    "SparseEmbedding": (lambda w: nd.contrib.SparseEmbedding(nd.array([3, 1, 3]), w, input_dim=6, output_dim=2), ([1, 3], [[1, 1], [2, 2]])),
    "dot": (lambda w: nd.sparse.dot(matrix(), w), ([0, 3, 5], [[1, 1], [5, 5], [0, 0]])),
    "two dots": (lambda w: nd.sparse.dot(matrix(), w) + nd.sparse.dot(matrix(), w), ([0, 3, 5], [[2, 2], [10, 10], [0, 0]])),
}


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_hold_the_rows_in_use(name: str, stype: str) -> None:
    function, (rows_in_use, values) = GRADIENTS[name]
    w = weight(stype)
    w.attach_grad(stype="row_sparse")
    with autograd.record():
        y = function(w)
    y.backward()
    assert stored(w.grad) == ("row_sparse", rows_in_use, values)
    with autograd.record():
        y = function(w)
    assert stored(autograd.grad(y, [w])[0]) == ("row_sparse", rows_in_use, values)
    w.attach_grad("add", stype="row_sparse")
    for _ in range(2):
        with autograd.record():
            y = function(w)
        y.backward()
    assert stored(w.grad) == ("row_sparse", rows_in_use, [[2 * v for v in row] for row in values])
    w.attach_grad(stype="default")
    with autograd.record():
        y = function(w)
    y.backward()
    expected = np.zeros((6, 2))
    expected[rows_in_use] = values
    np.testing.assert_array_equal(w.grad.asnumpy(), expected)


@pytest.mark.parametrize(
    ("function", "rows_in_use", "values"),
    [
        (nd.square, [0, 2, 3], [[2, 4], [10, 12], [14, 16]]),
        (lambda w: nd._internal._square_sum(w, axis=1, keepdims=True), [0, 2, 3], [[2, 4], [10, 12], [14, 16]]),
        (lambda w: nd._internal._square_sum(w, axis=0), [0, 2, 3], [[2, 4], [10, 12], [14, 16]]),
        (lambda w: nd.sparse.retain(w, nd.array([2, 4])), [2, 4], [[1, 1], [1, 1]]),
        (lambda w: nd.sparse.add(w, w), [0, 1, 2, 3, 4, 5], [[2, 2]] * 6),
        (lambda w: -w * 2, [0, 1, 2, 3, 4, 5], [[-2, -2]] * 6),
        (lambda w: w.copy(), [0, 1, 2, 3, 4, 5], [[1, 1]] * 6),
        (lambda w: nd.relu(w), [0, 2, 3], [[1, 1]] * 3),
    ],
)
def test_gradients_of_operations_on_stored_rows(function: Any, rows_in_use: list[int], values: Any) -> None:
    w = weight("row_sparse")
    w.attach_grad()
    with autograd.record():
        y = function(w)
    y.backward()
    assert stored(w.grad) == ("row_sparse", rows_in_use, values)


def test_history_runs_through_sparse_arrays() -> None:
    w = weight("row_sparse")
    w.attach_grad()
    with autograd.record():
        y = nd.sparse.dot(matrix(), nd.square(w) * 3)
    y.backward()
    dense = w.asnumpy()
    np.testing.assert_array_equal(w.grad.asnumpy(), matrix().asnumpy().T @ np.ones((3, 2)) * 6 * dense)


def test_a_retained_row_that_is_not_stored_is_stored_while_recording_too() -> None:
    w = weight("row_sparse")
    w.attach_grad()
    with autograd.record():
        y = nd.sparse.retain(w, nd.array([2, 4]))
    assert stored(y) == ("row_sparse", [2, 4], [[5, 6], [0, 0]])


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_gradients_flow_through_tostype(stype: str) -> None:
    x = nd.array([[0, 1], [2, 0]])
    x.attach_grad()
    with autograd.record():
        y = x.tostype(stype)
    y.backward()
    assert y.stype == stype and x.grad.asnumpy().tolist() == [[1, 1], [1, 1]]


BIG = 1 << 40  # rows of one float: 4 TB if anything made them dense


def test_nothing_becomes_dense_imperatively() -> None:
    data = nd.sparse.csr_matrix((np.array([1, 2], "f"), np.array([5, BIG - 1]), np.array([0, 1, 2])), shape=(2, BIG))
    w = nd.sparse.row_sparse_array((np.array([[3.0], [4.0]], "f"), np.array([5, BIG - 1])), shape=(BIG, 1))
    w.attach_grad()
    with autograd.record():
        loss = nd.sparse.dot(data, w) + nd.Embedding(nd.array([5], dtype="float64"), w, input_dim=BIG, output_dim=1, sparse_grad=True)
    loss.backward()
    assert stored(w.grad) == ("row_sparse", [5, BIG - 1], [[3], [2]])
    mx.optimizer.SGD(learning_rate=1.0, wd=0.0).update(0, w, w.grad, None)
    assert stored(w) == ("row_sparse", [5, BIG - 1], [[0], [2]])


def test_nothing_becomes_dense_in_an_executor() -> None:
    rows_of_weight = 1 << 26
    data, w, b = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("w", stype="row_sparse"), mx.sym.Variable("b")
    net = mx.sym.LinearRegressionOutput(mx.sym.broadcast_add(mx.sym.sparse.dot(data, w), b), mx.sym.Variable("label"))
    executor = net.simple_bind(mx.cpu(), data=(2, rows_of_weight), w=(rows_of_weight, 64), b=(64,), label=(2, 64))  # 16 GB if dense
    executor.arg_dict["data"][:] = nd.sparse.csr_matrix(
        (np.array([1, 2], "f"), np.array([5, 7]), np.array([0, 1, 2])), shape=(2, rows_of_weight)
    )
    executor.arg_dict["w"][:] = nd.sparse.row_sparse_array((np.ones((2, 64), "f"), np.array([5, 7])), shape=(rows_of_weight, 64))
    out = executor.forward(is_train=True)[0]
    np.testing.assert_array_equal(out.asnumpy()[:, 0], [1, 2])
    executor.backward()
    grad = executor.grad_dict["w"]
    assert grad.stype == "row_sparse" and grad.indices.asnumpy().tolist() == [5, 7]
    np.testing.assert_allclose(grad.data.asnumpy()[:, 0], [1 / 64, 4 / 64])
    np.testing.assert_allclose(executor.grad_dict["b"].asnumpy(), np.full(64, 3 / 64))


def test_an_executor_hands_the_gradient_of_an_embedding_over_as_rows() -> None:
    net = mx.sym.Embedding(mx.sym.Variable("i"), mx.sym.Variable("w"), input_dim=6, output_dim=2, sparse_grad=True)
    for request, times in (("write", 1), ("add", 2)):
        executor = net.simple_bind(mx.cpu(), i=(3,), grad_req={"w": request})
        executor.arg_dict["i"][:] = nd.array([3, 1, 3])
        for _ in range(2):
            executor.forward(is_train=True)
            executor.backward(nd.array([[1, 1], [0, 0], [1, 2]]))
        assert stored(executor.grad_dict["w"]) == ("row_sparse", [1, 3], [[0, 0], [2 * times, 3 * times]])
    dense = net.bind(mx.cpu(), {"i": nd.array([3, 1, 3]), "w": nd.ones((6, 2))}, {"w": nd.ones((6, 2))}, {"w": "add"})
    dense.forward(is_train=True)
    dense.backward(nd.ones((3, 2)))
    assert dense.grad_dict["w"].asnumpy()[:, 0].tolist() == [1, 2, 1, 3, 1, 1]


def test_hybrid_blocks_take_sparse_input() -> None:
    class Product(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, w: Any) -> Any:  # noqa: N803 - Gluon's name
            return F.sparse.dot(x, w) * 2

    block = Product()
    block.hybridize()
    w = weight("default")
    w.attach_grad(stype="row_sparse")
    with autograd.record():
        y = block(matrix(), w)
    y.backward()
    assert stored(w.grad) == ("row_sparse", [0, 3, 5], [[2, 2], [10, 10], [0, 0]])


def test_a_monitor_sees_the_nodes_of_a_sparse_graph() -> None:
    data, w = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("w")
    executor = mx.sym.sparse.dot(data, w, name="product").bind(mx.cpu(), {"data": matrix(), "w": nd.ones((6, 2))}, {"w": nd.zeros((6, 2))})
    seen = []
    executor.set_monitor_callback(lambda name, handle: seen.append(name.decode()))
    executor.forward(is_train=True)
    executor.backward(nd.ones((3, 2)))
    assert "product_output" in seen and "product_backward_output1" in seen or "product_backward_output" in seen
    assert executor.grad_dict["w"].asnumpy()[:, 0].tolist() == [1, 0, 0, 5, 0, 0]


def test_custom_operator_behind_a_csr_argument() -> None:
    """Its own attributes, which are no operator's schema, reach it also where a graph runs on sparse arrays node by node."""

    class Scaled(mx.operator.CustomOp):  # type: ignore[misc]
        def __init__(self, factor: float) -> None:
            self._factor = factor

        def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], in_data[0] * self._factor)

        def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
            self.assign(in_grad[0], req[0], out_grad[0] * self._factor)

    @mx.operator.register("scaled_behind_csr")
    class ScaledProp(mx.operator.CustomOpProp):  # type: ignore[misc]
        def __init__(self, factor: str) -> None:
            super().__init__()
            self._factor = float(factor)

        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Scaled:
            return Scaled(self._factor)

    product = mx.sym.sparse.dot(mx.sym.Variable("data", stype="csr"), mx.sym.Variable("weight", stype="row_sparse", lr_mult=2))
    net = mx.sym.MakeLoss(mx.sym.Custom(product, factor=3, op_type="scaled_behind_csr"))
    executor = net.simple_bind(mx.cpu(), data=(2, 4), weight=(4, 1))
    executor.arg_dict["data"][:] = mx.nd.array([[0, 2, 0, 0], [1, 0, 0, 0]]).tostype("csr")
    executor.arg_dict["weight"][:] = mx.nd.ones((4, 1)).tostype("row_sparse")
    executor.forward(is_train=True)
    assert executor.outputs[0].asnumpy().tolist() == [[6], [3]]
    executor.backward()
    assert executor.grad_dict["weight"].asnumpy().tolist() == [[3], [6], [0], [0]]


def test_a_lazy_update_refuses_gradients_of_another_type() -> None:
    weight = mx.nd.ones((4, 2))
    grad = mx.nd.sparse.row_sparse_array((np.ones((2, 2)), [1, 3]), shape=(4, 2), dtype="float64")
    with pytest.raises(mx.MXNetError, match="float64"):
        mx.nd.sgd_update(weight, grad, lr=0.1, out=weight)


@pytest.mark.parametrize("make", [csr, rows])
def test_recorded_results_hold_what_unrecorded_ones_hold(make: Any) -> None:
    """Where the sparse operator's values differ from the dense one's, gradients or not."""
    x = make()
    x.attach_grad()
    plain = mx.nd._internal._scatter_plus_scalar(x, scalar=2.0)
    with autograd.record():
        result = mx.nd._internal._scatter_plus_scalar(x, scalar=2.0)
    assert result.stype == plain.stype and (result.asnumpy() == plain.asnumpy()).all() and (plain.asnumpy() == 0).any()
    result.backward(mx.nd.ones(x.shape) * 7)
    assert (x.grad.asnumpy() == 7).all()
