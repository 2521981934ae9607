"""Building graph nodes: attribute text, automatic variables, write versions, and composition of whole graphs.

Facts: src/c_api/c_api_symbolic.cc (hidden keys) and nnvm's Symbol::Compose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import MXNetError
from ..graph import Entry, Node, topological
from ..registry import Attrs, InputSpec, OpDef

__all__ = [
    "HIDDEN_KEYS", "attribute_text", "compose", "copy_graph", "finish_inputs", "hidden_key", "is_annotation", "make_node", "parse_attributes",
    "unknown_inputs", "visible_entries",
]  # fmt: skip

# Annotations that MXNet stores between double underscores and lists under both spellings.
HIDDEN_KEYS = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")

_NUMPY_SCALAR = re.compile(r"np\.\w+\(([^()]*)\)")
# Attributes that say how many inputs or outputs a node has, and how many are believable: files may say anything.
_COUNTS = ("num_args", "num_outputs", "num_out_data", "num_arrays", "num_weights", "num_tensors", "sections")
_MOST = 1 << 16
_CACHE: dict[tuple[Any, ...], tuple[Attrs, list[InputSpec] | None]] = {}
_CACHE_SIZE = 8192


def attribute_text(value: Any) -> str:
    """The text MXNet stores for an attribute value: `str(value)`, with NumPy scalars inside tuples as plain numbers."""
    text = str(value)
    return _NUMPY_SCALAR.sub(r"\1", text) if "np." in text and not isinstance(value, str) else text


def hidden_key(key: str, value: str) -> str | None:
    """`__key__` for an annotation such as ctx_group, None for other keys. Errors: MXNetError for `weight_lr_mult` and the like."""
    for known in HIDDEN_KEYS:
        if key.startswith(known):
            return f"__{key}__"
        if key.endswith(known):
            raise MXNetError(
                f"setting variable attributes with {key} is deprecated. please instead use\n"
                f"w = Variable({known}={value})\nsym = YourSymbolName({key[: -len(known) - 1]}=w)"
            )
    return None


def is_annotation(key: str) -> bool:
    """Whether a key is free text (`__x__`) that operators do not read."""
    return len(key) > 4 and key.startswith("__") and key.endswith("__")


def parse_attributes(op: OpDef, attrs: Mapping[str, str]) -> tuple[Attrs, list[InputSpec] | None]:
    """The parsed attributes and, when they alone decide it, the inputs of a node. Equal texts are parsed once."""
    key = (op, *attrs.items())
    found = _CACHE.get(key)
    if found is None:
        given = {k: v for k, v in attrs.items() if not is_annotation(k)}
        # MXNet registers operators without attributes without a parser: they accept any key.
        params = op.parse(given if op.attrs or op.any_attrs else {})
        for name in _COUNTS:
            if name in params and isinstance(params[name], int) and params[name] > _MOST:
                raise MXNetError(f"value {params[name]} for Parameter {name} exceed bound [0,{_MOST}], in operator {op.name}")
        fixed = not op.variadic or op.count is not None or op.key_var_num_args in params
        found = params, (op.node_inputs(params) if fixed else None)
        if len(_CACHE) >= _CACHE_SIZE:
            _CACHE.clear()
        _CACHE[key] = found
    return found


def make_node(op: OpDef, name: str, attrs: dict[str, str], args: Sequence[Entry], kwargs: dict[str, Entry]) -> Node:
    """An operator node; inputs that are not given become variables `<name>_<input>` that inherit the operator's attributes.

    Errors: MXNetError for unknown or unreadable attributes, unknown inputs, or too many of them.
    """
    if not isinstance(name, str):
        raise AttributeError(f"a node name is a string: {type(name).__name__!r} object has no attribute 'encode'")
    params, specs = parse_attributes(op, attrs)
    if specs is None:
        specs = op.node_inputs(params, len(args))
    if len(args) > len(specs):
        raise MXNetError(f"Incorrect number of arguments, requires {len(specs)}, provided {len(args)}, in operator {op.name}(name=\"{name}\")")
    if not op.lists_inputs and len(args) != len(specs) != 1:
        raise MXNetError(f"Not enough argument to call operator {op.name}: MXNet knows no names of its {len(specs)} inputs, which symbols need")
    inputs = list(args)
    names = [spec.name for spec in specs[len(args) :]] if op.lists_inputs else ["data"] * (len(specs) - len(args))
    matched = 0
    for input_name in names:
        entry = kwargs.get(input_name)
        if entry is not None:
            matched += 1
        else:
            entry = Entry(Node(None, f"{name}_{input_name}" if name else input_name, attrs.copy()))
        inputs.append(entry)
    # an operator without inputs takes no notice of symbols given by keyword, unless they stand for an attribute
    if matched != len(kwargs) and (specs or any(name in op.attrs for name in kwargs)):
        raise unknown_inputs(kwargs, names)
    node = Node(op, name, attrs, inputs, params)
    node._specs = specs
    finish_inputs(node)
    return node


def finish_inputs(node: Node) -> None:
    """Numbers the writes to variables at auxiliary inputs and sets the initializers that the operator declares."""
    op = node.op
    assert op is not None
    inputs = node.inputs
    for position, spec in enumerate(node.input_specs()):
        entry = inputs[position]
        variable = entry.node
        if spec.kind != "arg":
            if variable.op is not None:
                raise MXNetError(f"Mutation target can only be Variable: input {spec.name!r} of {op.name} {node.name!r} is written to")
            variable.version += 1
            inputs[position] = Entry(variable, 0, variable.version)
        elif variable.op is None and entry.version != variable.version:
            inputs[position] = Entry(variable, 0, variable.version)
        if op.init and variable.op is None and spec.name in op.init:
            variable.attrs.setdefault("__init__", op.init[spec.name])


def visible_entries(node: Node) -> list[Entry]:
    """The outputs of a node that a symbol shows."""
    if node.op is None:
        return [Entry(node, 0, node.version)]
    if node.op.visible is None and node.op.outputs == ("output",):
        return [Entry(node)]
    return [Entry(node, index) for index in range(node.num_visible())]


def compose(entries: list[Entry], kwargs: Mapping[str, Entry]) -> list[Entry]:
    """Replaces variables of a graph, by name, at all their uses; changes the nodes in place and returns the new heads.

    Errors: MXNetError naming the variables there are when a keyword matches none.
    """
    order = topological(entries)
    replacement: dict[int, Entry] = {}
    matched = 0
    for node in order:
        if node.op is None and node.name in kwargs:
            replacement[id(node)] = kwargs[node.name]
            matched += 1
    if matched != len(kwargs):
        raise unknown_inputs(kwargs, [node.name for node in order if node.op is None])
    for node in order:
        if any(id(entry.node) in replacement for entry in node.inputs):
            node.inputs = [replacement.get(id(entry.node), entry) for entry in node.inputs]
            finish_inputs(node)
    return [kwargs.get(entry.node.name, entry) if entry.node.op is None else entry for entry in entries]


def copy_graph(entries: Sequence[Entry]) -> list[Entry]:
    """A copy of the graph: new nodes, the same structure."""
    copies: dict[int, Node] = {}
    for node in topological(entries):
        copy = Node(node.op, node.name, node.attrs.copy(), [Entry(copies[id(e.node)], e.index, e.version) for e in node.inputs], node.params)
        copy.subgraphs = list(node.subgraphs)
        copy.extra, copy.version, copy._specs = node.extra, node.version, node._specs
        copies[id(node)] = copy
    return [Entry(copies[id(e.node)], e.index, e.version) for e in entries]


def unknown_inputs(given: Mapping[str, Any], known: Sequence[str]) -> MXNetError:
    """The error for keyword inputs that match none of the known names."""
    listed = "".join(f"\t[{i}]{name}\n" for i, name in enumerate(known))
    unknown = next((key for key in given if key not in known), None)
    if unknown is None:
        return MXNetError(f"Symbol.Compose: keyword arguments {sorted(given)} do not match the inputs one to one.\nCandidate arguments:\n{listed}")
    return MXNetError(f"Symbol.ComposeKeyword argument name {unknown} not found.\nCandidate arguments:\n{listed}")
