"""Symbol.bind, Symbol.simple_bind and Executor.reshape: arguments checked, shapes and types inferred, memory found, graph bound."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from .context import Context
from .dtypes import torch_dtype
from .errors import MXNetError
from .executor import Executor
from .graph import Entry, Node, split_variables, topological
from .infer.solver import Inferred, infer_dtypes, infer_shapes
from .infer.state import complete, show
from .infer.variables import declared_dtype, declared_shape
from .lower.bound import BoundGraph
from .lower.optimize import merge_equal
from .lower.place import assign_contexts, check_gradient_contexts
from .ndarray.core import NDArray, wrap
from .ndarray.sparse import BaseSparseNDArray
from .semantics import is_np_shape
from .sparse_graph import SparseGraph, declared_stypes, output_stypes, stand_in, zeros

__all__ = ["bind", "reshape", "simple_bind"]

_REQS = {"null": 0, "write": 1, "add": 3}


class _Graph:
    """The nodes under a symbol, in the forms that binding needs."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.heads = merge_equal(entries)
        self.nodes = topological(self.heads)
        self.arguments, self.auxiliary = split_variables(self.nodes)

    @property
    def variables(self) -> list[Node]:
        return [*self.arguments, *self.auxiliary]


def bind(
    symbol: Any, ctx: Any, args: Any, args_grad: Any = None, grad_req: Any = "write", aux_states: Any = None,
    group2ctx: Mapping[str, Context] | None = None, shared_exec: Executor | None = None, backend: str | None = None,
) -> Executor:  # fmt: skip
    """`Symbol.bind`: runs the symbol on arrays that the caller owns. backend: see `lower.backends`.

    Errors: TypeError / ValueError for wrong containers, missing names and lengths; MXNetError for contradicting shapes, types, contexts.
    """
    if not isinstance(ctx, Context):
        raise TypeError("Context type error")
    _check_groups(group2ctx)
    if shared_exec is not None and not isinstance(shared_exec, Executor):
        raise AttributeError(f"{type(shared_exec).__name__!r} object has no attribute 'handle': shared_exec must be an Executor")
    graph = _Graph(symbol._entries)
    names = [n.name for n in graph.arguments]
    arg_arrays = _arrays("args", args, names, allow_missing=False)
    grad_arrays = None if args_grad is None else _arrays("args_grad", args_grad, names, allow_missing=True)
    aux_arrays = _arrays("aux_states", [] if aux_states is None else aux_states, [n.name for n in graph.auxiliary], allow_missing=False)
    reqs = _requests_for_bind(grad_req, names)
    if not group2ctx:
        _check_contexts("Input array", "arguments", arg_arrays, ctx)
        _check_contexts("Gradient array", "gradients", grad_arrays or [], ctx)
    arrays: list[Any] = [*arg_arrays, *aux_arrays]
    grads: list[Any] = [*(grad_arrays or [None] * len(names)), *([None] * len(aux_arrays))]
    fitting = _check_gradient_shapes(names, arg_arrays, grads)
    reqs += ["null"] * len(aux_arrays)
    executor = _make(symbol, graph, ctx, grad_req, group2ctx, arrays, fitting, reqs, no_grads=grad_arrays is None, backend=backend)
    executor.arg_arrays = args if isinstance(args, list) else arg_arrays  # the caller's own list, as in MXNet
    executor.grad_arrays = args_grad if isinstance(args_grad, list) else grad_arrays
    executor.aux_arrays = aux_states if isinstance(aux_states, list) else aux_arrays
    return executor


