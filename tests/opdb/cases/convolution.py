"""Convolution and Deconvolution in one to three spatial dimensions."""

from ..case import Case, normal, over_dtypes

_SIZES = {1: (7,), 2: (7, 6), 3: (5, 4, 4)}


def _conv(op: str, label: str, n: int, groups: int = 1, kernel: int = 3, bias: bool = True, **attrs: object) -> Case:
    channels = (4, 4 // groups) if op != "Deconvolution" else (4, 6 // groups)
    filters = 4 if op != "Deconvolution" else 6
    inputs = dict(data=normal(2, 4, *_SIZES[n]), weight=normal(*channels, *(kernel,) * n))
    if bias:
        inputs["bias"] = normal(filters)
    given = dict(kernel=(kernel,) * n, num_filter=filters, num_group=groups, no_bias=not bias, **attrs)
    return Case(op, f"{label}_{n}d", inputs=inputs, attrs=given)


_X, _W, _B = normal(2, 4, 7, 6), normal(4, 4, 3, 3), normal(4)

CASES = [
    *[_conv("Convolution", "plain", n) for n in (1, 2, 3)],
    *[_conv("Convolution", "strided", n, stride=(2,) * n, pad=(1,) * n) for n in (1, 2, 3)],
    *[_conv("Convolution", "dilated", n, kernel=2, dilate=(2,) * n) for n in (1, 2, 3)],
    *[_conv("Convolution", "grouped", n, groups=2, bias=False) for n in (1, 2, 3)],
    _conv("Convolution", "depthwise", 2, groups=4, pad=(1, 1)),
    Case("Convolution", "add", inputs=dict(data=_X, weight=_W, bias=_B), attrs=dict(kernel=(3, 3), num_filter=4), req="add"),
    Case("Convolution", "text", inputs=dict(data=_X, weight=_W, bias=_B), attrs=dict(kernel="[3,3]", num_filter="4", stride="(2, 1)", workspace=8)),
    *over_dtypes(Case("Convolution", "typed", inputs=dict(data=_X, weight=_W, bias=_B), attrs=dict(kernel=(3, 3), num_filter=4)), "float64"),
    Case("Convolution", "wrong_weight", inputs=dict(data=_X, weight=normal(4, 3, 3, 3), bias=_B), attrs=dict(kernel=(3, 3), num_filter=4), error=True),
    Case("Convolution", "wrong_rank", inputs=dict(data=normal(2, 4, 7), weight=_W, bias=_B), attrs=dict(kernel=(3, 3), num_filter=4), error=True),
    Case("Convolution", "kernel_too_big", inputs=dict(data=normal(2, 4, 2, 2), weight=_W, bias=_B), attrs=dict(kernel=(3, 3), num_filter=4), error=True),
    Case("Convolution", "no_filters", inputs=dict(data=_X, weight=_W, bias=_B), attrs=dict(kernel=(3, 3), num_filter=0), error=True),
    Case("Convolution", "stride_rank", inputs=dict(data=_X, weight=_W, bias=_B), attrs=dict(kernel=(3, 3), num_filter=4, stride=(1,)), error=True),
    Case("Convolution_v1", "strided", inputs=dict(data=_X, weight=_W, bias=_B), attrs=dict(kernel=(3, 3), num_filter=4, stride=(2, 2), pad=(1, 1))),
    Case("Convolution_v1", "grouped", inputs=dict(data=_X, weight=normal(4, 2, 3, 3)), attrs=dict(kernel=(3, 3), num_filter=4, num_group=2, no_bias=True)),
    *[_conv("Deconvolution", "plain", n, bias=False) for n in (1, 2)],
    *[_conv("Deconvolution", "biased", n, stride=(2,) * n, pad=(1,) * n) for n in (1, 2)],
    *[_conv("Deconvolution", "adj", n, bias=False, stride=(2,) * n, pad=(1,) * n, adj=(1,) * n) for n in (1, 2)],
    *[_conv("Deconvolution", "target", n, bias=False, stride=(2,) * n, target_shape=tuple(2 * s for s in _SIZES[n])) for n in (1, 2)],
    _conv("Deconvolution", "target_odd", 2, bias=False, stride=(2, 2), target_shape=(13, 12)),
    _conv("Deconvolution", "grouped", 2, groups=2, bias=False),
    _conv("Deconvolution", "dilated", 2, bias=False, kernel=2, dilate=(2, 2)),
    Case(
        "Deconvolution", "three", inputs=dict(data=normal(1, 2, 3, 3, 3), weight=normal(2, 3, 2, 2, 2)),
        attrs=dict(kernel=(2, 2, 2), num_filter=3, stride=(2, 2, 2)), onednn=True,
    ),
    Case(
        "Deconvolution", "target_too_big", inputs=dict(data=_X, weight=normal(4, 6, 3, 3)),
        attrs=dict(kernel=(3, 3), num_filter=6, target_shape=(40, 40)), error=True,
    ),
    Case("Deconvolution", "adj_too_big", inputs=dict(data=_X, weight=normal(4, 6, 3, 3)), attrs=dict(kernel=(3, 3), num_filter=6, adj=(1, 1)), error=True),
]  # fmt: skip
