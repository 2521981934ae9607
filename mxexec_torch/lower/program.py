"""A whole symbol graph as torch code: one fx graph per mode, in two forms made from the same lowered nodes.

flat:   every torch call of every node in one Python function (`source`), or in one fx.GraphModule. What runs when nobody watches.
nested: one fx.GraphModule per MXNet node, named after it, inside one top module. What monitors hook into.
Both take the variables (arguments and auxiliary states, in `variables` order) and return heads + writes + saved tensors.
"""

from __future__ import annotations

import keyword
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import fx

from .. import ranges
from ..errors import MXNetError, UnsupportedError, translated
from ..graph import Entry, Node, topological
from ..registry import Out
from .fuse import Kept, Plan, channels_last_plan, inference_plan
from .source import Source
from .trace import LoweredNode, lower_node

__all__ = ["BackwardWrite", "Program", "build_program", "explain"]


@dataclass
class BackwardWrite:
    """One node whose auxiliary states change when backward runs: `results` are positions in the program's flat result."""

    node: Node
    variables: dict[str, int]  # input name -> position in Program.variables
    results: list[int]


@dataclass
class Program:
    """Executable form of a graph in one mode. Call `run(*variables)`; see the module's docstring."""

    variables: list[Node]
    num_heads: int
    writes: list[tuple[int, int]]  # (position in variables, position in the result)
    backward_writes: list[BackwardWrite]
    random: bool
    interpreted: bool  # node by node, because shapes depend on data
    nodes: list[Node]
    heads: list[Entry]
    lowered: dict[int, LoweredNode]
    devices: Mapping[int, torch.device]
    train: bool
    silent: frozenset[int] = frozenset()  # nodes that do not write to their inputs, see OpDef.writes_with_hidden
    reordered: bool = False  # channels_last and fused convolutions, where nobody sees the values inside
    watch: Callable[[Node, Sequence[torch.Tensor], Sequence[torch.Tensor]], None] | None = None  # for interpreted graphs

    @cached_property
    def closed(self) -> bool:
        """Whether nothing but this package's own code sees the values inside (Custom operators are the user's)."""
        return not self.interpreted and all(node.op is None or node.op.bind is None for node in self.nodes)

    @cached_property
    def run(self) -> Callable[..., tuple[torch.Tensor, ...]]:
        """The flat form as a function; differentiable."""
        return _compile(self, channels_last_plan(self.nodes, self.lowered, self.devices) if self.reordered and self.closed else Plan())

    @cached_property
    def inference(self) -> tuple[Callable[..., tuple[torch.Tensor, ...]], list[Kept]]:
        """The flat form when nothing is differentiated, and the kept tensors that it takes after the variables."""
        if self.train or not self.reordered or not self.closed:
            return self.run, []
        extra, _, _ = _returned(self.heads, self.variables, self.nodes, self.lowered, self.train, self.silent)
        returned = {id(e.node) for e in self.heads} | {key for key, _, _ in extra}
        plan = inference_plan(self.nodes, returned, self.variables, self.lowered, self.devices)
        return (_compile(self, plan), plan.kept) if plan.steps else (self.run, [])

    @cached_property
    def graph_module(self) -> fx.GraphModule | None:
        """The flat form as an fx graph; None when the graph has to be interpreted."""
        return None if self.interpreted else _flat_graph(self)

    def form(self) -> Callable[..., tuple[torch.Tensor, ...]]:
        """What runs now: `run`, or while the profiler records the nested form with a range for each node."""
        return self.ranged if ranges.is_recording() and not self.interpreted else self.run

    @cached_property
    def ranged(self) -> Callable[..., tuple[torch.Tensor, ...]]:
        """The nested form, each node inside a range named after its operator."""
        nested = self.nested()
        for module in nested.children():
            _put_in_range(module)
        return nested

    def nested(self) -> fx.GraphModule:
        """The per-node form: sub-modules are called as their MXNet nodes are (characters torch forbids become '_')."""
        return _nest(self)


