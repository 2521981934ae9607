"""Turns one operator body into an fx.Graph by running it on meta tensors and recording each torch call.

The body sees real (meta) tensors: shapes and dtypes are concrete Python values, so its branches on them are decided here, once.
A `TorchFunctionMode` observes every torch function and method; leaves (ops/runtime) record themselves as one call.
"""

from __future__ import annotations

import operator as python_operator
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
from torch import fx
from torch.overrides import TorchFunctionMode

from ..errors import MXNetError, UnsupportedError
from ..infer.meta import META, meta_run
from ..ops.runtime.leaf import recording
from ..registry import Attrs, Grad, OpDef
from ..semantics import is_np_shape

__all__ = ["LoweredNode", "Signature", "lower_node"]

_LOCK = threading.RLock()  # one trace at a time: what was traced is shared


@dataclass(frozen=True)
class Signature:
    """What a lowered body depends on. Equal signatures share one graph."""

    op: OpDef
    attrs: Attrs
    key: tuple[Any, ...]

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signature) and self.key == other.key


@dataclass
class LoweredNode:
    """The traced body: `graph` takes the node's inputs and returns the flat tuple outputs + writes + saved."""

    graph: fx.Graph
    inputs: list[fx.Node]
    results: list[fx.Node]
    shapes: list[tuple[int, ...]]
    dtypes: list[torch.dtype]
    num_outputs: int
    writes: list[str]
    num_saved: int
    takes: list[tuple[tuple[int, ...], torch.dtype]] = field(default_factory=list)  # shapes and types of the inputs
    calls: list[fx.Node] = field(default_factory=list)
    templates: dict[frozenset[int], Any] = field(default_factory=dict)  # printed forms by the results that are needed (source.py)

    def __post_init__(self) -> None:
        self.calls = [n for n in self.graph.nodes if n.op not in ("placeholder", "output")]


def lower_node(
    op: OpDef, attrs: Attrs, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[torch.dtype], train: bool, device: torch.device, name: str
) -> LoweredNode:
    """The fx form of one operator for given input shapes, dtypes, mode and device; cached by signature.

    Errors: MXNetError naming node and shapes when the body refuses them or cannot be traced.
    """
    key = (op.name, attrs.key, tuple(shapes), tuple(dtypes), train, device, is_np_shape())
    try:
        with _LOCK:
            # what is made for one binding (OpDef.bind) must not be kept alive by the cache
            return (_trace if op.bind is None else _trace.__wrapped__)(Signature(op, attrs, key))
    except UnsupportedError:
        raise
    except MXNetError as error:
        raise MXNetError(f"Error in operator {name}: {error}") from None
    except (RuntimeError, IndexError, ValueError, TypeError, AssertionError) as error:
        given = ", ".join("[" + ",".join(map(str, s)) + "]" for s in shapes)
        raise MXNetError(f"Error in operator {name}: {op.name} does not accept inputs of shapes {given}: {error}") from error


@lru_cache(maxsize=4096)
def _trace(signature: Signature) -> LoweredNode:
    op, attrs = signature.op, signature.attrs
    _, _, shapes, dtypes, train, device, _ = signature.key
    recorder = _Recorder(device)
    names = [spec.name for spec in op.node_inputs(attrs, len(shapes))]
    tensors = [recorder.placeholder(n, torch.empty(s, dtype=d, device=META)) for n, s, d in zip(names, shapes, dtypes, strict=True)]
    with meta_run(), recorder, recording(recorder):
        if op.grad is Grad.ZERO:  # whatever torch's gradient of the body would be
            tensors = [t.detach() for t in tensors]
        out = op.run(attrs, tensors, train, META)
    flat = [*out.outputs, *out.writes.values(), *out.saved]
    results = [recorder.node_of(t) for t in flat]
    recorder.graph.output(tuple(results))
    recorder.graph.eliminate_dead_code()
    return LoweredNode(
        recorder.graph, recorder.inputs, results, [tuple(t.shape) for t in flat], [t.dtype for t in flat],
        len(out.outputs), list(out.writes), len(out.saved), list(zip(shapes, dtypes, strict=True)),
    )  # fmt: skip


