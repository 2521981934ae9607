"""Optimizer updates. They run imperatively, with out=weight, as every caller of theirs does."""

from typing import Any

from ..case import Array, Case, Limitation, full, normal, positive, values

_N = (3, 4)
_H = "float16"
_FLOAT32_STEPS = dict(lr=0.1, wd=0.01, rescale_grad=0.5)

# operator -> (states after weight and grad, required attributes, further attribute sets)
_SINGLE: dict[str, tuple[dict[str, Array], dict[str, Any], list[dict[str, Any]]]] = {
    "sgd_update": ({}, dict(lr=0.1), [_FLOAT32_STEPS]),
    "sgd_mom_update": (dict(mom=normal(*_N)), dict(lr=0.1), [dict(momentum=0.9, **_FLOAT32_STEPS)]),
    "nag_mom_update": (dict(mom=normal(*_N)), dict(lr=0.1), [dict(momentum=0.9, **_FLOAT32_STEPS)]),
    "adam_update": (dict(mean=normal(*_N), var=positive(*_N)), dict(lr=0.1), [dict(beta1=0.8, beta2=0.95, epsilon=1e-3, **_FLOAT32_STEPS)]),
    "ftml_update": (dict(d=positive(*_N), v=positive(*_N), z=normal(*_N)), dict(lr=0.1, t=3), [dict(lr=0.1, t=1, wd=0.01, rescale_grad=0.5, beta1=0.7)]),
    "ftrl_update": (dict(z=normal(*_N), n=positive(*_N)), dict(lr=0.1), [dict(lamda1=0.5, beta=0.5, **_FLOAT32_STEPS)]),
    "rmsprop_update": (dict(n=positive(*_N)), dict(lr=0.1), [dict(gamma1=0.8, clip_weights=0.5, **_FLOAT32_STEPS)]),
    "rmspropalex_update": (
        dict(n=full(*_N, value=2.0), g=normal(*_N, std=0.1), delta=normal(*_N)), dict(lr=0.1), [dict(gamma1=0.8, gamma2=0.5, clip_weights=0.5, **_FLOAT32_STEPS)],
    ),
    "signsgd_update": ({}, dict(lr=0.1), [_FLOAT32_STEPS]),
    "signum_update": (dict(mom=normal(*_N)), dict(lr=0.1), [dict(momentum=0.9, wd_lh=0.1, **_FLOAT32_STEPS)]),
    "lamb_update_phase1": (dict(mean=normal(*_N), var=positive(*_N)), dict(t=1, wd=0.0), [dict(t=4, wd=0.1, beta1=0.8, bias_correction=False, rescale_grad=0.5)]),
}  # fmt: skip


def _single() -> list[Case]:
    made = []
    for name, (states, required, more) in _SINGLE.items():
        inputs = dict(weight=normal(*_N), grad=normal(*_N), **states)
        clip = "clip_grad" if name == "ftml_update" else "clip_gradient"
        for label, attrs in [("plain", required), ("clipped", {**required, clip: 0.3}), *((f"all{i}", a) for i, a in enumerate(more))]:
            made.append(Case(name, label, inputs=inputs, attrs=attrs, out=("weight",), paths=("nd",)))
    return made


def _mixed(name: str, states: dict[str, Array], attrs: dict[str, Any]) -> list[Case]:
    inputs = dict(weight=normal(*_N, dtype=_H), grad=normal(*_N, dtype=_H), **states, weight32=normal(*_N))
    return [
        Case(name, label, inputs=inputs, attrs={**attrs, **extra}, out=("weight",), paths=("nd",))
        for label, extra in dict(plain={}, clipped=dict(clip_gradient=0.3)).items()
    ]


def _adamw(scale: float, label: str) -> list[Case]:
    states = dict(mean=normal(*_N), var=positive(*_N))
    attrs = dict(lr=0.1, eta=0.5, wd=0.01, clip_gradient=0.7)
    last = dict(rescale_grad=values([scale]))
    single = Case("_adamw_update", label, inputs=dict(weight=normal(*_N), grad=normal(*_N), **states, **last), attrs=attrs, out=("weight",), paths=("nd",))
    half = dict(weight=normal(*_N, dtype=_H), grad=normal(*_N, dtype=_H))
    return [single, Case("_mp_adamw_update", label, inputs=dict(**half, **states, weight32=normal(*_N), **last), attrs=attrs, out=("weight",), paths=("nd",))]


def _multi(name: str, parts: dict[str, Any], attrs: dict[str, Any], shared: dict[str, Array] | None = None, number: str = "num_weights") -> list[Case]:
    shapes = ((3, 2), (4,))
    inputs = {f"{part}_{i}": make(*shape) for i, shape in enumerate(shapes) for part, make in parts.items()}
    inputs.update(shared or {})
    outs = tuple(f"weight_{i}" for i in range(len(shapes)))
    return [
        Case(name, label, inputs=inputs, attrs={**attrs, number: 2, **extra}, out=outs, paths=("nd",))
        for label, extra in dict(plain={}, clipped=dict(clip_gradient=0.3)).items()
    ]


def _half(*shape: int) -> Array:
    return normal(*shape, dtype=_H)


_W, _G = dict(weight=normal), dict(grad=normal)
_PAIR = dict(lrs=(0.1, 0.2), wds=(0.01, 0.0))
_LOADED = dict(lrs=values([0.1, 0.2]), wds=values([0.01, 0.0]))
_ADAM = dict(mean=normal, var=positive)
_LAMB = dict(learning_rates=(0.1, 0.2), wds=(0.01, 0.1), step_count=(1, 5))

