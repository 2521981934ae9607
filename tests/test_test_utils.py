"""mx.test_utils: what test suites written for MXNet rely on."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import mxexec_torch as mx
from mxexec_torch import test_utils as tu


@pytest.fixture(autouse=True)
def seeded() -> None:
    np.random.seed(7)


def test_default_tolerances_are_those_of_1_9_1() -> None:
    assert [tu.default_rtols()[np.dtype(t)] for t in ("float16", "float32", "float64", "int32", "bool")] == [1e-2, 1e-4, 1e-5, 0, 0]
    assert [tu.default_atols()[np.dtype(t)] for t in ("float16", "float32", "float64", "int32", "bool")] == [1e-1, 1e-3, 1e-20, 0, 0]
    assert tu.get_tols(np.ones(1, "float16"), mx.nd.ones(1), None, None) == (1e-2, 1e-1)
    assert tu.get_tols(1.0, np.ones(1), 3e-3, {np.dtype("float64"): 0.5}) == (3e-3, 0.5)
    assert (tu.get_rtol(), tu.get_atol(), tu.get_rtol(0.5), tu.get_etol()) == (1e-5, 1e-20, 0.5, 0)


def test_assert_almost_equal() -> None:
    a = np.arange(6.0).reshape(2, 3)
    b = a.copy()
    b[1, 2] += 1
    tu.assert_almost_equal(a, mx.nd.array(a))
    tu.assert_almost_equal(mx.nd.array(a), mx.nd.array(a + 1e-5))
    tu.assert_almost_equal(np.array([np.nan]), np.array([np.nan]), equal_nan=True)
    tu.assert_almost_equal(np.ones((2, 3)), np.ones(3))
    with pytest.raises(AssertionError, match=r"exceeds tolerance(.|\n)*\(1, 2\), left=5\.0+, right=6\.0+"):
        tu.assert_almost_equal(a, b, names=("left", "right"))
    with pytest.raises(AssertionError, match="not equal"):
        tu.assert_almost_equal(np.ones((2, 3)), np.ones(3), use_broadcast=False)
    with pytest.raises(AssertionError):
        tu.assert_almost_equal(np.array([np.nan, 1.0]), np.array([0.0, 1.0]), equal_nan=True)
    with pytest.raises(AssertionError):
        tu.assert_almost_equal(np.array([True]), np.array([False]))
    tu.assert_almost_equal_with_err(a, b, etol=0.2)
    with pytest.raises(AssertionError):
        tu.assert_almost_equal_with_err(a, b, etol=0.1)
    tu.assert_almost_equal_ignore_nan(np.array([np.nan, 1.0]), np.array([5.0, 1.0]))
    assert tu.same(a, a) and not tu.same(a, b) and tu.almost_equal(a, a) and not tu.almost_equal(a, b)
    tu.assert_exception(int, ValueError, "x")
    with pytest.raises(AssertionError):
        tu.assert_exception(int, ValueError, "1")


def test_reductions_and_shapes() -> None:
    a = np.random.randn(2, 3, 4)
    for axis in (0, (0, 2), None):
        for keepdims in (False, True):
            np.testing.assert_allclose(tu.np_reduce(a, axis, keepdims, np.sum), a.sum(axis=axis, keepdims=keepdims))
    np.testing.assert_allclose(tu.collapse_sum_like(a, (3, 1)), a.sum(axis=(0, 2)).reshape(3, 1))
    for shape, limit in ((tu.rand_shape_2d(4, 5), (4, 5)), (tu.rand_shape_3d(2, 3, 4), (2, 3, 4)), (tu.rand_shape_nd(4, 3), (3,) * 4)):
        assert len(shape) == len(limit) and all(1 <= d <= m for d, m in zip(shape, limit, strict=True))
    assert tu.random_arrays((2, 3)).dtype == np.float32 and len(tu.random_arrays((2,), (3,))) == 2
    with pytest.raises(TypeError):
        tu.random_uniform_arrays((2,), lowest=1)


def test_random_sparse_arrays() -> None:
    array, (values, indices) = tu.rand_sparse_ndarray((6, 3), "row_sparse", density=0.5)
    np.testing.assert_array_equal(array.asnumpy()[indices], values)
    for density in (0, 0.3, 1):
        csr, _ = tu.rand_sparse_ndarray((4, 5), "csr", density=density, dtype="float64")
        csr.check_format()
        assert csr.data.shape == (int(20 * density),) and csr.dtype is np.float64
    powerlaw, _ = tu.rand_sparse_ndarray((6, 64), "csr", density=0.3, distribution="powerlaw")
    assert np.diff(powerlaw.indptr.asnumpy()).tolist() == [2, 4, 8, 16, 32, 53]
    with pytest.raises(ValueError):
        tu.rand_sparse_ndarray((8, 64), "csr", density=0.01, distribution="powerlaw")
    made = tu.create_sparse_array((5, 2), "row_sparse", data_init=3, rsp_indices=[4, 1], modifier_func=lambda x: x + 1)
    assert made.indices.asnumpy().tolist() == [1, 4] and (made.data.asnumpy() == 4).all()
    assert tu.rand_ndarray((2, 3)).stype == "default" and tu.create_sparse_array_zd((5, 2), "row_sparse", 0.9).data.shape == (0, 2)


def test_symbolic_checks_pass_and_fail() -> None:
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    a, b = np.random.rand(2, 3) + 0.5, np.random.rand(2, 3) + 0.5
    product = x * y
    tu.check_symbolic_forward(product, [a, b], [a * b])
    tu.check_symbolic_forward(product, {"x": a, "y": b}, {product.list_outputs()[0]: a * b})
    got = tu.check_symbolic_backward(product, [a, b], [np.ones((2, 3))], {"x": b, "y": a}, grad_req={"x": "write", "y": "add"})
    assert set(got) == {"x", "y"}
    tu.check_numeric_gradient(product, [a, b])
    tu.check_numeric_gradient(mx.sym.exp(x), {"x": a}, dtype=np.float64)
    np.testing.assert_allclose(tu.simple_forward(product, x=a, y=b), a * b, rtol=1e-6)
    with pytest.raises(AssertionError, match="FORWARD"):
        tu.check_symbolic_forward(product, [a, b], [a + b])
    with pytest.raises(AssertionError, match="BACKWARD_x"):
        tu.check_symbolic_backward(product, [a, b], [np.ones((2, 3))], [a, a])
    with pytest.raises(AssertionError, match="NUMERICAL_x"):
        tu.check_numeric_gradient(mx.sym.BlockGrad(x) * 2, [a])
    with pytest.raises(ValueError, match="do not match"):
        tu.check_symbolic_forward(product, {"x": a}, [a])


def test_batchnorm_gradient_with_auxiliary_states() -> None:
    norm = mx.sym.BatchNorm(mx.sym.Variable("data"), fix_gamma=False, name="bn")
    data = np.random.normal(-0.1, 0.1, size=(3, 2))
    tu.check_numeric_gradient(norm, [data, np.ones(2), np.ones(2)], [np.zeros(2), np.ones(2)], numeric_eps=1e-2, rtol=0.16, atol=1e-2)


def test_consistency_between_types() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    settings = [{"ctx": mx.cpu(), "data": (2, 4), "type_dict": {"data": t}} for t in (np.float64, np.float32, np.float16)]
    truth = tu.check_consistency(net, settings)
    assert truth["fc_output"].dtype is np.float64
    wrong = [net, net * 1.5, net]
    with pytest.raises(AssertionError):
        tu.check_consistency([mx.sym.Group([w])[0] for w in wrong], settings)


def test_speed_is_a_time() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    for typ in ("whole", "forward"):
        assert 0 < tu.check_speed(net, N=2, typ=typ, data=(2, 4)) < 5
    with pytest.raises(ValueError):
        tu.check_speed(net, N=2, typ="backward", data=(2, 4))


def test_generators() -> None:
    buckets, probs = tu.gen_buckets_probs_with_ppf(lambda x: x, 5)
    assert tu.verify_generator(np.random.random, buckets, probs, nsamples=20000)
    with pytest.raises(AssertionError, match="Generator test fails"):
        tu.verify_generator(lambda n: np.random.random(n) ** 2, buckets, probs, nsamples=20000)
    assert tu.chi_square_check(lambda n: np.random.randint(0, 4, n), [0, 1, 2, 3], [0.25] * 4, 4000)[1].sum() == 4000
    assert tu.mean_check(lambda n: np.random.normal(1, 2, n), 1, 2, 40000) and tu.var_check(lambda n: np.random.normal(1, 2, n), 2, 40000)
    assert not tu.mean_check(lambda n: np.random.normal(1.5, 2, n), 1, 2, 40000)


def test_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXEXEC_A", "before")
    with tu.environment({"MXEXEC_A": None, "MXEXEC_B": "2"}), tu.EnvManager("MXEXEC_C", "3"):
        assert (os.environ.get("MXEXEC_A"), os.environ["MXEXEC_B"], os.environ["MXEXEC_C"]) == (None, "2", "3")
    assert os.environ["MXEXEC_A"] == "before" and "MXEXEC_B" not in os.environ and "MXEXEC_C" not in os.environ
    tries = []

    @tu.retry(3)
    def sometimes() -> None:
        tries.append(1)
        assert len(tries) == 3

    sometimes()
    assert len(tries) == 3
    before = mx.current_context()
    tu.set_default_context(mx.cpu(2))
    try:
        assert tu.default_context() == mx.nd.ones(1).context == mx.cpu(2)
    finally:
        tu.set_default_context(before)


def test_stderr_is_discarded_for_c_code_too() -> None:
    program = "import os\nfrom mxexec_torch.test_utils import discard_stderr\nwith discard_stderr():\n    os.write(2, b'unseen')\nos.write(2, b'seen')"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    assert subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, check=True, env=environment).stderr == b"seen"


def test_arrays_that_share_memory() -> None:
    a = mx.nd.ones((2, 3))
    assert tu.same_array(a, a[:]) and not tu.same_array(a, a.copy())
    np.testing.assert_array_equal(a.asnumpy(), 1)
    assert tu.same_symbol_structure(mx.sym.Variable("a") + 1, mx.sym.Variable("b") + 2)


def test_star_import_gives_what_test_suites_take_from_it() -> None:
    names: dict[str, object] = {}
    exec("from mxexec_torch.test_utils import *", names)  # noqa: S102 - the statement under test
    for name in ("mx", "np", "rnd", "npt", "os", "sys", "Context", "array", "assert_almost_equal", "rand_ndarray", "check_consistency"):
        assert name in names
