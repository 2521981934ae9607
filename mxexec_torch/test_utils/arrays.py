"""Random arrays, dense and sparse, and matrices with known properties. Draws come from NumPy's global generator: seed that."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..context import Context, current_context
from ..ndarray.creation import arange, eye
from ..ndarray.utils import array
from .compare import default_dtype

__all__ = [
    "assign_each", "assign_each2", "create_2d_tensor", "create_sparse_array", "create_sparse_array_zd", "create_vector", "get_identity_mat",
    "get_identity_mat_batch", "new_matrix_with_real_eigvals_2d", "new_matrix_with_real_eigvals_nd", "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d", "new_sym_matrix_with_real_eigvals_nd", "rand_coord_2d", "rand_ndarray", "rand_shape_2d",
    "rand_shape_3d", "rand_shape_nd", "rand_sparse_ndarray", "random_arrays", "random_sample", "random_uniform_arrays",
    "shuffle_csr_column_indices",
]  # fmt: skip

Elementwise = Callable[[Any], Any]


def random_arrays(*shapes: Sequence[int]) -> Any:
    """Standard normal float32 NumPy arrays: one, or a list when several shapes are given."""
    arrays: list[Any] = [np.asarray(np.random.randn(*s)).astype(default_dtype()) for s in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes: Sequence[int], **kwargs: Any) -> list[Any]:
    """Uniform NumPy arrays, a list; keywords: low (0), high (1), dtype (float32)."""
    low, high, dtype = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0), kwargs.pop("dtype", default_dtype())
    if kwargs:
        raise TypeError(f"Got unexpected argument/s : {list(kwargs)}")
    return [np.random.uniform(low, high, size=s).astype(dtype) for s in shapes]


def random_sample(population: Any, k: int) -> Any:
    """k elements of a sequence in random order, none twice."""
    assert 0 <= k <= len(population), f"{k} elements of {len(population)}"
    shuffled = population[:]
    np.random.shuffle(shuffled)
    return shuffled[:k]


def _low(allow_zero_size: bool) -> int:
    return 0 if allow_zero_size else 1


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, int]:
    """A random shape; each dimension is at most the one given."""
    low = _low(allow_zero_size)
    return np.random.randint(low, dim0 + 1), np.random.randint(low, dim1 + 1)


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False) -> tuple[int, int, int]:
    """A random shape; each dimension is at most the one given."""
    low = _low(allow_zero_size)
    return np.random.randint(low, dim0 + 1), np.random.randint(low, dim1 + 1), np.random.randint(low, dim2 + 1)


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A random shape with that many dimensions, each at most `dim`."""
    return tuple(int(d) for d in np.random.randint(_low(allow_zero_size), dim + 1, size=num_dim))


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[Any, Any]:
    """A random point with whole coordinates, upper bounds excluded."""
    return np.random.randint(x_low, x_high, dtype=np.int64), np.random.randint(y_low, y_high, dtype=np.int64)


def assign_each(the_input: Any, function: Elementwise | None) -> Any:
    """A NumPy array of function(element), a copy if there is no function."""
    if function is None:
        return np.array(the_input)
    result = np.zeros(np.shape(the_input))
    for index, value in np.ndenumerate(the_input):
        result[index] = function(value)
    return result


def assign_each2(input1: Any, input2: Any, function: Callable[[Any, Any], Any] | None) -> Any:
    """A NumPy array of function(element, element), a copy of the first array if there is no function."""
    if function is None:
        return np.array(input1)
    assert input1.shape == input2.shape, f"shapes {input1.shape} and {input2.shape} differ"
    result = np.zeros(input1.shape)
    for index, value in np.ndenumerate(input1):
        result[index] = function(value, input2[index])
    return result


def create_2d_tensor(rows: int, columns: int, dtype: Any = np.int64) -> Any:
    """A matrix whose rows hold their own number."""
    return nd.broadcast_to(arange(0, rows, dtype=dtype).reshape(rows, 1), shape=(rows, columns))


def create_vector(size: int, dtype: Any = np.int64) -> nd.NDArray:
    """0, 1, ..., size - 1."""
    return arange(0, size, dtype=dtype)


def get_identity_mat(size: int) -> nd.NDArray:
    """An identity matrix."""
    return eye(size)


def get_identity_mat_batch(size: int) -> Any:
    """Two identity matrices."""
    return array(np.stack([np.eye(size)] * 2))