def simple_bind(
    symbol: Any, ctx: Context, grad_req: Any = "write", type_dict: Mapping[str, Any] | None = None, stype_dict: Mapping[str, Any] | None = None,
    group2ctx: Mapping[str, Context] | None = None, shared_arg_names: list[str] | None = None, shared_exec: Executor | None = None,
    shared_buffer: dict[str, NDArray] | None = None, backend: Any = None, **kwargs: Any,
) -> Executor:  # fmt: skip
    """`Symbol.simple_bind`: infers shapes and types from `kwargs` (shape tuples by name), allocates zeros and binds.

    backend: see `lower.backends`; a tuple is the shape of an argument of that name.
    Errors: RuntimeError whose text starts with 'simple_bind error', in MXNet's manner; ValueError / TypeError for wrong containers.
    """
    ctx.device_typeid  # noqa: B018 - an AttributeError for anything that is no context, as in MXNet
    if isinstance(backend, tuple):
        backend, kwargs["backend"] = None, backend
    if shared_arg_names is not None and not isinstance(shared_arg_names, list):
        raise ValueError("shared_arg_names in simple_bind must be a list or None")
    if shared_buffer is not None:
        if not isinstance(shared_buffer, dict):
            raise ValueError("shared_buffer in simple_bind must be dict or None")
        if any(v.stype != "default" for v in shared_buffer.values()):
            raise AssertionError("shared_buffer is expected to only contain NDArrays with default storage")
    if isinstance(grad_req, (list, dict)) and not grad_req:
        raise RuntimeError(f"grad_req in simple_bind cannot be an empty {type(grad_req).__name__}")
    if grad_req is not None and not isinstance(grad_req, (str, list, dict)):
        raise TypeError(f"grad_req in simple_bind must be a str, list or dict, not {type(grad_req).__name__}")
    try:
        graph = _Graph(symbol._entries)
        reqs = _requests_for_simple_bind(grad_req, [n.name for n in graph.arguments])
        shapes = _simple_shapes(graph, kwargs)
        dtypes = _simple_dtypes(graph, type_dict)
        contexts = assign_contexts(graph.nodes, ctx, group2ctx)
        if group2ctx:
            wanted = [n for n, req in zip(graph.arguments, reqs, strict=True) if req != "null"]
            check_gradient_contexts(graph.nodes, wanted, contexts)
        memory = _Memory(graph, shapes, dtypes, contexts, reqs, shared_arg_names or [], shared_exec, shared_buffer, stype_dict or {})
        arrays, grads = memory.allocate()
        reqs += ["null"] * len(graph.auxiliary)
        return _make(symbol, graph, ctx, grad_req, group2ctx, arrays, grads, reqs, shapes=shapes, dtypes=dtypes, backend=backend)
    except MXNetError as error:
        given = "".join(f"{k}: {v}\n" for k, v in kwargs.items())
        raise RuntimeError(f"simple_bind error. Arguments:\n{given}{error}") from error


def reshape(executor: Executor, partial_shaping: bool, allow_up_sizing: bool, given: Mapping[str, Any]) -> Executor:
    """`Executor.reshape`; see there."""
    graph = _Graph(executor._symbol._entries)
    shapes = infer_shapes(graph.nodes, _given_shapes(graph, given, declared=False))
    named = {k for k, v in given.items() if isinstance(v, tuple)}
    arrays: list[Any] = []
    grads: list[Any] = []
    old_grads = executor.grad_arrays or [None] * len(executor.arg_arrays)
    for node, array, grad in zip(graph.arguments, executor.arg_arrays, old_grads, strict=True):
        shape = _check_reshaped(node.name, "arg", array, shapes[id(node)][0], node.name in named, partial_shaping, allow_up_sizing)
        arrays.append(_resized(array, shape))
        grads.append(None if grad is None else _resized(grad, shape))
    for node, array in zip(graph.auxiliary, executor.aux_arrays, strict=True):
        shape = _check_reshaped(node.name, "aux", array, shapes[id(node)][0], False, partial_shaping, allow_up_sizing)
        arrays.append(_resized(array, shape))
        grads.append(None)
    reqs = list(executor.handle.reqs)
    made = _make(
        executor._symbol, graph, executor._ctx, executor._grad_req, executor._group2ctx, arrays, grads, reqs,
        no_grads=executor.grad_arrays is None, outputs=executor.handle.outputs,
        backend=executor.handle.backend,
    )  # fmt: skip
    if executor._monitor_callback is not None and executor._monitored is not None:
        made._monitored = executor._monitored.rebound(made.handle)  # carried over once, as in MXNet: not to a third executor
    return made


