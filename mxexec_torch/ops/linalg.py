"""Linear algebra on batches of matrices in the last two axes: products, factorizations, solves, determinants, triangles.

Only float32 and float64, as in MXNet. Where an input is triangular or symmetric only the named triangle is read.
"""

from __future__ import annotations

import torch

from ..errors import MXNetError
from ..infer.rules import elementwise
from ..infer.state import Dtypes, Shapes, show
from ..registry import Attrs, Device, Tensor, op
from ..values import Bool, Double, Int
from .runtime.linalg import symmetric_eigen

__all__: list[str] = []


def _float_matrix(what: str, *inputs: Tensor) -> None:
    """Errors: MXNetError unless the inputs are float32 or float64 matrices (in the last two axes)."""
    for x in inputs:
        if x.dtype not in (torch.float32, torch.float64):
            raise MXNetError(f"{what}: this operation only supports 32-bit and 64-bit floating point, got {str(x.dtype).removeprefix('torch.')}")
        if x.ndim < 2:
            raise MXNetError(f"{what} needs matrices in the last two axes, got shape {show(tuple(x.shape))}")
    if any(x.ndim != inputs[0].ndim for x in inputs):
        raise MXNetError(f"{what} needs arrays of one rank, got shapes {', '.join(show(tuple(x.shape)) for x in inputs)}")


def _square(what: str, *inputs: Tensor) -> None:
    _float_matrix(what, *inputs)
    for x in inputs:
        if x.shape[-1] != x.shape[-2]:
            raise MXNetError(f"{what} needs square matrices, got shape {show(tuple(x.shape))}")


def _flat(x: Tensor) -> Tensor:
    """A number for each matrix; of a single matrix with shape (1,)."""
    return x.reshape(1) if x.ndim == 0 else x


# -- products -----------------------------------------------------------------------------------------------------------------
def _product_shape(a: Attrs, s: Shapes) -> None:
    lhs, rhs = s.get(0), s.get(1)
    if lhs is None or rhs is None or len(lhs) != len(rhs) or len(lhs) < 2:
        return
    ndim = len(lhs)
    axis = a.axis + ndim if a.axis < 0 else a.axis
    if not 0 <= axis < ndim - 1:
        raise s.fail(f"invalid row axis {a.axis} for {ndim} dimensions")
    if any(lhs[i] != rhs[i] and -1 not in (lhs[i], rhs[i]) for i in range(ndim - 1) if i != axis):
        raise s.fail(f"shapes of inputs 0, 1 must be the same, except on the row and column axis: {show(lhs)} and {show(rhs)}")
    m, k = (lhs[-1], lhs[axis]) if a.transpose_a else (lhs[axis], lhs[-1])
    j, n = (rhs[-1], rhs[axis]) if a.transpose_b else (rhs[axis], rhs[-1])
    if k != j and -1 not in (k, j):
        raise s.fail(f"incompatible matrix dimensions for multiplication: {show(lhs)} and {show(rhs)}")
    out = [max(x, y) for x, y in zip(lhs, rhs, strict=True)]
    out[axis], out[-1] = m, n
    s.unify_out(tuple(out))
    s.unify("C", tuple(out))


def _product(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool, alpha: float, axis: int) -> Tensor:
    """alpha op(A) op(B), with matrix rows on `axis` and columns on the last axis."""
    if axis not in (-2, a.ndim - 2):
        a, b = a.movedim(axis, -2), b.movedim(axis, -2)
    product = torch.matmul(a.mT if transpose_a else a, b.mT if transpose_b else b)
    product = product if alpha == 1 else product * alpha
    return product if axis in (-2, a.ndim - 2) else product.movedim(-2, axis)


@op("_linalg_gemm", aliases=("linalg_gemm",), shape=_product_shape)
def gemm(
    A: Tensor, B: Tensor, C: Tensor, /, *, transpose_a: Bool = False, transpose_b: Bool = False, alpha: Double = 1.0,
    beta: Double = 1.0, axis: Int = -2,
) -> Tensor:
    """alpha op(A) op(B) + beta C. A (*b, m, k), B (*b, k, n), C (*b, m, n) -> (*b, m, n); rows may lie on another axis.

    Source: src/operator/tensor/la_op.cc
    """
    _float_matrix("linalg.gemm", A, B, C)
    return _product(A, B, transpose_a, transpose_b, alpha, axis) + C * beta


