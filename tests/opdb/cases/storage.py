"""Operators about sparse storage, and those of old files: one-hot rows, element updates, copies between devices."""

from ..case import Case, distinct, integers, normal, positive, uniform, values

_ROWS = values([[0, 0, 0], [1, -2, 0], [0, 0, 0], [3, 0, 0.5]])

CASES = [
    *[Case("cast_storage", stype, dict(data=_ROWS), dict(stype=stype), grad=("data",)) for stype in ("default", "row_sparse", "csr")],
    *[Case("cast_storage", f"{stype}_to_default", dict(data=_ROWS.stored(stype)), dict(stype="default"), grad=()) for stype in ("row_sparse", "csr")],
    Case("cast_storage", "int32", dict(data=_ROWS.typed("int32")), dict(stype="csr"), grad=()),
    Case("cast_storage", "three_dimensions", dict(data=normal(2, 3, 2)), dict(stype="row_sparse"), grad=()),
    Case("cast_storage", "csr_to_row_sparse", dict(data=_ROWS.stored("csr")), dict(stype="row_sparse"), grad=(), error=True),
    Case("cast_storage", "csr_of_three", dict(data=normal(2, 3, 2)), dict(stype="csr"), grad=(), error=True),
    Case("cast_storage", "unknown", dict(data=_ROWS), dict(stype="dense"), grad=(), error=True),
    *[Case("_sparse_retain", dtype, dict(data=_ROWS.stored("row_sparse"), indices=values([0, 3], dtype)), grad=()) for dtype in ("float32", "int32", "int64")],
    Case("_sparse_retain", "dense", dict(data=_ROWS, indices=values([0, 3])), grad=(), error=True),
    *[Case("_square_sum", f"axis{axis}{'_kept' if keep else ''}", dict(data=_ROWS.stored("row_sparse")), dict(axis=axis, keepdims=keep), grad=())
      for axis in (0, 1) for keep in (False, True)],
    Case("_square_sum", "dense", dict(data=_ROWS), dict(axis=1), grad=(), error=True),
    Case("_square_sum", "no_axis", dict(data=_ROWS.stored("row_sparse")), grad=(), error=True, paths=("nd",)),
    *[Case("_contrib_getnnz", f"axis_{axis}", dict(data=_ROWS.stored("csr")), dict(axis=axis), grad=()) for axis in (None, 1)],
    Case("_contrib_getnnz", "columns", dict(data=_ROWS.stored("csr")), dict(axis=0), grad=(), error=True),
    Case("_contrib_getnnz", "dense", dict(data=_ROWS), grad=(), error=True),
    Case("_CrossDeviceCopy", inputs=dict(data=normal(2, 3)), grad=(), paths=("sym",)),
    Case("_onehot_encode", inputs=dict(lhs=values([0, 2, 1]), rhs=normal(3, 4)), grad=(), paths=("nd",)),
    Case("fill_element_0index", inputs=dict(lhs=normal(3, 4), mhs=normal(3), rhs=values([0, 3, 1])), grad=(), paths=("nd",)),
    Case("_scatter_set_nd", inputs=dict(lhs=normal(3, 4), rhs=normal(2), indices=values([[0, 2], [1, 3]])), attrs=dict(shape=(3, 4)), out=("lhs",), paths=("nd",)),
    Case("_scatter_set_nd", "rows", dict(lhs=normal(3, 4), rhs=normal(2, 4), indices=values([[2, 0]], "int64")), dict(shape=(3, 4)), out=("lhs",), paths=("nd",)),
    Case("_scatter_set_nd", "shape", dict(lhs=normal(3, 4), rhs=normal(2), indices=values([[0, 2], [1, 3]])), dict(shape=(4, 4)), grad=(), error=True),
    Case("_contrib_SparseEmbedding", inputs=dict(data=values([[0, 2], [4, 2]]), weight=normal(5, 3)), attrs=dict(input_dim=5, output_dim=3), grad=("weight",), paths=("sym",)),
    Case("_contrib_SparseEmbedding", "imperative", dict(data=values([[0, 2], [4, 2]]), weight=normal(5, 3)), dict(input_dim=5, output_dim=3), grad=(), paths=("nd",)),
    Case("_contrib_SparseEmbedding", "size", dict(data=values([0, 2]), weight=normal(5, 3)), dict(input_dim=4, output_dim=3), grad=(), error=True),
    Case("reset_arrays", inputs=dict(a=normal(2, 3), b=normal(4, dtype="float16"), c=positive(1, dtype="float64")), attrs=dict(num_arrays=3), grad=(), paths=("nd",)),
    Case("reset_arrays", "whole", dict(a=integers(4, dtype="int32")), dict(num_arrays=1), grad=(), paths=("nd",), error=True),
    *[Case(f"_sparse_{name}", inputs=dict(data=d), grad=()) for name, d in (("abs", distinct(2, 3)), ("sqrt", uniform(2, 3, low=0.1)))],
]  # fmt: skip
