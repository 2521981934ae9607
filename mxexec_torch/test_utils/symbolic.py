"""Checking symbols: forward and backward against expected values, gradients against finite differences, devices against each other."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import ndarray as nd
from .. import symbol as sym_module
from ..context import Context, current_context
from ..ndarray.creation import waitall
from ..ndarray.utils import array, zeros
from .arrays import create_sparse_array, rand_ndarray
from .compare import (
    assert_almost_equal,
    compare_ndarray_tuple,
    default_dtype,
    default_numeric_eps,
    get_tolerance,
    get_tols,
)  # fmt: skip

__all__ = [
    "check_consistency", "check_numeric_gradient", "check_speed", "check_symbolic_backward", "check_symbolic_forward", "compare_optimizer",
    "numeric_grad", "same_symbol_structure", "simple_forward",
]  # fmt: skip

FLOATS = (np.float16, np.float32, np.float64)


def _check_dtype(dtype: Any, as_given: bool = True) -> None:
    assert dtype in FLOATS or (as_given and isinstance(dtype, str) and dtype == "asnumpy"), f"dtype {dtype!r} is none of float16, float32, float64"


def _array(value: Any, ctx: Context, dtype: Any) -> Any:
    """An NDArray of a NumPy array; 'asnumpy' keeps its type. Anything else passes through."""
    if not isinstance(value, np.ndarray):
        return value
    return array(value, ctx=ctx, dtype=value.dtype if isinstance(dtype, str) else dtype)


def _by_name(names: Sequence[str], given: Any, what: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        return dict(zip(names, given, strict=False))
    if set(given) != set(names):
        raise ValueError(f"Symbol {what} and keys of the given location do not match. symbol: {sorted(names)}, given: {sorted(given)}")
    return dict(given)


def _parse_location(sym: Any, location: Any, ctx: Context, dtype: Any = default_dtype()) -> dict[str, Any]:  # noqa: B008 - a constant
    """Argument values by name, as NDArrays, sorted by name."""
    assert isinstance(location, (dict, list, tuple)), f"location must be a dict, list or tuple, not {type(location).__name__}"
    _check_dtype(dtype)
    values = _by_name(sym.list_arguments(), location, "arguments")
    return {name: _array(values[name], ctx, dtype) for name in sorted(values)}


def _parse_aux_states(sym: Any, aux_states: Any, ctx: Context, dtype: Any = default_dtype()) -> dict[str, Any] | None:  # noqa: B008 - a constant
    """Auxiliary states by name, as NDArrays."""
    _check_dtype(dtype)
    if aux_states is None:
        return None
    values = _by_name(sym.list_auxiliary_states(), aux_states, "aux_states")
    return {k: array(v, ctx=ctx, dtype=v.dtype if isinstance(dtype, str) else dtype) for k, v in values.items()}


def simple_forward(sym: Any, ctx: Context | None = None, is_train: bool = False, **inputs: Any) -> Any:
    """Runs a symbol on NumPy arrays by name; the output as a NumPy array, a list of them when there are several."""
    executor = sym.bind(ctx or current_context(), args={k: array(v) for k, v in inputs.items()})
    executor.forward(is_train=is_train)
    outputs = [x.asnumpy() for x in executor.outputs]
    return outputs[0] if len(outputs) == 1 else outputs


# -------------------------------------------------------------------------------------------------------------- gradients
def numeric_grad(
    executor: Any, location: dict[str, Any], aux_states: Mapping[str, Any] | None = None, eps: float = 1e-4, use_forward_train: bool = True,
    dtype: Any = default_dtype(),  # noqa: B008 - a constant
) -> dict[str, Any]:  # fmt: skip
    """Gradients of the sum of the first output by central differences, by argument name.

    location: NumPy arrays by name (left as they were). aux_states are put back before each pass.
    """
    _check_dtype(dtype, as_given=False)
    for name, value in location.items():
        location[name] = np.asarray(value, order="C")
        if executor.arg_dict[name].stype == "default":
            executor.arg_dict[name][:] = array(value, dtype=dtype)

    def outputs(name: str, value: Any) -> Any:
        target = executor.arg_dict[name]
        target[:] = array(value, dtype=dtype).tostype(target.stype)
        for aux, state in (aux_states or {}).items():
            executor.aux_dict[aux][:] = state
        executor.forward(is_train=use_forward_train)
        return executor.outputs[0].asnumpy()

    gradients = {name: np.zeros(value.shape, dtype=dtype) for name, value in location.items()}
    for name, value in location.items():
        if value.dtype.kind != "f":
            continue
        flat, slots, original = value.reshape(-1), gradients[name].reshape(-1), value.copy()
        for i in range(flat.size):
            flat[i] += eps / 2.0
            above = outputs(name, value)
            flat[i] -= eps
            slots[i] = (above - outputs(name, value)).sum() / eps
            flat[i] = original.reshape(-1)[i]
        target = executor.arg_dict[name]
        target[:] = array(original, dtype=dtype).tostype(target.stype)
    return gradients


def _requests(sym: Any, grad_nodes: Any) -> dict[str, str]:
    if grad_nodes is None:
        return dict.fromkeys(sym.list_arguments(), "write")
    if isinstance(grad_nodes, dict):
        return dict(grad_nodes)
    if isinstance(grad_nodes, (list, tuple)):
        return dict.fromkeys(grad_nodes, "write")
    raise ValueError(f"grad_nodes must be a list, tuple or dict, not {type(grad_nodes).__name__}")


def check_numeric_gradient(
    sym: Any, location: Any, aux_states: Any = None, numeric_eps: Any = None, rtol: Any = None, atol: Any = None, grad_nodes: Any = None,
    use_forward_train: bool = True, ctx: Context | None = None, grad_stype_dict: Mapping[str, str] | None = None, dtype: Any = default_dtype(),  # noqa: B008
) -> None:  # fmt: skip
    """AssertionError unless a symbol's gradients are those of finite differences of a random projection of its output.

    location, aux_states: NumPy arrays (or NDArrays) in order or by name. grad_nodes: arguments to check, a list or dict name -> grad_req.
    numeric_eps: the step. grad_stype_dict: storage types of gradients.
    """
    _check_dtype(dtype, as_given=False)
    ctx = current_context() if ctx is None else ctx
    arguments = _parse_location(sym, location, ctx, dtype)
    values = {k: v.asnumpy() for k, v in arguments.items()}
    states = _parse_aux_states(sym, aux_states, ctx, dtype)
    state_values = None if states is None else {k: v.asnumpy() for k, v in states.items()}
    requests = _requests(sym, grad_nodes)
    shape = sym.infer_shape(**{k: v.shape for k, v in arguments.items()})[1][0]
    projection = "__random_proj"
    loss = sym_module.make_loss(sym * sym_module.Variable(projection))
    # elements that are too small would leave too few digits in the differences
    arguments[projection] = array(np.random.rand(*shape) + 0.1, ctx=ctx, dtype=dtype)
    before = {k: np.random.normal(0, 0.01, size=arguments[k].shape) for k in [*requests, projection]}
    buffers = {k: array(v, ctx=ctx, dtype=dtype) for k, v in before.items()}
    for name, stype in (grad_stype_dict or {}).items():
        if name in buffers and stype in ("row_sparse", "csr"):
            buffers[name] = zeros(buffers[name].shape, ctx, buffers[name].dtype, stype)
    executor = loss.bind(ctx, grad_req=requests, args=arguments, args_grad=buffers, aux_states=states)
    executor.forward(is_train=True)
    assert len(executor.outputs) == 1, "the symbol must have one output"
    eps = get_tolerance(executor.outputs[0], numeric_eps, default_numeric_eps())
    assert dtype is np.float64 or eps >= 1e-5, f"a step of {eps} needs float64"
    executor.backward()
    wanted = {name: values[name] for name, request in requests.items() if request != "null"}
    expected = numeric_grad(executor, wanted, state_values, eps, use_forward_train, dtype)
    for name, request in requests.items():
        _check_gradient(name, request, expected.get(name), before[name], executor.grad_dict[name], rtol, atol, "NUMERICAL")


def _check_gradient(
    name: str, request: str, expected: Any, before: Any, got: Any, rtol: Any, atol: Any, title: str, equal_nan: bool = False
) -> None:
    if request not in ("write", "add", "null"):
        raise ValueError(f"Invalid grad_req {request} for argument {name}")
    if request == "add":
        got = (got.asnumpy() if isinstance(got, nd.NDArray) else got) - before
    wanted = before if request == "null" else expected
    assert_almost_equal(wanted, got, rtol, atol, (f"{title}_{name}", f"BACKWARD_{name}"), equal_nan=equal_nan)


# ---------------------------------------------------------------------------------------------------- expected values
def check_symbolic_forward(
    sym: Any, location: Any, expected: Any, rtol: Any = None, atol: Any = None, aux_states: Any = None, ctx: Context | None = None,
    equal_nan: bool = False, dtype: Any = default_dtype(),  # noqa: B008 - a constant
) -> list[Any]:  # fmt: skip
    """AssertionError unless the outputs (in inference mode) are the expected arrays, given in order or by name. Returns the outputs."""
    _check_dtype(dtype)
    ctx = current_context() if ctx is None else ctx
    arguments = _parse_location(sym, location, ctx, dtype)
    names = sym.list_outputs()
    wanted = [expected[k] for k in names] if isinstance(expected, dict) else expected
    buffers = {k: zeros(v.shape, ctx=ctx, dtype=v.dtype if isinstance(dtype, str) else dtype) for k, v in arguments.items()}
    executor = sym.bind(ctx=ctx, args=arguments, args_grad=buffers, aux_states=_parse_aux_states(sym, aux_states, ctx, dtype))
    executor.forward(is_train=False)
    for name, want, output in zip(names, wanted, executor.outputs, strict=False):
        assert_almost_equal(want, output, rtol, atol, (f"EXPECTED_{name}", f"FORWARD_{name}"), equal_nan=equal_nan)
    return executor.outputs  # type: ignore[no-any-return]


def _head_gradients(out_grads: Any, ctx: Context, dtype: Any) -> Any:
    if isinstance(out_grads, (tuple, list)):
        return [_array(v, ctx, dtype) for v in out_grads]
    if isinstance(out_grads, dict):
        return {k: _array(v, ctx, dtype) for k, v in out_grads.items()}
    assert out_grads is None, f"out_grads must be a list, tuple, dict or None, not {type(out_grads).__name__}"
    return None


def check_symbolic_backward(
    sym: Any, location: Any, out_grads: Any, expected: Any, rtol: Any = None, atol: Any = None, aux_states: Any = None, grad_req: Any = "write",
    ctx: Context | None = None, grad_stypes: Mapping[str, str | None] | None = None, equal_nan: bool = False, dtype: Any = default_dtype(),  # noqa: B008
) -> dict[str, Any]:  # fmt: skip
    """AssertionError unless the gradients for the given head gradients are the expected arrays. Returns the gradients by name.

    location, expected: in argument order or by name. grad_req: one for all, a list, or by name. grad_stypes: storage types of gradients.
    """
    _check_dtype(dtype)
    ctx = current_context() if ctx is None else ctx
    arguments = _parse_location(sym, location, ctx, dtype)
    names = sym.list_arguments()
    wanted = dict(zip(names, expected, strict=False)) if isinstance(expected, (list, tuple)) else expected
    before = {k: np.random.normal(size=wanted[k].shape) for k in sorted(wanted)}  # whatever backward does not write stays visible
    buffers: dict[str, Any] = {}
    for name, value in before.items():
        stype = (grad_stypes or {}).get(name) or "default"
        kind = wanted[name].dtype if isinstance(dtype, str) else dtype
        buffers[name] = array(value, ctx=ctx, dtype=kind) if stype == "default" else create_sparse_array(value.shape, stype, density=0.0)
    requests = dict.fromkeys(names, grad_req) if isinstance(grad_req, str) else grad_req
    if isinstance(requests, (list, tuple)):
        requests = dict(zip(names, requests, strict=False))
    executor = sym.bind(
        ctx=ctx, args=arguments, args_grad=buffers, aux_states=_parse_aux_states(sym, aux_states, ctx, dtype), grad_req=requests
    )
    executor.forward(is_train=True)
    executor.backward(_head_gradients(out_grads, ctx, dtype))
    for name in wanted:
        _check_gradient(name, requests[name], wanted[name], before[name], buffers[name], rtol, atol, "EXPECTED", equal_nan)
    return buffers


# ------------------------------------------------------------------------------------------------------------------- speed
def check_speed(
    sym: Any, location: Mapping[str, Any] | None = None, ctx: Context | None = None, N: int = 20, grad_req: Any = None, typ: str = "whole",
    **kwargs: Any,
) -> float:  # fmt: skip
    """Seconds a pass takes, averaged over N. typ: 'whole' (forward and backward) or 'forward'. kwargs: shapes, where location is not given."""
    if typ not in ("whole", "forward"):
        raise ValueError('typ can only be "whole" or "forward".')
    ctx = current_context() if ctx is None else ctx
    shapes = kwargs
    if location is not None:
        assert isinstance(location, dict), f'Expect dict, get "location"={location}'
        shapes = {k: v.shape for k, v in location.items()}
    executor = sym.simple_bind(grad_req=grad_req or "write", ctx=ctx, **shapes)
    values = location or {k: np.random.normal(size=a.shape) for k, a in executor.arg_dict.items()}
    for name, value in values.items():
        executor.arg_dict[name][:] = value.astype(executor.arg_dict[name].dtype)

    def step() -> None:
        executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(out_grads=executor.outputs)

    step()
    waitall()
    started = time.time()
    for _ in range(N):
        step()
    waitall()
    return (time.time() - started) / N


# ------------------------------------------------------------------------------------------------------------ consistency
def _coarser(one: Any, two: Any) -> Any:
    return one if two is None or np.dtype(one).itemsize < np.dtype(two).itemsize else two


class _Consistency:
    """One run of `check_consistency`: executors of the same graph and what they are compared with."""

    def __init__(self, executors: list[Any], rtol: Any, atol: Any, raise_on_err: bool, equal_nan: bool) -> None:
        self.executors, self.rtol, self.atol, self.raise_on_err, self.equal_nan = executors, rtol, atol, raise_on_err, equal_nan
        self.dtypes = [np.dtype(e.outputs[0].dtype) for e in executors]
        self.best = max(range(len(executors)), key=lambda i: (self.dtypes[i].itemsize, -i))

    def compare(self, stage: str, index: int, name: str, got: Any, want: Any) -> None:
        rtol, atol = self.rtol, self.atol
        coarse_got, coarse_want = _coarser(got.dtype, self.dtypes[index]), _coarser(want.dtype, self.dtypes[self.best])
        if stage == "Train" and (coarse_got != got.dtype or coarse_want != want.dtype):
            rtol, atol = get_tols(got.astype(coarse_got), want.astype(coarse_want), rtol, atol)
        try:
            assert_almost_equal(got, want, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        except AssertionError:
            print(f"{stage} Err: {np.dtype(got.dtype).name} {got.context} executor {index} vs {np.dtype(want.dtype).name} {want.context} at {name}")
            if self.raise_on_err:
                raise
            traceback.print_exc()

    def heads(self) -> list[Any]:
        """The first executor's outputs in the coarsest type of all: the head gradients of every executor."""
        kinds = [o.dtype for o in self.executors[0].outputs]
        for executor in self.executors:
            kinds = [_coarser(o.dtype, kind) for o, kind in zip(executor.outputs, kinds, strict=True)]
        return [o.astype(kind).asnumpy() for o, kind in zip(self.executors[0].outputs, kinds, strict=True)]


