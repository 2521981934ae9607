"""What the live differential runs found, a case for each kind: element types that MXNet refuses, sizes of one and none, odd attributes."""

from ..case import Case, integers, normal, positive, uniform, values

_WHOLE = dict(data=integers(2, 3, low=1, high=5, dtype="int32"))
_IMAGE = dict(data=integers(1, 2, 4, 4, high=5, dtype="int32"))
_PAIR = dict(lhs=integers(2, 3, dtype="int32"), rhs=integers(3, 2, dtype="int32"))
_NOT_FLOAT32 = ("float16", "float64", "int32")
_NONE = dict(np_shape=True, gradcheck="no elements")

CASES = [
    # floating point data only
    Case("Activation", "whole", _WHOLE, dict(act_type="tanh"), error=True),
    Case("Dropout", "whole", _WHOLE, dict(p=0.5), error=True),
    Case("hard_sigmoid", "whole", _WHOLE, error=True),
    Case("MakeLoss", "whole", _WHOLE, error=True),
    Case("L2Normalization", "whole", _WHOLE, error=True),
    Case("dot", "whole", _PAIR, error=True),
    Case("FullyConnected", "whole", dict(_WHOLE, weight=integers(4, 3, dtype="int32")), dict(num_hidden=4, no_bias=True), error=True),
    Case("UpSampling", "whole", _IMAGE, dict(scale=2, sample_type="nearest"), error=True),
    Case("im2col", "whole", _IMAGE, dict(kernel=(2, 2)), error=True),
    Case("LinearRegressionOutput", "whole", dict(_WHOLE, label=integers(2, 3, dtype="int32")), error=True),
    Case("_contrib_box_iou", "whole", dict(lhs=integers(2, 4, dtype="int32"), rhs=integers(2, 4, dtype="int32")), error=True),
    Case("_random_pdf_exponential", "whole", dict(sample=integers(2, 3, dtype="int32"), lam=integers(2, low=1, high=3, dtype="int32")), error=True),
    # dimensions below -1
    Case("tile", "negative", dict(data=normal(2, 3)), dict(reps=(4, -1)), error=True),
    Case("tile", "negative_number", dict(data=normal(2, 3)), dict(reps=-2), error=True),
    # one class, no elements, more than two axes
    Case("SoftmaxOutput", "one_class_smooth", dict(data=normal(3, 1), label=integers(3, high=0)), dict(smooth_alpha=0.5), gradcheck="a loss"),
    Case("LinearRegressionOutput", "empty", dict(data=normal(4, 0), label=normal(4, 0)), grad=("data",), **_NONE),
    Case("MAERegressionOutput", "empty", dict(data=normal(4, 0), label=normal(4, 0)), grad=("data",), **_NONE),
    Case("MakeLoss", "empty", dict(data=normal(0)), dict(normalization="batch"), **_NONE),
    Case("MakeLoss", "batch_3d", dict(data=normal(3, 4, 3)), dict(normalization="batch", grad_scale=0.5), gradcheck="a loss"),
    # names, zero divisors, what inference writes
    Case("_split_v2", "one_part", dict(data=normal(2, 3)), dict(indices=(0,), axis=1, sections=1)),
    Case("_rdiv_scalar", "whole_zero", dict(data=values([1, 0, 3], dtype="int32")), dict(scalar=7)),
    Case("BatchNorm", "fixed_gamma_global", dict(
        data=normal(2, 3, 2), gamma=positive(3), beta=normal(3), moving_mean=normal(3), moving_var=positive(3)),
        dict(use_global_stats=True), grad=("data", "beta"), gradcheck="auxiliary states"),
    # other element types, ranks and sizes
    *[Case("GridGenerator", f"flow_{t}", dict(data=normal(1, 2, 3, 4, dtype=t)), dict(transform_type="warp"), error=True) for t in _NOT_FLOAT32],
    *[Case("IdentityAttachKLSparseReg", t, dict(data=positive(3, 4, dtype=t), moving_avg=positive(4, dtype=t)), paths=("sym",), error=True)
      for t in _NOT_FLOAT32],
    Case("IdentityAttachKLSparseReg", "imperative", dict(data=positive(3, 4)), paths=("nd",), error=True),
    Case("IdentityAttachKLSparseReg", "empty", dict(data=positive(4, 0), moving_avg=positive(0)), paths=("sym",), grad=("data",), **_NONE),
    Case("ROIPooling", "whole", dict(_IMAGE, rois=integers(2, 5, high=1, dtype="int32")), dict(pooled_size=(2, 2), spatial_scale=1.0), error=True),
    Case("_contrib_ROIAlign", "whole", dict(_IMAGE, rois=integers(2, 5, high=1, dtype="int32")), dict(pooled_size=(2, 2), spatial_scale=1.0),
         error=True),
    Case("CTCLoss", "four_axes", dict(data=normal(1, 3, 2, 4), label=integers(2, 3)), dict(use_label_lengths=True), paths=("sym",), error=True),
    Case("_contrib_BilinearResize2D", "empty", dict(data=normal(2, 3, 5, 0)), dict(scale_height=1.6, scale_width=2.0), **_NONE),
    Case("_contrib_quantized_concat", "floats", dict(
        arg0=normal(2, 3), arg1=normal(2, 3), arg0_min=values([0.0]), arg0_max=values([1.0]), arg1_min=values([0.0]), arg1_max=values([1.0])),
        dict(num_args=2), error=True),
    Case("_linalg_gemm2", "ranks", dict(A=normal(2, 2, 3), B=normal(3, 4)), error=True),
    Case("_contrib_MultiBoxPrior", "flat", dict(data=normal(1, 2, 2, 3)), dict(ratios=(1.0, 0.0), clip=True)),
    Case("SVMOutput", "empty", dict(data=normal(5, 0), label=integers(5, high=0)), grad=("data",), head="none", **_NONE),
    Case("Pooling", "no_images", dict(data=normal(0, 0, 7, 6)), dict(kernel=(2, 2), pad=(1, 1), stride=(3, 3), pool_type="sum"), **_NONE),
    Case("LogisticRegressionOutput", "label_only", dict(data=normal(4, 3), label=normal(4, 3)), grad=("label",), head="none", gradcheck="a loss"),
    # what a gradient is computed from (see test_executor for values written in between)
    *[Case(name, "steep", dict(data=uniform(2, 3, low=0.05, high=0.3))) for name in ("rsqrt", "rcbrt", "reciprocal", "expm1")],
    Case("broadcast_hypot", "uneven", dict(lhs=normal(2, 1, 3), rhs=normal(1, 4, 3))),
]  # fmt: skip
