"""FullyConnected, Activation and the other plain layers."""

from ..case import Case, integers, normal, over_dtypes, values

_FC = dict(data=normal(2, 3, 4), weight=normal(5, 12), bias=normal(5))

CASES = [
    Case("FullyConnected", "flatten", inputs=_FC, attrs=dict(num_hidden=5)),
    Case("FullyConnected", "last_axis", inputs=dict(data=normal(2, 3, 4), weight=normal(5, 4), bias=normal(5)), attrs=dict(num_hidden=5, flatten=False)),
    Case("FullyConnected", "no_bias", inputs=dict(data=normal(3, 4), weight=normal(5, 4)), attrs=dict(num_hidden=5, no_bias=True)),
    Case("FullyConnected", "add", inputs=_FC, attrs=dict(num_hidden=5), req="add"),
    Case("FullyConnected", "wrong_weight", inputs=dict(data=normal(3, 4), weight=normal(5, 7), bias=normal(5)), attrs=dict(num_hidden=5), error=True),
    Case("FullyConnected", "unreadable", inputs=_FC, attrs=dict(num_hidden="many"), error=True),
    *over_dtypes(Case("FullyConnected", "typed", inputs=_FC, attrs=dict(num_hidden=5)), "float64"),
    *[Case("Activation", kind, inputs=dict(data=normal(3, 5)), attrs=dict(act_type=kind)) for kind in ("relu", "sigmoid", "softrelu", "softsign", "tanh")],
    Case("Activation", "relu_at_zero", inputs=dict(data=values([[-1.0, 0.0, 2.0]])), attrs=dict(act_type="relu"), gradcheck="a kink"),
    Case("Activation", "unknown", inputs=dict(data=integers(2, 2)), attrs=dict(act_type="swish"), error=True),
]