# ----------------------------------------------------------------------------------------------------------- sparse arrays
def shuffle_csr_column_indices(csr: Any) -> None:
    """Shuffles the column indices within each row of a scipy csr matrix, in place (its values stay where they are)."""
    for start, end in itertools.pairwise(csr.indptr):
        np.random.shuffle(csr.indices[start:end])


def _check_density(shape: Sequence[int], density: float, distribution: str) -> int:
    """The number of stored elements. Errors: ValueError."""
    rows, columns = shape
    if not 0 <= density <= 1:
        raise ValueError("density has to be between 0 and 1")
    if rows <= 0 or columns <= 0:
        raise ValueError("num_rows or num_cols should be greater than 0")
    stored = int(rows * columns * density)
    if distribution == "powerlaw" and stored < 2 * rows:
        raise ValueError(f"not supported for this density: {density} for this shape ({rows}, {columns}): at least two elements a row are needed")
    return stored


def _uniform_csr(shape: Sequence[int], density: float, dtype: Any, data_init: float | None, shuffle: bool) -> Any:
    """A csr array with its stored elements anywhere."""
    stored = _check_density(shape, density, "uniform")
    rows, columns = shape
    places = np.sort(np.random.choice(rows * columns, size=stored, replace=False))
    values = np.random.rand(stored).astype(dtype)
    if data_init is not None:
        values.fill(data_init)
    indices, offsets = places % columns, np.searchsorted(places // columns, np.arange(rows + 1))
    if shuffle:
        for start, end in itertools.pairwise(offsets):
            np.random.shuffle(indices[start:end])
    return nd.sparse.csr_matrix((values, indices, offsets), shape=tuple(shape), dtype=dtype)


def _powerlaw_counts(shape: Sequence[int], stored: int) -> list[int]:
    """How many elements each row stores: first one each, then rows fill up to 2, 4, 8, ... until all are used."""
    rows, columns = shape
    counts, left, limit = [1] * rows, stored - rows, 2
    for row in range(rows):
        if left <= 0:
            break
        more = min(min(columns, limit) - 1, left)
        counts[row] += more
        left -= more
        if min(columns, limit) < columns:
            limit *= 2
    if left > 0:
        raise ValueError(f"not supported for this density: {stored / (rows * columns)} for this shape ({rows},{columns})")
    return counts


def _powerlaw_csr(shape: Sequence[int], density: float, dtype: Any) -> Any:
    """A csr array whose rows store twice as many elements as the row before."""
    counts = _powerlaw_counts(shape, _check_density(shape, density, "powerlaw"))
    indices = np.concatenate([np.arange(n) for n in counts])
    values = (1 + np.random.uniform(0.001, 2, size=indices.size)).astype(dtype)
    return nd.sparse.csr_matrix((values, indices, np.concatenate([[0], np.cumsum(counts)])), shape=tuple(shape), dtype=dtype)


def rand_sparse_ndarray(
    shape: Sequence[int], stype: str, density: float | None = None, dtype: Any = None, distribution: str | None = None,
    data_init: float | None = None, rsp_indices: Any = None, modifier_func: Elementwise | None = None, shuffle_csr_indices: bool = False,
    ctx: Context | None = None,
) -> Any:  # fmt: skip
    """A random sparse array and its parts: (array, (values, indices)) for row_sparse, (array, (indptr, indices, data)) for csr.

    density: share of stored rows or elements (default random). distribution: 'uniform', or 'powerlaw' for csr, where each row stores twice
    as many elements as the one before. data_init: all stored elements are this. rsp_indices: the stored rows. modifier_func: maps each element.
    """
    context = current_context() if ctx is None else ctx
    share = np.random.rand() if density is None else density
    kind = default_dtype() if dtype is None else dtype
    spread = distribution or "uniform"
    if stype == "csr":
        assert len(shape) == 2 and spread in ("uniform", "powerlaw"), f"csr array of shape {shape}, distribution {spread}"
        csr = _uniform_csr(shape, share, kind, data_init, shuffle_csr_indices) if spread == "uniform" else _powerlaw_csr(shape, share, kind)
        csr = csr.as_in_context(context)
        return csr, (csr.indptr, csr.indices, csr.data)
    assert stype == "row_sparse", f"unknown storage type {stype}"
    assert spread == "uniform", f"Distribution {spread} not supported for row_sparse"
    rows = np.flatnonzero(np.random.rand(shape[0]) < share) if rsp_indices is None else np.asarray(rsp_indices)
    assert len(rows) <= shape[0], f"{len(rows)} rows of {shape[0]}"
    if rows.size == 0:
        return nd.sparse.zeros("row_sparse", shape, dtype=kind, ctx=context), (np.array([], dtype=kind), np.array([]))
    values = np.random.rand(rows.size, *shape[1:]).astype(kind)
    if data_init is not None:
        values.fill(data_init)
    if modifier_func is not None:
        values = assign_each(values, modifier_func)
    return nd.sparse.row_sparse_array((values, rows), shape=shape, dtype=kind, ctx=context), (values, rows)


def rand_ndarray(
    shape: Sequence[int], stype: str = "default", density: float | None = None, dtype: Any = None, modifier_func: Elementwise | None = None,
    shuffle_csr_indices: bool = False, distribution: str | None = None, ctx: Context | None = None,
) -> Any:  # fmt: skip
    """A random NDArray of any storage type; see `rand_sparse_ndarray`."""
    context = current_context() if ctx is None else ctx
    if stype == "default":
        return array(random_arrays(shape), dtype=dtype, ctx=context)
    return rand_sparse_ndarray(
        shape, stype, density=density, modifier_func=modifier_func, dtype=dtype, shuffle_csr_indices=shuffle_csr_indices,
        distribution=distribution, ctx=context,
    )[0]  # fmt: skip


def create_sparse_array(
    shape: Sequence[int], stype: str, data_init: float | None = None, rsp_indices: Any = None, dtype: Any = None,
    modifier_func: Elementwise | None = None, density: float = 0.5, shuffle_csr_indices: bool = False,
) -> Any:  # fmt: skip
    """A random sparse array; given row indices are put in order."""
    if stype not in ("row_sparse", "csr"):
        raise AssertionError(f"Unknown storage type: {stype}")
    rows = None if rsp_indices is None or stype == "csr" else np.sort(np.asarray(rsp_indices))
    return rand_sparse_ndarray(
        shape, stype, density=density, data_init=data_init, rsp_indices=rows, dtype=dtype, modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
    )[0]  # fmt: skip


def create_sparse_array_zd(
    shape: Sequence[int], stype: str, density: float, data_init: float | None = None, rsp_indices: Any = None, dtype: Any = None,
    modifier_func: Elementwise | None = None, shuffle_csr_indices: bool = False,
) -> Any:  # fmt: skip
    """`create_sparse_array` where a row_sparse array stores the given rows only, whatever the density."""
    if stype == "row_sparse":
        density = 0.0
        assert rsp_indices is None or len(rsp_indices) <= shape[0], f"{len(rsp_indices)} rows of {shape[0]}"
    return create_sparse_array(
        shape, stype, data_init=data_init, rsp_indices=rsp_indices, dtype=dtype, modifier_func=modifier_func, density=density,
        shuffle_csr_indices=shuffle_csr_indices,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- matrices
def _each(make: Callable[[int], Any], shape: Sequence[int]) -> Any:
    return np.array([make(shape[-1]) for _ in range(int(np.prod(shape[:-2])))]).reshape(shape)


def new_orthonormal_matrix_2d(n: int) -> Any:
    """A random orthonormal matrix."""
    x = np.random.randn(n, n)
    return np.linalg.qr(x.T @ x)[0]


def new_matrix_with_real_eigvals_2d(n: int) -> Any:
    """A random well-conditioned matrix with real eigenvalues between -10 and 10."""
    while True:
        v = np.random.uniform(-1.0, 1.0, n)
        v /= np.linalg.norm(v)
        basis = (np.eye(n) - 2 * np.outer(v, v)) @ np.diag(np.random.uniform(-1.0, 1.0, n))
        if np.linalg.cond(basis, 2) < 3:
            return np.linalg.inv(basis) @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ basis


def new_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> Any:
    """A stack of such matrices."""
    return _each(new_matrix_with_real_eigvals_2d, shape)


def new_sym_matrix_with_real_eigvals_2d(n: int) -> Any:
    """A random symmetric matrix with eigenvalues between -10 and 10."""
    basis = new_orthonormal_matrix_2d(n)
    return basis.T @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ basis


def new_sym_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> Any:
    """A stack of such matrices."""
    return _each(new_sym_matrix_with_real_eigvals_2d, shape)