def _make(
    symbol: Any, graph: _Graph, ctx: Context, grad_req: Any, group2ctx: Any, arrays: list[Any], grads: list[Any], reqs: list[str],
    no_grads: bool = False, shapes: Inferred | None = None, dtypes: Inferred | None = None, outputs: Sequence[torch.Tensor | None] | None = None,
    backend: str | None = None,
) -> Executor:  # fmt: skip
    """Infers what is still open, binds and wraps the result in an Executor."""
    variables = graph.variables
    if shapes is None:
        shapes = infer_shapes(graph.nodes, {id(v): _known_shape(a) for v, a in zip(variables, arrays, strict=True)})
        _check_complete(graph, shapes, {id(v): a.shape for v, a in zip(variables, arrays, strict=True)})
    if dtypes is None:
        dtypes = infer_dtypes(graph.nodes, {id(v): stand_in(a).dtype for v, a in zip(variables, arrays, strict=True)})
    contexts = assign_contexts(graph.nodes, ctx, group2ctx)
    contexts.update({id(v): a.context for v, a in zip(variables, arrays, strict=True)})  # bind takes arrays wherever they are
    devices = {key: c.device for key, c in contexts.items()}
    buffers = _output_buffers(graph.heads, shapes, dtypes, devices, outputs)
    handle: BoundGraph
    if any(a.stype != "default" for a in arrays) or any(s != "default" for s in output_stypes(graph.heads, graph.nodes, variables, arrays)):
        handle = SparseGraph(
            graph.heads, graph.nodes, variables, arrays, grads, reqs, shapes, dtypes, devices, buffers, contexts, bool(group2ctx), backend,
        )  # fmt: skip
    else:
        takers = {i: g.take_gradient for i, g in enumerate(grads) if g is not None and g.stype != "default"}
        tensors, grad_tensors = [a._t for a in arrays], [None if g is None else stand_in(g) for g in grads]
        handle = BoundGraph(
            graph.heads, graph.nodes, variables, tensors, grad_tensors, reqs, shapes, dtypes, devices, buffers,
            contexts if group2ctx else None, backend, takers,
        )  # fmt: skip
    executor = Executor(handle, symbol, ctx, grad_req, group2ctx)
    executor._output_contexts = [contexts[id(e.node)] for e in graph.heads]
    count = len(graph.arguments)
    executor.arg_arrays, executor.aux_arrays = arrays[:count], arrays[count:]
    executor.grad_arrays = None if no_grads else grads[:count]
    return executor


# -- arguments of bind ----------------------------------------------------------------------------------------------------
def _arrays(what: str, given: Any, names: Sequence[str], allow_missing: bool) -> list[Any]:
    """Arrays in the order of `names` from a list or dict, with MXNet's errors."""
    if isinstance(given, list):
        if len(given) != len(names):
            raise ValueError(f"Length of {what} does not match the number of arguments")
        result = list(given)
    elif isinstance(given, dict):
        result = []
        for name in names:
            if name in given:
                result.append(given[name])
            elif allow_missing:
                result.append(None)
            else:
                raise ValueError(f"key `{name}` is missing in `{what}`")
    else:
        raise TypeError("Only accept list of NDArrays or dict of str to NDArray")
    for array in given if isinstance(given, list) else [given[name] for name in names if name in given]:
        if not isinstance(array, NDArray) and not (array is None and allow_missing and isinstance(given, list)):
            raise TypeError("Only accept list of NDArrays or dict of str to NDArray")
    return result


def _requests_for_bind(grad_req: Any, names: Sequence[str]) -> list[str]:
    if isinstance(grad_req, str):
        if grad_req not in _REQS:
            raise ValueError(f"grad_req must be in {_REQS}")
        return [grad_req] * len(names)
    if isinstance(grad_req, list):
        requests = list(grad_req)
    elif isinstance(grad_req, dict):
        requests = [grad_req.get(name, "null") for name in names]
    else:
        raise TypeError(f"grad_req must be a str, list or dict, not {type(grad_req).__name__}")
    for request in requests:
        _REQS[request]  # noqa: B018 - MXNet raises a bare KeyError here
    if len(requests) < len(names):
        raise ValueError(f"Length of grad_req does not match the number of arguments: expected {len(names)}, got {len(requests)}")
    return requests[: len(names)]  # MXNet reads as many as there are arguments


def _requests_for_simple_bind(grad_req: Any, names: Sequence[str]) -> list[str]:
    if grad_req is None:
        return ["null"] * len(names)
    if isinstance(grad_req, str):
        requests = [grad_req] * len(names)
    elif isinstance(grad_req, list):
        if len(grad_req) != len(names):
            raise MXNetError(
                "The length of grad_req list does not match the number of input arguments in simple_bind, "
                f"expected {len(names)}, provided {len(grad_req)}"
            )
        requests = list(grad_req)
    else:
        requests = [grad_req.get(name, "null") for name in names]
    for request in [grad_req] if isinstance(grad_req, str) else grad_req.values() if isinstance(grad_req, dict) else grad_req:
        if not isinstance(request, str):
            raise AttributeError(f"{type(request).__name__!r} object has no attribute 'encode': gradient requests are strings")
        if request not in _REQS:
            raise MXNetError(f"grad_req={request} is not a valid input in simple_bind; only 'null', 'write', and 'add' are supported")
    return requests


