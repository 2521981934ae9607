"""Resizing, padding, sampling grids, correlation, regions of interest, deformable convolution and Hawkes likelihood."""

from ..case import Case, distinct, integers, normal, positive, uniform, values

_ROIS = values([[0.0, 0, 0, 5, 4], [1, 2, 1, 7, 5], [0, 3, 3, 3, 3], [1, -3, -2, 12, 9], [1, 6, 4, 2, 1]])
_MAP = normal(2, 3, 6, 8)
_PAD = (0, 0, 0, 0, 1, 2, 2, 1)


def _roi(op: str, label: str, data: object, rois: object = _ROIS, **attrs: object) -> Case:
    return Case(op, label, inputs=dict(data=data, rois=rois), attrs=attrs, grad=("data",))


def _resize(label: str, **attrs: object) -> Case:
    return Case("_contrib_BilinearResize2D", label, inputs=dict(data=normal(2, 3, 5, 6)), attrs=attrs)


def _deformable(modulated: bool, label: str, offsets: int, size: tuple[int, int], groups: int = 1, **attrs: object) -> Case:
    inputs = dict(data=normal(2, 4, 6, 7), offset=normal(2, 18 * offsets, *size))
    if modulated:
        inputs["mask"] = uniform(2, 9 * offsets, *size, low=0.0)
    inputs.update(weight=normal(4, 4 // groups, 3, 3), bias=normal(4))
    given = dict(kernel=(3, 3), num_filter=4, num_group=groups, num_deformable_group=offsets, **attrs)
    op = "_contrib_ModulatedDeformableConvolution" if modulated else "_contrib_DeformableConvolution"
    # MXNet's CPU backward of the modulated form raises.
    return Case(op, label, inputs=inputs, attrs=given, grad=() if modulated else None)


CASES = [
    *[Case("UpSampling", f"nearest_{s}", inputs=dict(arg0=normal(2, 3, 4, 5)), attrs=dict(scale=s, sample_type="nearest", num_args=1)) for s in (1, 2, 3)],
    *[
        Case("UpSampling", mode, inputs=dict(arg0=normal(2, 3, 4, 5), arg1=normal(2, 3, 8, 10)), attrs=dict(
            scale=2, sample_type="nearest", num_args=2, multi_input_mode=mode))
        for mode in ("concat", "sum")
    ],
    *[
        Case("UpSampling", f"bilinear_{s}", inputs=dict(data=normal(2, 3, 4, 5), weight=normal(3, 1, 2 * s - s % 2, 2 * s - s % 2)), attrs=dict(
            scale=s, sample_type="bilinear", num_args=2, num_filter=3))
        for s in (2, 3)
    ],
    *[Case("Pad", f"{mode}_4d", inputs=dict(data=normal(2, 3, 4, 5)), attrs=dict(mode=mode, pad_width=_PAD, constant_value=1.5)) for mode in (
        "constant", "edge", "reflect")],
    *[Case("Pad", f"{mode}_5d", inputs=dict(data=normal(1, 2, 3, 4, 5)), attrs=dict(mode=mode, pad_width=(0, 0, 0, 0, 1, 0, 1, 2, 2, 1))) for mode in (
        "constant", "edge", "reflect")],
    Case("Pad", "reflect_too_far", inputs=dict(data=normal(1, 1, 3, 3)), attrs=dict(mode="reflect", pad_width=(0, 0, 0, 0, 3, 0, 0, 0)), error=True),
    Case("Pad", "channel", inputs=dict(data=normal(1, 1, 3, 3)), attrs=dict(mode="edge", pad_width=(0, 0, 1, 0, 0, 0, 0, 0)), error=True),
    Case("Pad", "rank", inputs=dict(data=normal(3, 3)), attrs=dict(mode="edge", pad_width=(0, 0, 0, 0)), error=True),
    _resize("larger", height=7, width=9), _resize("smaller", height=2, width=3), _resize("halves", height=7, width=9, align_corners=False),
    _resize("scaled", scale_height=1.6, scale_width=2.0), _resize("odd_scale", mode="odd_scale", scale_height=2.0, scale_width=2.0),
    *[_resize(mode, mode=mode) for mode in ("to_even_down", "to_even_up", "to_odd_down", "to_odd_up")],
    Case("BilinearSampler", inputs=dict(data=normal(2, 3, 5, 6), grid=normal(2, 2, 4, 3, std=0.7))),
    Case("GridGenerator", "affine", inputs=dict(data=normal(2, 6)), attrs=dict(transform_type="affine", target_shape=(4, 5)), gradcheck="float32 only"),
    Case("GridGenerator", "warp", inputs=dict(data=normal(2, 2, 4, 5)), attrs=dict(transform_type="warp"), gradcheck="float32 only"),
    Case("GridGenerator", "no_target", inputs=dict(data=normal(2, 6)), attrs=dict(transform_type="affine"), error=True),
    Case("SpatialTransformer", inputs=dict(data=normal(2, 3, 5, 6), loc=normal(2, 6, std=0.5)), attrs=dict(
        transform_type="affine", sampler_type="bilinear", target_shape=(4, 5))),
    *[
        Case("Correlation", label, inputs=dict(data1=normal(2, 3, 6, 7), data2=normal(2, 3, 6, 7)), attrs=attrs)
        for label, attrs in (
            ("plain", {}), ("kernel", dict(kernel_size=3, max_displacement=2, pad_size=2)), ("difference", dict(is_multiply=False, pad_size=1)),
            ("strided", dict(max_displacement=4, stride1=2, stride2=2, pad_size=4)),
        )
    ],
    Case("Correlation", "too_far", inputs=dict(data1=normal(1, 1, 3, 3), data2=normal(1, 1, 3, 3)), attrs=dict(max_displacement=4), error=True),
    *[
        _roi("ROIPooling", f"{h}x{w}_{scale}", distinct(2, 3, 6, 8), pooled_size=(h, w), spatial_scale=scale)
        for h, w in ((2, 2), (3, 4), (7, 7)) for scale in (1.0, 0.5)
    ],
    Case("ROIPooling", "wrong_rois", inputs=dict(data=_MAP, rois=normal(2, 4)), attrs=dict(pooled_size=(2, 2), spatial_scale=1.0), error=True),
    *[_roi("_contrib_ROIAlign", f"ratio_{r}".replace("-", "auto"), _MAP, pooled_size=(3, 4), spatial_scale=0.8, sample_ratio=r) for r in (-1, 2)],
    _roi("_contrib_ROIAlign", "aligned", _MAP, values([[0.0, 0, 0, 5, 4], [1, 2, 1, 7, 5]]), pooled_size=(2, 2), spatial_scale=0.8, aligned=True),
    _roi("_contrib_ROIAlign", "sensitive", normal(2, 8, 6, 8), pooled_size=(2, 2), spatial_scale=0.8, position_sensitive=True),
    Case("_contrib_RROIAlign", inputs=dict(data=_MAP, rois=values([[0.0, 3, 3, 4, 2, 30], [1, 4, 2, 5, 3, -60]])), attrs=dict(
        pooled_size=(2, 3), spatial_scale=1.0, sampling_ratio=2), grad=()),
    _roi("_contrib_PSROIPooling", "grouped", normal(2, 8, 6, 8), spatial_scale=1.0, output_dim=2, pooled_size=2, group_size=2),
    _roi("_contrib_PSROIPooling", "default_group", normal(2, 18, 6, 8), spatial_scale=0.5, output_dim=2, pooled_size=3),
    Case("_contrib_DeformablePSROIPooling", "shifted", grad=("data", "trans"), attrs=dict(
        spatial_scale=1.0, output_dim=2, group_size=2, pooled_size=2, part_size=2, sample_per_part=2, trans_std=0.1),
        inputs=dict(data=normal(2, 8, 6, 8), rois=values([[0.0, 0, 0, 5, 4], [1, 2, 1, 7, 5]]), trans=normal(2, 2, 2, 2, std=0.3))),
    _deformable(False, "plain", 1, (6, 7), pad=(1, 1)), _deformable(False, "strided", 2, (3, 4), stride=(2, 2), pad=(1, 1)),
    _deformable(False, "grouped", 1, (6, 7), groups=2, dilate=(2, 2), pad=(2, 2)),
    _deformable(True, "plain", 1, (6, 7), pad=(1, 1)), _deformable(True, "strided", 2, (3, 4), stride=(2, 2), pad=(1, 1)),
    Case("_contrib_hawkesll", grad=("lda", "alpha", "beta"), inputs=dict(
        lda=positive(2, 3), alpha=uniform(3, low=0.1, high=0.4), beta=positive(3), state=positive(2, 3), lags=positive(2, 4),
        marks=integers(2, 4, high=2, dtype="int32"), valid_length=values([2.0, 4.0]), max_time=values([9.0, 9.0]))),
]  # fmt: skip