def check_consistency(
    sym: Any, ctx_list: list[dict[str, Any]], scale: float = 1.0, grad_req: Any = "write", arg_params: dict[str, Any] | None = None,
    aux_params: dict[str, Any] | None = None, rtol: Any = None, atol: Any = None, raise_on_err: bool = True,
    ground_truth: dict[str, Any] | None = None, equal_nan: bool = False, use_uniform: bool = False, rand_type: Any = np.float64,
) -> dict[str, Any]:  # fmt: skip
    """AssertionError unless a symbol (or symbols of the same arguments) gives the same outputs and gradients in several settings.

    ctx_list: for each setting the keywords of simple_bind: ctx, shapes, type_dict. arg_params, aux_params: values by name, random ones
    (normal, or uniform) where not given. The most precise setting is what the others are compared with. Returns its arrays by name.
    """
    assert len(ctx_list) > 1, "at least two settings are needed"
    symbols = [sym] * len(ctx_list) if isinstance(sym, sym_module.Symbol) else sym
    assert len(symbols) == len(ctx_list), f"{len(symbols)} symbols for {len(ctx_list)} settings"
    outputs, arguments = symbols[0].list_outputs(), symbols[0].list_arguments()
    for s in symbols:
        assert s.list_arguments() == arguments and s.list_outputs() == outputs, "the symbols have different arguments or outputs"
    executors = [s.simple_bind(grad_req=grad_req, **setting) for s, setting in zip(symbols, ctx_list, strict=True)]
    _fill(executors, {} if arg_params is None else arg_params, {} if aux_params is None else aux_params, scale, use_uniform, rand_type, grad_req)
    run = _Consistency(executors, rtol, atol, raise_on_err, equal_nan)
    truth = ground_truth
    if truth is None:
        truth = dict(executors[run.best].output_dict)
        if grad_req != "null":
            truth.update(executors[run.best].grad_dict)
    others = [i for i in range(len(executors)) if i != run.best]
    for executor in executors:
        executor.forward(is_train=False)
    for i in others:
        for name, got in zip(outputs, executors[i].outputs, strict=True):
            run.compare("Predict", i, name, got, truth[name])
    if grad_req == "null":
        return truth
    for executor in executors:
        executor.forward(is_train=True)
    heads = run.heads()
    for executor in executors:
        pairs = zip(heads, executor.outputs, strict=True)
        executor.backward([array(h, ctx=executor._ctx, dtype=o.dtype).tostype(o.stype) for h, o in pairs])
    for i in others:
        for name, got in zip(outputs + arguments, executors[i].outputs + executors[i].grad_arrays, strict=True):
            if truth[name] is None:
                assert got is None, f"{name} has a gradient in one setting only"
                continue
            run.compare("Train", i, name, got, truth[name])
    return truth