def _put_in_range(module: Any) -> None:
    forward, name = module.forward, module.mxnet_node.op.name

    def run(*tensors: torch.Tensor) -> Any:
        with ranges.named(name):
            return forward(*tensors)

    module.forward = run


def build_program(
    heads: Sequence[Entry], variables: Sequence[Node], shapes: Mapping[int, list[Any]], dtypes: Mapping[int, list[Any]],
    devices: Mapping[int, torch.device], train: bool, bindings: dict[int, Any] | None = None, visited: set[int] | None = None,
    reordered: bool = False,
) -> Program:  # fmt: skip
    """Lowers a graph.

    shapes, dtypes: id(node) -> one value per output (from infer); devices: id(node) -> where it runs.
    bindings: id(node) -> what `OpDef.bind` made for this binding of the graph (shared by its modes); filled here. Under 0: the gradient
    requests, id(variable) -> 'write' | 'add' | 'null'. visited: ids of the nodes that backward will visit; None when that is not known.
    reordered: whether results may lie in memory in another order than row by row (`fuse`).
    Errors: one UnsupportedError naming every node that cannot be lowered; MXNetError for shapes a body refuses.
    """
    nodes = topological(heads)
    silent = _silent(nodes, heads, train, visited)
    if any(n.op is not None and n.op.eager_only for n in nodes) or any(None in shapes[id(n)] for n in nodes):
        params = {id(n): node_params(n, shapes, dtypes, devices, bindings) for n in nodes if n.op is not None}
        return _interpreted(list(heads), list(variables), nodes, params, devices, train, silent)
    lowered = _lower_nodes(nodes, shapes, dtypes, devices, train, bindings)
    _, writes, backward = _returned(heads, variables, nodes, lowered, train, silent)
    random = any(n.op is not None and n.op.random for n in nodes)
    return Program(list(variables), len(heads), writes, backward, random, False, nodes, list(heads), lowered, devices, train, silent, reordered)


def _silent(nodes: Sequence[Node], heads: Sequence[Entry], train: bool, visited: set[int] | None) -> frozenset[int]:
    """Nodes whose operator writes only where its hidden outputs are asked for, and nobody asks."""
    flagged = {id(n): n for n in nodes if n.op is not None and n.op.writes_with_hidden}
    if not flagged or (visited is None and train):
        return frozenset()
    asked = {id(e.node) for n in nodes for e in n.inputs if e.index > 0} | {id(e.node) for e in heads if e.index > 0}
    return frozenset(key for key in flagged if key not in asked and key not in (visited or ()))


def _lower_nodes(
    nodes: Sequence[Node], shapes: Mapping[int, list[Any]], dtypes: Mapping[int, list[Any]], devices: Mapping[int, torch.device], train: bool,
    bindings: dict[int, Any] | None = None,
) -> dict[int, LoweredNode]:  # fmt: skip
    lowered: dict[int, LoweredNode] = {}
    unsupported: list[str] = []
    for node in nodes:
        if node.op is None:
            continue
        input_shapes = [shapes[id(e.node)][e.index] for e in node.inputs]
        input_dtypes = [dtypes[id(e.node)][e.index] for e in node.inputs]
        try:
            params = node_params(node, shapes, dtypes, devices, bindings)
            lowered[id(node)] = lower_node(node.op, params, input_shapes, input_dtypes, train, devices[id(node)], node.name)
        except UnsupportedError as error:
            given = ", ".join("[" + ",".join(map(str, s)) + "]" for s in input_shapes)
            unsupported.append(f"  {node.op.name}, node {node.name!r}, inputs {given}: {error}")
    if unsupported:
        raise UnsupportedError(f"{len(unsupported)} node(s) of this graph are not supported:\n" + "\n".join(unsupported))
    return lowered


