"""Operators that move values: reshaping, joining, slicing, repeating, and those that make tensors."""

from ..case import Case, Limitation, integers, normal, over_dtypes, values

_DATA = dict(data=normal(2, 3, 4))
_PARTS = dict(arg0=normal(2, 3), arg1=normal(2, 1), arg2=normal(2, 2))


def _reshape(label: str, *codes: int, **more: object) -> Case:
    return Case("Reshape", label, inputs=_DATA, attrs=dict(shape=codes, **more))


CASES = [
    _reshape("copied", 0, -1),
    _reshape("rest", 2, -2),
    _reshape("joined", -3, 0),
    _reshape("split", 0, -4, -1, 3, 0),
    _reshape("reversed", -1, 4, reverse=True),
    Case("Reshape", "too_many", inputs=_DATA, attrs=dict(shape=(5, -1)), error=True),
    Case("Flatten", inputs=_DATA),
    Case("transpose", "all", inputs=_DATA),
    Case("transpose", "axes", inputs=_DATA, attrs=dict(axes=(1, 0, 2))),
    Case("SwapAxis", inputs=_DATA, attrs=dict(dim1=0, dim2=2)),
    *[Case("expand_dims", f"axis_{axis}", inputs=_DATA, attrs=dict(axis=axis)) for axis in (0, 2, -1)],
    Case("squeeze", "all", inputs=dict(data=normal(2, 1, 3, 1))),
    Case("squeeze", "axis", inputs=dict(data=normal(2, 1, 3, 1)), attrs=dict(axis=1)),
    Case("squeeze", "not_one", inputs=_DATA, attrs=dict(axis=0), error=True),
    Case("reshape_like", inputs=dict(lhs=normal(2, 6), rhs=normal(3, 4))),
    Case("slice", "steps", inputs=_DATA, attrs=dict(begin=(None, 2), end=(None, 0), step=(1, -1))),
    Case("slice", "open", inputs=_DATA, attrs=dict(begin=(1, None, -3), end=(None, 2, None))),
    *[Case("slice_axis", label, inputs=_DATA, attrs=dict(axis=axis, begin=begin, end=end)) for label, axis, begin, end in (("front", 1, 0, 2), ("back", -1, -3, None))],
    Case("slice_like", "all", inputs=dict(data=normal(3, 4), shape_like=normal(2, 3))),
    Case("slice_like", "axes", inputs=dict(data=normal(3, 4), shape_like=normal(2, 7)), attrs=dict(axes=(0,))),
    Case("Crop", "like", inputs=dict(arg0=normal(1, 2, 5, 6), arg1=normal(1, 2, 3, 4)), attrs=dict(num_args=2, center_crop=True)),
    Case("Crop", "size", inputs=dict(arg0=normal(1, 2, 5, 6)), attrs=dict(num_args=1, h_w=(2, 3), offset=(1, 2))),
    Case("Concat", "columns", inputs=_PARTS, attrs=dict(dim=1)),
    Case("Concat", "apart", inputs=_PARTS, attrs=dict(dim=0), error=True),
    *over_dtypes(Case("Concat", "typed", inputs=_PARTS, attrs=dict(dim=1)), "float16", "float64"),
    Case("stack", inputs=dict(a=normal(2, 3), b=normal(2, 3)), attrs=dict(axis=1)),
    Case("SliceChannel", "three", inputs=dict(data=normal(2, 6, 2)), attrs=dict(num_outputs=3)),
    Case("SliceChannel", "squeezed", inputs=dict(data=normal(2, 3)), attrs=dict(num_outputs=3, squeeze_axis=True)),
    Case("SliceChannel", "uneven", inputs=dict(data=normal(2, 5)), attrs=dict(num_outputs=3), error=True),
    Case("_split_v2", "at", inputs=dict(data=normal(2, 6)), attrs=dict(indices=(0, 2, 5), axis=1)),
    Case("tile", inputs=dict(data=normal(2, 3)), attrs=dict(reps=(2, 1, 2))),
    Case("repeat", "flat", inputs=dict(data=normal(2, 3)), attrs=dict(repeats=2)),
    Case("repeat", "axis", inputs=dict(data=normal(2, 3)), attrs=dict(repeats=2, axis=1)),
    Case("reverse", inputs=_DATA, attrs=dict(axis=(0, 2))),
    Case("diag", "take", inputs=dict(data=normal(3, 4)), attrs=dict(k=1)),
    Case("diag", "make", inputs=dict(data=normal(3)), attrs=dict(k=-1)),
    Case("depth_to_space", inputs=dict(data=normal(1, 4, 2, 3)), attrs=dict(block_size=2)),
    Case("space_to_depth", inputs=dict(data=normal(1, 1, 4, 6)), attrs=dict(block_size=2)),
    Case("broadcast_axis", inputs=dict(data=normal(1, 3, 1)), attrs=dict(axis=(0, 2), size=(2, 4))),
    Case("broadcast_to", inputs=dict(data=normal(1, 3)), attrs=dict(shape=(2, 0))),
    Case("broadcast_like", inputs=dict(lhs=normal(1, 3), rhs=normal(2, 3)), grad=("lhs",)),
    Case("shape_array", inputs=_DATA, grad=()),
    Case("size_array", inputs=_DATA, grad=()),
    Case("im2col", inputs=dict(data=normal(1, 2, 4, 4)), attrs=dict(kernel=(2, 2), stride=(2, 2))),
    Case("add_n", inputs=dict(a=normal(2, 3), b=normal(2, 3), c=normal(2, 3))),
    # tensors out of nothing
    Case("_zeros", attrs=dict(shape=(2, 3), dtype="int32")),
    Case("_ones", attrs=dict(shape=(2, 3))),
    Case("_full", attrs=dict(shape=(2, 3), value=1.5)),
    Case("_arange", "stepped", attrs=dict(start=1.0, stop=4.0, step=0.5)),
    Case("_arange", "repeated", attrs=dict(start=0, stop=3, repeat=2, dtype="int32")),
    Case("_eye", attrs=dict(N=3, M=4, k=1)),
    Case("_linspace", attrs=dict(start=0, stop=1, num=5)),
    # picking by index
    Case("take", "clip", inputs=dict(a=normal(4, 3), indices=values([[0, 3], [-1, 9]])), grad=("a",)),
    Case("take", "wrap", inputs=dict(a=normal(4, 3), indices=values([0, -1, 5])), attrs=dict(mode="wrap", axis=1), grad=("a",)),
    Case("pick", inputs=dict(data=normal(3, 4), index=values([0, 2, 9])), attrs=dict(axis=1), grad=("data",)),
    Case("batch_take", inputs=dict(a=normal(3, 4), indices=values([0, 2, 3], "int32")), grad=()),
    Case("one_hot", inputs=dict(indices=values([0, 2, 5, -1])), attrs=dict(depth=3, on_value=2.0, off_value=-1.0), grad=()),
    Case("gather_nd", inputs=dict(data=normal(3, 4), indices=values([[0, 2], [1, 3]])), grad=("data",)),
    Case("scatter_nd", inputs=dict(data=normal(2), indices=values([[0, 2], [1, 3]])), attrs=dict(shape=(3, 4)), grad=("data",)),
    *[Case("topk", kind, inputs=dict(data=integers(2, 5, high=20)), attrs=dict(k=3, ret_typ=kind), grad=()) for kind in ("indices", "value", "both", "mask")],
    Case("topk", "ascending", inputs=dict(data=integers(2, 5)), attrs=dict(k=2, axis=0, is_ascend=True), grad=()),
    *[Case(name, inputs=dict(data=integers(2, 5)), attrs=dict(axis=1), grad=()) for name in ("sort", "argsort")],
    Case("sort", "descending", inputs=dict(data=normal(2, 5)), attrs=dict(axis=1, is_ascend=False)),
]

LIMITATIONS = [
    Limitation("Concat", "partial", lambda case: not case.error, "an output whose parts are not all known is unknown; MXNet reports the sum of the known parts"),
]