def _fill(executors: list[Any], params: dict[str, Any], aux: dict[str, Any], scale: float, uniform: bool, kind: Any, grad_req: Any) -> None:
    for name, target in sorted(executors[0].arg_dict.items()):  # in a fixed order, so that a seed repeats the run
        if name not in params:
            draw = np.random.uniform(-0.92 * scale, 0.92 * scale, target.shape) if uniform else np.random.normal(size=target.shape, scale=scale)
            params[name] = draw.astype(kind)
    for name in executors[0].aux_dict:
        aux.setdefault(name, 0)
    for executor in executors:
        for name, target in executor.arg_dict.items():
            target[:] = params[name]
        for name, target in executor.aux_dict.items():
            target[:] = aux[name]
        if grad_req == "add":
            for target in executor.grad_arrays:
                target[:] = np.zeros(target.shape, dtype=target.dtype)


# ------------------------------------------------------------------------------------------------------ other comparisons
def same_symbol_structure(sym1: Any, sym2: Any) -> bool:
    """Whether the nodes of two symbols, in the order of their JSON, are the same operators."""
    pairs = zip(json.loads(sym1.tojson())["nodes"], json.loads(sym2.tojson())["nodes"], strict=False)
    return all(one["op"] == two["op"] for one, two in pairs)


