"""Symbols: names, attributes, composition, structure and errors, with MXNet 1.9.1's answers as literals."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx
from mxexec_torch.errors import NotImplementedForSymbol


def v(name: str = "a") -> Any:
    return mx.sym.Variable(name)


def fc(data: Any = None, **kwargs: Any) -> Any:
    return mx.sym.FullyConnected(v("data") if data is None else data, num_hidden=3, **{"name": "fc", **kwargs})


@pytest.fixture(autouse=True)
def fresh_names() -> Any:
    with mx.name.NameManager():
        yield


# -- names ------------------------------------------------------------------------------------------------------------------------
AUTOMATIC = {
    "_plus0": lambda a: a + a, "_plusscalar0": lambda a: 2 + a, "_minus0": lambda a: a - a, "_rminusscalar0": lambda a: 2 - a,
    "_mulscalar0": lambda a: -a,
    "_div0": lambda a: a / a, "_rdivscalar0": lambda a: 1 / a, "_mod0": lambda a: a % a, "_rmodscalar0": lambda a: 3 % a,
    "_power0": lambda a: a**a, "_powerscalar0": lambda a: a**2, "_rpower_scalar0": lambda a: 2**a, "_rpowerscalar0": lambda a: mx.sym.pow(2, a),
    "_equal0": lambda a: a == a, "_not_equal_scalar0": lambda a: a != 1, "_lesser_scalar0": lambda a: 1 > a, "_greater_equal0": lambda a: a >= a,
    "_maximumscalar0": lambda a: mx.sym.maximum(3, a), "_hypot0": lambda a: mx.sym.hypot(a, a), "abs0": abs, "reshape0": lambda a: a.reshape((1, -1)),
    "cast0": lambda a: a.astype("int32"), "elementwisesum0": lambda a: mx.sym.ElementWiseSum(a, a), "add_n0": lambda a: mx.sym.add_n(a, a),
    "_zeros0": lambda a: mx.sym.zeros(3), "_full0": lambda a: mx.sym.full((2,), 1), "box_nms0": lambda a: mx.sym.contrib.box_nms(a),
    "gemm20": lambda a: mx.sym.linalg.gemm2(a, a), "retain0": lambda a: mx.sym.sparse.retain(a, a), "_split_v20": lambda a: mx.sym.split_v2(a, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(AUTOMATIC))
def test_automatic_names(name: str) -> None:
    assert AUTOMATIC[name](v()).name == name


def test_counters_are_per_hint_and_per_manager() -> None:
    a = v()
    assert [(a + 1).name, (a * 2).name, (a + 1).name, mx.sym.exp(a, name="").name] == ["_plusscalar0", "_mulscalar0", "_plusscalar1", "exp0"]
    with mx.name.NameManager():
        assert (a + 1).name == "_plusscalar0"
    assert mx.sym.exp(a, name="mine").name == "mine" and mx.sym.exp(a).name == "exp1"


def test_prefix() -> None:
    with mx.name.Prefix("net_"):
        assert fc().list_arguments() == ["data", "net_fc_weight", "net_fc_bias"]
        assert (v() + 1).name == "net__plusscalar0"
        with mx.name.Prefix("inner_"):
            assert (v() + 1).name == "inner__plusscalar0"
        assert (v() + 1).name == "net__plusscalar1"


def test_name_manager_of_another_thread_is_its_own() -> None:
    found: list[str] = []
    mx.sym.exp(v())
    thread = threading.Thread(target=lambda: found.append(mx.sym.exp(v()).name))
    thread.start()
    thread.join()
    assert found == ["exp0"]


def test_own_name_manager() -> None:
    class Shouting(mx.name.NameManager):
        def get(self, name: str | None, hint: str) -> str:
            return super().get(name, hint).upper()

    with Shouting():
        assert fc().list_outputs() == ["FC_output"] and mx.sym.exp(v()).name == "EXP0"


def test_deprecated_current() -> None:
    with pytest.warns(DeprecationWarning):
        assert isinstance(mx.name.NameManager.current, mx.name.NameManager)
    with pytest.warns(DeprecationWarning):
        assert isinstance(mx.AttrScope.current, mx.AttrScope)


def test_output_names() -> None:
    assert mx.sym.SliceChannel(v(), num_outputs=2, name="s").list_outputs() == ["s_output0", "s_output1"]
    assert mx.sym.BatchNorm(v(), name="b", output_mean_var=True).list_outputs() == ["b_output", "b_mean", "b_var"]
    assert mx.sym.make_loss(v(), name="m").list_outputs() == ["m_loss"]
    assert v().list_outputs() == ["a"]


def test_wrong_names() -> None:
    with pytest.raises(AttributeError):
        fc(name=3)
    with pytest.raises(TypeError, match="Expect a string for variable `name`"):
        mx.sym.Variable(3)


# -- attributes -------------------------------------------------------------------------------------------------------------------
def test_variable_attributes() -> None:
    a = mx.sym.Variable("a", attr={"mood": "so"}, shape=(2, 3), lr_mult=2, wd_mult=0.5, dtype="float16", init='["zero", {}]', stype="csr", __x__=7)
    assert a.list_attr() == {
        "mood": "so", "__shape__": "(2, 3)", "__lr_mult__": "2", "lr_mult": "2", "__wd_mult__": "0.5", "wd_mult": "0.5", "__dtype__": "2",
        "__init__": '["zero", {}]', "__storage_type__": "2", "__x__": "7",
    }  # fmt: skip
    assert (a.attr("mood"), a.attr("lr_mult"), a.attr("nope")) == ("so", "2", None)
    for wrong in ({"foo": 1}, {"attr": {"x": 3}}):
        with pytest.raises(ValueError):
            mx.sym.Variable("a", **wrong)
    for wrong, error in (({"dtype": "complex64"}, KeyError), ({"dtype": "nonsense"}, TypeError), ({"stype": "dense"}, KeyError)):
        with pytest.raises(error):
            mx.sym.Variable("a", **wrong)


def test_operator_attributes_and_inheritance() -> None:
    net = fc(attr={"__mood__": "so", "ctx_group": "dev1"}, lr_mult=0.1)
    own = {"num_hidden": "3", "__mood__": "so", "__ctx_group__": "dev1", "ctx_group": "dev1", "__lr_mult__": "0.1", "lr_mult": "0.1"}
    assert net.list_attr() == own
    assert net.attr_dict() == {"fc": own, "fc_weight": own, "fc_bias": own}
    assert fc(weight=v("w")).attr_dict() == {"fc": {"num_hidden": "3"}, "fc_bias": {"num_hidden": "3"}}
    with pytest.raises(DeprecationWarning):
        net.list_attr(recursive=True)


def test_attributes_that_operators_refuse() -> None:
    with pytest.raises(mx.MXNetError, match="Cannot find argument 'mood'"):
        fc(attr={"mood": "so"})
    assert mx.sym.exp(v(), attr={"mood": "so"}).attr("mood") == "so"  # registered without parameters
    with pytest.raises(mx.MXNetError, match=r"w = Variable\(lr_mult=2\)"):
        fc(weight_lr_mult=2)


def test_attr_scope() -> None:
    with pytest.raises(ValueError, match="need to be string"):
        mx.AttrScope(a=1)
    with mx.AttrScope(__a__="1", __b__="1"):
        scope = mx.AttrScope(__b__="2")
        with scope:
            x = mx.sym.Variable("x", attr={"__c__": "3"})
    assert x.list_attr() == {"__a__": "1", "__b__": "2", "__c__": "3"}
    with scope:  # keeps what it merged
        assert v().list_attr() == {"__a__": "1", "__b__": "2"}


def test_set_attr_changes_the_shared_node() -> None:
    net = fc()
    other = net.get_internals()["fc_output"]
    net._set_attr(num_hidden="7", lr_mult="3")
    assert other.attr("num_hidden") == "7" and other.attr("__lr_mult__") == "3" and other.infer_shape(data=(2, 4))[1] == [(2, 7)]
    with pytest.raises(mx.MXNetError, match="Cannot find argument"):
        net._set_attr(nonsense="1")
    with pytest.raises(ValueError):
        net._set_attr(num_hidden=7)
    with pytest.raises(mx.MXNetError, match="non-grouped"):
        mx.sym.Group([v(), net])._set_attr(x="1")


def test_attribute_text_is_what_was_written() -> None:
    conv = mx.sym.Convolution(v(), kernel=[3, 3], stride=(np.int64(2), np.int64(2)), num_filter=np.int32(4), no_bias=True)
    assert conv.list_attr() == {"kernel": "[3, 3]", "stride": "(2, 2)", "num_filter": "4", "no_bias": "True"}
    assert (v() * np.float32(0.1)).attr("scalar") == "0.1" and (v() + 1e-7).attr("scalar") == "1e-07"


# -- calling operators ------------------------------------------------------------------------------------------------------------
def test_inputs_by_position_and_keyword() -> None:
    assert mx.sym.FullyConnected(bias=v("b"), data=v("d"), weight=v("w"), num_hidden=2).list_arguments() == ["d", "w", "b"]
    assert mx.sym.FullyConnected(v("d"), None, v("b"), 2, False, name="f").list_arguments() == ["d", "f_weight", "b"]
    assert mx.sym.FullyConnected(num_hidden=2, name="f").list_arguments() == ["f_data", "f_weight", "f_bias"]
    assert mx.sym.Concat(v(), num_args=3, name="c").list_arguments() == ["a", "c_arg1", "c_arg2"]
    assert mx.sym.Concat(arg0=v("x"), arg1=v("y")).list_arguments() == ["x", "y"]


CALL_ERRORS = {
    "foreign input": (lambda: fc(3), AssertionError, "must be Symbol instances"),
    "foreign variadic input": (lambda: mx.sym.Concat(v(), 3), AssertionError, "must be Symbol instances"),
    "missing attribute": (lambda: mx.sym.FullyConnected(v()), mx.MXNetError, "Required parameter num_hidden of int is not presented"),
    "unknown attribute": (lambda: fc(foo=1), mx.MXNetError, "Cannot find argument 'foo', Possible Arguments:"),
    "unreadable attribute": (lambda: mx.sym.FullyConnected(v(), num_hidden="abc"), mx.MXNetError, "expect int but value='abc'"),
    "unknown choice": (lambda: mx.sym.Activation(v(), act_type="foo"), mx.MXNetError, "Invalid Input: 'foo', valid values are: "),
    "out of bounds": (lambda: mx.sym.Dropout(v(), p=1.5), mx.MXNetError, r"value 1.5 for Parameter p exceed bound \[0,1\]"),
    "unknown input": (lambda: fc(foo=v()), mx.MXNetError, "Keyword argument name foo not found.\nCandidate arguments:\n\t\\[0\\]data"),
    "input that is not there": (lambda: fc(no_bias=True, bias=v("b")), mx.MXNetError, "Keyword argument name bias not found"),
    "no inputs": (lambda: mx.sym.Concat(), mx.MXNetError, "num_args should be greater equal to 1"),
    "too many inputs": (lambda: mx.sym.Concat(v(), v(), num_args=1), mx.MXNetError, "requires 1, provided 2"),
    "positional and keyword inputs": (lambda: mx.sym.Concat(v(), arg1=v()), TypeError, "either as positional or keyword"),
    "too many positions": (lambda: mx.sym.exp(v(), "n", None, None, 5), TypeError, "takes from 0 to 4 positional arguments but 5 were given"),
    "given twice": (lambda: mx.sym.exp(v(), data=v()), TypeError, "multiple values for argument 'data'"),
    "group as input": (lambda: fc(mx.sym.SliceChannel(v(), num_outputs=2)), mx.MXNetError, "is a tuple, single value is required"),
    "inputs without names": (lambda: mx.sym.sgd_mom_update(v("w"), v("g"), v("m"), lr=1), mx.MXNetError, "Not enough argument to call operator"),
    "text as operand": (lambda: v() + "1", TypeError, "type <class 'str'> not supported"),
    "array as operand": (lambda: v() * np.ones(2), TypeError, "not supported"),
    "comparison with None": (lambda: v() == None, TypeError, "not supported"),  # noqa: E711
    "truth as operand": (lambda: v() + True, mx.MXNetError, "expect .* but value='True'"),
    "types of maximum": (lambda: mx.sym.maximum("a", v()), TypeError, "not supported"),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(CALL_ERRORS))
def test_call_errors(case: str) -> None:
    call, error, text = CALL_ERRORS[case]
    with pytest.raises(error, match=text):
        call()


def test_numbers_alone_are_numbers() -> None:
    assert (mx.sym.pow(2, 3), mx.sym.maximum(2, 3.5), mx.sym.minimum(2, 3), mx.sym.hypot(3, 4)) == (8, 3.5, 2, 5.0)


def test_unknown_function() -> None:
    with pytest.raises(AttributeError, match="no attribute 'no_such_operator'"):
        mx.sym.no_such_operator  # noqa: B018
    assert {"FullyConnected", "zeros", "load_json"} <= set(dir(mx.sym))


def test_auxiliary_states_and_versions() -> None:
    net = mx.sym.BatchNorm(v("data"), name="bn")
    assert net.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert net.list_inputs() == ["data", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"]
    assert net.attr_dict() == {"bn_moving_mean": {"__init__": '["zero", {}]'}, "bn_moving_var": {"__init__": '["one", {}]'}}
    mean = net.get_internals()["bn_moving_mean"]
    again = mx.sym.BatchNorm(net, moving_mean=mean, name="b2")
    assert "[3, 0, 1]" in again.tojson() and "[3, 0, 2]" in again.tojson()
    with pytest.raises(mx.MXNetError, match="Mutation target can only be Variable"):
        mx.sym.BatchNorm(v("data"), moving_mean=mx.sym.exp(v()))


# -- structure --------------------------------------------------------------------------------------------------------------------
def test_indexing() -> None:
    s = mx.sym.SliceChannel(v(), num_outputs=3, name="s")
    assert len(s) == 3 and [x.list_outputs() for x in s] == [["s_output0"], ["s_output1"], ["s_output2"]]
    assert s["s_output1"].list_outputs() == ["s_output1"] and s[1:].list_outputs() == ["s_output1", "s_output2"]
    both = mx.sym.Group([v("x"), v("x")])
    wrong = {3: IndexError, -1: mx.MXNetError, "foo": ValueError, np.float32(1): TypeError}
    for index, error in [*wrong.items(), (np.int64(1), TypeError), (slice(2, 9), IndexError), (slice(2, 2), TypeError)]:
        with pytest.raises(error):
            s[index]
    with pytest.raises(ValueError, match="multiple outputs"):
        both["x"]


def test_repr_and_group() -> None:
    a, b = v("a"), v("b")
    group = mx.sym.Group([a, mx.sym.Group([a + b, b])])
    assert (repr(a), repr(group), group.name, group.list_attr()) == ("<Symbol a>", "<Symbol group [a, _plus0, b]>", None, {})
    for wrong in ([], None, [a, 3]):
        with pytest.raises(TypeError, match="Expected a list of symbols"):
            mx.sym.Group(wrong)


def test_internals_and_children() -> None:
    net = fc() + 1
    assert net.get_internals().list_outputs() == ["data", "fc_weight", "fc_bias", "fc_output", "_plusscalar0_output"]
    assert net.get_children().list_outputs() == ["fc_output"] and v().get_children() is None
    assert net.get_children().get_children().list_outputs() == ["data", "fc_weight", "fc_bias"]


def test_truth_and_hash_are_refused() -> None:
    with pytest.raises(NotImplementedForSymbol):
        bool(v() == v())
    with pytest.raises(NotImplementedForSymbol):
        v("a") in [v("b")]  # noqa: B015
    with pytest.raises(TypeError, match="unhashable"):
        hash(v())


@pytest.mark.parametrize("method", ["asnumpy", "asscalar", "wait_to_read", "copy", "as_in_context", "detach", "backward"])
def test_array_methods_are_refused(method: str) -> None:
    with pytest.raises(mx.MXNetError, match=f"Function {method} is not implemented for Symbol and only available in NDArray"):
        getattr(v(), method)()


@pytest.mark.parametrize("operator", ["+=", "-=", "*=", "/="])
def test_in_place_arithmetic_is_refused(operator: str) -> None:
    with pytest.raises(NotImplementedForSymbol):
        exec(f"a {operator} 1", {"a": v()})


def test_copies_and_pickle(tmp_path: Path) -> None:
    net = fc()
    for other in (copy.copy(net), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other.tojson() == net.tojson()
        other._set_attr(num_hidden="9")
        assert net.attr("num_hidden") == "3"
    path = str(tmp_path / "net.json")
    net.save(path)
    assert Path(path).read_text() == net.tojson() == mx.sym.load(path).tojson()
    for function, wrong, error in (
        (mx.sym.load, 3, TypeError), (mx.sym.load_json, 3, TypeError), (net.save, 3, TypeError), (mx.sym.load, str(tmp_path / "none"), mx.MXNetError),
    ):  # fmt: skip
        with pytest.raises(error):
            function(wrong)


# -- composition ------------------------------------------------------------------------------------------------------------------
def test_compose_by_keyword() -> None:
    x = v("x")
    net = mx.sym.exp(x, name="p") * x
    new = net(x=v("y") + 1, name="renamed")
    assert new.list_arguments() == ["y"] and new.name == "renamed" and net.list_arguments() == ["x"]
    assert net().tojson() == net.tojson()
    net._compose(x=v("z"))
    assert net.list_arguments() == ["z"]
    a = v("a")
    assert mx.sym.Group([a, a + 1])(a=v("b")).list_outputs() == ["b", "_plusscalar1_output"]


def test_compose_errors() -> None:
    net = v("x") + 1
    for call, error, text in (
        (lambda: net(v("y")), mx.MXNetError, "General composition only support kwargs for now"),
        (lambda: net(v("y"), x=v("y")), TypeError, "positional or keyword"),
        (lambda: net(z=v("y")), mx.MXNetError, r"Keyword argument name z not found.\nCandidate arguments:\n\t\[0\]x"),
        # MXNet silently replaces neither of two variables of one name.
        (lambda: (v("x") + v("x"))(x=v("y")), mx.MXNetError, "do not match the inputs one to one"),
        (lambda: net(x=3), TypeError, "Compose expect `Symbol` as arguments"),
        (lambda: net(x=mx.sym.Group([v(), v()])), mx.MXNetError, "single value is required"),
        (lambda: v("x")(x=v("y")), mx.MXNetError, "Keyword argument name x not found"),
        (lambda: v("x").gradient(["x"]), mx.MXNetError, "not implemented"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_operator_without_inputs_composes() -> None:
    bare = fc()._gen_atomic_symbol()
    assert bare.list_arguments() == [] and bare.debug_str() == "AtomicFunctor  Op:FullyConnected\n"
    assert bare(data=v("q"), name="new").list_arguments() == ["q", "new_weight", "new_bias"]


def test_backends() -> None:
    net = fc()
    assert net.optimize_for("MKLDNN").tojson() == net.tojson() == net.get_backend_symbol("MKLDNN").tojson()
    with pytest.raises(mx.MXNetError, match="nonsense is not found in SubgraphBackendRegistry"):
        net.get_backend_symbol("nonsense")
    with pytest.raises(ValueError):
        net.optimize_for("MKLDNN", shape_dict={"data": 3})


def test_random_functions_choose_by_parameter_type() -> None:
    random = mx.sym.random
    assert random.uniform(0, 1).attr("op_name") == "_random_uniform" and random.uniform(v("l"), v("h")).attr("op_name") == "_sample_uniform"
    assert random.exponential(4.0).attr("lam") == "0.25"
    for wrong, error in (((0, v()), AssertionError), ((v(), 0), AssertionError), (("0", 1), ValueError)):
        with pytest.raises(error, match="Distribution parameters"):
            random.uniform(*wrong)


# -- names and texts that old code compares --------------------------------------------------------------------------------------
def test_published_names_and_deprecation_texts() -> None:
    assert mx.sym.symbol.__all__[:4] == ["Symbol", "var", "Variable", "Group"] and "fromjson" not in mx.sym.symbol.__all__
    for cls in (mx.AttrScope, mx.name.NameManager):
        with pytest.warns(DeprecationWarning, match=f"{cls.__name__}.current has been deprecated. It is advised to use the `with` statement"):
            assert isinstance(cls.current, cls)
    assert [c.__name__ for c in mx.base.NotImplementedForSymbol.__mro__[:3]] == ["NotImplementedForSymbol", "MXNetError", "RuntimeError"]


def test_types_that_have_no_arrays_are_not_inferred() -> None:
    with pytest.warns(UserWarning, match="Cannot decide type"):
        assert mx.sym.Variable("a").infer_type(a="uint16") == (None, None, None)


def test_numpy_array_scopes_are_per_thread() -> None:
    seen = []
    with mx.np_array(True):
        thread = threading.Thread(target=lambda: seen.append(mx.is_np_array()))
        thread.start()
        thread.join()
        assert mx.is_np_array()
    assert seen == [False] and not mx.is_np_array()
    assert mx.util._NumpyArrayScope(True)._is_np_array


@pytest.mark.parametrize("value", [np.array([1, 2], object), np.array(["1", "2"]), np.array([1 + 1j, 2])])
def test_executors_take_what_numpy_converts(value: object) -> None:
    exe = (mx.sym.Variable("a") * 2).bind(mx.cpu(), [mx.nd.zeros(2)])
    assert exe.forward(a=value)[0].asnumpy().tolist() == [2, 4]


def test_misspelt_required_attribute() -> None:
    """The error names what was written, before what is missing, as MXNet's does."""
    for call, value in ((mx.sym.FullyConnected, mx.sym.Variable("x")), (mx.nd.FullyConnected, mx.nd.ones((1, 2)))):
        with pytest.raises(mx.MXNetError, match="Cannot find argument 'num_hiden', Possible Arguments"):
            call(value, num_hiden=3)
        with pytest.raises(mx.MXNetError, match="Required parameter num_hidden of int is not presented"):
            call(value)
