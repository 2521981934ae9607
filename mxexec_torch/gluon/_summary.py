"""The table that `Block.summary` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..ndarray.core import NDArray

__all__ = ["print_summary"]


@dataclass
class _Row:
    layer: str
    shape: str
    params: int = 0
    trainable: int = 0
    shared: int = 0


def _shapes(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_shapes(v) for v in value]
    return value.shape if isinstance(value, NDArray) else value


def _text(value: Any) -> str:
    shapes = _shapes(value)
    return str(shapes)[1:-1] if isinstance(shapes, list) else str(shapes)


def print_summary(block: Any, inputs: tuple[Any, ...]) -> None:
    """Runs a block on inputs and prints each layer's output shape and number of parameters. Errors: AssertionError for hybridized blocks."""
    from .block import HybridBlock
    from .nn.basic_layers import HybridSequential, Sequential

    rows = [_Row("Input", _text(inputs))]
    seen: set[int] = set()
    handles = []

    def ran(layer: Any, _: Any, outputs: Any) -> None:
        row = _Row(f"{type(layer).__name__}-{len(rows)}", _text(outputs))
        for parameter in layer.params.values():
            size = parameter.data().size
            row.params += size
            row.trainable += size if parameter.grad_req != "null" else 0
            row.shared += size if id(parameter) in seen else 0
            seen.add(id(parameter))
        rows.append(row)

    def watch(layer: Any) -> None:
        assert not isinstance(layer, HybridBlock) or not layer._active, f'"{layer.name}" must not be hybridized to print summary.'
        if not isinstance(layer, (Sequential, HybridSequential)):
            handles.append(layer.register_forward_hook(ran))

    try:
        block.apply(watch)
        block(*inputs)
    finally:
        for handle in handles:
            handle.detach()
    _print(rows)


def _print(rows: list[_Row]) -> None:
    total, trainable, shared = (sum(getattr(row, what) for row in rows) for what in ("params", "trainable", "shared"))
    columns = "{:>20}  {:>42} {:>15}".format
    lines = ["-" * 80, columns("Layer (type)", "Output Shape", "Param #"), "=" * 80]
    lines += [columns(row.layer, row.shape, row.params) for row in rows]
    lines += [
        "=" * 80,
        "Parameters in forward computation graph, duplicate included",
        f"   Total params: {total}",
        f"   Trainable params: {trainable}",
        f"   Non-trainable params: {total - trainable}",
        f"Shared params in forward computation graph: {shared}",
        f"Unique parameters in model: {total - shared}",
        "-" * 80,
    ]
    print("\n".join(lines))