def compare_optimizer(
    opt1: Any, opt2: Any, shape: Any, dtype: Any, w_stype: str = "default", g_stype: str = "default", rtol: Any = 1e-4, atol: Any = 1e-5,
    compare_states: bool = True, ntensors: int = 1,
) -> None:  # fmt: skip
    """AssertionError unless two optimizers make the same update of random weights.

    shape: of one array, or a list of them, which opt2 updates together and opt1 one by one. w_stype, g_stype: storage types for opt2.
    """
    if isinstance(shape, list):
        _compare_together(opt1, opt2, shape, dtype, rtol, atol, compare_states, ntensors)
        return
    assert ntensors == 1, "several tensors need a list of shapes"
    (w1, w2), (g1, g2) = _twins(shape, w_stype, dtype, density=1), _twins(shape, g_stype, dtype)
    state1, state2 = opt1.create_state_multi_precision(0, w1), opt2.create_state_multi_precision(0, w2)
    if compare_states:
        compare_ndarray_tuple(state1, state2)
    opt1.update_multi_precision(0, w1, g1, state1)
    opt2.update_multi_precision(0, w2, g2, state2)
    if compare_states:
        compare_ndarray_tuple(state1, state2, rtol=rtol, atol=atol)
    assert_almost_equal(w1, w2, rtol=rtol, atol=atol)


