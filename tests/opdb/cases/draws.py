"""Random operators: structure, moments and repeatability."""

from ..case import Array, Case, integers, normal, positive, uniform, values

_SHAPE = dict(shape=(100, 80))
_ATTRS = {
    "uniform": dict(low=-1.0, high=3.0), "normal": dict(loc=1.0, scale=2.0), "gamma": dict(alpha=3.0, beta=0.5), "exponential": dict(lam=2.0),
    "poisson": dict(lam=4.0), "negative_binomial": dict(k=3, p=0.4), "generalized_negative_binomial": dict(mu=2.0, alpha=0.3),
}  # fmt: skip
_WRONG: list[tuple[str, dict[str, float]]] = [
    ("uniform", dict(low=3.0, high=-1.0)), ("normal", dict(scale=-1.0)), ("gamma", dict(alpha=-1.0)), ("gamma", dict(beta=0.0)), ("exponential", dict(lam=0.0)),
    ("poisson", dict(lam=-1.0)), ("negative_binomial", dict(k=-1, p=0.5)), ("generalized_negative_binomial", dict(mu=-1.0)),
    ("generalized_negative_binomial", dict(alpha=-1.0)),
]  # fmt: skip
_COUNTS, _TWO = integers(2, 5, high=6), positive(2)
_DENSITIES: list[tuple[str, Array, dict[str, Array], tuple[str, ...]]] = [
    ("normal", normal(2, 5), dict(mu=normal(2), sigma=_TWO), ("sample", "mu", "sigma")),
    ("uniform", positive(2, 5), dict(low=values([0.0, 0.1]), high=values([3.0, 4.0])), ("sample", "low", "high")),
    ("gamma", positive(2, 5), dict(alpha=_TWO, beta=_TWO), ("sample", "alpha", "beta")),
    ("exponential", positive(2, 5), dict(lam=_TWO), ("sample", "lam")),
    ("poisson", _COUNTS, dict(lam=_TWO), ("lam",)),
    ("negative_binomial", _COUNTS, dict(k=_TWO, p=uniform(2, low=0.2, high=0.8)), ("k", "p")),
    ("generalized_negative_binomial", _COUNTS, dict(mu=_TWO, alpha=_TWO), ("mu", "alpha")),
    ("dirichlet", values([[[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]] * 2), dict(alpha=positive(2, 3)), ("sample", "alpha")),
]
_PARAMETERS = {
    "gamma": dict(alpha=[0.5, 3.0], beta=[2.0, 0.5]), "exponential": dict(lam=[0.5, 4.0]), "poisson": dict(lam=[0.5, 40.0]),
    "negative_binomial": dict(k=[2.0, 20.0], p=[0.4, 0.8]), "generalized_negative_binomial": dict(mu=[2.0, 9.0], alpha=[0.3, 0.0]),
}

CASES = [
    *[Case(f"_random_{name}", attrs=dict(attrs, **_SHAPE), sample=True) for name, attrs in _ATTRS.items()],
    Case("_random_randint", attrs=dict(low=-3, high=9, **_SHAPE), sample=True),
    *[Case(f"_random_{name}_like", inputs=dict(data=normal(100, 80)), attrs=attrs, sample=True) for name, attrs in _ATTRS.items()],
    Case("_random_uniform", "float64", attrs=dict(dtype="float64", **_SHAPE), sample=True),
    *[Case("_random_normal", dtype, attrs=dict(dtype=dtype, **_SHAPE), sample=True) for dtype in ("float16", "float64")],
    Case("_random_randint", "int64", attrs=dict(low=-3, high=9, dtype="int64", **_SHAPE), sample=True),
    *[Case(f"_random_{name}", f"{next(iter(attrs))}_out_of_range", attrs=dict(attrs, **_SHAPE), error=True) for name, attrs in _WRONG],
    *[
        Case(f"_sample_{name}", inputs={n: values(v) for n, v in given.items()}, attrs=dict(shape=(4000,)), sample=True)
        for name, given in _PARAMETERS.items()
    ],
    Case("_sample_uniform", inputs=dict(low=values([0.0, 2.0]), high=values([1.0, 5.0])), attrs=dict(shape=(4000,)), sample=True),
    Case("_sample_normal", inputs=dict(mu=values([0.0, 2.0]), sigma=values([1.0, 5.0])), attrs=dict(shape=(4000,)), sample=True),
    Case("_sample_multinomial", inputs=dict(data=values([[0.2, 0.3, 0.5], [0.9, 0.05, 0.05]])), attrs=dict(shape=4000), sample=True),
    Case("_sample_multinomial", "uint8", inputs=dict(data=values([0.2, 0.3, 0.5])), attrs=dict(shape=(50, 40), dtype="uint8"), sample=True),
    Case("_sample_multinomial", "get_prob", inputs=dict(data=values([[0.2, 0.3, 0.5], [0.9, 0.05, 0.05]])), attrs=dict(
        shape=4000, get_prob=True), sample=True),
    Case("_sample_multinomial", "wrong_dtype", inputs=dict(data=values([[0.2, 0.8]])), attrs=dict(dtype="uint16"), error=True),
    Case("_sample_unique_zipfian", attrs=dict(range_max=10**6, shape=(4, 500)), sample=True),
    Case("_shuffle", inputs=dict(data=normal(200)), sample=True),
    Case("_random_pdf_normal", inputs=dict(sample=normal(2, 5), mu=normal(2), sigma=positive(2))),
    Case("_random_pdf_uniform", inputs=dict(sample=positive(2, 5), low=values([0.0, 0.1]), high=values([3.0, 4.0])), gradcheck="kinks"),
    *[Case(f"_random_pdf_{name}", "log" if log else "density", inputs=dict(sample=sample, **given), attrs=dict(is_log=log), grad=grad)
      for log in (False, True) for name, sample, given, grad in _DENSITIES],
]  # fmt: skip
