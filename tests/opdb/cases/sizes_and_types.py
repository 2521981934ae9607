"""What giving every operator every element type, and no elements, has found."""

from ..case import Case, integers, normal, positive, values

_NONE = dict(np_shape=True, gradcheck="no elements")

CASES = [
    Case("multi_sum_sq", "mixed", dict(a=normal(3), b=normal(2, dtype="float64")), dict(num_arrays=2), grad=(), error=True),
    Case("RNN", "whole", dict(data=integers(3, 2, 4, dtype="int32"), parameters=integers(27, dtype="int32"), state=integers(1, 2, 3, dtype="int32")),
         dict(mode="rnn_relu", num_layers=1, state_size=3), error=True),
    Case("sgd_update", "whole", dict(weight=integers(3, dtype="int32"), grad=integers(3, dtype="int32")), dict(lr=0.1), out=("weight",), paths=("nd",), error=True),
    # attributes are C floats, in float64 arrays too
    Case("LeakyReLU", "slope_in_float64", dict(data=normal(2, 3, dtype="float64")), dict(slope=0.1)),
    Case("_contrib_ROIAlign", "scale_in_float64", dict(data=normal(1, 2, 6, 8, dtype="float64"), rois=values([[0.0, 0, 0, 5, 5], [0, 1, 2, 6, 4]], "float64")),
         dict(pooled_size=(3, 4), spatial_scale=0.8), grad=("data",), gradcheck="positions are rounded"),
    Case("ftml_update", "float64", dict(weight=normal(3, dtype="float64"), grad=normal(3, dtype="float64"), d=positive(3, dtype="float64"),
         v=positive(3, dtype="float64"), z=normal(3, dtype="float64")), dict(lr=0.1, t=3), out=("weight",), paths=("nd",)),
    Case("FullyConnected", "no_rows", dict(data=normal(0, 3, 4), weight=normal(5, 12), bias=normal(5)), dict(num_hidden=5), **_NONE),
    *[Case("LRN", f"no_{side}", dict(data=normal(2, 6, *shape)), dict(nsize=3, alpha=0.1), **_NONE) for side, shape in (("height", (0, 4)), ("width", (3, 0)))],
    Case("khatri_rao", "no_columns", dict(a=normal(2, 0), b=normal(4, 0)), dict(num_args=2), grad=(), **_NONE),
    Case("SpatialTransformer", "no_images", dict(data=normal(0, 3, 5, 6), loc=normal(0, 6)),
         dict(transform_type="affine", sampler_type="bilinear", target_shape=(4, 5)), **_NONE),
    *[Case(name, f"no_{side}", dict(data=normal(2, 3, *shape), **{other: normal(*size)}), attrs, **_NONE)
      for name, other, size, attrs in (
        ("BilinearSampler", "grid", (2, 2, 4, 3), {}),
        ("SpatialTransformer", "loc", (2, 6), dict(transform_type="affine", sampler_type="bilinear", target_shape=(4, 5))))
      for side, shape in (("height", (0, 6)), ("width", (5, 0)))],
    Case("Correlation", "no_channels", dict(data1=normal(2, 0, 6, 7), data2=normal(2, 0, 6, 7)), **_NONE),
    *[Case("col2im", f"no_{what}", dict(data=normal(*shape)), dict(output_size=(4, 3), kernel=(2, 3), pad=(0, 1)), **_NONE)
      for what, shape in (("images", (0, 12, 9)), ("channels", (1, 0, 9)))],
    *[Case("ROIPooling", f"no_{what}", dict(data=normal(*shape), rois=values([[0.0, 0, 0, 5, 5]])), dict(pooled_size=(2, 2), spatial_scale=1.0), grad=("data",),
           **_NONE) for what, shape in (("channels", (2, 0, 6, 8)), ("height", (2, 3, 0, 8)), ("width", (2, 3, 6, 0)))],
    *[Case("_contrib_MultiBoxPrior", f"no_{side}", dict(data=normal(2, 3, *shape)), grad=(), error=True, np_shape=True)
      for side, shape in (("height", (0, 7)), ("width", (4, 0)))],
    *[Case("BatchNorm", f"no_elements{'_global' if whole else ''}", dict(
        data=normal(0, 3, 2), gamma=positive(3), beta=normal(3), moving_mean=normal(3), moving_var=positive(3)),
        dict(use_global_stats=whole), grad=("data", "beta"), **_NONE) for whole in (False, True)],
    # bool: refused but for the operators that take it
    *[Case(name, "bool", dict(data=integers(2, 3, high=1, dtype="bool")), attrs, grad=(), error=True)
      for name, attrs in (("exp", {}), ("transpose", {}), ("sort", {}), ("reverse", dict(axis=0)), ("slice_axis", dict(axis=1, begin=0, end=2)), ("clip", dict(a_min=0, a_max=1)))],
    *[Case(name, "bool", dict(a=integers(2, 3, high=1, dtype="bool"), b=integers(2, 3, high=1, dtype="bool")), grad=(), error=True)
      for name in ("broadcast_mul", "broadcast_equal", "elemwise_add", "Concat")],
    Case("pick", "bool_index", dict(data=normal(3, 4), index=integers(3, high=1, dtype="bool")), grad=(), error=True),
    *[Case(name, "bool", dict(data=integers(2, 3, high=1, dtype="bool")), attrs, grad=())
      for name, attrs in (("tile", dict(reps=(2,))), ("slice", dict(begin=(0, 1), end=(2, 3))), ("expand_dims", dict(axis=0)), ("_equal_scalar", dict(scalar=1.0)))],
    *[Case(name, f"{what}_none", dict(data=normal(1, 2, 5), weight=normal(2, 2, 3)), {**dict(kernel=(3,), num_filter=2, no_bias=True), what: "None"}, grad=(),
           error=True) for name in ("Convolution", "Deconvolution") for what in ("kernel", "stride", "dilate", "pad")],
]  # fmt: skip