@op("_linalg_gemm2", aliases=("linalg_gemm2",), shape=_product_shape)
def gemm2(
    A: Tensor, B: Tensor, /, *, transpose_a: Bool = False, transpose_b: Bool = False, alpha: Double = 1.0, axis: Int = -2
) -> Tensor:
    """alpha op(A) op(B). A (*b, m, k), B (*b, k, n) -> (*b, m, n). Source: src/operator/tensor/la_op.cc"""
    _float_matrix("linalg.gemm2", A, B)
    return _product(A, B, transpose_a, transpose_b, alpha, axis)


@op("_linalg_syrk", aliases=("linalg_syrk",))
def syrk(A: Tensor, /, *, transpose: Bool = False, alpha: Double = 1.0) -> Tensor:
    """alpha A A^T, or alpha A^T A. A (*b, m, n) -> (*b, m, m), transposed (*b, n, n). Source: src/operator/tensor/la_op.cc"""
    _float_matrix("linalg.syrk", A)
    return torch.matmul(A.mT, A) * alpha if transpose else torch.matmul(A, A.mT) * alpha


def _triangular_shape(a: Attrs, s: Shapes) -> None:
    tri, rect, out = s.get(0), s.get(1), s.out()
    known = rect if tri is not None and rect is not None else out
    if known is None or len(known) < 2:
        return
    if tri is not None and (len(tri) < 2 or (tri[-1] != tri[-2] and -1 not in tri[-2:])):
        raise s.fail(f"the first operand must hold square matrices, got {show(tri)}")
    side = -1 if a.rightside else -2
    s.unify(0, (*known[:-2], known[side], known[side]))
    s.unify(1, known)
    s.unify_out(known)


def _triangle(A: Tensor, lower: bool) -> Tensor:
    return A.tril() if lower else A.triu()


@op("_linalg_trmm", aliases=("linalg_trmm",), shape=_triangular_shape)
def trmm(
    A: Tensor, B: Tensor, /, *, transpose: Bool = False, rightside: Bool = False, lower: Bool = True, alpha: Double = 1.0
) -> Tensor:
    """alpha op(A) B, or alpha B op(A), with triangular A. A (*b, n, n), B (*b, n, m) or (*b, m, n) -> B's shape.

    Source: src/operator/tensor/la_op.cc
    """
    _square("linalg.trmm", A)
    _float_matrix("linalg.trmm", B)
    matrix = _triangle(A, lower)
    matrix = matrix.mT if transpose else matrix
    return (torch.matmul(B, matrix) if rightside else torch.matmul(matrix, B)) * alpha


@op("_linalg_trsm", aliases=("linalg_trsm",), shape=_triangular_shape)
def trsm(
    A: Tensor, B: Tensor, /, *, transpose: Bool = False, rightside: Bool = False, lower: Bool = True, alpha: Double = 1.0
) -> Tensor:
    """X with op(A) X = alpha B, or X op(A) = alpha B, with triangular A. A (*b, n, n), B (*b, n, m) or (*b, m, n) -> B's shape.

    Source: src/operator/tensor/la_op.cc
    """
    _square("linalg.trsm", A)
    _float_matrix("linalg.trsm", B)
    matrix = _triangle(A, lower)
    upper = lower if transpose else not lower
    solution: Tensor = torch.linalg.solve_triangular(matrix.mT if transpose else matrix, B * alpha, upper=upper, left=not rightside)
    return solution


# -- Cholesky -----------------------------------------------------------------------------------------------------------------
@op("_linalg_potrf", aliases=("linalg_potrf",), shape=elementwise, table=("A",))
def potrf(A: Tensor, /, *, lower: Bool = True) -> Tensor:
    """The Cholesky factor: A = L L^T, or A = U^T U with lower=False. A (*b, n, n) symmetric, positive definite -> same.

    Errors: MXNetError when A is not positive definite. Source: src/operator/tensor/la_op.cc
    """
    _square("linalg.potrf", A)
    factor: Tensor = torch.linalg.cholesky(A) if lower else torch.linalg.cholesky(A.mT).mT
    return factor