class _Recorder(TorchFunctionMode):
    """Records torch calls into `graph`. Tensors are known by identity, so it keeps every tensor it has seen alive."""

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.graph = fx.Graph()
        self.inputs: list[fx.Node] = []
        self._device = device
        self._nodes: dict[int, fx.Node] = {}
        self._alive: list[torch.Tensor] = []

    def placeholder(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        node = self.graph.placeholder(name)
        self.inputs.append(node)
        self._remember(tensor, node)
        return tensor

    def node_of(self, tensor: Any) -> fx.Node:
        """The graph node that computes a tensor. Errors: UnsupportedError for a tensor made outside torch functions."""
        node = self._nodes.get(id(tensor))
        if node is None:
            raise UnsupportedError("an operator body returned or used a tensor that no recorded torch call made")
        return node

    def _remember(self, tensor: torch.Tensor, node: fx.Node) -> None:
        self._nodes[id(tensor)] = node
        self._alive.append(tensor)

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if _has_tensor(result):
            self._record(func, args, kwargs, result)
        return result

    def record_leaf(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs a leaf on meta tensors, unobserved, and records the call."""
        with recording(None), torch._C.DisableTorchFunction():
            result = function.plain(*args, **kwargs)  # type: ignore[attr-defined]
        self._record(function, args, kwargs, result)
        return result

    def _record(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        name = getattr(func, "__name__", "")
        if name == "__get__":  # a property such as x.T
            node = self.graph.call_function(getattr, (self._map(args[0]), func.__self__.__name__))
        elif name in _IN_PLACE or (name.endswith("_") and not name.endswith("__")):
            raise UnsupportedError(f"an operator body writes in place ({name}): bodies return new tensors")
        else:
            mapped, named = self._map(args), {k: self._map(v) for k, v in kwargs.items()}
            target, is_method = _target(func, name)
            node = self.graph.call_method(target, mapped, named) if is_method else self.graph.call_function(target, mapped, named)
        self._bind(result, node)

    def _bind(self, result: Any, node: fx.Node) -> None:
        if isinstance(result, torch.Tensor):
            self._remember(result, node)
        else:
            for index, item in enumerate(result):
                if isinstance(item, torch.Tensor) or isinstance(item, (tuple, list)):
                    self._bind(item, self.graph.call_function(python_operator.getitem, (node, index)))

    def _map(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.node_of(value)
        if isinstance(value, torch.Size):
            return tuple(value)
        if isinstance(value, (tuple, list)):
            return type(value)(self._map(v) for v in value)
        if isinstance(value, dict):
            return {k: self._map(v) for k, v in value.items()}
        if isinstance(value, slice):
            return slice(self._map(value.start), self._map(value.stop), self._map(value.step))
        if isinstance(value, torch.device) and value.type == "meta":
            return self._device
        return value


_IN_PLACE = {"__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__", "__imod__"}
_OPERATORS = {
    "__add__": python_operator.add, "__sub__": python_operator.sub, "__mul__": python_operator.mul, "__truediv__": python_operator.truediv,
    "__getitem__": python_operator.getitem, "__neg__": python_operator.neg, "__pow__": python_operator.pow,
    "__eq__": python_operator.eq, "__ne__": python_operator.ne, "__lt__": python_operator.lt, "__le__": python_operator.le,
    "__gt__": python_operator.gt, "__ge__": python_operator.ge, "__and__": python_operator.and_, "__or__": python_operator.or_,
    "__xor__": python_operator.xor, "__invert__": python_operator.invert, "__matmul__": python_operator.matmul,
    "__mod__": python_operator.mod, "__floordiv__": python_operator.floordiv,
}  # fmt: skip


def _target(func: Any, name: str) -> tuple[Any, bool]:
    """(fx target, whether it is a method). Methods of Tensor are recorded by name, dunders as Python operators."""
    if func is torch.Tensor.__pow__:  # wrapped by torch under the name of another function
        return python_operator.pow, False
    if getattr(torch.Tensor, name, None) is func or type(func).__name__ in ("method_descriptor", "wrapper_descriptor"):
        if name in _OPERATORS:
            return _OPERATORS[name], False
        return name, True
    return func, False


def _has_tensor(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return True
    return isinstance(value, (tuple, list)) and not isinstance(value, torch.Size) and any(map(_has_tensor, value))
