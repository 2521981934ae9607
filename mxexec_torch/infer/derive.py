"""Output shapes and dtypes from the operator body itself, run on meta tensors. The second derivation beside the rules."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

from ..errors import MXNetError
from ..registry import Attrs, OpDef
from ..semantics import is_np_shape
from .meta import META, meta_run
from .state import Shape

__all__ = ["body_outputs"]


class _Key:
    """Hashable call signature that carries the objects needed to run the body."""

    __slots__ = ("attrs", "hash", "key", "op")

    def __init__(self, op: OpDef, attrs: Attrs, *rest: Any) -> None:
        self.op, self.attrs = op, attrs
        self.key = (op.name, attrs.key, *rest)
        self.hash = hash(self.key)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.key == other.key


def body_outputs(
    op: OpDef, a: Attrs, shapes: tuple[Shape, ...], dtypes: tuple[torch.dtype, ...], name: str, train: bool = False
) -> tuple[tuple[Shape, ...], tuple[torch.dtype, ...]]:
    """Shapes and dtypes of all outputs for complete input shapes.

    Errors: MXNetError naming node, operator and input shapes when the body refuses them.
    """
    try:
        return _run(_Key(op, a, shapes, dtypes, train, is_np_shape()))
    except MXNetError as error:
        raise MXNetError(f"Error in operator {name}: {error}") from None
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        given = ", ".join("[" + ",".join(map(str, s)) + "]" for s in shapes)
        raise MXNetError(f"Error in operator {name}: {op.name} does not accept inputs of shapes {given}: {error}") from None


@lru_cache(maxsize=8192)
def _run(key: _Key) -> tuple[tuple[Shape, ...], tuple[torch.dtype, ...]]:
    shapes, dtypes, train = key.key[2], key.key[3], key.key[4]
    inputs = [torch.empty(s, dtype=d, device=META) for s, d in zip(shapes, dtypes, strict=True)]
    with meta_run():
        out = key.op.run(key.attrs, inputs, train, META)
    return tuple(tuple(t.shape) for t in out.outputs), tuple(t.dtype for t in out.outputs)
