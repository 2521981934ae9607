"""Integers: results keep the type, numbers are cut to it, division truncates, what does not fit wraps."""

from ..case import Case, integers, values

_TYPES = ("int8", "uint8", "int32", "int64")
_SMALL = [-7, -3, -1, 0, 1, 2, 5, 7]
_SCALAR = ("plus", "minus", "rminus", "mul", "maximum", "minimum", "power", "rpower", "hypot", "mod", "rmod", "equal", "greater", "lesser_equal", "logical_xor")
_NONZERO = [-7, -3, -1, 1, 2, 5, 7]
_REDUCE = ("sum", "mean", "prod", "max", "min", "nansum", "argmax", "argmin")
_DOMAIN = {"arctanh": [-1, 0, 1], "log": [1, 2, 5], "sqrt": [0, 4, 8], "exp": [0, 1, 3]}


def _data(numbers: list[int], dtype: str) -> dict[str, object]:
    return dict(data=values([n % 256 if dtype == "uint8" else n for n in numbers], dtype))


CASES = [
    *[Case(f"_{name}_scalar", f"cut_{t}", inputs=_data(_SMALL, t), attrs=dict(scalar=2.5)) for name in _SCALAR for t in _TYPES],
    *[Case(f"_{name}_scalar", f"truncated_{t}", inputs=_data(_NONZERO, t), attrs=dict(scalar=2)) for name in ("div", "rdiv") for t in _TYPES],
    *[Case(f"_{name}_scalar", "fraction", inputs=_data(_NONZERO, "int32"), attrs=dict(scalar=0.5, is_int=False)) for name in ("plus", "mul", "div", "greater")],
    *[Case(f"_{name}_scalar", "of_bool", inputs=dict(data=values([True, False], "bool")), attrs=dict(scalar=2)) for name in ("plus", "mul", "maximum")],
    *[Case("_plus_scalar", f"wraps_{t}", inputs=_data([1, 100], t), attrs=dict(scalar=200)) for t in ("int8", "uint8")],
    *[Case("_mod_scalar", f"by_zero_{t}", inputs=_data(_SMALL, t), attrs=dict(scalar=0)) for t in ("int32", "uint8")],
    *[Case("_mod", f"signs_{t}", inputs=dict(lhs=values([-7, 7, -7, 7, 5], t), rhs=values([2, -2, -2, 2, 0], t))) for t in ("int8", "int32", "int64")],
    *[Case("elemwise_div", f"signs_{t}", inputs=dict(lhs=values([-7, 7, -7, 7], t), rhs=values([2, -2, -2, 2], t))) for t in ("int8", "int32", "int64")],
    *[Case(name, f"of_{t}", inputs=dict(data=integers(2, 3, 4, low=-3, high=3, dtype=t)), attrs=dict(axis=1)) for name in _REDUCE for t in ("int8", "int32", "int64")],
    *[Case("norm", f"order_{order}_{t}", inputs=dict(data=integers(2, 5, low=-4, high=4, dtype=t)), attrs=dict(ord=order, axis=1)) for order in (1, 2) for t in ("int32", "int8")],
    Case("sum", "wraps", inputs=dict(data=values([[100, 100], [5, 6]], "int8")), attrs=dict(axis=1)),
    *[Case(name, f"of_{t}", inputs=dict(data=values(numbers, t))) for name, numbers in _DOMAIN.items() for t in ("int32", "uint8" if min(numbers) >= 0 else "int8")],
    *[Case("clip", f"between_{t}", inputs=_data(_SMALL, t), attrs=dict(a_min=-1.7, a_max=2.5)) for t in _TYPES],
    *[Case("Cast", f"{a}_to_{b}", inputs=dict(data=values([0, 127, 128, 200, 255, 256, 300], a)), attrs=dict(dtype=b)) for a, b in (("int32", "int8"), ("int64", "uint8"), ("int32", "bool"))],
    Case("Cast", "truncates", inputs=dict(data=values([-2.7, -0.5, 0.5, 2.7])), attrs=dict(dtype="int8"), grad=()),
    Case("Cast", "too_large", inputs=dict(data=values([1e5, -1e5, 65504.0])), attrs=dict(dtype="float16"), gradcheck="another type"),
    *[Case("_full", f"cut_{t}", attrs=dict(shape=(2,), value=-300.7, dtype=t)) for t in ("int8", "uint8", "int32", "float16")],
]
