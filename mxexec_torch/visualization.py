"""mx.viz: `print_summary` (a table of layers, text as MXNet prints it) and `plot_network` (a Graphviz digraph)."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .graph import Entry, Node, topological
from .symbol.symbol import Symbol, output_name

__all__ = ["plot_network", "print_summary"]

_COLUMNS = ("Layer (type)", "Output Shape", "Param #", "Previous Layer")
_WEIGHT_ENDINGS = ("_weight", "_bias", "_beta", "_gamma", "_moving_var", "_moving_mean", "_running_var", "_running_mean")
_NODE_STYLE = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034", "style": "filled"}
_EDGE_STYLE = {"dir": "back", "arrowtail": "open"}
_INPUT_COLOR, _LAYER_COLOR, _ACTIVATION_COLOR, _NORM_COLOR = "#8dd3c7", "#fb8072", "#ffffb3", "#bebada"
_POOL_COLOR, _SHAPE_COLOR, _LOSS_COLOR, _OTHER_COLOR = "#80b1d3", "#fdb462", "#b3de69", "#fccde5"
_COLORS = {
    "Convolution": _LAYER_COLOR, "FullyConnected": _LAYER_COLOR, "BatchNorm": _NORM_COLOR, "Activation": _ACTIVATION_COLOR,
    "LeakyReLU": _ACTIVATION_COLOR, "Pooling": _POOL_COLOR, "Concat": _SHAPE_COLOR, "Flatten": _SHAPE_COLOR, "Reshape": _SHAPE_COLOR,
    "Softmax": _LOSS_COLOR,
}  # fmt: skip


# -- print_summary ------------------------------------------------------------------------------------------------------------------
def print_summary(
    symbol: Symbol, shape: Mapping[str, tuple[int, ...]] | None = None, line_length: int = 120, positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0)
) -> None:
    """Prints a table of layers: name and operator, output shape, number of parameters, inputs.

    shape: shapes of the inputs by name; without it shapes are left out and only few parameters can be counted.
    positions: column ends, as characters or as shares of `line_length`.
    Errors: TypeError for anything but a symbol, ValueError when the shapes do not suffice.
    """
    if not isinstance(symbol, Symbol):
        raise TypeError("symbol must be Symbol")
    shapes = None if shape is None else _infer(symbol, "shape", shape)
    columns = [int(line_length * p) for p in positions] if positions[-1] <= 1 else [int(p) for p in positions]
    nodes = topological(symbol._entries)
    ids = {id(node): i for i, node in enumerate(nodes)}
    first = symbol._entries[0]
    # MXNet compares node numbers with all three numbers of the first head, so that node 0 counts as a layer's input (visualization.py).
    listed = {ids[id(first.node)], first.index, first.version}
    total = 0
    print("_" * line_length)
    _print_row(_COLUMNS, columns)
    print("=" * line_length)
    for i, node in enumerate(nodes):
        if node.op is None and i > 0:
            continue
        previous = [e.node for e in node.inputs if e.node.op is not None or ids[id(e.node)] in listed]
        count = _parameters(node, previous, shapes)
        out_shape = shapes.get(_main_output(node), ())[1:] if shapes is not None and (node.op is not None or i in listed) else ()
        kind = "null" if node.op is None else node.op.name
        _print_row([f"{node.name}({kind})", "x".join(map(str, out_shape)), count, previous[0].name if previous else ""], columns)
        for further in previous[1:]:
            _print_row(["", "", "", further.name], columns)
        print(("=" if i == len(nodes) - 1 else "_") * line_length)
        total += count
    print(f"Total params: {total}")
    print("_" * line_length)


def _print_row(fields: Sequence[Any], columns: Sequence[int]) -> None:
    line = ""
    for field, end in zip(fields, columns, strict=False):
        line = f"{line}{field}"[:end].ljust(end)
    print(line)


def _main_output(node: Node) -> str:
    return node.name if node.op is None else f"{node.name}_output"


def _parameters(node: Node, previous: Sequence[Node], shapes: Mapping[str, tuple[int, ...]] | None) -> int:
    """The number of trained values that MXNet counts for a layer."""
    if node.op is None:
        return 0
    a = node.params
    channels = sum(shapes[_main_output(p)][1] for p in previous if _main_output(p) in shapes) if shapes is not None else 0
    if node.op.name == "Convolution":
        count = channels * a.num_filter // a.num_group
        for size in a.kernel:
            count *= size
        return count if a.no_bias else count + a.num_filter  # type: ignore[no-any-return]
    if node.op.name == "FullyConnected":
        return (channels if a.no_bias else channels + 1) * a.num_hidden  # type: ignore[no-any-return]
    if node.op.name == "BatchNorm":
        return 0 if shapes is None else shapes[_main_output(node)][1] * 2
    return a.input_dim * a.output_dim if node.op.name == "Embedding" else 0


# -- plot_network -------------------------------------------------------------------------------------------------------------------
def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, tuple[int, ...]] | None = None,
    dtype: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, str] | None = None,
    hide_weights: bool = True,
) -> Any:
    """A graphviz.Digraph of the network; with `shape` and `dtype` of the inputs its edges carry shapes and types.

    node_attrs: Graphviz attributes of nodes. hide_weights: leaves out weights, biases and statistics.
    Errors: ImportError without the package graphviz, TypeError for anything but a symbol, ValueError when shapes or types do not suffice.
    """
    try:
        from graphviz import Digraph  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise ImportError("plot_network needs the package graphviz: pip install mxexec_torch[viz]") from None
    if not isinstance(symbol, Symbol):
        raise TypeError("symbol must be a Symbol")
    shapes = None if shape is None else _infer(symbol, "shape", shape)
    types = None if dtype is None else _infer(symbol, "type", dtype)
    nodes = topological(symbol._entries)
    _warn_repeated(nodes)
    style = {**_NODE_STYLE, **(node_attrs or {})}
    dot = Digraph(name=title, format=save_format)
    for node in nodes:
        if node.op is None and node.name.endswith(_WEIGHT_ENDINGS):
            continue  # drawn by its edge alone when weights are shown
        color = _INPUT_COLOR if node.op is None else _COLORS.get(node.op.name, _OTHER_COLOR)
        dot.node(name=node.name, label=_label(node), **{**style, **({"shape": "oval"} if node.op is None else {}), "fillcolor": color})
    for node in nodes:
        inputs = node.inputs[:1] if node.op is not None and node.op.name == "_contrib_BilinearResize2D" else node.inputs
        for entry in inputs:
            if not (hide_weights and entry.node.op is None and entry.node.name.endswith(_WEIGHT_ENDINGS)):
                dot.edge(tail_name=node.name, head_name=entry.node.name, label=_edge_label(entry, shapes, types), **_EDGE_STYLE)
    return dot


def _infer(symbol: Symbol, what: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Shapes or types of all visible outputs by name."""
    internals = symbol.get_internals()
    found = getattr(internals, f"infer_{what}")(**given)[1]
    if found is None:
        raise ValueError(f"Input {what} is incomplete")
    return dict(zip(internals.list_outputs(), found, strict=True))


