"""infer_shape and infer_type, with MXNet 1.9.1's answers as literals."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx


def v(name: str = "a", **kwargs: Any) -> Any:
    return mx.sym.Variable(name, **kwargs)


def net() -> Any:
    hidden = mx.sym.FullyConnected(v("data"), num_hidden=4, name="fc1")
    return mx.sym.FullyConnected(hidden, num_hidden=2, name="fc2")


def test_forward() -> None:
    assert net().infer_shape(data=(3, 5)) == ([(3, 5), (4, 5), (4,), (2, 4), (2,)], [(3, 2)], [])
    assert mx.sym.BatchNorm(v("data"), name="bn").infer_shape(data=(2, 7, 3)) == ([(2, 7, 3), (7,), (7,)], [(2, 7, 3)], [(7,), (7,)])


def test_backward_and_variables_own_shapes() -> None:
    assert (v("a") + v("b")).infer_shape(b=(2, 3))[0] == [(2, 3), (2, 3)]
    assert (v("a", shape=(2, 0)) + v("b", shape=(0, 3))).infer_shape() == ([(2, 3), (2, 3)], [(2, 3)], [])
    assert (v("a", shape=(2, 3)) * 2).infer_shape(a=(4, 5))[1] == [(4, 5)]
    assert (v("a", shape=(2, 3)) * 2).infer_shape(a=(0, 3))[1] == [(2, 3)]


def test_unknown_dimensions() -> None:
    assert net().infer_shape_partial(data=(0, 5)) == ([(0, 5), (4, 5), (4,), (2, 4), (2,)], [(0, 2)], [])
    assert net().infer_shape_partial() == ([(), (), (), (), ()], [()], [])
    assert (v() * 2).infer_shape_partial(a=(-1, 2))[1] == [(0, 2)]
    with mx.np_shape(True):
        assert (v() * 2).infer_shape_partial(a=(-1, 2))[1] == [(-1, 2)]
        assert (v() * 2).infer_shape_partial()[1] == [None]
        assert (v() * 2).infer_shape(a=(0, 2))[1] == [(0, 2)]
        assert (v() * 2).infer_shape(a=())[1] == [()]


def test_undecided_shapes_warn() -> None:
    with pytest.warns(UserWarning, match="Cannot decide shape for the following arguments") as caught:
        assert net().infer_shape() == (None, None, None)
    assert "data: ()" in str(caught[0].message) and caught[0].filename == __file__
    many = mx.sym.add_n(*(v(f"v{i}") for i in range(12)))
    with pytest.warns(UserWarning) as caught:
        many.infer_shape()
    assert str(caught[0].message).count(": ()") == 10 and str(caught[0].message).endswith("...")


def test_contradiction_prints_the_arguments_and_names_the_node(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(mx.MXNetError, match=r"Error in operator fc1: Shape inconsistent, Provided = \[1,100\], inferred shape=\(4,5\)"):
        net().infer_shape(data=(3, 5), fc1_weight=(1, 100))
    assert capsys.readouterr().out == "infer_shape error. Arguments:\n  data: (3, 5)\n  fc1_weight: (1, 100)\n"
    with pytest.raises(mx.MXNetError, match=r"Incompatible attr in node _plus\d+ at 1-th input: expected \[2,3\], got \[2,4\]"):
        (v("a") + v("b")).infer_shape(a=(2, 3), b=(2, 4))


SHAPE_ERRORS = [
    (lambda: net().infer_shape((3, 5)), mx.MXNetError, "by keyword"),
    (lambda: net().infer_shape((3, 5), data=(3, 5)), ValueError, "Can only specify known argument"),
    (lambda: net().infer_shape(data=[3, 5]), TypeError, r"Arguments need to be shapes \(tuple\), but 'data' is <class 'list'>."),
    (lambda: net().infer_shape(zzz=(1,)), mx.MXNetError, r"Keyword argument name zzz not found.\nCandidate arguments:\n\t\[0\]data"),
    (lambda: net().infer_shape(data=(2.5, 3)), TypeError, "integer"),
    (lambda: net().infer_shape(data=(2**31, 3)), Exception, "2\\^31"),
    (lambda: net().infer_type("float32"), mx.MXNetError, "by keyword"),
    (lambda: net().infer_type("float32", data="float32"), ValueError, "Can only specify known argument"),
    (lambda: net().infer_type(np.complex64), TypeError, "Argument need to be one of"),
    (lambda: net().infer_type(data="nonsense"), TypeError, "not understood"),
    (lambda: (v("a", shape="(x)") + 1).infer_shape(), mx.MXNetError, "__shape__"),
    (lambda: (v("a", attr={"__dtype__": "99"}) + 1).infer_type(), mx.MXNetError, "__dtype__"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(SHAPE_ERRORS)))
def test_errors(case: int) -> None:
    call, error, text = SHAPE_ERRORS[case]
    with pytest.raises(error, match=text):
        call()


def test_numpy_ints_are_dimensions() -> None:
    assert (v() * 2).infer_shape(a=(np.int64(2), np.int32(3)))[1] == [(2, 3)]


def test_types() -> None:
    assert net().infer_type(data="float16") == ([np.float16] * 5, [np.float16], [])
    assert net().infer_type(data=np.float64)[1] == net().infer_type(data=np.dtype("float64"))[1] == [np.float64]
    assert (v("a", dtype="int32") + v("b")).infer_type() == ([np.int32, np.int32], [np.int32], [])
    assert mx.sym.BatchNorm(v("data"), name="bn").infer_type(data="float16")[0] == [np.float16, np.float32, np.float32]
    assert mx.sym.cast(v(), dtype="int8").infer_type_partial() == ([None], [np.int8], [])
    assert (v() * 2).infer_type_partial(a=np.complex64) == ([None], [None], [])  # types MXNet lacks are skipped


def test_undecided_types_warn() -> None:
    with pytest.warns(UserWarning, match="Cannot decide type for the following arguments. Consider providing them as input:\n\tdata: None"):
        assert net().infer_type() == (None, None, None)


def test_type_contradiction() -> None:
    with pytest.raises(mx.MXNetError, match="Error in operator _plus"):
        (v("a") + v("b")).infer_type(a="float32", b="float64")


def test_complete_inference_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net().infer_shape(data=(3, 5))
        net().infer_type(data="float32")
