"""Slices, crops and splits."""

from ..case import Case, Limitation, integers, normal, over_dtypes

_X = dict(data=normal(3, 4, 5))
_IMAGE = normal(1, 2, 5, 6)

_SLICES = {
    "leading": dict(begin=(1,), end=(3,)), "open": dict(begin=(None, 1), end=(None, 3)), "negative": dict(begin=(-2, -3, -1), end=(None, -1, None)),
    "step": dict(begin=(0, None), end=(None, None), step=(2, 3)), "backwards": dict(begin=(None, 3), end=(None, 0), step=(-1, -2)),
    "clipped": dict(begin=(-9, 2), end=(9, 99)),
}  # fmt: skip
_WRONG = {
    "too_many": dict(begin=(0, 0, 0, 0), end=(1, 1, 1, 1)), "lengths": dict(begin=(0, 0), end=(1,)), "zero_step": dict(begin=(0,), end=(2,), step=(0,)),
    "missing": dict(begin=(0,)), "unreadable": dict(begin=("x",), end=(1,)),
}  # fmt: skip

CASES = [
    *[Case("slice", label, inputs=_X, attrs=attrs) for label, attrs in _SLICES.items()],
    *[Case("slice", label, inputs=_X, attrs=attrs, error=True) for label, attrs in _WRONG.items()],
    *over_dtypes(Case("slice", "typed", inputs=dict(data=integers(4, 3)), attrs=dict(begin=(1,), end=(-1,)), grad=()), "int64", "float64", "uint8"),
    Case("slice", "add", inputs=_X, attrs=dict(begin=(1, 0), end=(2, 3)), req="add"),
    Case("crop", inputs=_X, attrs=dict(begin=(0, 1), end=(2, 3))),
    *[
        Case("slice_axis", label, inputs=_X, attrs=dict(axis=axis, begin=begin, end=end))
        for label, (axis, begin, end) in dict(first=(0, 1, 3), last=(-1, -3, None), negative_end=(1, 0, -1), whole=(2, 0, None)).items()
    ],
    Case("slice_axis", "empty", inputs=_X, attrs=dict(axis=0, begin=2, end=2), error=True),
    Case("slice_axis", "beyond", inputs=_X, attrs=dict(axis=0, begin=0, end=4), error=True),
    Case("slice_axis", "wrong_axis", inputs=_X, attrs=dict(axis=3, begin=0, end=1), error=True),
    Case("slice_like", inputs=dict(data=normal(3, 4), shape_like=normal(2, 3))),
    Case("slice_like", "axes", inputs=dict(data=normal(3, 4, 5), shape_like=normal(2, 1, 3)), attrs=dict(axes=(0, -1))),
    Case("slice_like", "too_big", inputs=dict(data=normal(3, 4), shape_like=normal(2, 5)), error=True),
    Case("slice_like", "ranks", inputs=dict(data=normal(3, 4), shape_like=normal(2, 3, 1)), error=True),
    Case("Crop", "size", inputs=dict(a=_IMAGE), attrs=dict(h_w=(2, 3), offset=(1, 2))),
    Case("Crop", "centre", inputs=dict(a=_IMAGE), attrs=dict(h_w=(3, 3), center_crop=True)),
    Case("Crop", "like", inputs=dict(a=_IMAGE, b=normal(1, 1, 4, 2)), attrs=dict(offset=(1, 3))),
    Case("Crop", "too_big", inputs=dict(a=_IMAGE), attrs=dict(h_w=(6, 3)), error=True),
    Case("Crop", "not_4d", inputs=dict(a=normal(5, 6)), attrs=dict(h_w=(2, 3)), error=True),
    *[
        Case("SliceChannel", label, inputs=dict(data=normal(2, 6, 3)), attrs=attrs)
        for label, attrs in dict(
            channels=dict(num_outputs=3), last=dict(num_outputs=3, axis=-1), squeezed=dict(num_outputs=2, axis=0, squeeze_axis=True), one=dict(num_outputs=1)
        ).items()
    ],
    Case("SliceChannel", "not_dividing", inputs=dict(data=normal(2, 6)), attrs=dict(num_outputs=4), error=True),
    Case("SliceChannel", "not_squeezable", inputs=dict(data=normal(2, 6)), attrs=dict(num_outputs=3, squeeze_axis=True), error=True),
    Case("_split_v2", "sections", inputs=dict(data=normal(2, 7)), attrs=dict(indices=(), axis=1, sections=3)),
    Case("_split_v2", "indices", inputs=dict(data=normal(2, 7)), attrs=dict(indices=(0, 2, 3), axis=1)),
    Case("_split_v2", "squeezed", inputs=dict(data=normal(3, 2)), attrs=dict(indices=(0, 1, 2), axis=0, squeeze_axis=True)),
    Case("_split_v2", "beyond", inputs=dict(data=normal(2, 3)), attrs=dict(indices=(0, 5), axis=1), error=True),
    Case("_slice_assign", inputs=dict(lhs=normal(4, 5), rhs=normal(2, 2)), attrs=dict(begin=(1, 0), end=(3, 4), step=(1, 2)), grad=()),
    Case("_slice_assign", "backwards", inputs=dict(lhs=normal(4, 5), rhs=normal(4, 2)), attrs=dict(begin=(None, 3), end=(None, 0), step=(-1, -2)), grad=()),
    Case("_slice_assign", "wrong_part", inputs=dict(lhs=normal(4, 5), rhs=normal(3, 2)), attrs=dict(begin=(1, 0), end=(3, 2)), grad=(), error=True),
    Case("_slice_assign_scalar", inputs=dict(data=normal(4, 5)), attrs=dict(scalar=7.5, begin=(1, None), end=(None, None), step=(2, 2)), grad=()),
]

LIMITATIONS: list[Limitation] = []
