"""LeakyReLU and Dropout."""

from ..case import Case, normal, values

_ZERO = values([[-2.0, -0.5, 0.0, 0.7], [0.0, 3.0, -1.0, 1.0]])

CASES = [
    *[Case("LeakyReLU", kind, inputs=dict(data=normal(3, 4, 5)), attrs=dict(act_type=kind, slope=0.3)) for kind in ("leaky", "elu", "gelu")],
    Case("LeakyReLU", "selu", inputs=dict(data=normal(3, 4, 5)), attrs=dict(act_type="selu"), gradcheck="MXNet's gradient is not the derivative"),
    *[
        Case("LeakyReLU", f"{kind}_zero", inputs=dict(data=_ZERO), attrs=dict(act_type=kind), gradcheck="a kink")
        for kind in ("leaky", "elu", "selu", "gelu")
    ],
    Case("LeakyReLU", "prelu", inputs=dict(data=normal(3, 4, 5), gamma=normal(4)), attrs=dict(act_type="prelu")),
    Case("LeakyReLU", "prelu_one", inputs=dict(data=normal(3, 4, 5), gamma=normal(1)), attrs=dict(act_type="prelu")),
    Case("LeakyReLU", "prelu_two_axes", inputs=dict(data=normal(3, 4, 5), gamma=normal(3, 4)), attrs=dict(act_type="prelu")),
    Case("LeakyReLU", "prelu_2d", inputs=dict(data=normal(3, 4), gamma=normal(4)), attrs=dict(act_type="prelu")),
    Case("LeakyReLU", "float64", inputs=dict(data=normal(3, 4, dtype="float64")), attrs=dict(act_type="elu", slope=0.7)),
    Case("LeakyReLU", "unknown", inputs=dict(data=normal(3, 4)), attrs=dict(act_type="swish"), error=True),
    Case("Dropout", "inference", inputs=dict(data=normal(3, 4)), attrs=dict(p=0.5), train=(False,), grad=()),
    Case("Dropout", "none", inputs=dict(data=normal(3, 4)), attrs=dict(p=0.0)),
    Case("Dropout", "training", inputs=dict(data=normal(40, 50, mean=3.0)), attrs=dict(p=0.3, mode="always"), sample=True),
    Case("Dropout", "axes", inputs=dict(data=normal(40, 50, 3, mean=3.0)), attrs=dict(p=0.3, mode="always", axes=(2,)), sample=True),
    Case("Dropout", "out_of_bounds", inputs=dict(data=normal(3, 4)), attrs=dict(p=1.5), error=True),
]
