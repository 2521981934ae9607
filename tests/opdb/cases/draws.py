"""Random operators: structure, moments and repeatability."""

from ..case import Case, normal, positive, values

_SHAPE = dict(shape=(100, 80))
_ATTRS = {
    "uniform": dict(low=-1.0, high=3.0), "normal": dict(loc=1.0, scale=2.0), "gamma": dict(alpha=3.0, beta=0.5), "exponential": dict(lam=2.0),
    "poisson": dict(lam=4.0), "negative_binomial": dict(k=3, p=0.4), "generalized_negative_binomial": dict(mu=2.0, alpha=0.3),
}  # fmt: skip

CASES = [
    *[Case(f"_random_{name}", attrs=dict(attrs, **_SHAPE), sample=True) for name, attrs in _ATTRS.items()],
    Case("_random_randint", attrs=dict(low=-3, high=9, **_SHAPE), sample=True),
    *[Case(f"_random_{name}_like", inputs=dict(data=normal(100, 40)), sample=True) for name in ("uniform", "normal")],
    Case("_random_uniform", "float64", attrs=dict(dtype="float64", **_SHAPE), sample=True),
    Case("_sample_uniform", inputs=dict(low=values([0.0, 2.0]), high=values([1.0, 5.0])), attrs=dict(shape=(4000,)), sample=True),
    Case("_sample_normal", inputs=dict(mu=values([0.0, 2.0]), sigma=values([1.0, 5.0])), attrs=dict(shape=(4000,)), sample=True),
    Case("_sample_multinomial", inputs=dict(data=values([[0.2, 0.3, 0.5], [0.9, 0.05, 0.05]])), attrs=dict(shape=4000), sample=True),
    Case("_shuffle", inputs=dict(data=normal(200)), sample=True),
    Case("_random_pdf_normal", inputs=dict(sample=normal(2, 5), mu=normal(2), sigma=positive(2))),
    Case("_random_pdf_uniform", inputs=dict(sample=positive(2, 5), low=values([0.0, 0.1]), high=values([3.0, 4.0])), gradcheck="kinks"),
]
