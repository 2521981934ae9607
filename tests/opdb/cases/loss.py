"""Output layers (the head gradient is ignored) and CTCLoss."""

from ..case import Case, integers, normal, values

_N, _K = 5, 4


def _softmax(label: str, data: tuple[int, ...], target: tuple[int, ...], **attrs: object) -> Case:
    inputs = dict(data=normal(*data), label=integers(*target, high=data[1] - 1))
    return Case("SoftmaxOutput", label, inputs=inputs, attrs=attrs, head="none", grad=("data",))


_SOFTMAX = [
    _softmax(f"{normalization}_{'ignored' if ignore else 'all'}{suffix}", data, target, normalization=normalization, use_ignore=ignore, ignore_label=1, **attrs)
    for normalization in ("null", "batch", "valid") for ignore in (False, True)
    for suffix, data, target, attrs in (
        ("", (_N, _K), (_N,), {}),
        ("_smooth", (_N, _K), (_N,), dict(smooth_alpha=0.1)),
        ("_multi", (_N, _K, 3, 2), (_N, 3, 2), dict(multi_output=True, grad_scale=0.5)),
        ("_shape", (_N, 3, 6), (_N, 3), dict(preserve_shape=True)),
    )
]  # fmt: skip


def _regression(op: str, label: str, data: tuple[int, ...], target: tuple[int, ...], **attrs: object) -> Case:
    return Case(op, label, inputs=dict(data=normal(*data), label=normal(*target)), attrs=attrs, head="none", grad=("data",))


_HEADS = ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput")
_LABELS = values([[1.0, 2, 0], [3, 3, 1]])

CASES = [
    *_SOFTMAX,
    _softmax("multi_flat_label", (_N, _K, 3, 2), (_N, 6), multi_output=True),
    _softmax("out_grad", (_N, _K), (_N,), out_grad=True),
    _softmax("flattened", (_N, 2, 3), (_N, 2), grad_scale=2.0, preserve_shape=True),
    Case("SoftmaxOutput", "probabilities", inputs=dict(data=normal(_N, _K), label=normal(_N, _K)), attrs=dict(grad_scale=0.5), head="none", grad=("data",)),
    Case("SoftmaxOutput", "column_label", inputs=dict(data=normal(_N, _K), label=integers(_N, 1, high=3)), error=True),
    Case("SoftmaxOutput", "unknown_normalization", inputs=dict(data=normal(_N, _K), label=integers(_N, high=3)), attrs=dict(normalization="all"), error=True),
    *[_regression(op, "plain", (4, 3), (4, 3)) for op in _HEADS],
    *[_regression(op, "scaled", (4, 3, 2), (4, 3, 2), grad_scale=2.0) for op in _HEADS],
    *[_regression(op, "vector_label", (4, 1), (4,)) for op in _HEADS],
    *[Case(op, "wrong_label", inputs=dict(data=normal(4, 3), label=normal(4)), error=True) for op in _HEADS],
    Case("MAERegressionOutput", "equal", inputs=dict(data=values([[1.0, 2.0]]), label=values([[1.0, 1.0]])), head="none", grad=("data",)),
    *[
        Case("MakeLoss", name, inputs=dict(data=normal(4, 3)), attrs=dict(normalization=name, grad_scale=0.5, valid_thresh=0.2), head="none")
        for name in ("null", "batch", "valid")
    ],
    *[
        Case("SVMOutput", name, inputs=dict(data=normal(5, 4), label=integers(5, high=3)), attrs=attrs, head="none", grad=("data",))
        for name, attrs in (("squared", {}), ("linear", dict(use_linear=True)), ("tuned", dict(margin=0.7, regularization_coefficient=0.5)))
    ],
    Case("CTCLoss", "first", inputs=dict(data=normal(5, 2, 4), label=_LABELS), grad=("data",)),
    Case("CTCLoss", "last", inputs=dict(data=normal(5, 2, 4), label=values([[1.0, 2, -1], [0, 0, 1]])), attrs=dict(blank_label="last"), grad=("data",)),
    Case(
        "CTCLoss", "lengths", grad=("data",), attrs=dict(use_data_lengths=True, use_label_lengths=True),
        inputs=dict(data=normal(5, 2, 4), label=_LABELS, data_lengths=values([4.0, 5]), label_lengths=values([2.0, 3])),
    ),
    Case("CTCLoss", "labels_only", inputs=dict(data=normal(5, 2, 4), label=_LABELS, label_lengths=values([2.0, 3])), attrs=dict(use_label_lengths=True), grad=("data",)),
    Case("CTCLoss", "too_short", inputs=dict(data=normal(2, 2, 4), label=_LABELS), error=True),
]  # fmt: skip