def _check_contexts(what: str, all_of: str, arrays: Sequence[Any], ctx: Context) -> None:
    for array in arrays:
        if array is not None and array.context != ctx:
            raise MXNetError(
                f"{what} is in {array.context} while binding with ctx={ctx}. All {all_of} must be in global context ({ctx}) unless "
                "group2ctx is specified for cross-device graph."
            )


def _check_gradient_shapes(names: Sequence[str], arrays: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    """The gradient arrays in the arguments' shapes: MXNet writes into the start of whatever memory it is given. Errors: when that is too small."""
    fitting = list(grads)
    for i, (name, array, grad) in enumerate(zip(names, arrays, grads, strict=False)):
        if grad is None or grad.shape == array.shape or isinstance(grad, BaseSparseNDArray):
            continue
        text = f"Gradient array of argument {name!r} has shape {list(grad.shape)}, the argument has {list(array.shape)}"
        if grad.size < array.size:
            raise MXNetError(text)
        if grad.size > array.size:
            warnings.warn(f"{text}: the gradient goes to the array's first {array.size} elements", stacklevel=4)
        fitting[i] = _resized(grad, array.shape)
    return fitting


def _check_groups(group2ctx: Any) -> None:
    for ctx in group2ctx.values() if hasattr(group2ctx, "values") else [] if group2ctx is None else [group2ctx]:
        if not isinstance(ctx, Context):
            raise AttributeError(f"{type(ctx).__name__!r} object has no attribute 'device_typeid': group2ctx maps groups to contexts")


def _known_shape(array: Any) -> tuple[int, ...]:
    """A bound array's shape; without NumPy shape semantics a dimension of 0 means unknown."""
    return tuple(array.shape) if is_np_shape() else tuple(d or -1 for d in array.shape)


def _check_complete(graph: _Graph, shapes: Inferred, bound: Mapping[int, Sequence[int]] = MappingProxyType({})) -> None:
    open_ones = [(n.name, shapes[id(n)][0]) for n in graph.variables if not complete(shapes[id(n)][0])]
    if not open_ones and not any(n.op is not None and n.op.eager_only for n in graph.nodes):
        open_ones = [(n.name, s) for n in graph.nodes for s in shapes[id(n)] if not complete(s)]
    empty = [n.name for n in graph.variables if 0 in bound.get(id(n), ())]
    if open_ones and empty:
        raise MXNetError(f"Shape dim size cannot be a negative value -1: arrays without elements were bound to {', '.join(empty)}")
    if open_ones:
        listed = "".join(f"{name}: {show(shape)}, " for name, shape in open_ones)
        raise MXNetError(
            "InferShape pass cannot decide shapes for the following arguments (-1 means unknown dimensions). "
            f"Please consider providing them as inputs:\n{listed}\n"
        )


# -- inference for simple_bind and reshape ----------------------------------------------------------------------------------
def _given_shapes(graph: _Graph, given: Mapping[str, Any], declared: bool = True) -> dict[int, Any]:
    """Shapes by id(variable) from keyword tuples (anything else is silently dropped, as in MXNet) and from the variables' attributes."""
    shapes: dict[int, Any] = {}
    for node in graph.variables:
        value = given.get(node.name)
        if isinstance(value, tuple):
            open_size = (-1,) if is_np_shape() else (0, -1)
            shapes[id(node)] = tuple(-1 if d in open_size else int(d) for d in value) if value or is_np_shape() else None
        else:
            shapes[id(node)] = declared_shape(node)
    return shapes


def _simple_shapes(graph: _Graph, given: Mapping[str, Any]) -> Inferred:
    shapes = infer_shapes(graph.nodes, _given_shapes(graph, given))
    _check_complete(graph, shapes)
    return shapes


def _simple_dtypes(graph: _Graph, type_dict: Mapping[str, Any] | None) -> Inferred:
    """Types from `type_dict` and the variables' attributes; without a type_dict whatever stays open is float32."""
    given: dict[int, torch.dtype | None] = {}
    for node in graph.variables:
        value = None if type_dict is None else type_dict.get(node.name)
        given[id(node)] = declared_dtype(node)
        if value is not None:
            try:
                given[id(node)] = torch_dtype(value)
            except TypeError:
                pass  # MXNet skips types that it does not know
    if type_dict is None:
        for node in graph.arguments:
            given[id(node)] = given[id(node)] or torch.float32
    dtypes = infer_dtypes(graph.nodes, given)
    open_ones = [n.name for n in graph.variables if dtypes[id(n)][0] is None]
    if open_ones:
        raise MXNetError(
            "InferType pass cannot decide dtypes for the following arguments (-1 means unknown dtype). "
            f"Please consider providing them as inputs:\n{''.join(f'{n}: -1, ' for n in open_ones)}\n"
        )
    return dtypes


# -- memory ---------------------------------------------------------------------------------------------------------------
class _Memory:
    """Finds or makes the arrays of simple_bind: shared executor, shared buffer, or new zeros."""

    def __init__(
        self, graph: _Graph, shapes: Inferred, dtypes: Inferred, contexts: Mapping[int, Context], reqs: Sequence[str], shared_names: Sequence[str],
        shared_exec: Executor | None, buffer: dict[str, NDArray] | None, stypes: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self._graph, self._shapes, self._dtypes, self._contexts, self._reqs = graph, shapes, dtypes, contexts, reqs
        self._buffer = buffer
        self._stypes, self._grad_stypes = declared_stypes(graph.heads, graph.nodes, graph.arguments, stypes)
        # MXNet shares nothing unless a shared_buffer (even an empty one) is given as well.
        self._shared = shared_exec if buffer is not None else None
        self._shared_names = set(shared_names)

    def allocate(self) -> tuple[list[Any], list[Any]]:
        """(arrays, gradient arrays) of arguments and auxiliary states."""
        arrays: list[Any] = []
        grads: list[Any] = []
        for node, req in zip(self._graph.arguments, self._reqs, strict=True):
            if node.name in self._shared_names and self._shared is None:
                arrays.append(self._new(node, None))  # parameters never go into the shared buffer
                grads.append(None if req == "null" else self._new(node, "grad of " + node.name, buffered=False))
            elif node.name in self._shared_names and self._shared is not None:
                arrays.append(self._checked(node, self._shared.arg_dict, "arg_array"))
                shared_grad = self._shared.grad_dict.get(node.name) if req != "null" else None
                grads.append(shared_grad if shared_grad is not None or req == "null" else self._new(node, "grad of " + node.name))
            else:
                arrays.append(self._new(node, node.name))
                grads.append(None if req == "null" else self._new(node, "grad of " + node.name))
        for node in self._graph.auxiliary:
            shared = self._shared is not None and node.name in self._shared.aux_dict
            arrays.append(self._checked(node, self._shared.aux_dict, "aux_array") if shared and self._shared else self._new(node, None))
            grads.append(None)
        return arrays, grads

    def _checked(self, node: Node, source: Mapping[str, NDArray], kind: str) -> NDArray:
        if node.name not in source:
            raise MXNetError(f"shared_arg_names holds {node.name!r}, which shared_exec does not have")
        array = source[node.name]
        shape, dtype = self._shapes[id(node)][0], self._dtypes[id(node)][0]
        consequence = (
            f"Therefore, the allocated memory for shared_exec.{kind} cannot be resued for creating NDArray of the argument {node.name} "
            "for the current executor"
        )
        if array.shape != shape:
            raise MXNetError(f"Inferred shape does not match shared_exec.{kind}'s shape ({show(shape)} vs. {show(array.shape)}) {consequence}")
        held = stand_in(array).dtype
        if held != dtype:
            raise MXNetError(f"Inferred dtype does not match shared_exec.{kind}'s dtype ({show(dtype)} vs. {show(held)}) {consequence}")
        return array

    def _new(self, node: Node, key: str | None, buffered: bool = True) -> Any:
        shape, dtype, ctx = self._shapes[id(node)][0], self._dtypes[id(node)][0], self._contexts[id(node)]
        stypes = self._grad_stypes if key is not None and key.startswith("grad of ") else self._stypes
        if id(node) in stypes and stypes[id(node)] != "default":
            return zeros(stypes[id(node)], shape, ctx, dtype)
        if key is None or self._buffer is None or not buffered:
            return wrap(_zeros(shape, dtype, ctx.device), ctx)
        held = self._buffer.get(key)
        if held is not None and held._t.numel() >= _numel(shape):
            if held._t.dtype != dtype:
                raise MXNetError(f"shared_buffer entry {key!r} has dtype {show(held._t.dtype)}, {show(dtype)} is needed")
            return wrap(held._t.reshape(-1)[: _numel(shape)].view(shape), ctx)
        made = wrap(_zeros(shape, dtype, ctx.device), ctx)
        self._buffer[key] = made
        return made


_LARGE = 1 << 18  # bytes
_NUMPY = {torch.float32: np.float32, torch.float64: np.float64, torch.int32: np.int32, torch.int64: np.int64, torch.float16: np.float16}


def _zeros(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """torch.zeros, whose large memory on the CPU comes zeroed from the system and is not touched before it is used."""
    size = _numel(shape) * dtype.itemsize
    if device.type != "cpu" or size < _LARGE or dtype not in _NUMPY:
        return torch.zeros(shape, dtype=dtype, device=device)
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64  # torch's own alignment
    return torch.from_numpy(raw[start : start + size].view(_NUMPY[dtype]).reshape(shape))


def _numel(shape: Sequence[int]) -> int:
    total = 1
    for d in shape:
        total *= d
    return total


def _check_reshaped(
    name: str, kind: str, array: NDArray, shape: tuple[int, ...] | None, named: bool, partial_shaping: bool, allow_up_sizing: bool
) -> tuple[int, ...]:
    if shape is None or not complete(shape):
        if shape is not None and named:
            raise MXNetError(f"Shape dim size cannot be a negative value -1 (argument {name!r} was given {show(shape)})")
        shape = ()
    if shape != array.shape and not named and not partial_shaping:
        raise MXNetError(
            f"Shape of unspecifie {kind}: {name} changed. This can cause the new executor to not share parameters with the old one. "
            "Please check for error in network. If this is intended, set partial_shaping=True to suppress this warning."
        )
    if shape == () and array.shape != ():
        raise MXNetError(f"the shape of {kind} {name!r} cannot be inferred from the shapes given to reshape: name it too")
    if _numel(shape) > _numel(array.shape) and not allow_up_sizing:
        raise MXNetError(
            f"New shape of {kind}: {name} is larger than original. First making a big executor and then down sizing it is more efficient "
            "than the reverse. If you really want to up size, set allow_up_sizing=True to enable allocation of new arrays."
        )
    return shape


def _resized(array: NDArray, shape: tuple[int, ...]) -> NDArray:
    """A new handle on the start of the same memory, or new zeros when it is too small (or sparse)."""
    if isinstance(array, BaseSparseNDArray):
        return array if array.shape == shape else zeros(array.stype, shape, array.context, array._values.dtype)
    tensor = array._t
    if tuple(tensor.shape) == shape:
        return wrap(tensor, array.context)
    if _numel(shape) <= tensor.numel():
        return wrap(tensor.reshape(-1)[: _numel(shape)].view(shape), array.context)
    return wrap(tensor.new_zeros(shape), array.context)


def _output_buffers(
    heads: Sequence[Entry], shapes: Inferred, dtypes: Inferred, devices: Mapping[int, torch.device], old: Sequence[torch.Tensor | None] | None
) -> list[torch.Tensor | None]:
    buffers: list[torch.Tensor | None] = []
    made: dict[tuple[int, int], torch.Tensor | None] = {}  # one output given several times is one array
    for i, entry in enumerate(heads):
        key = (id(entry.node), entry.index)
        if key in made:
            buffers.append(made[key])
            continue
        shape, dtype = shapes[id(entry.node)][entry.index], dtypes[id(entry.node)][entry.index]
        if not complete(shape) or dtype is None or entry.node.op is None:
            buffers.append(None)  # decided by the data at the first forward, or the variable's own memory
            continue
        before = None if old is None else old[i]
        if before is not None and before.dtype == dtype and before.numel() >= _numel(shape) and before.is_contiguous():
            buffers.append(before.reshape(-1)[: _numel(shape)].view(shape))
        else:
            buffers.append(torch.zeros(shape, dtype=dtype, device=devices[id(entry.node)]))
        made[key] = buffers[-1]
    return buffers
