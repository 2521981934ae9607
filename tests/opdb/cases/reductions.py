"""Sums, means, products, extremes, norms and positions of extremes."""

import functools
from typing import Any

from ..case import Case, distinct, integers, normal, over_dtypes, positive, values

_DATA = dict(data=distinct(2, 3, 4))
_POSITIVE = dict(data=positive(2, 3, 4))
_REDUCE = ("sum", "mean", "prod", "max", "min", "nansum", "nanprod")
_HOLES = dict(data=values([[1.0, float("nan"), 2.0], [float("nan"), float("nan"), 3.0]]))
_TIES = dict(data=values([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]))



def _joined(name: str, mx: Any, F: Any, given: dict[str, Any]) -> Any:  # noqa: N803 - as in Case.build
    """The result joined to what `out` holds, as loops over many gradients do."""
    count = {} if name == "all_finite" else dict(num_arrays=1)
    getattr(F, name)(given["data"], init_output=False, out=given["held"], **count)
    return given["held"]


CASES = [
    *[Case(name, "all", inputs=_POSITIVE) for name in _REDUCE],
    *[Case(name, "axis", inputs=_POSITIVE, attrs=dict(axis=1)) for name in _REDUCE],
    *[Case(name, "axes_kept", inputs=_POSITIVE, attrs=dict(axis=(0, -1), keepdims=True)) for name in _REDUCE],
    *[Case(name, "excluded", inputs=_POSITIVE, attrs=dict(axis=1, exclude=True)) for name in _REDUCE],
    *[Case(name, "wrong_axis", inputs=_POSITIVE, attrs=dict(axis=3), error=True) for name in ("sum", "max")],
    *[Case(name, "whole", inputs=dict(data=integers(2, 3, dtype="int32")), attrs=dict(axis=0)) for name in ("sum", "prod", "max", "min")],
    *[Case(name, "ties", inputs=_TIES, attrs=dict(axis=1), gradcheck="a tie") for name in ("max", "min")],
    *[Case(name, "holes", inputs=_HOLES, attrs=dict(axis=1), gradcheck="nan") for name in ("sum", "max", "min", "nansum", "nanprod")],
    *[c for name in ("sum", "mean", "max") for c in over_dtypes(Case(name, "typed", inputs=_POSITIVE, attrs=dict(axis=2)), "float16", "float64")],
    Case("sum", "added", inputs=_POSITIVE, attrs=dict(axis=0), req="add"),
    Case("norm", inputs=_DATA),
    *[Case("norm", f"order_{order}", inputs=_DATA, attrs=dict(ord=order, axis=1)) for order in (1, 2)],
    Case("norm", "kept", inputs=_DATA, attrs=dict(axis=(0, 2), keepdims=True)),
    *[Case(name, "axis", inputs=_DATA, attrs=dict(axis=1)) for name in ("argmax", "argmin")],
    *[Case(name, "all", inputs=_DATA) for name in ("argmax", "argmin")],
    *[Case(name, "kept", inputs=_DATA, attrs=dict(axis=-1, keepdims=True)) for name in ("argmax", "argmin")],
    Case("argmax", "ties", inputs=_TIES, attrs=dict(axis=1)),
    Case("argmax_channel", inputs=dict(data=distinct(3, 4)), grad=()),
    Case("moments", inputs=_DATA, attrs=dict(axes=(0, 2))),
    Case("softmax_cross_entropy", inputs=dict(data=normal(3, 4), label=values([0, 3, 1])), grad=("data",)),
    Case("multi_sum_sq", inputs=dict(a=normal(3), b=normal(2, 2)), attrs=dict(num_arrays=2), grad=()),
    Case("all_finite", inputs=dict(data=values([1.0, float("inf")])), grad=()),
    Case("multi_all_finite", inputs=dict(a=normal(3), b=normal(2)), attrs=dict(num_arrays=2), grad=()),
    *[Case("cumsum", f"axis_{axis}", dict(a=normal(2, 3, 4)), dict(axis=axis)) for axis in (None, 0, 1, 2)],
    *over_dtypes(Case("cumsum", "typed", dict(a=integers(3, 4, high=50)), dict(axis=1)), "float16", "float64", "int8", "uint8", "int32", "int64", "bool"),
    *[Case("cumsum", f"to_{dtype}", dict(a=integers(3, 4, high=50)), dict(axis=0, dtype=dtype)) for dtype in ("float16", "float64", "int8", "int32", "int64")],
    *[Case("cumsum", f"axis_minus_{axis}", dict(a=normal(2, 3)), dict(axis=-axis), error=True) for axis in (1, 2, 3)],
    Case("cumsum", "axis_beyond", dict(a=normal(2, 3)), dict(axis=2), error=True),
    Case("cumsum", "to_uint8", dict(a=normal(2, 3)), dict(dtype="uint8"), error=True),
    Case("cumsum", "no_elements", dict(a=normal(0, 3)), dict(axis=1), np_shape=True, gradcheck="no elements"),
    *[
        Case(name, f"joined_{'_'.join(map(str, numbers))}_{held:g}", dict(data=values(numbers), held=values([held])), build=functools.partial(_joined, name), grad=(), paths=("nd",))
        for name in ("all_finite", "multi_all_finite") for numbers in ([1.0, 2.0], [1.0, float("nan")]) for held in (0.0, 1.0)
    ],
]
