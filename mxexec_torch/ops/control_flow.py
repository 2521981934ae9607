"""_foreach, _while_loop and _cond: operators whose bodies are graphs (`Node.subgraphs`).

Inference looks into the bodies, both ways. A bound graph runs them through callables that `lower` compiles, so that gradients and nesting
come from torch's autograd. Facts: src/operator/control_flow.cc
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import torch

from ..errors import MXNetError
from ..graph import topological
from ..infer.solver import infer_dtypes, infer_shapes
from ..infer.state import NodeState, Shapes
from ..registry import Attrs, Device, IsTrain, Tensor, op
from ..semantics import is_np_shape
from ..values import Int, LongTuple, Range
from .runtime.control_flow import Body, branch_leaf, foreach_leaf, while_leaf

__all__ = ["compile_bodies", "install", "look_inside"]

_RUN = "__run__"
_compile: Callable[[Any, torch.device], Body] | None = None


def install(compiler: Callable[[Any, torch.device], Body]) -> None:
    """Sets the function that makes a callable of a subgraph (a Symbol) on a device."""
    global _compile
    _compile = compiler


def compile_bodies(node: Any, device: torch.device) -> list[Body]:
    """Callables of a node's subgraphs."""
    assert _compile is not None
    return [_compile(graph, device) for graph in node.subgraphs]


def look_inside(graph: Any, values: Sequence[Any], state: NodeState) -> tuple[list[Any], list[Any]]:
    """What inference learns of a body's inputs and outputs from values for its inputs (None: unknown)."""
    nodes = topological(graph._entries)
    variables = [n for n in nodes if n.op is None]
    given = {id(v): value for v, value in zip(variables, values, strict=True)}
    known = infer_shapes(nodes, given) if isinstance(state, Shapes) else infer_dtypes(nodes, given)
    return [known[id(v)][0] for v in variables], [known[id(e.node)][e.index] for e in graph._entries]


def _rows(state: NodeState, value: Any, rows: int) -> Any:
    """A value of one step as the value of all steps."""
    return value if value is None or not isinstance(state, Shapes) else (rows, *value)


def _step(value: Any) -> Any:
    """The shape of one step's slice; outside np_shape an array of one dimension gives slices of shape (1,)."""
    return value[1:] if len(value) > 1 or is_np_shape() else (1,)


def _foreach_rule(a: Attrs, s: NodeState) -> None:
    if not s.subgraphs:
        raise s.fail("this operator needs its body as a subgraph")
    data, states = len(a.in_data_locs), len(a.in_state_locs)
    locs = [*a.in_data_locs, *a.in_state_locs, *a.remain_locs]
    shapes = isinstance(s, Shapes)
    length = next((v[0] for v in s.inputs[:data] if shapes and v is not None and v[0] != -1), -1)
    inside: list[Any] = [None] * len(locs)
    for position, loc in enumerate(locs):
        value = s.inputs[position]
        inside[loc] = _step(value) if shapes and position < data and value is not None else value
        if inside[loc] is None and data <= position < data + states:
            inside[loc] = s.out(a.num_out_data + position - data)
    found, outputs = look_inside(s.subgraphs[0], inside, s)
    for position, loc in enumerate(locs):
        if not shapes or position >= data:
            s.unify(position, found[loc])
        elif s.inputs[position] is None or len(s.inputs[position]) > 1 or is_np_shape():
            s.unify(position, _rows(s, found[loc], length))
    for index, value in enumerate(outputs):
        if index < a.num_out_data:
            s.unify_out(_rows(s, value, length), index)
        else:
            s.unify_out(value, index)
            s.unify(data + index - a.num_out_data, value)
            s.unify_out(s.inputs[data + index - a.num_out_data], index)


def _while_rule(a: Attrs, s: NodeState) -> None:
    if len(s.subgraphs) != 2:
        raise s.fail("this operator needs condition and body as subgraphs")
    found, _ = look_inside(s.subgraphs[0], [s.inputs[p] for p in a.cond_input_locs], s)
    for position, value in zip(a.cond_input_locs, found, strict=True):
        s.unify(position, value)
    found, outputs = look_inside(s.subgraphs[1], [s.inputs[p] for p in a.func_input_locs], s)
    for position, value in zip(a.func_input_locs, found, strict=True):
        s.unify(position, value)
    for index, value in enumerate(outputs):
        if index < a.num_out_data:
            s.unify_out(_rows(s, value, a.max_iterations), index)
        else:
            position = a.func_input_locs[a.func_var_locs[index - a.num_out_data]]
            s.unify_out(value, index)
            s.unify(position, s.out(index))
            s.unify_out(s.inputs[position], index)


def _cond_rule(a: Attrs, s: NodeState) -> None:
    if len(s.subgraphs) != 3:
        raise s.fail("this operator needs predicate and branches as subgraphs")
    for graph, locs in zip(s.subgraphs, (a.cond_input_locs, a.then_input_locs, a.else_input_locs), strict=True):
        found, outputs = look_inside(graph, [s.inputs[p] for p in locs], s)
        for position, value in zip(locs, found, strict=True):
            s.unify(position, value)
        if graph is not s.subgraphs[0]:
            for index, value in enumerate(outputs):
                s.unify_out(value, index)


