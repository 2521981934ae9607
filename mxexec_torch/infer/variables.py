"""What a variable's own attributes say about its shape, type and storage (`Variable(shape=, dtype=, stype=)`)."""

from __future__ import annotations

import torch

from ..dtypes import CODE_TO_NAME, NAME_TO_TORCH
from ..errors import MXNetError
from ..graph import Node
from ..semantics import is_np_shape
from ..values import Shape as ShapeValue
from .state import Shape

__all__ = ["declared_dtype", "declared_shape", "declared_stype"]

_SHAPE = ShapeValue.__metadata__[0]  # type: ignore[attr-defined]
STYPES = {"0": "default", "1": "row_sparse", "2": "csr"}



def declared_shape(node: Node) -> Shape | None:
    """The `__shape__` attribute with unknown dimensions as -1, None when there is none. Errors: MXNetError for unreadable text."""
    text = node.attrs.get("__shape__")
    if text is None:
        return None
    shape = _SHAPE.read(text, "__shape__")
    if shape is None or (not shape and not is_np_shape()):
        return None
    return tuple(-1 if d < 0 or (d == 0 and not is_np_shape()) else d for d in shape)


def declared_dtype(node: Node) -> torch.dtype | None:
    """The `__dtype__` attribute (a type code as text), None when there is none. Errors: MXNetError for an unknown code."""
    text = node.attrs.get("__dtype__")
    if text is None or text == "-1":
        return None
    try:
        return NAME_TO_TORCH[CODE_TO_NAME[int(text)]]
    except (ValueError, KeyError):
        raise MXNetError(f"variable {node.name!r} has the attribute __dtype__={text!r}, which is no type code of MXNet") from None


def declared_stype(node: Node) -> str:
    """The `__storage_type__` attribute: 'default', 'row_sparse' or 'csr'."""
    return STYPES.get(node.attrs.get("__storage_type__", "0"), "undefined")
