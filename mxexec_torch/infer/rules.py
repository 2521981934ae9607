"""Named shape and dtype rules shared by operator families. A rule is `rule(a, s)`; see `infer.state`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..dtypes import torch_dtype
from ..registry import Attrs
from .state import Dtypes, Shape, Shapes, merge_shapes

__all__ = [
    "any_dtype", "attr_dtype", "broadcast", "elementwise", "fixed_dtype", "free_inputs", "normalize_axis", "output_from", "same_dtype",
]  # fmt: skip


def elementwise(a: Attrs, s: Shapes) -> None:
    """All inputs and outputs have one shape; knowledge flows in every direction."""
    merged: Shape | None = None
    for known in [*s.inputs, *s.outputs]:
        try:
            merged = merge_shapes(merged, known)
        except ValueError:
            break  # the unify calls below name the input that differs
    for position in range(len(s.inputs)):
        s.unify(position, merged, elementwise=True)
    for index in range(len(s.outputs)):
        s.unify_out(merged, index)


def output_from(key: str | int = 0) -> Callable[[Attrs, Shapes], None]:
    """Every output has the shape of one input, both ways; other inputs are left alone."""

    def rule(a: Attrs, s: Shapes) -> None:
        for index in range(len(s.outputs)):
            s.unify_out(s.get(key), index)
            s.unify(key, s.out(index))

    return rule


def broadcast(a: Attrs, s: Shapes) -> None:
    """NumPy broadcasting of two inputs, forward only (src/operator/tensor/elemwise_binary_broadcast_op.h)."""
    lhs, rhs = s.get(0), s.get(1)
    if lhs is None or rhs is None:
        return
    n = max(len(lhs), len(rhs))
    left, right = (1,) * (n - len(lhs)) + lhs, (1,) * (n - len(rhs)) + rhs
    out = []
    for x, y in zip(left, right, strict=True):
        if x == -1 or y == -1:
            other = y if x == -1 else x
            out.append(other if other > 1 else -1)
        elif x == y or y == 1:
            out.append(x)
        elif x == 1:
            out.append(y)
        else:
            text = f"operands could not be broadcast together with shapes [{','.join(map(str, lhs))}] [{','.join(map(str, rhs))}]"
            raise s.fail(text)
    s.unify_out(tuple(out))


def normalize_axis(s: Shapes, axis: int, ndim: int) -> int:
    """A non-negative axis. Errors: MXNetError when it is out of range."""
    if not -ndim <= axis < ndim:
        raise s.fail(f"axis {axis} is out of bounds for an array of {ndim} dimensions")
    return axis % ndim


def same_dtype(a: Attrs, t: Dtypes) -> None:
    """All inputs and outputs have one element type; knowledge flows in every direction. The default."""
    known = next((d for d in [*t.inputs, *t.outputs] if d is not None), None)
    if known is None:
        return
    for position in range(len(t.inputs)):
        t.unify(position, known)
    for index in range(len(t.outputs)):
        t.unify_out(known, index)


def free_inputs(*free: str) -> Callable[[Attrs, Dtypes], None]:
    """One element type for everything but the named inputs (indices, conditions), which may have any."""

    def rule(a: Attrs, t: Dtypes) -> None:
        tied = [i for i, name in enumerate(t.names) if name not in free]
        known = next((d for d in [*(t.inputs[i] for i in tied), *t.outputs] if d is not None), None)
        if known is not None:
            for position in tied:
                t.unify(position, known)
            for index in range(len(t.outputs)):
                t.unify_out(known, index)

    return rule


def fixed_dtype(*dtypes: torch.dtype) -> Callable[[Attrs, Dtypes], None]:
    """The outputs have these element types (the last one repeats); inputs may have any."""

    def rule(a: Attrs, t: Dtypes) -> None:
        for index in range(len(t.outputs)):
            t.unify_out(dtypes[min(index, len(dtypes) - 1)], index)

    return rule


def attr_dtype(attribute: str = "dtype", default: torch.dtype = torch.float32) -> Callable[[Attrs, Dtypes], None]:
    """The outputs have the element type that an attribute names; inputs may have any."""

    def rule(a: Attrs, t: Dtypes) -> None:
        value: Any = a[attribute]
        dtype = default if value in (None, "None") else torch_dtype(value)
        for index in range(len(t.outputs)):
            t.unify_out(dtype, index)

    return rule


def any_dtype(a: Attrs, t: Dtypes) -> None:
    """Nothing is known about the element types."""