_ATTRIBUTES = {
    "num_args", "num_outputs", "num_out_data", "max_iterations", "in_state_locs", "in_data_locs", "remain_locs", "cond_input_locs", "func_input_locs",
    "func_var_locs", "then_input_locs", "else_input_locs", _RUN,
}  # fmt: skip


def _known(a: Attrs) -> None:
    """Errors: MXNetError for an attribute that no control-flow operator has (what `bind` adds passes)."""
    for name in a:
        if name not in _ATTRIBUTES:
            raise MXNetError(f"Cannot find argument '{name}'")


def _outputs(a: Attrs) -> list[str]:
    return ["output"] if a.num_outputs == 1 else [f"output{i}" for i in range(a.num_outputs)]


def _control(
    name: str, graphs: Sequence[str], rule: Callable[[Attrs, Any], None], bind: Any, *attributes: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # fmt: skip
    listed = [*((g, "Symbol") for g in graphs), *((n, "tuple of <long>, required" if n.endswith("locs") else "int, required") for n in attributes)]
    return op(
        name, key_var_num_args="num_args", count=lambda a: a.num_args - len(graphs), variadic_names=lambda a, n: [f"data{i}" for i in range(n)],
        outputs=_outputs, shape=rule, dtype=rule, bind=bind, random=True, any_attrs=True, check=_known, listed=listed,
        table=(*graphs, "data", *attributes),
    )  # fmt: skip


def _run(name: str, data: Sequence[Tensor], train: bool, device: torch.device, more: dict[str, Any]) -> tuple[Tensor, ...]:
    run: Callable[..., tuple[Tensor, ...]] | None = more.get(_RUN)
    if run is None:
        raise MXNetError(f"{name} runs inside a bound graph only: use mx.nd.contrib for imperative control flow")
    return run(*data, train=train, device=device)


def _bind_foreach(node: Any, inputs: Any, device: torch.device, requests: Any) -> Attrs:
    a = node.params
    run = foreach_leaf(compile_bodies(node, device)[0], a.in_data_locs, a.in_state_locs, a.remain_locs, a.num_out_data)
    return Attrs(a, **{_RUN: run})


@_control(
    "_foreach", ("fn",), _foreach_rule, _bind_foreach, "num_args", "num_outputs", "num_out_data", "in_state_locs", "in_data_locs", "remain_locs"
)
def foreach(
    *data: Tensor, num_args: Annotated[Int, Range(1)], num_outputs: Int, num_out_data: Int, in_state_locs: LongTuple, in_data_locs: LongTuple,
    remain_locs: LongTuple, train: IsTrain, device: Device, **more: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Runs its body over the first axis: (slices, states, other inputs) -> (outputs of the step, next states).

    data: the arrays to slice, the first states, what else the body reads -> stacked outputs, last states.
    *_locs: where each of them stands among the body's inputs. Source: src/operator/control_flow.cc
    """
    return _run("_foreach", data, train, device, more)


def _bind_while(node: Any, inputs: Any, device: torch.device, requests: Any) -> Attrs:
    a = node.params
    condition, body = compile_bodies(node, device)
    run = while_leaf(condition, body, a.cond_input_locs, a.func_input_locs, a.func_var_locs, a.num_out_data, a.max_iterations)
    return Attrs(a, **{_RUN: run})


@_control(
    "_while_loop", ("cond", "func"), _while_rule, _bind_while, "num_args", "num_outputs", "num_out_data", "max_iterations",
    "cond_input_locs", "func_input_locs", "func_var_locs",
)  # fmt: skip
def while_loop(
    *data: Tensor, num_args: Annotated[Int, Range(2)], num_outputs: Annotated[Int, Range(1)], num_out_data: Annotated[Int, Range(0)],
    max_iterations: Annotated[Int, Range(1)], cond_input_locs: LongTuple,
    func_input_locs: LongTuple, func_var_locs: LongTuple, train: IsTrain, device: Device, **more: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Runs its body while the condition holds, at most max_iterations times.

    data: what condition and body read -> outputs of the steps stacked to max_iterations rows (0 past the last step), last loop variables.
    Source: src/operator/control_flow.cc. Deviations: MXNet leaves rows past the last step undefined.
    """
    return _run("_while_loop", data, train, device, more)


def _bind_cond(node: Any, inputs: Any, device: torch.device, requests: Any) -> Attrs:
    a = node.params
    condition, then, otherwise = compile_bodies(node, device)
    run = branch_leaf(condition, then, otherwise, a.cond_input_locs, a.then_input_locs, a.else_input_locs)
    return Attrs(a, **{_RUN: run})


@_control(
    "_cond", ("cond", "then_branch", "else_branch"), _cond_rule, _bind_cond, "num_args", "num_outputs", "cond_input_locs", "then_input_locs",
    "else_input_locs",
)  # fmt: skip
def cond(
    *data: Tensor, num_args: Annotated[Int, Range(3)], num_outputs: Annotated[Int, Range(1)], cond_input_locs: LongTuple,
    then_input_locs: LongTuple, else_input_locs: LongTuple, train: IsTrain, device: Device, **more: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Runs one of two branches, which the predicate chooses.

    data: what predicate and branches read -> the outputs of the branch that ran. Source: src/operator/control_flow.cc
    """
    return _run("_cond", data, train, device, more)
