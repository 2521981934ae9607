"""Hypothesis strategies that make operator cases: what they find becomes a case in tests/opdb/cases."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ..opdb.case import Case, distinct, normal

__all__ = ["broadcasts", "convolutions", "poolings", "reductions", "reshapes", "slices"]

dims = st.integers(1, 4)
shapes = st.lists(dims, min_size=1, max_size=4).map(tuple)


def _case(op: str, inputs: dict[str, Any], attrs: dict[str, Any]) -> Case:
    return Case(op, repr(sorted((k, v) for k, v in attrs.items())), inputs=inputs, attrs=attrs)


@st.composite
def reshapes(draw: st.DrawFn) -> Case:
    """Reshape with special codes, fitting or not."""
    shape = draw(shapes)
    codes = st.one_of(st.sampled_from([0, -1, -2, -3, -4]), st.integers(1, 6))
    attrs: dict[str, Any] = {"shape": tuple(draw(st.lists(codes, min_size=1, max_size=5)))}
    if draw(st.booleans()):
        attrs["reverse"] = True
    return _case("Reshape", {"data": normal(*shape)}, attrs)


@st.composite
def reductions(draw: st.DrawFn) -> Case:
    """Reductions over one, several or all axes; no zeros (MXNet divides by the factor in the gradient of prod)."""
    shape = draw(shapes)
    axes = st.integers(-len(shape), len(shape) - 1)
    attrs: dict[str, Any] = {}
    axis = draw(st.one_of(st.none(), axes, st.lists(axes, min_size=1, max_size=len(shape), unique_by=lambda a: a % len(shape)).map(tuple)))
    if axis is not None:
        attrs["axis"] = axis
    for flag in ("keepdims", "exclude"):
        if draw(st.booleans()):
            attrs[flag] = True
    return _case(draw(st.sampled_from(["sum", "mean", "max", "min", "prod", "nansum"])), {"data": distinct(*shape, low=0.5, high=2.5)}, attrs)


@st.composite
def broadcasts(draw: st.DrawFn) -> Case:
    """Broadcasting binary operators on shapes that fit."""
    shape = draw(shapes)
    lhs = [1 if draw(st.booleans()) else d for d in shape]
    rhs = [d if left == 1 else draw(st.sampled_from([1, d])) for left, d in zip(lhs, shape)]
    name = draw(st.sampled_from(["add", "sub", "mul", "maximum", "minimum", "hypot", "greater", "equal"]))
    return _case(f"broadcast_{name}", {"lhs": normal(*lhs), "rhs": normal(*rhs)}, {})


@st.composite
def slices(draw: st.DrawFn) -> Case:
    """slice with open ends, negative indices and steps."""
    shape = draw(shapes)
    rank = draw(st.integers(1, len(shape)))
    index = st.one_of(st.none(), st.integers(-5, 5))
    attrs: dict[str, Any] = {k: tuple(draw(st.lists(index, min_size=rank, max_size=rank))) for k in ("begin", "end")}
    if draw(st.booleans()):
        attrs["step"] = tuple(draw(st.lists(st.sampled_from([None, 1, 2, -1, -2]), min_size=rank, max_size=rank)))
    return _case("slice", {"data": normal(*shape)}, attrs)


def _window(draw: st.DrawFn, rank: int) -> dict[str, Any]:
    attrs: dict[str, Any] = {"kernel": tuple(draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))}
    if draw(st.booleans()):
        attrs["stride"] = tuple(draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    if draw(st.booleans()):
        attrs["pad"] = tuple(draw(st.integers(0, k - 1)) for k in attrs["kernel"])
    return attrs


@st.composite
def poolings(draw: st.DrawFn) -> Case:
    """Pooling in one to three dimensions, both conventions, all kinds."""
    rank = draw(st.integers(1, 3))
    attrs = _window(draw, rank)
    attrs["pool_type"] = draw(st.sampled_from(["max", "avg", "sum"]))
    if draw(st.booleans()):
        attrs["pooling_convention"] = "full"
    if attrs["pool_type"] == "avg" and draw(st.booleans()):
        attrs["count_include_pad"] = False
    sizes = draw(st.lists(st.integers(3, 6), min_size=rank, max_size=rank))
    return _case("Pooling", {"data": distinct(1, 2, *sizes)}, attrs)


@st.composite
def convolutions(draw: st.DrawFn) -> Case:
    """Convolution in one or two dimensions with groups and dilation."""
    rank = draw(st.integers(1, 2))
    attrs = _window(draw, rank)
    if draw(st.booleans()):
        attrs["dilate"] = tuple(draw(st.lists(st.integers(1, 2), min_size=rank, max_size=rank)))
    groups = draw(st.sampled_from([1, 2]))
    attrs.update(num_filter=4, num_group=groups)
    sizes = draw(st.lists(st.integers(5, 7), min_size=rank, max_size=rank))
    inputs = {"data": normal(2, 2, *sizes), "weight": normal(4, 2 // groups, *attrs["kernel"]), "bias": normal(4)}
    return _case("Convolution", inputs, attrs)