def _uniform(shape: Any, dtype: Any) -> Any:
    return nd.random.uniform(shape=shape, ctx=current_context(), dtype=dtype)


def _twins(shape: Any, stype: str, dtype: Any, density: float | None = None) -> tuple[Any, Any]:
    """The same random array twice: dense, and of a storage type."""
    array = _uniform(shape, dtype) if stype == "default" else rand_ndarray(shape, stype, density=density, dtype=dtype)
    return array.copyto(current_context()).tostype("default"), array


def _compare_together(opt1: Any, opt2: Any, shapes: list[Any], dtype: Any, rtol: Any, atol: Any, compare_states: bool, ntensors: int) -> None:
    w1, g1 = tuple(_uniform(s, dtype) for s in shapes), tuple(_uniform(s, dtype) for s in shapes)
    w2, g2 = tuple(a.copy() for a in w1), tuple(a.copy() for a in g1)
    together = [opt2.create_state_multi_precision(0, w2[i]) for i in range(ntensors)]
    opt2.update_multi_precision(list(range(ntensors)), w2, g2, together)
    for i in range(ntensors):
        alone = opt1.create_state_multi_precision(i, w1[i])
        opt1.update_multi_precision(i, w1[i], g1[i], alone)
        if compare_states:
            compare_ndarray_tuple(alone, together[i], rtol, atol)
        compare_ndarray_tuple(w1[i], w2[i], rtol, atol)
