"""Shape and type inference of symbols: what is known of the variables, and the results in MXNet's form."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
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
_FILES_ONLY = ("int16", "uint16", "uint32", "uint64")  # types that MXNet 1.9.1 has codes for, and no arrays of


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
        raise Exception(f"a dimension of {dims} is larger than 2^31-1, which MXNet 1.9.1 needs USE_INT64_TENSOR_SIZE=1 for")
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
        return None if name_of(value) in _FILES_ONLY else NAME_TO_TORCH.get(name_of(value))
    dtype = np.dtype(value)
    name = "bfloat16" if dtype.names == ("bfloat16",) else dtype.name
    return None if name in _FILES_ONLY else NAME_TO_TORCH.get(name)


def _decided(order: Sequence[Node], known: Inferred, done: Any) -> bool:
    return all(done(value) for node in order for value in known[id(node)])


def _collect(order: Sequence[Node], entries: Sequence[Entry], known: Inferred, show: Any) -> tuple[list[Any], list[Any], list[Any]]:
    arguments, states = split_variables(order)
    return (
        [show(known[id(node)][0]) for node in arguments],
        [show(known[id(e.node)][e.index]) for e in entries],
        [show(known[id(node)][0]) for node in states],
    )


class InferenceMethods:
    """The methods of Symbol."""

    __slots__ = ()
    _entries: list[Entry]
    list_arguments: Callable[[], list[str]]

    def infer_shape(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Shapes of arguments, outputs and auxiliary states from the shapes of some arguments, given by keyword.

        Returns three Nones and warns when the shapes do not follow. Errors: MXNetError when they contradict each other.
        """
        return self._infer("shape", self._infer_shape_impl, args, kwargs)

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """As `infer_shape`, with what is known: 0 for an unknown dimension and () for an unknown shape (np_shape: -1 and None)."""
        return self._infer_shape_impl(True, *args, **kwargs)

    def infer_type(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """NumPy types of arguments, outputs and auxiliary states from the types of some arguments, given by keyword."""
        return self._infer("type", self._infer_type_impl, args, kwargs)

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """As `infer_type`, with None for what does not follow."""
        return self._infer_type_impl(True, *args, **kwargs)

    def _infer(self, what: str, run: Callable[..., tuple[Any, Any, Any]], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
        try:
            result = run(False, *args, **kwargs)
            if result[1] is None:
                self._warn_undecided(what, run(True, *args, **kwargs)[0])
            return result
        except MXNetError:
            print(f"infer_{what} error. Arguments:")
            for key, value in [*((f"#{i}", v) for i, v in enumerate(args)), *kwargs.items()]:
                print(f"  {key}: {value}")
            raise

    def _warn_undecided(self, what: str, known: list[Any]) -> None:
        unknown_dim = -1 if is_np_shape() else 0
        undecided = [f"{n}: {v}" for n, v in zip(self.list_arguments(), known, strict=True) if not v or (what == "shape" and unknown_dim in v)]
        if len(undecided) > 10:
            undecided[10:] = ["..."]
        detail = " (0s in shape means unknown dimensions)" if what == "shape" else ""
        text = f"Cannot decide {what} for the following arguments{detail}. Consider providing them as input:\n\t"
        warnings.warn(text + "\n\t".join(undecided), stacklevel=4)

    def _infer_shape_impl(self, partial: bool, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        _refuse_positional(args, kwargs, "shapes")
        for key, value in kwargs.items():
            if not isinstance(value, tuple):
                raise TypeError(f"Arguments need to be shapes (tuple), but '{key}' is {type(value)}.")
        return infer_shape(self._entries, kwargs, partial)

    def _infer_type_impl(self, partial: bool, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        for value in args:
            if not kwargs and value is not None and legacy_type(value) is None:
                raise TypeError(f"Argument need to be one of {sorted(NAME_TO_CODE)}")
        _refuse_positional(args, kwargs, "types")
        types = {key: legacy_type(value) for key, value in kwargs.items()}
        return infer_type(self._entries, {key: dtype for key, dtype in types.items() if dtype is not None}, partial)


def _refuse_positional(args: tuple[Any, ...], kwargs: Mapping[str, Any], what: str) -> None:
    if args and kwargs:
        raise ValueError(f"Can only specify known argument {what} either by positional or kwargs way.")
    for i, value in enumerate(args):
        if what == "shapes" and value is not None and not isinstance(value, tuple):
            raise TypeError(f"Arguments need to be shapes (tuple), but argument {i} is {type(value)}.")
    if args:
        # MXNet 1.9.1 documents this form but reads past the end of an empty list of names.
        raise MXNetError(f"positional {what} are not supported by MXNet 1.9.1: give them by keyword, name=...")
