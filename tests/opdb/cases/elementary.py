"""Elementwise functions of one tensor."""

from ..case import Array, Case, distinct, integers, normal, over_dtypes, positive, uniform, values

_ANY = distinct(2, 3, low=-2.9, high=3.1)
_INSIDE = uniform(2, 3, low=-0.9, high=0.9)
_ABOVE_ONE = uniform(2, 3, low=1.1, high=3.0)
_DOMAINS: dict[str, Array] = {
    **dict.fromkeys(("relu", "sigmoid", "softsign", "negative", "abs", "sign", "erf", "exp", "expm1", "square", "cbrt", "sin", "cos", "sinh", "cosh", "tanh"), _ANY),
    **dict.fromkeys(("arctan", "arcsinh", "degrees", "radians", "hard_sigmoid", "zeros_like", "ones_like", "_copy", "round", "rint", "ceil", "floor"), _ANY),
    **dict.fromkeys(("trunc", "fix", "logical_not"), _ANY),
    **dict.fromkeys(("log", "log10", "log2", "log1p", "reciprocal", "sqrt", "rsqrt", "rcbrt", "gamma", "gammaln"), positive(2, 3)),
    **dict.fromkeys(("tan", "arcsin", "arccos", "arctanh", "erfinv"), _INSIDE),
    "arccosh": _ABOVE_ONE,
}  # fmt: skip
_FEW = ("exp", "sqrt", "tanh", "sigmoid", "relu", "abs", "log")
_EDGES = values([-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5])
_NO_DERIVATIVE = "not differentiable there"

CASES = [
    *[Case(name, inputs=dict(data=domain)) for name, domain in _DOMAINS.items()],
    *[Case(name, "added", inputs=dict(data=_DOMAINS[name]), req="add") for name in _FEW],
    *[c for name in _FEW for c in over_dtypes(Case(name, "typed", inputs=dict(data=_DOMAINS[name])), "float16", "float64")],
    *[Case(name, "halves", inputs=dict(data=_EDGES), gradcheck=_NO_DERIVATIVE) for name in ("round", "rint", "ceil", "floor", "trunc", "fix")],
    *[Case(name, "edges", inputs=dict(data=_EDGES), gradcheck=_NO_DERIVATIVE) for name in ("relu", "abs", "sign", "logical_not", "hard_sigmoid")],
    *[Case(name, "whole", inputs=dict(data=integers(2, 3, low=-4, high=4, dtype="int32"))) for name in ("abs", "sign", "negative", "square", "logical_not")],
    *[Case(name, "outside", inputs=dict(data=values([-1.0, 0.0, 2.0])), gradcheck=_NO_DERIVATIVE) for name in ("sqrt", "rsqrt", "log", "reciprocal", "arcsin")],
    Case("clip", inputs=dict(data=distinct(3, 4)), attrs=dict(a_min=-1.0, a_max=1.0)),
    Case("clip", "bounds", inputs=dict(data=values([-1.5, -1.0, 0.0, 1.0, 1.5])), attrs=dict(a_min=-1.0, a_max=1.0), gradcheck=_NO_DERIVATIVE),
    Case("smooth_l1", inputs=dict(data=distinct(3, 4)), attrs=dict(scalar=1.0)),
    Case("smooth_l1", "narrow", inputs=dict(data=distinct(3, 4)), attrs=dict(scalar=3.0)),
    Case("_contrib_quadratic", inputs=dict(data=normal(2, 3)), attrs=dict(a=2.0, b=-1.0, c=0.5)),
    Case("_contrib_div_sqrt_dim", inputs=dict(data=normal(2, 5))),
    *[Case("Cast", f"to_{to}", inputs=dict(data=_ANY), attrs=dict(dtype=to), gradcheck="another type") for to in ("float16", "float64", "int32", "uint8", "int64")],
    Case("Cast", "from_int32", inputs=dict(data=integers(2, 3, dtype="int32")), attrs=dict(dtype="float32")),
    Case("Cast", "unknown", inputs=dict(data=_ANY), attrs=dict(dtype="complex64"), error=True),
    Case("hard_sigmoid", "steep", inputs=dict(data=_ANY), attrs=dict(alpha=0.5, beta=0.25)),
    Case("hard_sigmoid", "unknown_attribute", inputs=dict(data=_ANY), attrs=dict(gamma=1), error=True),
]