def _warn_repeated(nodes: Sequence[Node]) -> None:
    repeated = [name for name, count in Counter(node.name for node in nodes).items() if count > 1]
    if repeated:
        warnings.warn(
            "There are multiple variables with the same name in your graph, the drawing may show circles. Repeated names: " + ",".join(repeated),
            RuntimeWarning,
            stacklevel=3,
        )


def _sizes(text: str) -> str:
    return "x".join(re.findall(r"\d+", text))


def _label(node: Node) -> str:
    """What a node is called in the drawing: layers by their most important attributes as written, others by name."""
    attrs = node.attrs
    kind = "" if node.op is None else node.op.name
    stride = _sizes(attrs["stride"]) if "stride" in attrs else "1"
    if kind == "Convolution":
        return f"Convolution\n{_sizes(attrs['kernel'])}/{stride}, {attrs['num_filter']}"
    if kind == "FullyConnected":
        return f"FullyConnected\n{attrs['num_hidden']}"
    if kind == "Activation":
        return f"Activation\n{attrs['act_type']}"
    if kind == "LeakyReLU":
        return f"LeakyReLU\n{attrs.get('act_type', 'Leaky')}"
    if kind == "Pooling":
        return f"Pooling\n{node.params.pool_type}, {_sizes(attrs['kernel']) if 'kernel' in attrs else '[]'}/{stride}"
    return attrs["op_type"] if kind == "Custom" else node.name


def _edge_label(entry: Entry, shapes: Mapping[str, tuple[int, ...]] | None, types: Mapping[str, Any] | None) -> str:
    name = output_name(entry)
    label = ""
    if shapes is not None and name in shapes:
        label = "x".join(map(str, shapes[name][1:]))
    if types is not None and name in types:
        label += f"({types[name].__name__})"
    return label
