"""Symbol JSON: writing as MXNet 1.9.1 does, byte for byte, and reading the files of every version since 0.5.

Facts: nnvm's SaveJSON / LoadJSON and dmlc's JSON writer for the layout, src/nnvm/legacy_json_util.cc for the upgrades,
src/operator/contrib/amp_graph_pass.cc for the removal of amp casts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import MXNetError
from ..graph import Entry, Node, topological
from ..registry import lookup
from ..semantics import is_np_shape
from .compose import HIDDEN_KEYS, parse_attributes

__all__ = ["VERSION", "read", "write"]

VERSION = 10901
_ESCAPES = {ord("\r"): "\\r", ord("\n"): "\\n", ord("\\"): "\\\\", ord("\t"): "\\t", ord('"'): '\\"'}
_SPECIAL = re.compile(r'[\r\n\\\t"]').search
_CONTROL_FLOW = ("_foreach", "_while_loop", "_cond")
_LONG = 10  # arrays of more numbers than this are written one a line
_MAX_NESTING = 64  # of subgraphs in subgraphs


# -- writing ----------------------------------------------------------------------------------------------------------------------
def write(entries: Sequence[Entry], remove_amp_cast: bool = True) -> str:
    """The JSON text of a graph."""
    order = topological(entries)
    if remove_amp_cast and any(node.op is not None and node.op.name in _AMP_CASTS for node in order):
        entries, order = _without_amp_casts(entries, order)
    attrs = {**({"is_np_shape": 1} if is_np_shape() else {}), "mxnet_version": VERSION}
    return _graph_text(entries, order, 0, attrs)


_AMP_CASTS = ("amp_cast", "amp_multicast")


def _without_amp_casts(entries: Sequence[Entry], order: Sequence[Node]) -> tuple[list[Entry], list[Node]]:
    """A copy of the graph in which operators read past amp_cast and amp_multicast; heads stay."""
    copies: dict[int, Node] = {}

    def source(entry: Entry) -> Entry:
        node = copies[id(entry.node)]
        if node.op is not None and node.op.name in _AMP_CASTS:
            return node.inputs[entry.index if node.op.name == "amp_multicast" else 0]
        return Entry(node, entry.index, entry.version)

    for node in order:
        copy = Node(node.op, node.name, node.attrs, map(source, node.inputs), node.params)
        copy.subgraphs = node.subgraphs
        copies[id(node)] = copy
    heads = [Entry(copies[id(e.node)], e.index, e.version) for e in entries]
    return heads, topological(heads)


def _graph_text(entries: Sequence[Entry], order: Sequence[Node], level: int, attrs: Mapping[str, int]) -> str:
    """One graph object; `level` is its nesting depth in steps of two spaces."""
    ids = {id(node): number for number, node in enumerate(order)}
    pad = "\n" + "  " * (level + 1)
    item = pad + "  "
    field = item + "  "
    shown: dict[tuple[tuple[str, str], ...], str] = {}  # few different attributes make up large graphs
    nodes: list[str] = []
    variables: list[str] = []
    row_ptr = ["0"]
    total = 0
    for number, node in enumerate(order):
        op = node.op
        if op is None:
            variables.append(str(number))
            total += 1
        else:
            total += node.num_outputs()
        row_ptr.append(str(total))
        text = f'{{{field}"op": "{"null" if op is None else op.name}", {field}"name": "{_escape(node.name)}", '
        if node.attrs:
            key = tuple(node.attrs.items())
            if key not in shown:
                items = [(k, f'"{_escape(v)}"') for k, v in sorted(key)]
                shown[key] = f'{field}"attrs": {_object(items, level + 3)}, '
            text += shown[key]
        inputs = [f"[{ids[id(source)]}, {index}, {version}]" for source, index, version in node.inputs]
        text += f'{field}"inputs": {_array(inputs, level + 3)}'
        if node.subgraphs:
            graphs = [_graph_text(s._entries, topological(s._entries), level + 4, {}) for s in node.subgraphs]
            text += f', {field}"subgraphs": {_array(graphs, level + 3, True)}'
        nodes.append(f"{text}{item}}}")
    heads = [f"[{ids[id(e.node)]}, {e.index}, {e.version}]" for e in entries]
    fields = [
        f'"nodes": {_array(nodes, level + 1, True)}',
        f'"arg_nodes": {_array(variables, level + 1)}',
        f'"node_row_ptr": {_array(row_ptr, level + 1)}',
        f'"heads": {_array(heads, level + 1)}',
    ]
    if attrs:
        tagged = _object([(key, f'["int", {value}]') for key, value in attrs.items()], level + 1)
        fields.append(f'"attrs": {tagged}')
    return "{" + pad + (", " + pad).join(fields) + pad[:-2] + "}"


def _escape(text: str) -> str:
    return text.translate(_ESCAPES) if _SPECIAL(text) else text


def _array(items: Sequence[str], level: int, lines: bool = False) -> str:
    if not items or (len(items) <= _LONG and not lines):
        return "[" + ", ".join(items) + "]"
    pad = "\n" + "  " * (level + 1)
    return "[" + pad + (", " + pad).join(items) + "\n" + "  " * level + "]"


def _object(items: Sequence[tuple[str, str]], level: int) -> str:
    if len(items) == 1:
        return f'{{"{_escape(items[0][0])}": {items[0][1]}}}'
    pad = "\n" + "  " * (level + 1)
    return "{" + pad + (", " + pad).join(f'"{_escape(k)}": {v}' for k, v in items) + "\n" + "  " * level + "}"


# -- reading ----------------------------------------------------------------------------------------------------------------------
def read(text: str | bytes) -> list[Entry]:
    """The heads of the graph that a JSON text describes, upgraded to 1.9.1.

    Errors: MXNetError naming what is wrong: no JSON, missing or mistyped fields, unknown operators (all of them in one error),
    references out of range or in a circle, attributes that an operator does not accept.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        document = json.loads(text)
    except RecursionError:
        raise MXNetError("symbol JSON is nested too deeply") from None
    except (ValueError, UnicodeDecodeError) as error:
        shown = text[:40] if isinstance(text, str) else bytes(text[:40]).decode("latin-1")
        raise MXNetError(f"not a symbol JSON text: {error} (it starts with {shown!r})") from None
    reader = _Reader(document, "")
    if is_np_shape() and not reader.np_shape:
        _to_np_shapes(reader.heads)
    return reader.heads


