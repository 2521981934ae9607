"""dot, batch_dot, linear algebra, interleaved attention products, khatri_rao."""

from ..case import Array, Case, Limitation, integers, normal, values

F64 = "float64"


def _spd(*batch: int) -> Array:
    """Symmetric positive definite 3 x 3 matrices, equal in a batch."""
    one = [[4.0, 1.0, -0.5], [1.0, 3.0, 0.25], [-0.5, 0.25, 2.0]]
    nested: object = one
    for size in reversed(batch):
        nested = [nested] * size
    return values(nested, F64)


_TRI = values([[2.0, 9.0, 9.0], [0.5, 1.5, 9.0], [-1.0, 0.25, 3.0]], F64)
_UPPER = values([[2.0, 0.5, -1.0], [9.0, 1.5, 0.25], [9.0, 9.0, 3.0]], F64)
_ROTATES = "the head gradient weighs eigenvectors whose sign is chosen"

CASES = [
    *[
        Case("dot", f"{'t' if ta else 'n'}{'t' if tb else 'n'}", inputs=dict(lhs=normal(*((3, 2) if ta else (2, 3))), rhs=normal(*((4, 3) if tb else (3, 4)))), attrs=dict(transpose_a=ta, transpose_b=tb))
        for ta in (False, True)
        for tb in (False, True)
    ],
    Case("dot", "vectors", inputs=dict(lhs=normal(4), rhs=normal(4))),
    Case("dot", "vector_matrix", inputs=dict(lhs=normal(3), rhs=normal(3, 2))),
    Case("dot", "matrix_vector", inputs=dict(lhs=normal(2, 3), rhs=normal(3))),
    Case("dot", "tensors", inputs=dict(lhs=normal(2, 3, 4), rhs=normal(4, 2, 3))),
    Case("dot", "tensors_tt", inputs=dict(lhs=normal(4, 2, 3), rhs=normal(2, 5, 4)), attrs=dict(transpose_a=True, transpose_b=True)),
    Case("dot", "add", inputs=dict(lhs=normal(2, 3, dtype=F64), rhs=normal(3, 2, dtype=F64)), req="add"),
    Case("dot", "mismatch", inputs=dict(lhs=normal(2, 3), rhs=normal(4, 2)), error=True),
    Case("dot", "transposed_vectors", inputs=dict(lhs=normal(4), rhs=normal(4)), attrs=dict(transpose_a=True), error=True),
    *[
        Case("batch_dot", f"{'t' if ta else 'n'}{'t' if tb else 'n'}", inputs=dict(lhs=normal(2, *((3, 2) if ta else (2, 3))), rhs=normal(2, *((4, 3) if tb else (3, 4)))), attrs=dict(transpose_a=ta, transpose_b=tb))
        for ta in (False, True)
        for tb in (False, True)
    ],
    Case("batch_dot", "four", inputs=dict(lhs=normal(2, 1, 2, 3), rhs=normal(2, 1, 3, 2))),
    Case("batch_dot", "matrices", inputs=dict(lhs=normal(2, 3), rhs=normal(3, 2)), error=True),
    Case("batch_dot", "other_batch", inputs=dict(lhs=normal(2, 2, 3), rhs=normal(1, 3, 2)), error=True),
    Case("_linalg_gemm", inputs=dict(A=normal(2, 3, dtype=F64), B=normal(3, 4, dtype=F64), C=normal(2, 4, dtype=F64)), attrs=dict(alpha=2, beta=0.5)),
    Case("_linalg_gemm", "transposed", inputs=dict(A=normal(2, 3, 2, dtype=F64), B=normal(2, 4, 3, dtype=F64), C=normal(2, 2, 4, dtype=F64)), attrs=dict(transpose_a=True, transpose_b=True)),
    Case("_linalg_gemm", "axis", inputs=dict(A=normal(2, 3, 4, dtype=F64), B=normal(4, 3, 5, dtype=F64), C=normal(2, 3, 5, dtype=F64)), attrs=dict(axis=0)),
    Case("_linalg_gemm2", inputs=dict(A=normal(2, 3, dtype=F64), B=normal(3, 4, dtype=F64)), attrs=dict(alpha=-0.5)),
    Case("_linalg_gemm2", "transposed", inputs=dict(A=normal(2, 2, 3), B=normal(2, 4, 3)), attrs=dict(transpose_b=True)),
    Case("_linalg_gemm2", "other_batch", inputs=dict(A=normal(1, 2, 3), B=normal(2, 3, 2)), error=True),
    Case("_linalg_gemm2", "integers", inputs=dict(A=integers(2, 2, dtype="int32"), B=integers(2, 2, dtype="int32")), paths=("nd",), error=True),
    Case("_linalg_syrk", inputs=dict(A=normal(2, 3, dtype=F64)), attrs=dict(alpha=2)),
    Case("_linalg_syrk", "transposed", inputs=dict(A=normal(2, 2, 3, dtype=F64)), attrs=dict(transpose=True)),
    Case("_linalg_potrf", inputs=dict(A=_spd()), gradcheck="the factor depends on one triangle, the gradient is symmetric"),
    Case("_linalg_potrf", "batch", inputs=dict(A=_spd(2)), gradcheck="the factor depends on one triangle, the gradient is symmetric"),
    Case("_linalg_potrf", "upper", inputs=dict(A=_spd()), attrs=dict(lower=False), gradcheck="the factor depends on one triangle, the gradient is symmetric"),
    Case("_linalg_potrf", "indefinite", inputs=dict(A=values([[1.0, 2.0], [2.0, 1.0]], F64)), paths=("nd",), error=True),
    Case("_linalg_potrf", "not_square", inputs=dict(A=normal(2, 3, dtype=F64)), error=True),
    Case("_linalg_potri", inputs=dict(A=_TRI)),
    Case("_linalg_potri", "upper", inputs=dict(A=_UPPER), attrs=dict(lower=False)),
    *[
        Case(name, f"{'right' if right else 'left'}{'_t' if transpose else ''}{'' if lower else '_upper'}",
             inputs=dict(A=_TRI if lower else _UPPER, B=normal(*((2, 3) if right else (3, 2)), dtype=F64)),
             attrs=dict(rightside=right, transpose=transpose, lower=lower, alpha=1.5))
        for name in ("_linalg_trmm", "_linalg_trsm")
        for right in (False, True)
        for transpose in (False, True)
        for lower in (True, False)
    ],
    Case("_linalg_trsm", "mismatch", inputs=dict(A=_TRI, B=normal(2, 3, dtype=F64)), error=True),
    Case("_linalg_trmm", "not_square", inputs=dict(A=normal(3, 2, dtype=F64), B=normal(2, 3, dtype=F64)), error=True),
    Case("_linalg_gelqf", inputs=dict(A=normal(2, 4, dtype=F64))),
    Case("_linalg_gelqf", "batch", inputs=dict(A=normal(2, 3, 3, dtype=F64))),
    Case("_linalg_gelqf", "tall", inputs=dict(A=normal(3, 2, dtype=F64)), error=True),
    Case("_linalg_syevd", inputs=dict(A=_spd()), gradcheck=_ROTATES),
    Case("_linalg_syevd", "batch", inputs=dict(A=_spd(2)), gradcheck=_ROTATES),
    Case("_linalg_inverse", inputs=dict(A=_spd())),
    Case("_linalg_inverse", "batch", inputs=dict(A=_spd(1, 2))),
    Case("_linalg_inverse", "singular", inputs=dict(A=values([[1.0, 2.0], [2.0, 4.0]], F64)), paths=("nd",), error=True),
    Case("_linalg_det", inputs=dict(A=_TRI)),
    Case("_linalg_det", "batch", inputs=dict(A=_spd(2))),
    Case("_linalg_det", "singular", inputs=dict(A=values([[1.0, 2.0], [2.0, 4.0]], F64)), gradcheck="MXNet defines zero"),
    Case("_linalg_slogdet", inputs=dict(A=_TRI)),
    Case("_linalg_slogdet", "batch", inputs=dict(A=_spd(2))),
    Case("_linalg_slogdet", "singular", inputs=dict(A=values([[1.0, 2.0], [2.0, 4.0]], F64)), gradcheck="MXNet defines zero"),
    Case("_linalg_sumlogdiag", inputs=dict(A=_TRI)),
    Case("_linalg_sumlogdiag", "batch", inputs=dict(A=_spd(2))),
    *[Case("_linalg_extractdiag", f"k{k}".replace("-", "_minus"), inputs=dict(A=normal(2, 3, 3)), attrs=dict(offset=k)) for k in (0, 1, -2)],
    Case("_linalg_extractdiag", "beyond", inputs=dict(A=normal(3, 3)), attrs=dict(offset=3), error=True),
    *[Case("_linalg_makediag", f"k{k}".replace("-", "_minus"), inputs=dict(A=normal(2, 3)), attrs=dict(offset=k)) for k in (0, 1, -2)],
    *[
        Case("_linalg_extracttrian", label, inputs=dict(A=normal(2, 4, 4)), attrs=attrs)
        for label, attrs in dict(lower={}, upper=dict(lower=False), below=dict(offset=-1), above=dict(offset=2)).items()
    ],
    *[
        Case("_linalg_maketrian", label, inputs=dict(A=normal(2, 6)), attrs=attrs)
        for label, attrs in dict(lower={}, upper=dict(lower=False), below=dict(offset=-1), above=dict(offset=2)).items()
    ],
    Case("_linalg_maketrian", "no_triangle", inputs=dict(A=normal(4)), error=True),
    Case("_contrib_interleaved_matmul_selfatt_qk", inputs=dict(queries_keys_values=normal(3, 2, 12)), attrs=dict(heads=2)),
    Case("_contrib_interleaved_matmul_selfatt_valatt", inputs=dict(queries_keys_values=normal(3, 2, 12), attention=normal(4, 3, 3)), attrs=dict(heads=2)),
    Case("_contrib_interleaved_matmul_encdec_qk", inputs=dict(queries=normal(3, 2, 4), keys_values=normal(5, 2, 8)), attrs=dict(heads=2)),
    Case("_contrib_interleaved_matmul_encdec_valatt", inputs=dict(keys_values=normal(5, 2, 8), attention=normal(4, 3, 5)), attrs=dict(heads=2)),
    Case("_contrib_interleaved_matmul_encdec_qk", "widths", inputs=dict(queries=normal(3, 2, 4), keys_values=normal(5, 2, 6)), attrs=dict(heads=2), error=True),
    Case("khatri_rao", inputs=dict(a=normal(2, 3), b=normal(4, 3), c=normal(1, 3)), grad=()),
    Case("khatri_rao", "columns", inputs=dict(a=normal(2, 3), b=normal(4, 2)), grad=(), paths=("nd",), error=True),
]

LIMITATIONS: list[Limitation] = []
