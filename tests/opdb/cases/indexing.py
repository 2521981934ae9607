"""take, pick, gather_nd, scatter_nd, one_hot, index_copy, boolean_mask, ravel and unravel, sorting, histogram."""

from ..case import Case, Limitation, distinct, integers, normal, over_dtypes, values

_A = normal(4, 3)
_I = values([[0, 2], [3, 3]])
_STEPS = "piecewise constant"
_TIES = values([[3, 1, 2, 1], [1, 1, 5, 0], [2, 2, 2, 2]])

CASES = [
    *[
        Case("take", f"{mode}_axis{axis}".replace("-", "_minus"), inputs=dict(a=_A, indices=values([[0, 9], [-1, -7]])), attrs=dict(axis=axis, mode=mode), grad=("a",))
        for mode in ("clip", "wrap")
        for axis in (0, 1, -1)
    ],
    Case("take", "raise", inputs=dict(a=_A, indices=_I), attrs=dict(mode="raise"), grad=("a",)),
    Case("take", "fractions", inputs=dict(a=_A, indices=values([0.9, 1.2, 2.99])), grad=("a",)),
    Case("take", "both_gradients", inputs=dict(a=_A, indices=values([1.0, 2.0, 2.0])), grad=("a", "indices"), gradcheck=_STEPS),
    Case("take", "add", inputs=dict(a=_A, indices=_I), req="add", grad=("a",)),
    *over_dtypes(Case("take", "index", inputs=dict(a=_A, indices=_I), grad=("a",)), "int32", "int64", "uint8", keep=("a",)),
    Case("take", "int_data", inputs=dict(a=integers(4, 3, dtype="int32"), indices=_I), grad=()),
    Case("take", "raise_beyond", inputs=dict(a=_A, indices=values([0, 4])), attrs=dict(mode="raise"), grad=(), paths=("nd",), error=True),
    Case("take", "raise_negative", inputs=dict(a=_A, indices=values([0, -1])), attrs=dict(mode="raise"), grad=(), paths=("nd",), error=True),
    Case("take", "axis_beyond", inputs=dict(a=_A, indices=_I), attrs=dict(axis=2), error=True),
    Case("take", "unknown_mode", inputs=dict(a=_A, indices=_I), attrs=dict(mode="bounce"), error=True),
    Case("batch_take", inputs=dict(a=_A, indices=values([0, 2, 7, -3], "int32")), grad=()),
    Case("batch_take", "float_index", inputs=dict(a=_A, indices=values([0, 2, 1, 1])), grad=(), error=True),
    Case("pick", inputs=dict(data=_A, index=values([0, 2, 9, -1])), grad=("data",)),
    Case("pick", "wrap", inputs=dict(data=_A, index=values([0, -1, 4, -5])), attrs=dict(mode="wrap"), grad=("data",)),
    Case("pick", "keepdims", inputs=dict(data=_A, index=values([[0], [2], [1], [1]])), attrs=dict(keepdims=True), grad=("data",)),
    Case("pick", "axis0", inputs=dict(data=normal(2, 3, 2), index=integers(3, 2, low=0, high=1)), attrs=dict(axis=0)),
    Case("pick", "no_axis", inputs=dict(data=_A, index=values([0, 2, 1, 1])), attrs=dict(axis=None), error=True),
    Case("pick", "wrong_index", inputs=dict(data=_A, index=values([0, 2, 1])), error=True),
    Case("gather_nd", inputs=dict(data=normal(3, 4, 2), indices=values([[0, 2, 2], [1, 3, 3]])), grad=("data",)),
    Case("gather_nd", "negative", inputs=dict(data=_A, indices=values([[0, -1], [-3, 2]])), grad=()),  # MXNet writes outside of the gradient here
    Case("gather_nd", "rows", inputs=dict(data=_A, indices=values([[3, 0], [2, 1]], "int32")), grad=("data",)),
    Case("gather_nd", "beyond", inputs=dict(data=_A, indices=values([[0, 1], [3, 0]])), grad=(), paths=("nd",), error=True),
    Case("gather_nd", "vector_index", inputs=dict(data=_A, indices=values([0, 1])), error=True),
    Case("gather_nd", "too_many", inputs=dict(data=_A, indices=values([[0], [1], [0]])), error=True),
    Case("scatter_nd", inputs=dict(data=normal(3), indices=values([[1, 0, 2], [0, 1, 1]])), attrs=dict(shape=(3, 2)), grad=("data",)),
    Case("scatter_nd", "rows", inputs=dict(data=normal(2, 3), indices=values([[2, 0]])), attrs=dict(shape=(4, 3)), grad=("data",)),
    Case("scatter_nd", "misfit", inputs=dict(data=normal(3), indices=values([[1, 0], [0, 1]])), attrs=dict(shape=(3, 2)), error=True),
    Case("one_hot", inputs=dict(indices=values([[0, 2], [5, -1]])), attrs=dict(depth=3), gradcheck=_STEPS),
    Case("one_hot", "values", inputs=dict(indices=values([1.7, 0])), attrs=dict(depth=2, on_value=2.5, off_value=-1), gradcheck=_STEPS),
    *[
        Case("one_hot", f"to_{t}", inputs=dict(indices=values([1, 0], "int32")), attrs=dict(depth=3, dtype=t, on_value=3))
        for t in ("float16", "float64", "int32", "int64", "int8", "uint8")
    ],
    Case("one_hot", "unknown_type", inputs=dict(indices=values([1, 0])), attrs=dict(depth=3, dtype="complex64"), error=True),
    Case("_contrib_index_copy", inputs=dict(old_tensor=_A, index_vector=values([2, 0], "int32"), new_tensor=normal(2, 3))),
    Case("_contrib_index_copy", "misfit", inputs=dict(old_tensor=_A, index_vector=values([2], "int32"), new_tensor=normal(2, 3)), error=True),
    Case("_contrib_boolean_mask", inputs=dict(data=_A, index=values([0, 1, 0, 2])), grad=("data",), paths=("nd",)),
    Case("_contrib_boolean_mask", "other_axis", inputs=dict(data=_A, index=values([0, 1, 1])), attrs=dict(axis=1), paths=("nd",), error=True),
    Case("_ravel_multi_index", inputs=dict(data=values([[3, 6, 6], [4, 5, 1]])), attrs=dict(shape=(7, 6)), gradcheck=_STEPS),
    Case("_ravel_multi_index", "int64", inputs=dict(data=values([[3, 6], [4, 5], [1, 0]], "int64")), attrs=dict(shape=(-1, 6, 2))),
    Case("_ravel_multi_index", "rows", inputs=dict(data=values([[3, 6, 6]])), attrs=dict(shape=(7, 6)), error=True),
    Case("_unravel_index", inputs=dict(data=values([22, 41, 37])), attrs=dict(shape=(7, 6)), gradcheck=_STEPS),
    Case("_unravel_index", "int64", inputs=dict(data=values([22, 41, 37], "int64")), attrs=dict(shape=(-1, 3, 2))),
    Case("_unravel_index", "no_shape", inputs=dict(data=values([22, 41, 37])), error=True),
    *[
        Case("topk", f"{kind}_{label}", inputs=dict(data=distinct(3, 5)), attrs=dict(ret_typ=kind, **attrs))
        for kind in ("value", "both", "indices", "mask")
        for label, attrs in dict(
            last=dict(k=2), first=dict(k=2, axis=0, is_ascend=True), flat=dict(k=4, axis=None), whole=dict(k=0, axis=1, dtype="int32")
        ).items()
    ],
    Case("topk", "ties", inputs=dict(data=_TIES), attrs=dict(k=3, ret_typ="both"), gradcheck=_STEPS),
    Case("topk", "ties_ascending", inputs=dict(data=_TIES), attrs=dict(k=3, ret_typ="indices", is_ascend=True), grad=()),
    *over_dtypes(Case("topk", "typed", inputs=dict(data=distinct(2, 5, low=0, high=50)), attrs=dict(k=2, ret_typ="both"), grad=()), "float64", "int32", "int64", "uint8"),
    Case("topk", "too_many", inputs=dict(data=distinct(2, 3)), attrs=dict(k=4), error=True),
    Case("topk", "axis_beyond", inputs=dict(data=distinct(2, 3)), attrs=dict(axis=2), error=True),
    *[
        Case("sort", label, inputs=dict(data=distinct(3, 4)), attrs=attrs)
        for label, attrs in dict(last=dict(axis=-1), descending=dict(axis=0, is_ascend=False), flat=dict(axis=None)).items()
    ],
    Case("sort", "int32", inputs=dict(data=integers(2, 6, dtype="int32")), attrs=dict(axis=1)),
    *[
        Case("argsort", label, inputs=dict(data=_TIES), attrs=attrs, gradcheck=_STEPS)
        for label, attrs in dict(last={}, descending=dict(is_ascend=False), first=dict(axis=0, dtype="int32"), flat=dict(axis=None, dtype="int64")).items()
    ],
    Case("_histogram", "range", inputs=dict(data=distinct(3, 7)), attrs=dict(bin_cnt=4, range=(-1.5, 1.5)), grad=()),
    Case("_histogram", "edges", inputs=dict(data=values([0, 1, 1, 2.5, 5, 7, -1]), bins=values([0, 1, 3, 5])), grad=()),
    Case("_histogram", "int32", inputs=dict(data=integers(20, low=0, high=12, dtype="int32")), attrs=dict(bin_cnt=5, range=(0, 12)), grad=()),
    Case("_histogram", "range_only", inputs=dict(data=distinct(3, 7), bins=values([0, 1])), attrs=dict(range=(0, 1)), grad=(), error=True),
]

LIMITATIONS: list[Limitation] = []