def _to_np_shapes(heads: Sequence[Entry]) -> None:
    """Shapes of files written without np_shape, where 0 is an unknown dimension, under np_shape, where that is -1."""
    for node in topological(heads):
        if node.op is None and "__shape__" in node.attrs:
            shape = [int(size) or -1 for size in re.findall(r"-?\d+", node.attrs["__shape__"])]
            node.attrs["__shape__"] = f"[{','.join(map(str, shape))}]" if shape else "None"


class _Reader:
    """Builds the nodes of one graph object and upgrades them."""

    def __init__(self, document: Any, where: str, version: int | None = None, depth: int = 0) -> None:
        self.where = where
        if depth > _MAX_NESTING:
            raise MXNetError(f"symbol JSON{where}: subgraphs are nested more than {_MAX_NESTING} deep")
        self.depth = depth
        graph = self._dict(document, "the text")
        self.version = self._graph_version(graph, version)
        self.np_shape = bool(isinstance(graph.get("attrs"), dict) and graph["attrs"].get("is_np_shape"))
        records = [self._dict(record, f"node {i}") for i, record in enumerate(self._list(graph, "nodes"))]
        self.ops = self._find_operators(records)
        self.nodes = [self._make(i, record) for i, record in enumerate(records)]
        for i, record in enumerate(records):
            self.nodes[i].inputs = [self._entry(e, f"inputs of node {i}") for e in self._list(record, "inputs", f"node {i}")]
        self._refuse_circles()
        for i in self._ints(graph, "arg_nodes"):
            if i >= len(self.nodes) or self.nodes[i].op is not None:
                raise self._wrong(f"arg_nodes names {i}, which is no variable")
        self.heads = [self._entry(e, "heads") for e in self._list(graph, "heads")]
        if not self.heads:
            raise self._wrong("heads is empty")
        self._upgrade(topological(self.heads))
        self._check(topological(self.heads))

    # -- fields
    def _wrong(self, text: str) -> MXNetError:
        return MXNetError(f"invalid symbol JSON{self.where}: {text}")

    def _dict(self, value: Any, what: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(f"{what} is no object but {_kind(value)}")
        return value

    def _list(self, record: Mapping[str, Any], key: str, where: str = "the graph") -> list[Any]:
        value = record.get(key)
        if not isinstance(value, list):
            raise self._wrong(f"field {key!r} of {where} is {'missing' if key not in record else 'no array but ' + _kind(value)}")
        return value

    def _ints(self, record: Mapping[str, Any], key: str) -> list[int]:
        values = self._list(record, key)
        for value in values:
            if not _is_count(value):
                raise self._wrong(f"field {key!r} holds {_kind(value)} where a node number is expected")
        return values

    def _text(self, record: Mapping[str, Any], key: str, where: str) -> str:
        value = record.get(key)
        if not isinstance(value, str):
            raise self._wrong(f"field {key!r} of {where} is {'missing' if key not in record else 'no string but ' + _kind(value)}")
        return value

    def _graph_version(self, graph: Mapping[str, Any], inherited: int | None) -> int:
        attrs = graph.get("attrs")
        if attrs is None or (isinstance(attrs, dict) and "mxnet_version" not in attrs):
            return 800 if inherited is None else inherited  # files older than 0.8 carry no version
        version = self._dict(attrs, "field 'attrs' of the graph")["mxnet_version"]
        if isinstance(version, list) and len(version) == 2 and version[0] == "int" and _is_count(version[1]):
            return int(version[1])
        raise self._wrong('mxnet_version is not of the form ["int", number]')

    # -- nodes
    def _find_operators(self, records: Sequence[Mapping[str, Any]]) -> list[Any]:
        found: list[Any] = []
        unknown: dict[str, list[str]] = {}
        for i, record in enumerate(records):
            name = self._text(record, "op", f"node {i}")
            if name == "null":
                found.append(None)
                continue
            op = lookup(name)
            if op is None:
                unknown.setdefault(name, []).append(str(record.get("name")))
            found.append(op)
        if unknown:
            listed = "; ".join(f"{op} (node {', '.join(nodes[:3])}{', ...' if len(nodes) > 3 else ''})" for op, nodes in unknown.items())
            raise self._wrong(f"operators that are not registered: {listed}")
        return found

    def _make(self, i: int, record: Mapping[str, Any]) -> Node:
        where = f"node {i}"
        node = Node(self.ops[i], self._text(record, "name", where))
        for key in ("param", "attr", "attrs"):  # MXNet before 0.9, before 1.0, since; "param" never overrides
            if record.get(key) is not None:
                for name, value in self._dict(record[key], f"field {key!r} of {where}").items():
                    if not isinstance(value, str):
                        raise self._wrong(f"attribute {name!r} of {where} is no string but {_kind(value)}")
                    node.attrs[name] = value
        for old, new in ({} if node.op is None else node.op.renamed).items():
            if old in node.attrs:
                node.attrs[new] = node.attrs.pop(old)
        if record.get("subgraphs") is not None:
            from .base import symbol_class

            graphs = self._list(record, "subgraphs", where)
            node.subgraphs = [
                symbol_class()(_Reader(graph, f"{self.where}, subgraph {k} of {where}", self.version, self.depth + 1).heads)
                for k, graph in enumerate(graphs)
            ]
        return node

    def _entry(self, value: Any, where: str) -> Entry:
        if not isinstance(value, list) or len(value) not in (2, 3) or not all(map(_is_count, value)):
            raise self._wrong(f"{where}: an entry is [node, output] or [node, output, version], not {_kind(value)}")
        if value[0] >= len(self.nodes):
            raise self._wrong(f"{where}: node {value[0]} does not exist, there are {len(self.nodes)}")
        return Entry(self.nodes[value[0]], value[1], value[2] if len(value) == 3 else 0)

    def _refuse_circles(self) -> None:
        """Errors: MXNetError when nodes depend on each other in a circle. References to later nodes are accepted, as in MXNet."""
        waiting = {id(node): len(node.inputs) for node in self.nodes}
        users: dict[int, list[Node]] = {}
        for node in self.nodes:
            for entry in node.inputs:
                users.setdefault(id(entry.node), []).append(node)
        ready = [node for node in self.nodes if not node.inputs]
        for node in ready:  # grows while it is walked
            for user in users.get(id(node), ()):
                waiting[id(user)] -= 1
                if not waiting[id(user)]:
                    ready.append(user)
        if len(ready) != len(self.nodes):
            stuck = [node.name for node in self.nodes if waiting[id(node)]]
            raise self._wrong(f"nodes depend on each other in a circle: {', '.join(stuck[:5])}{', ...' if len(stuck) > 5 else ''}")

    # -- upgrades
    def _upgrade(self, order: Iterable[Node]) -> None:
        """The steps of MXNet's own upgrade, by the version that wrote the file."""
        order = list(order)
        for node in order:
            if node.op is None and node.inputs:
                raise self._wrong(f"variable {node.name!r} has inputs")
        for node in order:
            hidden = _take_hidden(node) if self.version < VERSION else {}
            self._parse(node)
            _restore_hidden(node, hidden)
        for node in order:
            if node.op is None:
                continue
            if self.version < 900:
                _add_missing_inputs(node)
            if self.version < 904 and node.op.init:
                for spec, entry in zip(node.input_specs(), node.inputs, strict=False):
                    if entry.node.op is None and spec.name in node.op.init:
                        entry.node.attrs.setdefault("__init__", node.op.init[spec.name])
            if self.version < 905 and node.op.name in ("argmin", "argmax") and node.attrs.get("axis") == "-1":
                del node.attrs["axis"]
                self._parse(node)

    def _parse(self, node: Node) -> None:
        if node.op is not None:
            try:
                node.params, node._specs = parse_attributes(node.op, node.attrs)
            except MXNetError as error:
                raise self._wrong(f"node {node.name!r}: {error}") from None

    def _check(self, order: Iterable[Node]) -> None:
        """Every node has the inputs and subgraphs its operator takes, and every entry names an output that exists."""
        from .control_flow import check_bodies  # needs Symbol, which needs this module

        counts: dict[int, int] = {}
        for node in order:
            counts[id(node)] = node.num_outputs()
            for entry in node.inputs:
                if entry.index >= counts[id(entry.node)]:
                    raise self._wrong(f"node {node.name!r} reads output {entry.index} of {entry.node.name!r}, which has {counts[id(entry.node)]}")
            if node.subgraphs or (node.op is not None and node.op.name in _CONTROL_FLOW):
                try:
                    check_bodies(node)
                except MXNetError as error:
                    raise self._wrong(f"node {node.name!r}: {error}") from None
            if node.op is not None:
                specs = node.input_specs()
                if len(specs) != len(node.inputs):
                    names = ", ".join(spec.name for spec in specs[:8])
                    takes = f"operator {node.op.name} takes {len(specs)} inputs with these attributes ({names})"
                    raise self._wrong(f"node {node.name!r}: {takes}, not {len(node.inputs)}")
        for entry in self.heads:
            if entry.index >= counts[id(entry.node)]:
                raise self._wrong(f"heads name output {entry.index} of {entry.node.name!r}, which has {counts[id(entry.node)]}")


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**32


def _kind(value: Any) -> str:
    text = "null" if value is None else f"{type(value).__name__} {value!r}"
    return text if len(text) <= 60 else text[:57] + "..."


def _take_hidden(node: Node) -> dict[str, str]:
    """Removes the annotations that would not parse: ctx_group, weight_lr_mult, ..."""
    hidden = {k: v for k, v in node.attrs.items() if any(k.startswith(h) or k.endswith(h) for h in HIDDEN_KEYS)}
    for key in hidden:
        del node.attrs[key]
    return hidden


def _restore_hidden(node: Node, hidden: Mapping[str, str]) -> None:
    """Puts them back as `__ctx_group__`, or as `__lr_mult__` of the weight variable."""
    for key, value in hidden.items():
        known = next(h for h in HIDDEN_KEYS if key.startswith(h) or key.endswith(h))
        if key == known:
            node.attrs[f"__{key}__"] = value
            continue
        target = _input_variable(node, key[: -len(known) - 1]) if key.endswith(known) and not key.startswith(known) else None
        if target is not None:
            target.attrs[f"__{known}__"] = value
        else:
            node.attrs[key] = value


def _input_variable(node: Node, name: str) -> Node | None:
    if node.op is None or not name:
        return None
    names = [spec.name for spec in node.op.node_inputs(node.params, len(node.inputs))]
    if name not in names or names.index(name) >= len(node.inputs):
        return None
    found = node.inputs[names.index(name)].node
    return found if found.op is None else None


def _add_missing_inputs(node: Node) -> None:
    """Auxiliary states are not stored in files older than 0.9."""
    for spec in node.input_specs()[len(node.inputs) :]:
        name = f"{node.name}_{spec.name}" if node.name else spec.name
        node.inputs.append(Entry(Node(None, name, node.attrs.copy())))
