"""Layers: convolution, pooling, normalization, activations with parameters, softmax, losses, embedding, sequences."""

from ..case import Case, distinct, integers, normal, over_dtypes, positive, uniform, values

_IMAGE = distinct(2, 4, 6, 5)
_CONV = dict(data=normal(2, 4, 6, 5), weight=normal(6, 4, 3, 3), bias=normal(6))
_DECONV = dict(data=normal(2, 4, 3, 4), weight=normal(4, 3, 3, 3))
_BN = dict(data=normal(4, 3, 2, 2), gamma=positive(3), beta=normal(3), moving_mean=normal(3), moving_var=positive(3))
_NORM = dict(data=normal(2, 4, 3), gamma=normal(4), beta=normal(4))
_CLASSES = dict(data=normal(4, 3), label=values([0, 2, 1, 2]))
_REGRESSION = dict(data=normal(4, 3), label=normal(4, 3))
_LOSS = dict(head="none", gradcheck="a loss layer")
_STATISTICS = "gradcheck would see the batch statistics change"
_SEQUENCE = dict(data=normal(4, 2, 3), sequence_length=values([2, 4]))


def _conv(label: str, **attrs: object) -> Case:
    return Case("Convolution", label, inputs=_CONV, attrs=dict(num_filter=6, kernel=(3, 3), **attrs))


