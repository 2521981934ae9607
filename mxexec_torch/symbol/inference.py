"""Shape and type inference of symbols: what is known of the variables, and the results in MXNet's form."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ..dtypes import NAME_TO_CODE, NAME_TO_TORCH, TORCH_TO_NAME, name_of, numpy_type
from ..errors import MXNetError
from ..graph import Entry, Node, split_variables, topological
from ..infer.solver import Inferred, infer_dtypes, infer_shapes
from ..infer.state import Shape, complete
from ..infer.variables import declared_dtype, declared_shape
from ..semantics import is_np_shape

__all__ = [
    "from_user_shape", "infer_shape", "infer_type", "known_dtypes", "known_shapes", "legacy_type", "to_user_shape",
]  # fmt: skip

_MAX_DIM = 2**31 - 1


def from_user_shape(shape: Sequence[int] | None) -> Shape | None:
    """A shape as users write it, as a shape of the solver: without np_shape 0 and -1 are unknown dimensions and () an unknown shape."""
    if shape is None:
        return None
    if is_np_shape():
        return tuple(shape)
    return tuple(d if d > 0 else -1 for d in shape) or None


def to_user_shape(shape: Shape | None) -> tuple[int, ...] | None:
    """A shape of the solver as MXNet reports it."""
    if is_np_shape():
        return shape
    return () if shape is None else tuple(0 if d == -1 else d for d in shape)


def known_shapes(order: Sequence[Node], given: Mapping[str, Sequence[int] | None]) -> dict[int, Shape | None]:
    """What is known of the variables' shapes: the given ones, and where those are not complete the `__shape__` attributes."""
    _check_names(order, given, "InferShape")
    result: dict[int, Shape | None] = {}
    for node in order:
        if node.op is None:
            shape = from_user_shape(given.get(node.name))
            if not complete(shape) and "__shape__" in node.attrs:
                shape = declared_shape(node)
            result[id(node)] = shape
    return result


def known_dtypes(order: Sequence[Node], given: Mapping[str, torch.dtype | None]) -> dict[int, torch.dtype | None]:
    """What is known of the variables' element types: the given ones, else the `__dtype__` attributes."""
    _check_names(order, given, "InferType")
    result: dict[int, torch.dtype | None] = {}
    for node in order:
        if node.op is None:
            dtype = given.get(node.name)
            result[id(node)] = declared_dtype(node) if dtype is None else dtype
    return result


def _check_names(order: Sequence[Node], given: Mapping[str, Any], what: str) -> None:
    if not given:
        return
    names = [node.name for node in order if node.op is None]
    known = set(names)
    for key in given:
        if key not in known:
            listed = "".join(f"\t[{i}]{name}\n" for i, name in enumerate(names))
            raise MXNetError(f"{what}Keyword argument name {key} not found.\nCandidate arguments:\n{listed}")


def infer_shape(entries: Sequence[Entry], given: Mapping[str, Sequence[int]], partial: bool) -> tuple[Any, Any, Any]:
    """(argument, output, auxiliary state) shapes, or three Nones when they are not all decided and `partial` is false."""
    clean = {name: _dims(shape) for name, shape in given.items()}
    order = topological(entries)
    known = infer_shapes(order, known_shapes(order, clean))
    if not partial and not _decided(order, known, complete):
        return None, None, None
    return _collect(order, entries, known, to_user_shape)


def _dims(shape: Sequence[int]) -> tuple[int, ...]:
    dims = tuple(operator.index(d) for d in shape)
    if any(d > _MAX_DIM for d in dims):
        raise Exception(f"a dimension of {dims} is larger than 2^31-1, which MXNet 1.9.1 needs USE_INT64_TENSOR_SIZE=1 for")  # noqa: TRY002 - MXNet's class
    return dims


def infer_type(entries: Sequence[Entry], given: Mapping[str, torch.dtype], partial: bool) -> tuple[Any, Any, Any]:
    """(argument, output, auxiliary state) types, or three Nones when they are not all decided and `partial` is false."""
    order = topological(entries)
    known = infer_dtypes(order, known_dtypes(order, given))
    if not partial and not _decided(order, known, lambda d: d is not None):
        return None, None, None
    return _collect(order, entries, known, lambda d: None if d is None else numpy_type(TORCH_TO_NAME[d]))


def legacy_type(value: Any) -> torch.dtype | None:
    """The torch type of an `infer_type` keyword; None for types that MXNet does not have. Errors: TypeError for what is no type at all."""
    if isinstance(value, torch.dtype) or (isinstance(value, str) and value in NAME_TO_CODE):
        return NAME_TO_TORCH.get(name_of(value))
    dtype = np.dtype(value)
    name = "bfloat16" if dtype.names == ("bfloat16",) else dtype.name
    return NAME_TO_TORCH.get(name)


def _decided(order: Sequence[Node], known: Inferred, done: Any) -> bool:
    return all(done(value) for node in order for value in known[id(node)])


def _collect(order: Sequence[Node], entries: Sequence[Entry], known: Inferred, show: Any) -> tuple[list[Any], list[Any], list[Any]]:
    arguments, states = split_variables(order)
    return (
        [show(known[id(node)][0]) for node in arguments],
        [show(known[id(e.node)][e.index]) for e in entries],
        [show(known[id(node)][0]) for node in states],
    )