CASES = [
    *_single(),
    *_mixed("mp_sgd_update", {}, _FLOAT32_STEPS),
    *_mixed("mp_sgd_mom_update", dict(mom=normal(*_N)), dict(momentum=0.9, **_FLOAT32_STEPS)),
    *_mixed("mp_nag_mom_update", dict(mom=normal(*_N)), dict(momentum=0.9, **_FLOAT32_STEPS)),
    *[case for scale, label in ((0.5, "plain"), (float("nan"), "nan"), (0.0, "zero")) for case in _adamw(scale, label)],
    *[
        Case("lamb_update_phase2", label, inputs=dict(weight=normal(*_N), g=normal(*_N), r1=values([r1]), r2=values([r2])), attrs=dict(lr=0.1, **attrs), out=("weight",), paths=("nd",))
        for label, r1, r2, attrs in (
            ("plain", 2.0, 3.0, {}), ("zero_weight", 0.0, 3.0, {}), ("zero_direction", 2.0, 0.0, {}), ("bounded", 2.0, 3.0, dict(lower_bound=2.5, upper_bound=4.0)),
            ("from_above", 9.0, 3.0, dict(upper_bound=4.0)),
        )
    ],
    *[
        Case("mp_lamb_update_phase1", label, dict(weight=normal(*_N, dtype=_H), grad=normal(*_N, dtype=_H), mean=normal(*_N), var=positive(*_N), weight32=normal(*_N)), attrs, grad=(), paths=("nd",))
        for label, attrs in (("plain", dict(t=1, wd=0.0)), ("clipped", dict(t=2, wd=0.0, clip_gradient=0.3)), ("all", dict(t=4, wd=0.1, beta1=0.8, bias_correction=False, rescale_grad=0.5)))
    ],
    *[
        Case("mp_lamb_update_phase2", label, dict(weight=normal(*_N, dtype=_H), g=normal(*_N), r1=values([r1]), r2=values([r2]), weight32=normal(*_N)), dict(lr=0.1, **attrs), out=("weight",), paths=("nd",),
             unjudged={"nd.after.weight32": "MXNet forgets to write it"})
        for label, r1, r2, attrs in (("plain", 2.0, 3.0, {}), ("zero_direction", 2.0, 0.0, {}), ("bounded", 2.0, 3.0, dict(lower_bound=2.5, upper_bound=4.0)))
    ],
    *_multi("multi_sgd_update", {**_W, **_G}, _PAIR),
    *_multi("multi_sgd_mom_update", {**_W, **_G, "mom": normal}, dict(momentum=0.9, rescale_grad=0.5, **_PAIR)),
    *_multi("multi_mp_sgd_update", dict(weight=_half, grad=_half, weight32=normal), _PAIR),
    *_multi("multi_mp_sgd_mom_update", dict(weight=_half, grad=_half, mom=normal, weight32=normal), dict(momentum=0.9, **_PAIR)),
    *_multi("preloaded_multi_sgd_update", {**_W, **_G}, {}, _LOADED),
    *_multi("preloaded_multi_sgd_mom_update", {**_W, **_G, "mom": normal}, dict(momentum=0.9, rescale_grad=0.5), _LOADED),
    *_multi("preloaded_multi_mp_sgd_update", dict(weight=_half, grad=_half, weight32=normal), {}, _LOADED),
    *_multi("preloaded_multi_mp_sgd_mom_update", dict(weight=_half, grad=_half, mom=normal, weight32=normal), dict(momentum=0.9), _LOADED),
    *_multi("_multi_adamw_update", {**_W, **_G, **_ADAM}, dict(etas=(1.0, 0.5), **_PAIR), dict(rescale_grad=values([0.5]))),
    *_multi("_multi_mp_adamw_update", dict(weight=_half, grad=_half, **_ADAM, weight32=normal), dict(etas=(1.0, 0.5), **_PAIR), dict(rescale_grad=values([0.5]))),
    *_multi("_multi_lamb_update", {**_W, **_G, **_ADAM}, _LAMB, number="num_tensors"),
    *_multi("_multi_mp_lamb_update", dict(weight=_half, grad=_half, **_ADAM, weight32=normal), _LAMB, number="num_tensors"),
    Case("_sparse_adagrad_update", inputs=dict(weight=normal(4, 3), grad=normal(4, 3).stored("row_sparse"), history=positive(4, 3)), attrs=dict(lr=0.1, rescale_grad=0.5, clip_gradient=0.7), out=("weight",), paths=("nd",)),
    Case("_contrib_group_adagrad_update", inputs=dict(weight=normal(4, 3), grad=normal(4, 3).stored("row_sparse"), history=positive(4, 1)), attrs=dict(lr=0.1, rescale_grad=0.5), out=("weight",), paths=("nd",)),
    Case("sgd_update", "missing_lr", inputs=dict(weight=normal(2), grad=normal(2)), out=("weight",), paths=("nd",), error=True),
    Case("sgd_update", "mismatch", inputs=dict(weight=normal(2), grad=normal(3)), attrs=dict(lr=0.1), out=("weight",), paths=("nd",), error=True),
    Case("sgd_update", "symbol", inputs=dict(weight=normal(2), grad=normal(2)), attrs=dict(lr=0.1), paths=("sym",), error=True),
]

LIMITATIONS: list[Limitation] = []
