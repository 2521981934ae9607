"""mx.sym.contrib.foreach, while_loop and cond: Python functions traced into subgraphs of one control-flow node.

A body is run once with variables for its inputs, inside an AttrScope that marks its nodes with `__subgraph_name__`. What the body reads
from outside becomes a variable of the subgraph and an input of the node. Facts: python/mxnet/symbol/contrib.py, src/nnvm/graph_editor.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..attribute import AttrScope, current_scope
from ..errors import MXNetError
from ..graph import Entry, Node, topological
from ..name import current_manager
from ..registry import get
from . import op
from .compose import copy_graph, hidden_key, make_node, visible_entries
from .symbol import Group, Symbol, output_name, var

__all__ = ["check_bodies", "cond", "foreach", "while_loop"]

_MARK = "__subgraph_name__"
Nested = Any  # a Symbol or a nested list of them
Format = Any  # the nesting: 0 for a symbol, n for one with n > 1 outputs, a list for a list


def foreach(body: Callable[..., tuple[Nested, Nested]], data: Nested, init_states: Nested, name: str = "foreach") -> tuple[Nested, Nested]:
    """Runs body(slice of data, states) -> (output, new states) over axis 0 of data.

    data and states are symbols or nested lists. Returns the stacked outputs and the last states.
    Errors: AssertionError when states change their nesting or an input is not used by the body.
    """
    data_flat, data_format = _flatten(data, "foreach input")
    states_flat, states_format = _flatten(init_states, "foreach states")
    marker = _unique_name(name)
    data_names, state_names = _variable_names(data_flat), _variable_names(states_flat)
    with AttrScope(**{_MARK: marker}):
        elements = _regroup([var(n) for n in data_names], data_format)
        states = _regroup([var(n) for n in state_names], states_format)
        out, new_states = body(elements, states)
        outs, out_format = _flatten(out, "foreach output")
        new_flat, new_format = _flatten(new_states, "foreach loop_vars")
        assert states_format == new_format, "The input and output loop_vars have different format"
        own = {symbol.name for symbol in outs}
        graph = _group_results([*outs, *new_flat], marker, lambda i, s: i >= len(outs) and s.name in own)
    captured = _isolate(graph)
    names = _unique_inputs(graph)
    for kind, wanted in (("data", data_names), ("state", state_names)):
        assert set(wanted) <= set(names), f"the {kind} arrays have to be used in the loop body"
    bound = {*data_names, *state_names}
    remaining = [n for n in names if n not in bound]
    inputs = [*_entries(data_flat), *_entries(states_flat), *(_outside(graph, captured, n) for n in remaining)]
    result = _control_node(
        "_foreach", [graph], inputs, num_outputs=len(outs) + len(new_flat), num_out_data=len(outs),
        in_state_locs=[names.index(n) for n in state_names], in_data_locs=[names.index(n) for n in data_names],
        remain_locs=[names.index(n) for n in remaining],
    )  # fmt: skip
    parts = [result[i] for i in range(len(outs) + len(new_flat))]
    return _regroup(parts[: len(outs)], out_format), _regroup(parts[len(outs) :], new_format)


def while_loop(
    cond: Callable[..., Symbol], func: Callable[..., tuple[Any, Any]], loop_vars: Nested, max_iterations: Any = None, name: str = "while_loop"
) -> tuple[Nested, Nested]:
    """Runs func(*loop_vars) -> (step output, new loop_vars) while cond(*loop_vars) is true, at most max_iterations times.

    Returns the step outputs stacked to max_iterations rows and the last loop_vars.
    Errors: ValueError for a missing or unreadable max_iterations, no loop_vars, or another number of them after a step.
    """
    flat, loop_format = _flatten(loop_vars, "while loop_vars")
    if max_iterations is None:
        raise ValueError("max_iterations should be specified")
    try:
        limit = int(max_iterations.asscalar() if hasattr(max_iterations, "asscalar") else max_iterations)
    except (TypeError, ValueError):
        raise ValueError(f"Cannot convert max_iteration {max_iterations!r} to python int") from None
    if len(loop_vars) == 0:
        raise ValueError("loop_vars should contain at least one element")
    names = _variable_names(flat)

    def condition(variables: Sequence[Symbol]) -> tuple[list[Symbol], Format]:
        result = cond(*variables)
        if not isinstance(result, Symbol):
            raise ValueError(f"Return of cond must be a Symbol, not {type(result)}")
        return [result], [0]

    counts: list[int] = []

    def step(variables: Sequence[Symbol]) -> tuple[list[Symbol], Format]:
        out, new = func(*variables)
        outs, out_format = _flatten(_as_list(out), "while output")
        new_flat, _ = _flatten(_as_list(new), "while loop_vars")
        if len(new_flat) != len(variables):
            raise ValueError("The number of loop_vars should be consistent during the loop")
        counts.append(len(outs))
        return [*outs, *new_flat], out_format

    def trace(suffix: str, run: Callable[[Any], tuple[list[Symbol], Format]]) -> tuple[Symbol, Format]:
        marker = _unique_name(name + suffix)
        with AttrScope(**{_MARK: marker}):
            results, result_format = run(_regroup([var(n) for n in names], loop_format))
            return _group_results(results, marker), result_format

    cond_graph, _ = trace("_cond", condition)
    func_graph, out_format = trace("_func", step)
    union = _Union(dict(zip(names, _entries(flat), strict=True)))
    cond_locs, func_locs = union.add(cond_graph), union.add(func_graph)
    func_names = func_graph.list_inputs()
    for i, n in enumerate(names, 1):
        if n not in func_names:
            raise ValueError(f"The {i}-th loop_var doesn't involve into the computation")
    total = len(func_graph)
    result = _control_node(
        "_while_loop", [cond_graph, func_graph], union.inputs, max_iterations=limit, cond_input_locs=cond_locs, func_input_locs=func_locs,
        func_var_locs=[func_names.index(n) for n in names], num_out_data=counts[0], num_outputs=total,
    )  # fmt: skip
    parts = [result[i] for i in range(total)]
    return _regroup(parts[: counts[0]], out_format), _regroup(parts[counts[0] :], loop_format)


def cond(pred: Symbol, then_func: Callable[[], Nested], else_func: Callable[[], Nested], name: str = "cond") -> Nested:
    """The outputs of then_func() where pred is true, else those of else_func(); only one of both is run.

    Errors: ValueError when pred has several outputs or the branches differ in their number of outputs.
    """

    def trace(suffix: str, run: Callable[[], Nested]) -> tuple[Symbol, Format]:
        marker = _unique_name(name + suffix)
        with AttrScope(**{_MARK: marker}):
            results, result_format = _flatten(run(), "cond outputs")
            return _group_results(results, marker), result_format

    graphs = [trace("_pred", lambda: pred), trace("_then", then_func), trace("_else", else_func)]
    counts = [len(graph) for graph, _ in graphs]
    if counts[0] != 1:
        raise ValueError("pred should always be a single output")
    if counts[1] != counts[2]:
        raise ValueError("Number of outputs differs between then-branch and else-branch")
    union = _Union({})
    locs = [union.add(graph, reuse=True) for graph, _ in graphs]
    result = _control_node(
        "_cond", [graph for graph, _ in graphs], union.inputs, cond_input_locs=locs[0], then_input_locs=locs[1], else_input_locs=locs[2],
        num_outputs=counts[1],
    )  # fmt: skip
    return _regroup([result[i] for i in range(counts[1])], graphs[1][1])


class _Union:
    """The inputs of several subgraphs together. As in MXNet, loop variables are shared, other inputs only where `add` reuses names."""

    def __init__(self, bound: dict[str, Entry]) -> None:
        self.inputs: list[Entry] = []
        self._bound = bound
        self._known: dict[str, int] = {}  # by loop variable, or by name of the input's node

    def add(self, graph: Symbol, reuse: bool = False) -> list[int]:
        """Positions of the inputs of a subgraph. reuse: an input is an earlier one whose node has its name."""
        captured = _isolate(graph)
        return [self._locate(graph, captured, name, reuse) for name in _unique_inputs(graph)]

    def _locate(self, graph: Symbol, captured: dict[str, Entry], name: str, reuse: bool) -> int:
        if name in self._known and (reuse or name in self._bound):
            return self._known[name]
        entry = self._bound.get(name) or _outside(graph, captured, name)
        self.inputs.append(entry)
        self._known.setdefault(entry.node.name if reuse else name, len(self.inputs) - 1)
        return len(self.inputs) - 1


# -- subgraphs ------------------------------------------------------------------------------------------------------------------------
def _unique_name(name: str) -> str:
    outer = current_scope()._attr.get(_MARK, "")
    full = f"{outer}${name}" if outer else name
    number = AttrScope._subgraph_names[full]
    AttrScope._subgraph_names[full] += 1
    return f"{full}{number}"


def _variable_names(symbols: Sequence[Symbol]) -> list[str]:
    return [f"{symbol.name}-{symbol.attr('_value_index')}" for symbol in symbols]


def _group_results(results: Sequence[Symbol], marker: str, again: Callable[[int, Symbol], bool] = lambda i, s: False) -> Symbol:
    """The results as the heads of a subgraph; a result that is an input or was made outside gets a node of its own."""
    inputs = set(Group(list(results)).list_inputs())
    heads = []
    for i, symbol in enumerate(results):
        foreign = symbol.name in inputs or symbol.list_attr().get(_MARK, "") != marker
        heads.append(op.identity(symbol) if foreign or again(i, symbol) else symbol)
    return Group(heads)


def _isolate(graph: Symbol) -> dict[str, Entry]:
    """Replaces what the subgraph reads from outside by variables; returns name -> the entry outside."""
    marker = graph._entries[0].node.attrs.get(_MARK)
    outside: dict[str, Entry] = {}
    made: dict[tuple[int, int], Entry] = {}
    for node in topological(graph._entries):
        if node.attrs.get(_MARK) != marker:
            continue
        for position, entry in enumerate(node.inputs):
            if entry.node.attrs.get(_MARK) == marker:
                continue
            key = (id(entry.node), entry.index)
            if key not in made:
                made[key] = Entry(Node(None, output_name(entry)))
                outside[made[key].node.name] = entry
            node.inputs[position] = made[key]
    return outside


def _outside(graph: Symbol, captured: dict[str, Entry], name: str) -> Entry:
    """What feeds an input of a subgraph: the captured entry, or a copy of a variable that the body made itself."""
    if name in captured:
        return captured[name]
    found = next(node for node in topological(graph._entries) if node.op is None and node.name == name)
    return copy_graph([Entry(found, 0, found.version)])[0]


def _unique_inputs(graph: Symbol) -> list[str]:
    names = graph.list_inputs()
    assert len(set(names)) == len(names), f"The inputs of the subgraph don't have unique names: {names}"
    return names


def _entries(symbols: Sequence[Symbol]) -> list[Entry]:
    return [symbol._entries[0] for symbol in symbols]


def _control_node(operator: str, graphs: list[Symbol], inputs: Sequence[Entry], **attributes: Any) -> Symbol:
    definition = get(operator)
    values = {"num_args": len(graphs) + len(inputs), **attributes, **current_scope().get(None)}
    attrs = {hidden_key(key, str(value)) or key: str(value) for key, value in values.items()}
    node = make_node(definition, current_manager().get(None, operator), attrs, inputs, {})
    node.subgraphs = list(graphs)
    return Symbol(visible_entries(node))


# -- nodes read from files -------------------------------------------------------------------------------------------------------------
_BODIES = {"_foreach": 1, "_while_loop": 2, "_cond": 3, "_sg_mkldnn_conv": 1, "_sg_mkldnn_fully_connected": 1}


def check_bodies(node: Node) -> None:
    """Errors: MXNetError unless the subgraphs of a control-flow node fit its attributes and inputs; other nodes have none."""
    a, graphs = node.params, [graph._entries for graph in node.subgraphs]
    kind = "" if node.op is None else node.op.name
    if len(graphs) != _BODIES.get(kind, 0) and not (len(graphs) == 1 and kind.startswith("_sg_mkldnn_selfatt_")):  # the product that was replaced
        raise MXNetError(f"{_BODIES.get(kind, 0)} subgraphs belong to this node, not {len(graphs)}")
    variables = [sum(n.op is None for n in topological(graph)) for graph in graphs]
    if kind == "_foreach":
        _check(sorted((*a.in_data_locs, *a.in_state_locs, *a.remain_locs)) == list(range(variables[0])), "the locs name each input of the body once")
        _check(len(node.inputs) == variables[0], f"the body has {variables[0]} inputs")
        _check(0 <= a.num_out_data == a.num_outputs - len(a.in_state_locs) and len(graphs[0]) == a.num_outputs, "the body gives num_outputs outputs")
    elif kind == "_while_loop":
        _check_locs(node, variables, (a.cond_input_locs, a.func_input_locs))
        _check(all(0 <= loc < variables[1] for loc in a.func_var_locs), "func_var_locs name inputs of the body")
        _check(0 <= a.num_out_data == a.num_outputs - len(a.func_var_locs) and len(graphs[1]) == a.num_outputs, "the body gives num_outputs outputs")
        _check(len(graphs[0]) == 1 and a.max_iterations > 0, "the condition gives one output, max_iterations is positive")
    elif kind.startswith("_sg_"):
        _check(variables[0] <= len(node.inputs) and len(graphs[0]) == 1, "the replaced layers have no more inputs than the node, and one output")
    elif kind == "_cond":
        _check_locs(node, variables, (a.cond_input_locs, a.then_input_locs, a.else_input_locs))
        _check([len(graph) for graph in graphs] == [1, a.num_outputs, a.num_outputs], "the predicate gives one output, the branches num_outputs")


def _check_locs(node: Node, variables: Sequence[int], locs: Sequence[Sequence[int]]) -> None:
    for count, positions in zip(variables, locs, strict=True):
        fits = len(positions) == count and all(0 <= p < len(node.inputs) for p in positions)
        _check(fits, "the locs name an input for each variable of a subgraph")


def _check(fits: bool, rule: str) -> None:
    if not fits:
        raise MXNetError(f"subgraphs and attributes do not fit each other: {rule}")


# -- nested lists -----------------------------------------------------------------------------------------------------------------------
def _as_list(value: Any) -> Any:
    return [] if value is None else list(value) if isinstance(value, tuple) else value


def _flatten(value: Nested, what: str) -> tuple[list[Symbol], Format]:
    if isinstance(value, Symbol):
        return [value], len(value) if len(value) > 1 else 0
    assert isinstance(value, (list, tuple)), f"{what} must be (nested) list of Symbol, but got {value} of type {type(value)}"
    flat: list[Symbol] = []
    formats: list[Format] = []
    for item in value:
        items, item_format = _flatten(item, what)
        flat.extend(items)
        formats.append(item_format)
    return flat, formats


def _regroup(flat: Sequence[Symbol], nesting: Format) -> Nested:
    """The inverse of `_flatten`."""
    remaining = list(flat)

    def take(part: Format) -> Nested:
        if part == 0 and isinstance(part, int):
            return remaining.pop(0)
        if isinstance(part, int):
            taken = remaining[:part]
            del remaining[:part]
            return taken
        return [take(item) for item in part]

    return take(nesting)