@op("_linalg_potri", aliases=("linalg_potri",), shape=elementwise, table=("A",))
def potri(A: Tensor, /, *, lower: Bool = True, device: Device) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is given. A (*b, n, n) triangular -> same. Source: src/operator/tensor/la_op.cc"""
    _square("linalg.potri", A)
    identity = torch.eye(A.shape[-1], dtype=A.dtype, device=device).expand(A.shape)
    inverse = torch.linalg.solve_triangular(_triangle(A, lower), identity, upper=not lower)
    return torch.matmul(inverse.mT, inverse) if lower else torch.matmul(inverse, inverse.mT)


# -- LQ, eigenvalues ----------------------------------------------------------------------------------------------------------
@op("_linalg_gelqf", aliases=("linalg_gelqf",), outputs=("output0", "output1"))
def gelqf(A: Tensor, /) -> tuple[Tensor, Tensor]:
    """A = L Q with lower triangular L and orthonormal rows in Q. A (*b, m, n), m <= n -> Q (*b, m, n), L (*b, m, m).

    Source: src/operator/tensor/la_op.cc
    """
    _float_matrix("linalg.gelqf", A)
    if A.shape[-2] > A.shape[-1]:
        raise MXNetError(f"linalg.gelqf needs m <= n for matrices (m, n), got shape {show(tuple(A.shape))}")
    q, r = torch.linalg.qr(A.mT)
    return q.mT, r.mT


@op("_linalg_syevd", outputs=("output0", "output1"))
def syevd(A: Tensor, /) -> tuple[Tensor, Tensor]:
    """Eigenvectors in the rows of U and ascending eigenvalues: A = U^T diag(L) U; the largest entry of each vector is positive.

    A (*b, n, n) symmetric (the lower triangle is read) -> U (*b, n, n), L (*b, n). Source: src/operator/tensor/la_op.cc
    """
    _square("linalg.syevd", A)
    vectors, values = symmetric_eigen(A)
    return vectors, values


# -- inverse, determinants ----------------------------------------------------------------------------------------------------
@op("_linalg_inverse", aliases=("linalg_inverse", "_npi_inv"), shape=elementwise)
def inverse(A: Tensor, /) -> Tensor:
    """The inverse matrix. A (*b, n, n) -> same. Errors: MXNetError when A is singular. Source: src/operator/tensor/la_op.cc"""
    _square("linalg.inverse", A)
    inverted: Tensor = torch.linalg.inv(A)
    return inverted


def _regular(A: Tensor, device: torch.device) -> tuple[Tensor, Tensor]:
    """(where A is singular, A with singular matrices replaced by the identity): MXNet's gradient of a zero determinant is zero."""
    singular = torch.linalg.det(A.detach()) == 0
    return singular, torch.where(singular[..., None, None], torch.eye(A.shape[-1], dtype=A.dtype, device=device), A)


def _factors_dtype(a: Attrs, t: Dtypes) -> None:
    """The matrix's type everywhere but in the pivots."""
    known = next((d for d in [*t.inputs, *t.outputs[:-1]] if d is not None), None)
    t.unify(0, known)
    for index in range(len(t.outputs) - 1):
        t.unify_out(known, index)
    t.unify_out(torch.int32, len(t.outputs) - 1)


def _factors(A: Tensor) -> tuple[Tensor, Tensor]:
    """The hidden outputs where MXNet keeps the LU factors and pivots for backward; zeros here."""
    return torch.zeros_like(A), torch.zeros_like(A[..., 0], dtype=torch.int32)


@op("_linalg_det", aliases=("linalg_det", "_npi_det"), outputs=("output0", "output1", "output2"), visible=1, dtype=_factors_dtype)
def det(A: Tensor, /, *, device: Device) -> tuple[Tensor, ...]:
    """Determinants. A (*b, n, n) -> (*b), of one matrix (1,). The gradient at a zero determinant is zero.

    Source: src/operator/tensor/la_op.cc
    """
    _square("linalg.det", A)
    singular, regular = _regular(A, device)
    return _flat(torch.where(singular, 0.0, torch.linalg.det(regular))), *_factors(A)


