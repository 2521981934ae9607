"""Products and decompositions."""

from ..case import Case, normal, over_dtypes, positive, values

_SQUARE = values([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]], "float64")
_LOWER = values([[2.0, 0.0], [0.5, 1.5]], "float64")

CASES = [
    Case("dot", "matrices", inputs=dict(lhs=normal(2, 3), rhs=normal(3, 4))),
    Case("dot", "vectors", inputs=dict(lhs=normal(3), rhs=normal(3))),
    Case("dot", "tensors", inputs=dict(lhs=normal(2, 3, 4), rhs=normal(4, 2))),
    *[Case("dot", f"transposed_{a}_{b}", inputs=dict(lhs=normal(*((3, 2) if a else (2, 3))), rhs=normal(*((4, 3) if b else (3, 4)))), attrs=dict(transpose_a=a, transpose_b=b))
      for a, b in ((True, False), (False, True), (True, True))],
    Case("dot", "apart", inputs=dict(lhs=normal(2, 3), rhs=normal(2, 3)), error=True),
    *over_dtypes(Case("dot", "typed", inputs=dict(lhs=normal(2, 3), rhs=normal(3, 4))), "float64"),
    Case("batch_dot", inputs=dict(lhs=normal(2, 3, 4), rhs=normal(2, 4, 2))),
    Case("batch_dot", "transposed", inputs=dict(lhs=normal(2, 4, 3), rhs=normal(2, 2, 4)), attrs=dict(transpose_a=True, transpose_b=True)),
    Case("khatri_rao", inputs=dict(a=normal(2, 3), b=normal(4, 3)), grad=()),
    Case("_linalg_gemm", inputs=dict(A=normal(2, 3), B=normal(3, 4), C=normal(2, 4)), attrs=dict(alpha=2.0, beta=0.5)),
    Case("_linalg_gemm2", inputs=dict(A=normal(3, 2), B=normal(3, 4)), attrs=dict(transpose_a=True, alpha=2.0)),
    Case("_linalg_syrk", inputs=dict(A=normal(2, 3)), attrs=dict(alpha=0.5)),
    Case("_linalg_trmm", inputs=dict(A=_LOWER, B=normal(2, 3, dtype="float64")), gradcheck="only the triangle of A is read"),
    Case("_linalg_trsm", inputs=dict(A=_LOWER, B=normal(2, 3, dtype="float64")), gradcheck="only the triangle of A is read"),
    *[Case(f"_linalg_{name}", inputs=dict(A=_SQUARE), gradcheck="symmetric input") for name in ("potrf", "inverse", "det", "slogdet")],
    Case("_linalg_potri", inputs=dict(A=_LOWER), gradcheck="only the triangle of A is read"),
    Case("_linalg_sumlogdiag", inputs=dict(A=positive(3, 3))),
    Case("_linalg_extractdiag", inputs=dict(A=normal(3, 3))),
    Case("_linalg_makediag", inputs=dict(A=normal(3))),
    Case("_linalg_extracttrian", inputs=dict(A=normal(3, 3))),
    Case("_linalg_maketrian", inputs=dict(A=normal(6))),
]  # fmt: skip