def node_params(
    node: Node, shapes: Mapping[int, list[Any]], dtypes: Mapping[int, list[Any]], devices: Mapping[int, torch.device], bindings: dict[int, Any] | None
) -> Any:
    """The attributes a body gets; control-flow operators also find their subgraphs there, `_zeros` the shape that inference decided."""
    assert node.op is not None
    if node.op.bind is not None:
        bindings = {} if bindings is None else bindings
        if id(node) not in bindings:
            inputs = [(shapes[id(e.node)][e.index], dtypes[id(e.node)][e.index]) for e in node.inputs]
            requests = bindings.get(0, {})
            bindings[id(node)] = node.op.bind(node, inputs, devices[id(node)], [requests.get(id(e.node), "write") for e in node.inputs])
        return bindings[id(node)]
    if node.op.specialize is None or None in shapes[id(node)]:
        return node.params
    return node.op.specialize(node.params, shapes[id(node)], dtypes[id(node)])


class _Names:
    """Unique Python identifiers for fx nodes and sub-modules."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def make(self, name: str) -> str:
        text = re.sub(r"\W", "_", name) or "node"
        if text[0].isdigit() or keyword.iskeyword(text):
            text = "_" + text
        unique, number = text, 0
        while unique in self._used:
            number += 1
            unique = f"{text}_{number}"
        self._used.add(unique)
        return unique


def _collect(
    nodes: Sequence[Node], heads: Sequence[Entry], variables: Sequence[Node], info: Callable[[Node], tuple[int, Sequence[str], int]],
    silent: frozenset[int],
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]], list[BackwardWrite]]:
    """What the program returns after its heads: [(id(node), result index, position)], writes, backward writes.

    info(node): (number of outputs, names written, number of saved tensors).
    """
    position = {id(v): i for i, v in enumerate(variables)}
    extra: list[tuple[int, int, int]] = []
    writes: list[tuple[int, int]] = []
    backward: list[BackwardWrite] = []
    cursor = len(heads)
    for node in nodes:
        if node.op is None:
            continue
        num_outputs, written, num_saved = info(node)
        specs = node.input_specs()
        inputs = {spec.name: position[id(e.node)] for spec, e in zip(specs, node.inputs, strict=True) if id(e.node) in position}
        for offset, name in enumerate(written):
            if name in inputs and id(node) not in silent:
                extra.append((id(node), num_outputs + offset, cursor))
                writes.append((inputs[name], cursor))
                cursor += 1
        if node.op.backward_writes is not None:
            results = []
            for index in [*range(1, num_outputs), *range(num_outputs + len(written), num_outputs + len(written) + num_saved)]:
                extra.append((id(node), index, cursor))
                results.append(cursor)
                cursor += 1
            backward.append(BackwardWrite(node, inputs, results))
    return extra, writes, backward


def _compile(program: Program, plan: Plan) -> Callable[..., tuple[torch.Tensor, ...]]:
    heads = program.heads
    extra, _, _ = _returned(heads, program.variables, program.nodes, program.lowered, program.train, program.silent)
    needed = _needed(program.nodes, heads, extra)
    source = Source(program.variables, program.devices, [(kept, index) for kept in plan.kept for index in range(kept.count)])
    for node in program.nodes:
        if id(node) in plan.steps:
            source.add_step(node, plan.steps[id(node)])
        elif node.op is not None and id(node) not in plan.absorbed:
            source.add(node, program.lowered[id(node)], needed[id(node)])
    run: Callable[..., tuple[torch.Tensor, ...]]
    run = source.compile([*((id(e.node), e.index) for e in heads), *((key, index) for key, index, _ in extra)])
    return run


def _returned(
    heads: Sequence[Entry], variables: Sequence[Node], nodes: Sequence[Node], lowered: Mapping[int, LoweredNode], train: bool,
    silent: frozenset[int],
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]], list[BackwardWrite]]:
    """`_collect` for a mode: without training nothing changes in backward, and nothing is saved for that."""

    def info(node: Node) -> tuple[int, Sequence[str], int]:
        form = lowered[id(node)]
        return form.num_outputs, form.writes, form.num_saved

    extra, writes, backward = _collect(nodes, heads, variables, info, silent)
    if train:
        return extra, writes, backward
    written = {p for _, p in writes}
    kept = [e for e in extra if e[2] in written]
    remap = {e[2]: len(heads) + i for i, e in enumerate(kept)}
    return kept, [(v, remap[p]) for v, p in writes], []


def _flat_graph(program: Program) -> fx.GraphModule:
    """The flat form as an fx graph, for compilers and readers."""
    graph = fx.Graph()
    names = _Names()
    values: dict[tuple[int, int], fx.Node] = {}
    for variable in program.variables:
        values[id(variable), 0] = graph.placeholder(names.make(variable.name))
    extra, _, _ = _returned(program.heads, program.variables, program.nodes, program.lowered, program.train, program.silent)
    needed = _needed(program.nodes, program.heads, extra)
    for node in program.nodes:
        if node.op is not None:
            inputs = [_moved(graph, values[id(e.node), e.index], program.devices, e.node, node) for e in node.inputs]
            for index, result in _inline(graph, program.lowered[id(node)], inputs, needed[id(node)]).items():
                values[id(node), index] = result
    graph.output(tuple([values[id(e.node), e.index] for e in program.heads] + [values[key, index] for key, index, _ in extra]))
    return fx.GraphModule({}, graph)


def _needed(nodes: Sequence[Node], heads: Sequence[Entry], extra: Sequence[tuple[int, int, int]]) -> dict[int, set[int]]:
    """Which results of each node anybody uses: the rest (hidden outputs, mostly) is not computed."""
    needed: dict[int, set[int]] = {id(n): set() for n in nodes}
    for head in heads:
        needed[id(head.node)].add(head.index)
    for key, index, _ in extra:
        needed[key].add(index)
    for node in nodes:
        for entry in node.inputs:
            needed[id(entry.node)].add(entry.index)
    return needed


def _inline(graph: fx.Graph, form: LoweredNode, inputs: Sequence[fx.Node], needed: set[int]) -> dict[int, fx.Node]:
    """Copies the calls that the needed results depend on; returns result index -> node of `graph`."""
    env: dict[fx.Node, fx.Node] = dict(zip(form.inputs, inputs, strict=True))
    wanted = {form.results[i] for i in needed}
    if len(form.calls) > 1:
        live = set(wanted)
        for call in reversed(form.calls):
            if call in live:
                live.update(call.all_input_nodes)
    else:
        live = set(form.calls)
    for call in form.calls:
        if call in live:
            env[call] = graph.node_copy(call, env.__getitem__)
    return {i: env[form.results[i]] for i in needed}


def _moved(graph: fx.Graph, value: fx.Node, devices: Mapping[int, torch.device], source: Node, target: Node) -> fx.Node:
    """The value on the device of the node that uses it (MXNet's _CrossDeviceCopy)."""
    if devices[id(source)] == devices[id(target)]:
        return value
    return graph.call_method("to", (value, devices[id(target)]))


def _nest(program: Program) -> fx.GraphModule:
    graph = fx.Graph()
    root = torch.nn.Module()
    names, modules = _Names(), _Names()
    values: dict[tuple[int, int], fx.Node] = {}
    for variable in program.variables:
        values[id(variable), 0] = graph.placeholder(names.make(variable.name))

    extra, _, _ = _returned(program.heads, program.variables, program.nodes, program.lowered, program.train, program.silent)
    needed = _needed(program.nodes, program.heads, extra)
    for node in program.nodes:
        if node.op is None:
            continue
        form = program.lowered[id(node)]
        name = modules.make(node.name)
        module = fx.GraphModule({}, form.graph)
        module.mxnet_node = node  # type: ignore[assignment]  # nn.Module keeps any attribute
        root.add_module(name, module)
        inputs = tuple(_moved(graph, values[id(e.node), e.index], program.devices, e.node, node) for e in node.inputs)
        call = graph.call_module(name, inputs)
        for index in sorted(needed[id(node)]):
            values[id(node), index] = graph.call_function(operator.getitem, (call, index))
    graph.output(tuple([values[id(e.node), e.index] for e in program.heads] + [values[key, index] for key, index, _ in extra]))
    return fx.GraphModule(root, graph)


def _interpreted(
    heads: list[Entry], variables: list[Node], nodes: list[Node], params: Mapping[int, Any], devices: Mapping[int, torch.device], train: bool,
    silent: frozenset[int],
) -> Program:
    """For graphs with data-dependent shapes: each body runs as it is, node by node; what is written is known only then."""
    ops = [n for n in nodes if n.op is not None]
    position = {id(v): i for i, v in enumerate(variables)}

    def run(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values: dict[int, Out] = {id(v): Out(t) for v, t in zip(variables, tensors, strict=True)}
        for node in ops:
            device = devices[id(node)]
            inputs = [values[id(e.node)].outputs[e.index].to(device) for e in node.inputs]
            values[id(node)] = _run_body(node, params[id(node)], inputs, train, device)
            if program.watch is not None:
                program.watch(node, inputs, values[id(node)].outputs)
        result = [values[id(e.node)].outputs[e.index] for e in heads]
        program.writes, program.backward_writes = [], []
        for node in ops:
            _append_extras(node, values[id(node)], position, result, program)
        return tuple(result)

    random = any(n.op is not None and n.op.random for n in ops)
    program = Program(variables, len(heads), [], [], random, True, nodes, heads, {}, devices, train, silent)
    program.run = run
    return program


def _append_extras(node: Node, out: Out, position: Mapping[int, int], result: list[torch.Tensor], program: Program) -> None:
    """Adds what one interpreted node writes and saves to the flat result, and where to find it to the program."""
    inputs = {spec.name: position[id(e.node)] for spec, e in zip(node.input_specs(), node.inputs, strict=True) if id(e.node) in position}
    for name, tensor in out.writes.items():
        if name in inputs and id(node) not in program.silent:
            program.writes.append((inputs[name], len(result)))
            result.append(tensor)
    if program.train and node.op is not None and node.op.backward_writes is not None:
        tensors = [*out.outputs[1:], *out.saved]
        program.backward_writes.append(BackwardWrite(node, inputs, list(range(len(result), len(result) + len(tensors)))))
        result.extend(tensors)


def _run_body(node: Node, params: Any, inputs: Sequence[torch.Tensor], train: bool, device: torch.device) -> Out:
    assert node.op is not None
    try:
        with ranges.named(node.op.name):
            return node.op.run(params, inputs, train, device)
    except MXNetError as error:
        raise MXNetError(f"Error in operator {node.name}: {error}") from None
    except (RuntimeError, IndexError, ValueError) as error:
        given = ", ".join("[" + ",".join(map(str, t.shape)) + "]" for t in inputs)
        raise translated(error, f"Error in operator {node.name}: {node.op.name} does not accept inputs of shapes {given}: {error}") from error


def explain(program: Program, tensors: Sequence[torch.Tensor], error: Exception) -> MXNetError:
    """The MXNetError for an exception raised while a program ran: runs the bodies one by one to name the node."""
    if isinstance(error, MXNetError):
        return error
    values: dict[int, Sequence[torch.Tensor]] = {id(v): (t,) for v, t in zip(program.variables, tensors, strict=True)}
    with torch.no_grad():
        for node in program.nodes:
            if node.op is None:
                continue
            if node.op.bind is not None:
                break  # what it needs was made for the binding; running a user's operator again would change its state
            device = program.devices[id(node)]
            inputs = [values[id(e.node)][e.index].to(device) for e in node.inputs]
            try:
                values[id(node)] = _run_body(node, node.params, inputs, program.train, device).outputs
            except MXNetError as found:
                return found
    return MXNetError(f"{type(error).__name__} while running the graph: {error}")
