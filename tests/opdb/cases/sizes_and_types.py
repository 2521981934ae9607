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
    *[Case("BatchNorm", f"no_elements{'_global' if whole else ''}", dict(
        data=normal(0, 3, 2), gamma=positive(3), beta=normal(3), moving_mean=normal(3), moving_var=positive(3)),
        dict(use_global_stats=whole), grad=("data", "beta"), **_NONE) for whole in (False, True)],
]  # fmt: skip
