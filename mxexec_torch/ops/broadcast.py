"""broadcast_axis, broadcast_to, broadcast_like: repeat a tensor along axes of size 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes, show
from ..infer.state import Shape as KnownShape
from ..registry import Attrs, Tensor, op
from ..semantics import is_np_shape
from ..values import OptShape, Shape

__all__: list[str] = []


def _along(shape: KnownShape, axes: Sequence[int], sizes: Sequence[int]) -> KnownShape:
    """`shape` with axes of size 1 replaced. Errors: ValueError."""
    if len(axes) != len(sizes):
        raise ValueError(f"axis {tuple(axes)} and size {tuple(sizes)} differ in length")
    result = list(shape)
    for axis, size in zip(axes, sizes, strict=True):
        if not 0 <= axis < len(shape):
            raise ValueError(f"axis {axis} must be in range [0, {len(shape)})")
        if shape[axis] not in (1, -1):
            raise ValueError(f"axis {axis} of {show(shape)} must have size 1")
        result[axis] = size
    return tuple(result)


def _to(shape: KnownShape, target: KnownShape, keep: int) -> KnownShape:
    """`target` with its entries `keep` taken from shape. Errors: ValueError."""
    if len(shape) != len(target):
        raise ValueError(f"an array of shape {show(shape)} cannot be broadcast to {show(target)}")
    for given, wanted in zip(shape, target, strict=True):
        if wanted != keep and given not in (-1, 1, wanted):
            raise ValueError(f"an array of shape {show(shape)} cannot be broadcast to {show(target)}")
    return tuple(given if wanted == keep else wanted for given, wanted in zip(shape, target, strict=True))


def _like(lhs: KnownShape, rhs: KnownShape, lhs_axes: tuple[int, ...] | None, rhs_axes: tuple[int, ...] | None) -> KnownShape:
    """The result of broadcast_like. Errors: ValueError."""
    if lhs_axes is None or rhs_axes is None:
        return _to(lhs, rhs, -1)
    if len(lhs_axes) != len(rhs_axes) or not lhs_axes:
        raise ValueError(f"lhs_axes {lhs_axes} and rhs_axes {rhs_axes} must name the same number of axes, at least one")
    for axes, shape, name in ((lhs_axes, lhs, "lhs_axes"), (rhs_axes, rhs, "rhs_axes")):
        for axis in axes:
            if not -len(shape) <= axis < len(shape):
                raise ValueError(f"invalid dimension {axis} in {name} of an array of shape {show(shape)}")
    return _along(lhs, [a % len(lhs) for a in lhs_axes], [rhs[a % len(rhs)] for a in rhs_axes])


def _kept() -> int:
    return -2 if is_np_shape() else 0


def _rule(compute: Callable[[Attrs, Shapes], KnownShape | None]) -> Callable[[Attrs, Shapes], None]:
    """A shape rule out of a function that returns the output's shape or raises ValueError."""

    def rule(a: Attrs, s: Shapes) -> None:
        if s.get(0) is None:
            return
        try:
            s.unify_out(compute(a, s))
        except ValueError as error:
            raise s.fail(f"{s.op.name}: {error}") from None

    return rule


def _like_shape(a: Attrs, s: Shapes) -> KnownShape | None:
    return None if s.get(1) is None else _like(s.get(0), s.get(1), a.lhs_axes, a.rhs_axes)


def _like_dtype(a: Attrs, t: Dtypes) -> None:
    t.unify(0, t.out())
    t.unify_out(t.get(0))


def _expanded(data: Tensor, compute: Callable[[], KnownShape]) -> Tensor:
    try:
        return data.expand(compute())
    except ValueError as error:
        raise MXNetError(str(error)) from None


@op("broadcast_axis", aliases=("broadcast_axes",), shape=_rule(lambda a, s: _along(s.get(0), a.axis, a.size)))
def broadcast_axis(data: Tensor, /, *, axis: Shape = (), size: Shape = ()) -> Tensor:
    """data repeated `size` times along each axis, which must have size 1.

    data any shape -> that shape with the sizes in place. Source: src/operator/tensor/broadcast_reduce_op_value.cc
    """
    return _expanded(data, lambda: _along(tuple(data.shape), axis, size))


@op("broadcast_to", shape=_rule(lambda a, s: _to(s.get(0), a.shape, _kept())))
def broadcast_to(data: Tensor, /, *, shape: Shape = ()) -> Tensor:
    """data repeated along its axes of size 1 up to a shape; 0 in the shape keeps an axis.

    data of as many dimensions -> shape. Source: src/operator/tensor/broadcast_reduce_op_value.cc
    """
    return _expanded(data, lambda: _to(tuple(data.shape), shape, _kept()))


@op("broadcast_like", shape=_rule(_like_shape), dtype=_like_dtype)
def broadcast_like(lhs: Tensor, rhs: Tensor, /, *, lhs_axes: OptShape = None, rhs_axes: OptShape = None) -> Tensor:
    """lhs repeated to rhs's shape, or along lhs_axes to the sizes of rhs_axes; rhs gets a zero gradient.

    lhs, rhs of as many dimensions -> rhs's shape. Source: src/operator/tensor/broadcast_reduce_op_value.cc
    """
    return _expanded(lhs, lambda: _like(tuple(lhs.shape), tuple(rhs.shape), lhs_axes, rhs_axes))
