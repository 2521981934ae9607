"""`Block.save` and `Block.load`: the structure of a block, with the graphs of its hybridized parts, as JSON."""

from __future__ import annotations

import json
from typing import Any

from ..symbol import load_json

__all__ = ["read_model", "write_model"]


def write_model(block: Any, fname: str) -> None:
    """Writes a block's structure: per block its name, graph and children, under keys `<class><number>` counted over the whole tree."""
    from .block import HybridBlock

    count = [0]

    def describe(member: Any, into: dict[str, Any]) -> None:
        entry: dict[str, Any] = {"orig_name": member.name}
        into[f"{type(member).__name__.lower()}{count[0]}"] = entry
        if isinstance(member, HybridBlock):
            if member._cached_graph:
                inputs, out = member._cached_graph
                entry.update(in_format=member._in_format, out_format=member._out_format)
                entry.update(inputs=[variable.tojson() for variable in inputs], symbol=out.tojson())
            entry["hybridized"] = bool(member._cached_graph)
        names = entry["children"] = {}
        for key, child in member._children.items():
            count[0] += 1
            names[child.name] = key
            describe(child, entry)

    model: dict[str, Any] = {}
    describe(block, model)
    with open(fname, "w", encoding="utf-8") as file:
        json.dump(model, file)


def read_model(block: Any, fname: str) -> None:
    """Gives a block of the same structure the names and graphs of the file. Errors: KeyError for another structure."""
    from .block import HybridBlock

    with open(fname, encoding="utf-8") as file:
        model = json.load(file)
    count = [0]

    def restore(member: Any, source: dict[str, Any]) -> None:
        entry = source[f"{type(member).__name__.lower()}{count[0]}"]
        member._name = entry["orig_name"]
        if isinstance(member, HybridBlock) and entry["hybridized"]:
            member._in_format, member._out_format = entry["in_format"], entry["out_format"]
            member._cached_graph = [load_json(text) for text in entry["inputs"]], load_json(entry["symbol"])
            member._active = True
        own = member.params
        renamed = {f"{member.name}_{name[len(own.prefix) :]}": parameter for name, parameter in own.items()}
        own._params.clear()
        own._params.update(renamed)
        for child in member._children.values():
            count[0] += 1
            restore(child, entry)
        children = {entry["children"][child.name]: child for child in member._children.values()}
        member._children.clear()
        member._children.update(children)

    restore(block, model)
