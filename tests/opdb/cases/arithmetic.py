"""Arithmetic and comparisons: tensor and scalar, two tensors of one shape, two that broadcast."""

from ..case import Case, distinct, integers, normal, over_dtypes, positive, values

_SCALAR = ("plus", "minus", "rminus", "mul", "div", "rdiv", "mod", "rmod", "maximum", "minimum", "power", "rpower", "hypot")
_COMPARE = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal")
_LOGICAL = ("logical_and", "logical_or", "logical_xor")
_PAIR = dict(lhs=positive(2, 3), rhs=positive(2, 3))
_WIDE = dict(lhs=positive(2, 1, 3), rhs=positive(1, 4, 3))
_ONE = dict(lhs=positive(2, 3), rhs=positive(1, 1))
_TIES = dict(lhs=values([1.0, 2.0, 3.0, 0.0]), rhs=values([1.0, 3.0, 2.0, 0.0]))
_TIE = "a tie"
_WHOLE = dict(lhs=integers(2, 3, low=-7, high=7, dtype="int32"), rhs=integers(2, 3, low=1, high=5, dtype="int32"))
_BROADCAST = ("add", "sub", "mul", "div", "mod", "power", "maximum", "minimum", "hypot")

CASES = [
    # a tensor and a number
    *[Case(f"_{name}_scalar", inputs=dict(data=positive(2, 3)), attrs=dict(scalar=1.5)) for name in _SCALAR],
    *[Case(f"_{name}_scalar", "negative", inputs=dict(data=distinct(2, 3)), attrs=dict(scalar=-0.7)) for name in ("plus", "minus", "mul", "div", "maximum", "minimum", "mod")],
    *[Case(f"_{name}_scalar", "whole", inputs=dict(data=integers(2, 3, low=-5, high=5, dtype="int32")), attrs=dict(scalar=2)) for name in ("plus", "rminus", "mul", "div", "maximum")],
    *[Case(f"_{name}_scalar", inputs=dict(data=values([[1.0, 2.0, 0.0]])), attrs=dict(scalar=1.0), gradcheck=_TIE) for name in (*_COMPARE, *_LOGICAL)],
    *over_dtypes(Case("_mul_scalar", "typed", inputs=dict(data=normal(2, 3)), attrs=dict(scalar=1.5)), "float16", "float64"),
    Case("_plus_scalar", "unreadable", inputs=dict(data=normal(2, 3)), attrs=dict(scalar="many"), error=True),
    # two tensors of one shape
    *[Case(f"elemwise_{name}", inputs=_PAIR) for name in ("add", "sub", "mul", "div")],
    *[Case(f"elemwise_{name}", "whole", inputs=_WHOLE) for name in ("add", "sub", "mul", "div")],
    *[Case(f"elemwise_{name}", "apart", inputs=dict(lhs=normal(2, 3), rhs=normal(3, 2)), error=True) for name in ("add", "mul")],
    *[c for name in ("add", "mul") for c in over_dtypes(Case(f"elemwise_{name}", "typed", inputs=_PAIR), "float16", "float64")],
    *[Case(f"_{name}", inputs=_PAIR) for name in ("mod", "power", "maximum", "minimum", "hypot")],
    *[Case(f"_{name}", "ties", inputs=_TIES, gradcheck=_TIE) for name in ("maximum", "minimum", *_COMPARE, *_LOGICAL)],
    Case("elemwise_mul", "added", inputs=_PAIR, req="add"),
    Case("_grad_add", inputs=_PAIR, grad=()),
    # two tensors that broadcast
    *[Case(f"broadcast_{name}", inputs=_WIDE) for name in _BROADCAST],
    *[Case(f"broadcast_{name}", "one", inputs=_ONE) for name in _BROADCAST],
    *[Case(f"broadcast_{name}", "ties", inputs=_TIES, gradcheck=_TIE) for name in ("maximum", "minimum", *_COMPARE, *_LOGICAL)],
    *[Case(f"broadcast_{name}", "whole", inputs=_WHOLE) for name in ("add", "sub", "mul", "div", "mod", "equal", "greater")],
    *[c for name in ("add", "mul", "div") for c in over_dtypes(Case(f"broadcast_{name}", "typed", inputs=_WIDE), "float16", "float64")],
    Case("broadcast_add", "added", inputs=_WIDE, req="add"),
    Case("broadcast_add", "apart", inputs=dict(lhs=normal(2, 3), rhs=normal(4, 3)), error=True),
    Case("broadcast_mul", "ranks", inputs=dict(lhs=normal(2, 3), rhs=normal(3))),
    Case("where", inputs=dict(condition=values([[1.0, 0.0], [0.0, 2.0]]), x=normal(2, 2), y=normal(2, 2)), grad=("x", "y")),
    Case("where", "rows", inputs=dict(condition=values([1.0, 0.0]), x=normal(2, 3), y=normal(2, 3)), grad=("x", "y")),
]
