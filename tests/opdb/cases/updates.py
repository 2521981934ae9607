"""Optimizer updates, called as optimizers call them: `out=` is the weight, states change in place."""

from ..case import Case, normal, positive

_W = dict(weight=normal(3, 4), grad=normal(3, 4))
_COMMON = dict(lr=0.1, wd=0.01, rescale_grad=0.5, clip_gradient=0.4)
_STATES = {
    "sgd_update": {}, "sgd_mom_update": dict(mom=normal(3, 4)), "nag_mom_update": dict(mom=normal(3, 4)),
    "adam_update": dict(mean=normal(3, 4), var=positive(3, 4)), "rmsprop_update": dict(n=positive(3, 4)),
    "rmspropalex_update": dict(n=positive(3, 4), g=normal(3, 4, std=0.1), delta=normal(3, 4)), "ftrl_update": dict(z=normal(3, 4), n=positive(3, 4)),
    "signsgd_update": {}, "signum_update": dict(mom=normal(3, 4)),
}  # fmt: skip
_MOMENTUM = {"sgd_mom_update", "nag_mom_update", "signum_update"}


def _update(name: str, label: str, **attrs: object) -> Case:
    return Case(name, label, inputs=dict(_W, **_STATES[name]), attrs=attrs, paths=("nd",), out=("weight",))


CASES = [
    *[_update(name, "plain", lr=0.1, **(dict(momentum=0.9) if name in _MOMENTUM else {})) for name in _STATES],
    *[_update(name, "clipped", **_COMMON, **(dict(momentum=0.9) if name in _MOMENTUM else {})) for name in _STATES],
    _update("adam_update", "betas", lr=0.01, beta1=0.8, beta2=0.9, epsilon=1e-4),
    Case("ftml_update", inputs=dict(_W, d=positive(3, 4), v=positive(3, 4), z=normal(3, 4)), attrs=dict(lr=0.1, t=2), paths=("nd",), out=("weight",)),
    Case("mp_sgd_update", inputs=dict(weight=normal(3, dtype="float16"), grad=normal(3, dtype="float16"), weight32=normal(3)), attrs=dict(lr=0.1), paths=("nd",), out=("weight",)),
    Case("lamb_update_phase1", inputs=dict(_W, mean=normal(3, 4), var=positive(3, 4)), attrs=dict(t=3, wd=0.01), paths=("nd",), grad=()),
    Case("multi_sgd_update", inputs=dict(w0=normal(3), g0=normal(3), w1=normal(2, 2), g1=normal(2, 2)), attrs=dict(lrs=(0.1, 0.2), wds=(0.0, 0.01), num_weights=2), paths=("nd",), out=("w0", "w1")),
]