@op(
    "_linalg_slogdet", aliases=("linalg_slogdet", "_npi_slogdet"), outputs=("output0", "output1", "output2", "output3"), visible=2,
    dtype=_factors_dtype,
)  # fmt: skip
def slogdet(A: Tensor, /, *, device: Device) -> tuple[Tensor, ...]:
    """Sign and logarithm of the absolute determinant (0 and -inf when it is zero). A (*b, n, n) -> two of (*b), or of (1,).

    The sign has no gradient. Source: src/operator/tensor/la_op.cc
    """
    _square("linalg.slogdet", A)
    singular, regular = _regular(A, device)
    sign, logarithm = torch.linalg.slogdet(regular)
    return _flat(torch.where(singular, 0.0, sign.detach())), _flat(torch.where(singular, -torch.inf, logarithm)), *_factors(A)


@op("_linalg_sumlogdiag", aliases=("linalg_sumlogdiag",))
def sumlogdiag(A: Tensor, /) -> Tensor:
    """The sum of the logarithms of the diagonal. A (*b, n, n) -> (*b), of one matrix (1,). Source: src/operator/tensor/la_op.cc"""
    _square("linalg.sumlogdiag", A)
    return _flat(A.diagonal(dim1=-2, dim2=-1).log().sum(-1))


# -- diagonals and triangles --------------------------------------------------------------------------------------------------
def _rest(what: str, n: int, offset: int) -> int:
    """The size of what an offset leaves of a matrix. Errors: MXNetError when nothing is left."""
    if n - abs(offset) <= 0:
        raise MXNetError(f"{what}: illegal offset {offset} for a matrix of dimension {n}")
    return n - abs(offset)


@op("_linalg_extractdiag", aliases=("linalg_extractdiag",))
def extractdiag(A: Tensor, /, *, offset: Int = 0) -> Tensor:
    """A diagonal of each matrix. A (*b, n, n) -> (*b, n - |offset|). Source: src/operator/tensor/la_op.cc"""
    _square("linalg.extractdiag", A)
    _rest("linalg.extractdiag", A.shape[-1], offset)
    return A.diagonal(offset, -2, -1)


@op("_linalg_makediag", floats_only=True, aliases=("linalg_makediag",))
def makediag(A: Tensor, /, *, offset: Int = 0) -> Tensor:
    """Matrices with a given diagonal. A (*b, n) -> (*b, n + |offset|, n + |offset|). Source: src/operator/tensor/la_op.cc"""
    return torch.diag_embed(A, offset)


def _triangle_positions(size: int, n: int, offset: int, lower: bool, device: torch.device) -> Tensor:
    """Positions in an n x n matrix of a triangle's elements, row by row of the lower triangle (of the transpose for an upper one)."""
    rows, columns = torch.tril_indices(size, size, device=device)
    rows = rows + abs(offset)
    where: Tensor = columns * n + rows if offset > 0 or (offset == 0 and not lower) else rows * n + columns
    return where


@op("_linalg_extracttrian", aliases=("linalg_extracttrian",))
def extracttrian(A: Tensor, /, *, offset: Int = 0, lower: Bool = True, device: Device) -> Tensor:
    """A triangle of each matrix as a vector, row by row; an offset moves its border off the diagonal and chooses the side.

    A (*b, n, n) -> (*b, k (k + 1) / 2) with k = n - |offset|. Source: src/operator/tensor/la_op.cc
    """
    _square("linalg.extracttrian", A)
    n = A.shape[-1]
    where = _triangle_positions(_rest("linalg.extracttrian", n, offset), n, offset, lower, device)
    return A.reshape(*A.shape[:-2], n * n).index_select(-1, where)


@op("_linalg_maketrian", floats_only=True, aliases=("linalg_maketrian",))
def maketrian(A: Tensor, /, *, offset: Int = 0, lower: Bool = True, device: Device) -> Tensor:
    """The inverse of extracttrian, zeros elsewhere. A (*b, k (k + 1) / 2) -> (*b, n, n) with n = k + |offset|.

    Source: src/operator/tensor/la_op.cc
    """
    size = int((2 * A.shape[-1]) ** 0.5)
    if size * (size + 1) // 2 != A.shape[-1]:
        raise MXNetError(f"linalg.maketrian: {A.shape[-1]} elements do not fill a triangle (input shape {show(tuple(A.shape))})")
    n = size + abs(offset)
    where = _triangle_positions(size, n, offset, lower, device)
    return A.new_zeros(*A.shape[:-1], n * n).index_add(-1, where, A).reshape(*A.shape[:-1], n, n)