CASES = [
    _conv("plain"),
    _conv("strided", stride=(2, 1), pad=(1, 2)),
    _conv("dilated", dilate=(2, 2), pad=(2, 2)),
    Case("Convolution", "added", inputs=_CONV, attrs=dict(num_filter=6, kernel=(3, 3)), req="add"),
    Case("Convolution", "grouped", inputs=dict(_CONV, weight=normal(6, 2, 3, 3)), attrs=dict(num_filter=6, kernel=(3, 3), num_group=2)),
    Case("Convolution", "no_bias", inputs=dict(data=normal(2, 3, 5, 5), weight=normal(2, 3, 1, 1)), attrs=dict(num_filter=2, kernel=(1, 1), no_bias=True)),
    Case("Convolution", "one_dimension", inputs=dict(data=normal(2, 3, 7), weight=normal(4, 3, 3), bias=normal(4)), attrs=dict(num_filter=4, kernel=(3,), pad=(1,))),
    Case("Convolution", "three_dimensions", inputs=dict(data=normal(1, 2, 3, 4, 3), weight=normal(2, 2, 2, 2, 2), bias=normal(2)), attrs=dict(num_filter=2, kernel=(2, 2, 2))),
    Case("Convolution", "wrong_kernel", inputs=_CONV, attrs=dict(num_filter=6, kernel=(9, 9)), error=True),
    Case("Convolution", "wrong_channels", inputs=dict(_CONV, weight=normal(6, 3, 3, 3)), attrs=dict(num_filter=6, kernel=(3, 3)), error=True),
    Case("Convolution", "no_kernel", inputs=_CONV, attrs=dict(num_filter=6), error=True),
    *over_dtypes(Case("Convolution", "typed", inputs=_CONV, attrs=dict(num_filter=6, kernel=(3, 3))), "float64"),
    Case("Deconvolution", "plain", inputs=_DECONV, attrs=dict(num_filter=3, kernel=(3, 3))),
    Case("Deconvolution", "strided", inputs=_DECONV, attrs=dict(num_filter=3, kernel=(3, 3), stride=(2, 2), pad=(1, 1), adj=(1, 0))),
    Case("Deconvolution", "grouped", inputs=dict(_DECONV, weight=normal(4, 2, 3, 3)), attrs=dict(num_filter=4, kernel=(3, 3), num_group=2)),
    Case("Deconvolution", "bias", inputs=dict(_DECONV, bias=normal(3)), attrs=dict(num_filter=3, kernel=(3, 3), no_bias=False)),
    Case("Deconvolution", "target", inputs=_DECONV, attrs=dict(num_filter=3, kernel=(3, 3), stride=(2, 2), target_shape=(6, 8))),
    *[Case("Pooling", f"{kind}_{convention}", inputs=dict(data=_IMAGE), attrs=dict(kernel=(3, 2), stride=(2, 2), pad=(1, 0), pool_type=kind, pooling_convention=convention))
      for kind in ("max", "avg", "sum") for convention in ("valid", "full")],
    *[Case("Pooling", f"global_{kind}", inputs=dict(data=_IMAGE), attrs=dict(kernel=(1, 1), global_pool=True, pool_type=kind)) for kind in ("max", "avg", "sum")],
    Case("Pooling", "avg_inside", inputs=dict(data=_IMAGE), attrs=dict(kernel=(3, 3), pad=(1, 1), pool_type="avg", count_include_pad=False)),
    Case("Pooling", "lp", inputs=dict(data=positive(2, 2, 4, 4)), attrs=dict(kernel=(2, 2), pool_type="lp", p_value=2)),
    Case("Pooling", "one_dimension", inputs=dict(data=distinct(2, 3, 7)), attrs=dict(kernel=(2,), stride=(2,), pool_type="max", pooling_convention="full")),
    Case("Pooling", "three_dimensions", inputs=dict(data=distinct(1, 2, 4, 3, 3)), attrs=dict(kernel=(2, 2, 2), pool_type="avg")),
    Case("Pooling", "unknown_type", inputs=dict(data=_IMAGE), attrs=dict(kernel=(2, 2), pool_type="median"), error=True),
    Case("BatchNorm", "fixed_gamma", inputs=_BN, gradcheck=_STATISTICS),
    Case("BatchNorm", "free_gamma", inputs=_BN, attrs=dict(fix_gamma=False, eps=2e-5, momentum=0.8)),
    Case("BatchNorm", "global", inputs=_BN, attrs=dict(fix_gamma=False, use_global_stats=True)),
    Case("BatchNorm", "last_axis", inputs=dict(_BN, data=normal(4, 2, 3)), attrs=dict(fix_gamma=False, axis=-1)),
    Case("BatchNorm", "statistics", inputs=_BN, attrs=dict(fix_gamma=False, output_mean_var=True), gradcheck=_STATISTICS),
    Case("BatchNorm", "two_dimensions", inputs=dict(_BN, data=normal(5, 3)), attrs=dict(fix_gamma=False)),
    Case("LayerNorm", "last", inputs=dict(data=normal(2, 3, 4), gamma=normal(4), beta=normal(4))),
    Case("LayerNorm", "middle", inputs=_NORM, attrs=dict(axis=1, eps=1e-3)),
    Case("GroupNorm", inputs=dict(data=normal(2, 4, 3), gamma=normal(2), beta=normal(2)), attrs=dict(num_groups=2)),
    Case("InstanceNorm", inputs=_NORM, attrs=dict(eps=1e-3)),
    Case("LRN", inputs=dict(data=normal(2, 5, 3, 2)), attrs=dict(nsize=3, alpha=0.1)),
    *[Case("L2Normalization", mode, inputs=dict(data=normal(2, 3, 4)), attrs=dict(mode=mode)) for mode in ("instance", "channel", "spatial")],
    *[Case("LeakyReLU", kind, inputs=dict(data=distinct(3, 4)), attrs=dict(act_type=kind, slope=0.3)) for kind in ("leaky", "elu", "selu", "gelu")],
    Case("LeakyReLU", "prelu", inputs=dict(data=distinct(2, 3, 4), gamma=positive(3)), attrs=dict(act_type="prelu")),
    Case("LeakyReLU", "prelu_shared", inputs=dict(data=distinct(2, 3, 4), gamma=positive(1)), attrs=dict(act_type="prelu")),
    Case("Dropout", "nothing", inputs=dict(data=normal(3, 4)), attrs=dict(p=0.0)),
    Case("Dropout", "half", inputs=dict(data=uniform(60, 60, low=1, high=2)), sample=True),
    Case("Dropout", "axes", inputs=dict(data=uniform(2000, 2, low=1, high=2)), attrs=dict(p=0.3, axes=(1,)), sample=True),
    *[Case(name, "last", inputs=dict(data=normal(2, 3, 4))) for name in ("softmax", "log_softmax", "softmin")],
    *[Case(name, "axis", inputs=dict(data=normal(2, 3, 4)), attrs=dict(axis=1, temperature=2.0)) for name in ("softmax", "log_softmax", "softmin")],
    *[c for name in ("softmax", "log_softmax") for c in over_dtypes(Case(name, "typed", inputs=dict(data=normal(2, 3))), "float16", "float64")],
    Case("SoftmaxActivation", "instance", inputs=dict(data=normal(2, 3, 2, 2)), gradcheck="MXNet's backward goes over another axis than its forward"),
    Case("SoftmaxActivation", "channel", inputs=dict(data=normal(2, 3, 2, 2)), attrs=dict(mode="channel")),
    Case("SoftmaxOutput", inputs=_CLASSES, **_LOSS),
    *[Case("SoftmaxOutput", f"normalized_{kind}", inputs=_CLASSES, attrs=dict(normalization=kind, grad_scale=2.0), **_LOSS) for kind in ("batch", "valid")],
    Case("SoftmaxOutput", "ignored", inputs=_CLASSES, attrs=dict(use_ignore=True, ignore_label=2, normalization="valid"), **_LOSS),
    Case("SoftmaxOutput", "smoothed", inputs=_CLASSES, attrs=dict(smooth_alpha=0.1), **_LOSS),
    Case("SoftmaxOutput", "per_position", inputs=dict(data=normal(2, 3, 4), label=integers(2, 4, high=2)), attrs=dict(multi_output=True), **_LOSS),
    Case("SoftmaxOutput", "preserved", inputs=dict(data=normal(2, 4, 3), label=integers(2, 4, high=2)), attrs=dict(preserve_shape=True), **_LOSS),
    Case("SoftmaxOutput", "head_gradient", inputs=_CLASSES, attrs=dict(out_grad=True), gradcheck="a loss layer"),
    Case("SoftmaxOutput", "probabilities", inputs=dict(data=normal(4, 3), label=positive(4, 3)), **_LOSS),
    *[Case(f"{kind}RegressionOutput", inputs=_REGRESSION, attrs=dict(grad_scale=0.5), **_LOSS) for kind in ("Linear", "Logistic", "MAE")],
    *[Case("SVMOutput", name, inputs=_CLASSES, attrs=dict(margin=0.5, use_linear=name == "linear"), **_LOSS) for name in ("linear", "squared")],
    *[Case("MakeLoss", kind, inputs=dict(data=positive(4, 3)), attrs=dict(grad_scale=0.5, normalization=kind), **_LOSS) for kind in ("null", "batch", "valid")],
    Case("make_loss", inputs=dict(data=positive(4, 3)), **_LOSS),
    Case("BlockGrad", inputs=dict(data=normal(2, 3)), gradcheck="zero by definition"),
    Case("_contrib_gradientmultiplier", inputs=dict(data=normal(2, 3)), attrs=dict(scalar=3.0), gradcheck="not the derivative by definition"),
    Case("CTCLoss", inputs=dict(data=normal(5, 2, 4), label=values([[1, 2], [3, 0]])), grad=("data",), gradcheck="float32 inside"),
    Case("Embedding", inputs=dict(data=values([[0, 2], [4, 2]]), weight=normal(5, 3)), attrs=dict(input_dim=5, output_dim=3), grad=("weight",)),
    Case("Embedding", "outside", inputs=dict(data=values([[-1, 7]]), weight=normal(5, 3)), attrs=dict(input_dim=5, output_dim=3), grad=("weight",)),
    *[Case("UpSampling", "nearest", inputs=dict(data=normal(1, 2, 2, 3)), attrs=dict(scale=2, sample_type="nearest", num_args=1))],
    *[Case("Pad", mode, inputs=dict(data=normal(1, 2, 3, 4)), attrs=dict(mode=mode, pad_width=(0, 0, 0, 0, 1, 2, 2, 1), constant_value=1.5)) for mode in ("constant", "edge", "reflect")],
    Case("SequenceMask", "all", inputs=dict(data=normal(4, 2, 3))),
    *[Case(name, "lengths", inputs=_SEQUENCE, attrs=dict(use_sequence_length=True), grad=("data",)) for name in ("SequenceMask", "SequenceLast", "SequenceReverse")],
    Case("_contrib_AdaptiveAvgPooling2D", inputs=dict(data=normal(1, 2, 5, 4)), attrs=dict(output_size=(2, 3))),
    Case("_contrib_BilinearResize2D", inputs=dict(data=normal(1, 2, 3, 4)), attrs=dict(height=5, width=6)),
]  # fmt: skip

