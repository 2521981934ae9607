"""Arithmetic where MXNet and torch part: poles, ties, infinities, NaN, halves, zero divisors, reductions of holes."""

from ..case import Case, Tolerance, distinct, normal, over_dtypes, positive, values

_NAN, _INF = float("nan"), float("inf")
_POINTS = [-_INF, -2.5, -1.0, -0.5, -0.0, 0.0, 0.49999997, 0.5, 1.0, 1.5, 2.5, _INF, _NAN]
_PAIRS = dict(
    lhs=values([_NAN, 1.0, _INF, -_INF, 0.0, -0.0, 2.0, -7.5, 7.5, -7.5, 0.0]), rhs=values([1.0, _NAN, _INF, _INF, 0.0, 0.0, 2.0, 2.0, -2.0, -2.0, 3.0])
)
_UNARY = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos", "erf", "erfinv", "exp", "expm1", "fix", "floor",
    "gamma", "gammaln", "hard_sigmoid", "log", "log10", "log1p", "log2", "logical_not", "negative", "rcbrt", "reciprocal", "relu", "rint", "round",
    "rsqrt", "sigmoid", "sign", "sin", "softsign", "sqrt", "square", "tan", "tanh", "trunc", "_contrib_round_ste", "_contrib_sign_ste",
)  # fmt: skip
_COMPARE = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal", "logical_and", "logical_or", "logical_xor")
_ROWS = values([[1.0, 0.0, 3.0], [0.0, 0.0, 2.0], [2.0, 3.0, 4.0]])
_DIGAMMA = Tolerance(2e-5, 1e-6, "MXNet's digamma is accurate to single precision only", 2.5e-7)
_KINK = "a kink, a tie or a pole"

CASES = [
    *[Case(name, "points", inputs=dict(data=values(_POINTS)), grad=()) for name in _UNARY],
    *[Case(name, "poles", inputs=dict(data=values([-1.0, 0.0, 1.0, 2.0])), gradcheck=_KINK) for name in ("sqrt", "log", "reciprocal", "cbrt", "rcbrt", "arcsin")],
    *[Case(f"{name}_ste", "passes", inputs=dict(data=distinct(2, 5)), gradcheck=_KINK) for name in ("_contrib_round", "_contrib_sign")],
    *[Case(f"broadcast_{name}", "points", inputs=_PAIRS, grad=()) for name in ("add", "mul", "div", "mod", "maximum", "minimum", "hypot", "power", *_COMPARE)],
    *[Case(f"_{name}_scalar", "points", inputs=dict(data=values(_POINTS)), attrs=dict(scalar=0.5), grad=()) for name in ("mod", "rmod", "maximum", *_COMPARE)],
    Case("_mod_scalar", "by_zero", inputs=dict(data=values([-2.5, 0.0, 3.0])), attrs=dict(scalar=0.0), gradcheck=_KINK),
    Case("_maximum_scalar", "tie", inputs=dict(data=values([0.0, 1.0, 2.0])), attrs=dict(scalar=1.0), gradcheck=_KINK),
    Case("_minimum_scalar", "tie", inputs=dict(data=values([0.0, 1.0, 2.0])), attrs=dict(scalar=1.0), gradcheck=_KINK),
    Case("_power", "corner", inputs=dict(lhs=values([0.0, 0.0, -2.0, 2.0]), rhs=values([0.0, 2.0, 3.0, -1.0])), gradcheck=_KINK),
    Case("broadcast_maximum", "tie_repeated", inputs=dict(lhs=values([[1.0, 2.0], [3.0, 3.0]]), rhs=values([[3.0, 2.0]])), gradcheck=_KINK),
    Case("clip", "crossed", inputs=dict(data=values([-1.0, 0.0, 0.7, 2.0])), attrs=dict(a_min=0.5, a_max=-0.5), gradcheck=_KINK),
    Case("clip", "infinite", inputs=dict(data=values([-_INF, -1.0, 0.2, _INF])), attrs=dict(a_min=-_INF, a_max=0.1), gradcheck=_KINK),
    Case("smooth_l1", "bounds", inputs=dict(data=values([-2.0, -0.25, 0.0, 0.25, 2.0])), attrs=dict(scalar=2.0), gradcheck=_KINK),
    *[Case(name, "zeros", inputs=dict(data=_ROWS), attrs=dict(axis=1), gradcheck=_KINK) for name in ("prod", "nanprod", "norm")],
    *[Case(name, "holes_first", inputs=dict(data=values([[1.0, _NAN, 3.0], [_NAN, 1.0, _NAN]])), attrs=dict(axis=1), grad=()) for name in ("argmax", "argmin")],
    *[Case(name, "first_of_equals", inputs=dict(data=values([[2.0, 1.0, 2.0, 1.0]])), attrs=dict(axis=1), grad=()) for name in ("argmax", "argmin")],
    Case("where", "nan_is_true", inputs=dict(condition=values([_NAN, 0.0, -0.0, 2.0]), x=normal(4), y=normal(4)), grad=("x", "y")),
    *[c for name in ("cbrt", "softsign", "rcbrt") for c in over_dtypes(Case(name, "typed", inputs=dict(data=positive(2, 3))), "float16", "float64")],
    *[Case(name, "typed_float64", inputs=dict(data=positive(2, 3, dtype="float64")), tolerance=_DIGAMMA) for name in ("gamma", "gammaln")],
    *[Case(name, "no_elements", inputs=dict(data=normal(0, 3)), np_shape=True) for name in ("exp", "relu", "_copy")],
    *[Case(name, "no_dimensions", inputs=dict(data=positive()), np_shape=True) for name in ("sqrt", "sum", "max", "norm")],
    Case("clip", "hole", inputs=dict(data=values([_NAN, -2.0, 0.0, 2.0, 1.0, -1.0, _INF])), attrs=dict(a_min=-1.0, a_max=1.0), gradcheck=_KINK),
]
