"""BatchNorm and its forms; layer, group, instance and local response normalization."""

import dataclasses

from ..case import Case, Tolerance, normal, positive, uniform


def _batch(op: str, label: str, shape: tuple[int, ...], channels: int, dtype: str = "float32", own: str | None = None, **attrs: object) -> Case:
    own = own or dtype
    inputs = dict(
        data=normal(*shape, dtype=dtype), gamma=positive(channels, dtype=own), beta=normal(channels, dtype=own),
        moving_mean=normal(channels, dtype=own), moving_var=positive(channels, dtype=own),
    )
    return Case(op, label, inputs=inputs, attrs=attrs, gradcheck="the first-order gradient of batch statistics needs more samples in float64")


_VARIANTS = {
    "default": {}, "trained_gamma": dict(fix_gamma=False), "global": dict(fix_gamma=False, use_global_stats=True),
    "statistics": dict(fix_gamma=False, output_mean_var=True), "eps_momentum": dict(fix_gamma=False, eps=1e-2, momentum=0.5),
}
_UNWRITTEN = {f"sym.eval.{i}": "outside training MXNet leaves these outputs unwritten" for i in (1, 2)}
_LAYER = dict(data=normal(3, 4, 5), gamma=normal(5), beta=normal(5))

CASES = [
    *[_batch("BatchNorm", f"{name}_4d", (3, 4, 5, 2), 4, **attrs) for name, attrs in _VARIANTS.items()],
    *[_batch("BatchNorm", f"{name}_2d", (6, 4), 4, **attrs) for name, attrs in _VARIANTS.items()],
    _batch("BatchNorm", "3d", (4, 3, 5), 3, fix_gamma=False),
    _batch("BatchNorm", "5d", (2, 3, 2, 2, 3), 3, fix_gamma=False),
    _batch("BatchNorm", "axis_last", (3, 4, 5), 5, fix_gamma=False, axis=-1),
    _batch("BatchNorm", "axis_two", (3, 4, 5), 5, fix_gamma=False, axis=2),
    _batch("BatchNorm", "float64", (3, 4, 5), 4, dtype="float64", fix_gamma=False),
    dataclasses.replace(
        _batch("BatchNorm", "float16", (3, 4, 5), 4, dtype="float16", own="float32", fix_gamma=False),
        tolerance=Tolerance(1e-2, 4e-3, "float32 gradients of gamma are sums of float16 products, rounded in another order", 2e-3),
    ),
    _batch("BatchNorm", "onednn", (3, 4, 5, 2), 4, fix_gamma=False),
    Case(
        "BatchNorm", "axis_out_of_range", error=True, attrs=dict(axis=4),
        inputs=dict(data=normal(3, 4), gamma=normal(4), beta=normal(4), moving_mean=normal(4), moving_var=positive(4)),
    ),
    # The imperative functions of these two list no auxiliary inputs in MXNet and cannot be called.
    *[dataclasses.replace(_batch("BatchNorm_v1", name, (3, 4, 5, 2), 4, **attrs), paths=("sym",)) for name, attrs in _VARIANTS.items()],
    *[dataclasses.replace(_batch("_contrib_SyncBatchNorm", name, (3, 4, 5, 2), 4, key=name, **attrs), paths=("sym",), unjudged=_UNWRITTEN)
      for name, attrs in _VARIANTS.items()],
    *[
        dataclasses.replace(_batch("_contrib_BatchNormWithReLU", name, (3, 4, 5, 2), 4, **attrs), paths=("sym",), onednn=True)
        for name, attrs in _VARIANTS.items() if name != "statistics"
    ],
    Case("LayerNorm", "last", inputs=_LAYER),
    Case("LayerNorm", "statistics", inputs=_LAYER, attrs=dict(output_mean_var=True), grad=("data", "gamma", "beta")),
    Case("LayerNorm", "axis_one", inputs=dict(data=normal(3, 4, 5), gamma=normal(4), beta=normal(4)), attrs=dict(axis=1, eps=1e-2)),
    Case("LayerNorm", "add", inputs=_LAYER, req="add"),
    Case("LayerNorm", "tall", inputs=dict(data=normal(1500, 3), gamma=normal(3), beta=normal(3))),
    Case("LayerNorm", "float64", inputs={n: a.typed("float64") for n, a in _LAYER.items()}),
    Case("LayerNorm", "wrong_gamma", inputs=dict(data=normal(3, 5), gamma=normal(4), beta=normal(5)), error=True),
    *[
        Case("GroupNorm", f"groups_{g}", inputs=dict(data=normal(2, 4, 3, 2), gamma=normal(g), beta=normal(g)), attrs=dict(num_groups=g))
        for g in (1, 2, 4)
    ],
    Case("GroupNorm", "statistics", inputs=dict(data=normal(2, 4, 3), gamma=normal(2), beta=normal(2)), attrs=dict(num_groups=2, output_mean_var=True)),
    Case("GroupNorm", "rank", inputs=dict(data=normal(2, 4), gamma=normal(2), beta=normal(2)), attrs=dict(num_groups=2), error=True),
    Case("InstanceNorm", "4d", inputs=dict(data=normal(2, 3, 4, 5), gamma=normal(3), beta=normal(3))),
    Case("InstanceNorm", "3d", inputs=dict(data=normal(2, 3, 7), gamma=normal(3), beta=normal(3)), attrs=dict(eps=1e-2)),
    *[Case("LRN", f"n{n}", inputs=dict(data=normal(2, 6, 3, 4)), attrs=dict(nsize=n, alpha=0.1, beta=0.6, knorm=1.5)) for n in (1, 3, 5)],
    Case("LRN", "even", inputs=dict(data=normal(2, 6, 3, 4)), attrs=dict(nsize=2), error=True),
    Case(
        "IdentityAttachKLSparseReg", inputs=dict(data=uniform(4, 3, low=0.1, high=0.9), moving_avg=uniform(3, low=0.1, high=0.9)),
        attrs=dict(penalty=0.5, sparseness_target=0.2), gradcheck="the gradient carries a penalty", paths=("sym",),
    ),
]  # fmt: skip
