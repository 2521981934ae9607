"""Chains of blocks."""

from __future__ import annotations

import warnings
from typing import Any

from ..block import Block, HybridBlock
from ..utils import _indent

__all__ = ["HybridSequential", "Sequential"]


class _Chain:
    """What both kinds of chain do: children by position."""

    _children: Any
    _prefix: str

    def add(self, *blocks: Any) -> None:
        """Appends blocks."""
        for block in blocks:
            self.register_child(block)  # type: ignore[attr-defined]

    def _run(self, x: Any) -> Any:
        for block in self._children.values():
            x = block(x)
        return x

    def __getitem__(self, key: Any) -> Any:
        chosen = list(self._children.values())[key]
        if not isinstance(chosen, list):
            return chosen
        part: Any = type(self)(prefix=self._prefix)  # type: ignore[call-arg]
        with part.name_scope():
            part.add(*chosen)
        return part

    def __len__(self) -> int:
        return len(self._children)

    def __repr__(self) -> str:
        rows = [f"  ({key}): {_indent(repr(block), 2)}" for key, block in self._children.items()]
        return f"{type(self).__name__}(\n" + "\n".join(rows) + "\n)"


class Sequential(_Chain, Block):
    """Blocks one after the other; slices are chains too."""

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def forward(self, x: Any) -> Any:
        """The last block's output."""
        return self._run(x)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridizes the children, each on its own."""
        if self._children and all(isinstance(block, HybridBlock) for block in self._children.values()):
            text = f"All children of this Sequential layer '{self.prefix}' are HybridBlocks: HybridSequential runs them as one graph."
            warnings.warn(text, stacklevel=2)
        super().hybridize(active, **kwargs)


class HybridSequential(_Chain, HybridBlock):
    """HybridBlocks one after the other; slices are chains too."""

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self._run(x)
