"""What a legacy checkpoint contains: `mxexec-torch info model-symbol.json [model-0000.params]`.

Reads the file's own text first, so that a model with operators that nobody here knows is still described.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from . import ndarray as nd
from . import registry
from . import symbol as sym
from .errors import FileFormatError, MXNetError
from .ndarray.serialization import LIST_MAGIC

__all__ = ["describe"]

_PARAMETERS = LIST_MAGIC.to_bytes(8, "little")  # what every .params file starts with


def describe(symbol_path: str, params_path: str | None = None) -> str:
    """The report. Errors: FileFormatError when the file is no MXNet symbol; OSError."""
    graph = _graph(symbol_path)
    nodes = [node for node in graph["nodes"] if isinstance(node, dict)]
    operators = Counter(str(node.get("op")) for node in nodes if node.get("op") != "null")
    unknown = [name for name in operators if registry.lookup(name) is None]
    lines = [f"{symbol_path}: {_era(graph, nodes)}, {len(nodes)} nodes, {sum(operators.values())} of them operators"]
    lines += ["", "Operators"]
    for name, count in sorted(operators.items(), key=lambda item: (-item[1], item[0])):
        lines.append(f"  {count:5d}  {name}{'   NOT SUPPORTED' if name in unknown else ''}")
    stored = _arrays(params_path) if params_path else {}
    problem = None
    try:
        symbol = sym.load(symbol_path)
    except MXNetError as error:
        problem = str(error)
    else:
        lines += _inputs(symbol, stored, bool(params_path))
    if params_path:
        lines += _parameters(params_path, stored)
    lines.append("")
    if unknown:
        lines.append("Does not run here: " + ", ".join(f"{name} ({_standing(name)})" for name in sorted(unknown)))
    elif problem:
        lines.append(f"Does not load here: {problem}")
    else:
        lines.append("Every operator is supported.")
        lines += [f"  {name}: {limit}" for name in sorted(operators) for limit in registry.get(name).limits]
    return "\n".join(lines)


def _graph(path: str) -> dict[str, Any]:
    content = Path(path).read_bytes()
    if content.startswith(_PARAMETERS):
        raise FileFormatError(f"{path} is a parameter file: name the symbol file (-symbol.json) first, then this one")
    try:
        graph = json.loads(content.decode("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FileFormatError(f"{path} is no JSON file: {error}") from None
    if not isinstance(graph, dict) or not isinstance(graph.get("nodes"), list):
        raise FileFormatError(f"{path} is JSON, but no MXNet symbol: it has no list of nodes")
    return graph


def _era(graph: dict[str, Any], nodes: list[dict[str, Any]]) -> str:
    """The MXNet version stored in the file, or the span of versions that wrote files like it."""
    attrs = graph.get("attrs")
    version = attrs.get("mxnet_version") if isinstance(attrs, dict) else None
    if isinstance(version, list) and len(version) == 2 and isinstance(version[1], int):
        number = version[1]
        return f"written by MXNet {number // 10000}.{number // 100 % 100}.{number % 100}"
    keys = {key for node in nodes for key in node}
    if "attrs" in keys:
        return "written by MXNet 0.12 or later (no version stored)"
    return "written by MXNet 0.8 or older (no version stored)" if "param" in keys else "written by MXNet 0.9 to 0.11 (no version stored)"


def _arrays(path: str) -> dict[str, Any]:
    stored = nd.load(path)
    if isinstance(stored, dict):
        return {name.partition(":")[2] or name: array for name, array in stored.items()}
    return {f"(array {i})": array for i, array in enumerate(stored)}


def _shape(shape: Any) -> str:
    """A shape as text; dimensions nobody knows yet as '?'."""
    if not shape:
        return "shape unknown"
    return "(" + ", ".join("?" if d in (0, -1) else str(d) for d in shape) + ("," if len(shape) == 1 else "") + ")"


def _inputs(symbol: Any, stored: dict[str, Any], with_params: bool) -> list[str]:
    arguments, auxiliary = symbol.list_arguments(), symbol.list_auxiliary_states()
    known = {name: stored[name].shape for name in arguments if name in stored}
    try:
        shapes = symbol.infer_shape_partial(**known)[0] or [()] * len(arguments)
    except MXNetError as error:
        return ["", f"The parameters do not fit the symbol: {error}"]
    inferred = dict(zip(arguments, shapes))
    if with_params:
        lines = ["", "Inputs (arguments that the parameter file does not hold)"]
        lines += [f"  {name}  {_shape(inferred[name])}" for name in arguments if name not in stored]
    else:
        lines = ["", "Arguments (give the .params file to tell inputs from parameters)"]
        lines += [f"  {name}  {_shape(inferred[name])}" for name in arguments]
    lines += ["", "Outputs", *[f"  {name}" for name in symbol.list_outputs()]]
    missing = [name for name in auxiliary if name not in stored]
    if with_params and missing:
        lines += ["", "Auxiliary states that the parameter file does not hold", *[f"  {name}" for name in missing]]
    unused = sorted(set(stored) - set(arguments) - set(auxiliary))
    if unused:
        lines += ["", "Arrays of the parameter file that the symbol does not use", *[f"  {name}" for name in unused]]
    return lines


def _parameters(path: str, stored: dict[str, Any]) -> list[str]:
    count = sum(array.size for array in stored.values())
    lines = ["", f"Parameters of {path}: {len(stored)} arrays, {count:,} values, {Path(path).stat().st_size:,} bytes"]
    return lines + [f"  {name}  {_shape(array.shape)} {array.dtype.__name__}" for name, array in stored.items()]


def _standing(name: str) -> str:
    """Whether an unknown operator is MXNet's own."""
    from .matrix import operator_names

    return "not implemented yet" if name in operator_names() else "not an operator of MXNet 1.9.1"
