"""The classes of sparse arrays: `CSRNDArray` (compressed rows of a matrix) and `RowSparseNDArray` (some rows of an array).

An array holds its stored elements `_values` and int64 `_indices` (and `_indptr` for csr) as torch tensors. Reading `_t` builds the dense
tensor, assigning it takes a dense tensor apart; nothing dense is kept. What operators do with the stored elements alone is in sparse_ops.py.
Indices are trusted as MXNet trusts them: `check_format` checks them on request.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from ..context import Context, current_context
from ..dtypes import TORCH_TO_NAME, numpy_type, torch_dtype
from ..errors import MXNetError, NotSupportedForSparseNDArray
from .core import NDArray, wrap
from .invoke import call, connected
from .sparse_arithmetic import NUMBERS, add, multiply, subtract
from .sparse_history import linear, on_tape, placeholder
from .tape import state

__all__ = ["SPARSE_CLASSES", "BaseSparseNDArray", "CSRNDArray", "NotSupportedForSparseNDArray", "RowSparseNDArray", "scipy_sparse", "to_storage"]

INTEGERS = (int, np.integer)


class BaseSparseNDArray(NDArray):
    """What csr and row_sparse arrays share."""

    __slots__ = ("_indices", "_shape", "_values")

    _values: torch.Tensor
    _indices: torch.Tensor
    _shape: tuple[int, ...]

    def __init__(self, handle: Any = None, writable: bool = True) -> None:
        if handle is not None:
            raise MXNetError(f"a {type(self).__name__} cannot be made from a handle: use mx.nd.sparse.zeros, csr_matrix or row_sparse_array")
        self._ctx, self._ag, self._rec, self._x = current_context(), None, None, None
        self._shape = (0, 0)
        self._clear(torch.float32)
        if not writable:
            self._extra().writable = False

    # -- storage ------------------------------------------------------------------------------------------------------------
    @classmethod
    def _zeros(cls, shape: tuple[int, ...], ctx: Context, dtype: torch.dtype) -> Any:
        """An array that stores nothing."""
        raise NotImplementedError

    @classmethod
    def _of(cls, tensor: torch.Tensor, ctx: Context) -> Any:
        """The sparse form of a dense tensor."""
        raise NotImplementedError

    def _clear(self, dtype: torch.dtype | None = None) -> None:
        """Stores nothing: all elements are zero."""
        raise NotImplementedError

    def _dense(self) -> torch.Tensor:
        """A new dense tensor of the same content."""
        raise NotImplementedError

    def _take_apart(self, tensor: torch.Tensor) -> None:
        """Stores the content of a dense tensor of the same shape."""
        raise NotImplementedError

    def _parts(self) -> tuple[torch.Tensor, ...]:
        """Stored elements and indices."""
        raise NotImplementedError

    def _with(self, values: torch.Tensor) -> Any:
        """An array of the same structure with other stored elements."""
        raise NotImplementedError

    def _take_parts(self, other: Any) -> None:
        """Stores copies of the parts of an array of the same storage type, keeping the own element type and device."""
        raise NotImplementedError

    @property
    def _t(self) -> torch.Tensor:
        try:
            return self._dense()
        except (IndexError, RuntimeError) as error:
            self.check_format()
            raise MXNetError(f"a {self.stype} array of shape {self._shape} cannot be made dense: {error}") from error

    @_t.setter
    def _t(self, tensor: torch.Tensor) -> None:
        self._store(tensor)

    def _store(self, source: torch.Tensor | NDArray) -> None:
        """Takes over the content of an array of the same shape, whatever its storage type; the element type stays."""
        if isinstance(source, BaseSparseNDArray) and source.stype == self.stype:
            if source.shape != self._shape:
                raise MXNetError(f"cannot copy an array of shape {source.shape} into one of shape {self._shape}")
            self._take_parts(source)
        else:
            tensor = source._t if isinstance(source, NDArray) else source
            if tuple(tensor.shape) != self._shape:
                raise MXNetError(f"cannot copy an array of shape {tuple(tensor.shape)} into one of shape {self._shape}")
            self._take_apart(tensor.detach().to(self._values.device, self._values.dtype))

    def _assign_dense(self, tensor: torch.Tensor, add: bool = False) -> Any:
        """Stores a dense result or gradient, added to what is there if `add`; returns the array."""
        self._store(self._dense() + tensor.detach().to(self._values.device, self._values.dtype) if add else tensor)
        return self

    def _placeholder(self) -> torch.Tensor:
        """What stands for the array in torch's graph: a tensor of its shape that occupies no memory."""
        return placeholder(self._shape, self._values.dtype, self._values.device)

    def take_gradient(self, gradient: torch.Tensor | None, req: str) -> None:
        """Stores a gradient (None: zero), or adds it to what is there if req is 'add'."""
        if gradient is None:
            if req == "write":
                self._clear()
        elif gradient.is_sparse:
            self._store(gradient.to_dense()) if req == "write" else self._assign_dense(gradient.to_dense(), add=True)
        else:
            self._assign_dense(gradient, add=req == "add")

    # -- description --------------------------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions of the whole array."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Not available: all elements, or the stored ones? NotImplementedError."""
        raise NotImplementedError("the size of a sparse array is ambiguous: use the shape, or data.size for the stored elements")

    @property
    def dtype(self) -> Any:
        """The element type as a NumPy type class."""
        return numpy_type(TORCH_TO_NAME[self._values.dtype])

    def __len__(self) -> int:
        return self._shape[0]

    def __repr__(self) -> str:
        return f"\n<{type(self).__name__} {'x'.join(str(d) for d in self._shape)} @{self._ctx}>"

    __str__ = __repr__

    # -- arithmetic ---------------------------------------------------------------------------------------------------------
    def __add__(self, other: Any) -> Any:
        return add(self, other)

    def __sub__(self, other: Any) -> Any:
        return subtract(self, other)

    def __mul__(self, other: Any) -> Any:
        return multiply(self, other)

    def _replace(self, result: NDArray) -> Any:
        result.copyto(self)
        return self

    def __iadd__(self, other: Any) -> Any:
        return self._replace(self + other)

    def __isub__(self, other: Any) -> Any:
        return self._replace(self - other)

    def __imul__(self, other: Any) -> Any:
        return self._replace(self * other)

    def __itruediv__(self, other: Any) -> Any:
        return self._replace(self / other)

    # -- what dense arrays do and sparse ones do not --------------------------------------------------------------------------
    def _at(self, idx: Any) -> Any:
        raise NotSupportedForSparseNDArray(self._at, None, idx)

    def _slice(self, start: Any, stop: Any) -> Any:
        raise NotSupportedForSparseNDArray(self._slice, None, start, stop)

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """Not supported: NotSupportedForSparseNDArray."""
        raise NotSupportedForSparseNDArray(self.reshape, None, *shape)

    def _sync_copyfrom(self, source_array: Any) -> None:
        raise NotImplementedError("a sparse array cannot be filled from a dense buffer: use array[:] = source")

    # -- values -------------------------------------------------------------------------------------------------------------
    def asnumpy(self) -> Any:
        """The whole array as a dense NumPy array."""
        return wrap(self._t, self._ctx).asnumpy()

    def asscalar(self) -> Any:
        """Not available, as in MXNet: the size is ambiguous."""
        return self.size

    def wait_to_read(self) -> None:
        """Returns when the array's value has been computed."""
        if self._values.is_cuda:
            torch.cuda.synchronize(self._values.device)

    def detach(self) -> Any:
        """The same stored elements without history and gradient."""
        return self._with(self._values)

    def _full(self, value: Any) -> Any:
        self._write_guard(None)
        self._store(torch.full(self._shape, value, dtype=self._values.dtype, device=self._values.device))
        return self

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Gives the array a gradient buffer of zeros, of its own storage type unless another is given."""
        super().attach_grad(grad_req, self.stype if stype is None else stype)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """A copy with another element type; the array itself if copy is False and the type is the same."""
        target = torch_dtype(dtype)
        if not copy and target == self._values.dtype:
            return self
        result = self._with(self._values.to(target, copy=True))
        result._indices = self._indices.clone()
        return result

    def copy(self) -> Any:
        """A copy on the same context."""
        return self.copyto(self._ctx)

    def copyto(self, other: Any) -> Any:
        """Copies into an array of the same storage type or a dense one (converting the element type), or to a context as a new array.

        Errors: TypeError for other targets, MXNetError for another shape. Copying to itself warns and returns False.
        """
        if isinstance(other, Context):
            result = type(self)._zeros(self._shape, other, self._values.dtype)
            result._take_parts(self)
            records = connected([self]) if state.recording else None
            return result if records is None else on_tape(linear(result, [self], [1.0]), "_copyto", {}, records)
        if not isinstance(other, NDArray):
            raise TypeError(f"copyto does not support type {type(other)}")
        if other is self:
            warnings.warn("You are attempting to copy an array to itself", RuntimeWarning, stacklevel=2)
            return False
        if other.stype not in ("default", self.stype):
            raise TypeError(f"copyto does not support destination NDArray stype {other.stype}")
        other._write_guard(None)
        if isinstance(other, BaseSparseNDArray):
            other._store(self)
        else:
            if other.shape != self._shape:
                raise MXNetError(f"cannot copy an array of shape {self._shape} into one of shape {other.shape}")
            other._t.copy_(self._t)
        return other

    def check_format(self, full_check: bool = True) -> None:
        """Errors: MXNetError when the indices do not fit the array. full_check also looks at each of them."""
        problem = self._problem(full_check)
        if problem:
            raise MXNetError(f"invalid {self.stype} array of shape {self._shape}: {problem}")

    def _problem(self, full_check: bool) -> str | None:
        raise NotImplementedError

    def _part(self, tensor: torch.Tensor) -> NDArray:
        return wrap(tensor.clone(), self._ctx)

    def _data(self) -> NDArray:
        return self._part(self._values)

    @property
    def data(self) -> NDArray:
        """A copy of the stored elements."""
        return self._part(self._values)

    @data.setter
    def data(self, data: Any) -> None:
        raise NotImplementedError("the stored elements of a sparse array cannot be replaced: make a new array")

    @property
    def indices(self) -> NDArray:
        """A copy of the indices (int64): columns of csr, rows of row_sparse."""
        return self._part(self._indices)

    @indices.setter
    def indices(self, indices: Any) -> None:
        raise NotImplementedError("the indices of a sparse array cannot be replaced: make a new array")

    @property
    def _num_aux(self) -> int:
        return len(self._parts()) - 1

    @property
    def _aux_types(self) -> list[Any]:
        return [np.int64] * self._num_aux

    def _aux_type(self, i: int) -> Any:
        return self._aux_types[i]

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.writable:
            raise ValueError(f"Failed to assign to a readonly {type(self).__name__}")
        if not isinstance(key, slice):
            assert isinstance(key, (int, tuple))
            raise (Exception if self.stype == "csr" else TypeError)(f"{type(self).__name__} only supports [:] for assignment")  # MXNet's classes
        if key.step is not None or key.start is not None or key.stop is not None:
            raise ValueError(f"assignment with slice for {type(self).__name__} is not implemented, only [:]")
        if isinstance(value, NDArray):
            if value is not self:
                value.copyto(self)
        elif isinstance(value, np.ndarray):
            warnings.warn(f"Assigning non-NDArray object to {type(self).__name__} is not efficient", RuntimeWarning, stacklevel=2)
            self._store(torch.as_tensor(np.ascontiguousarray(value)))
        elif isinstance(value, NUMBERS):
            self._set_number(float(value))
        else:
            raise TypeError(f"type {type(value)} not supported")

    def _set_number(self, value: float) -> None:
        self._full(value)

    # -- pickling: the state is a dict with the raw record, as MXNet's is -----------------------------------------------------
    def __reduce__(self) -> Any:
        return type(self), (None,), self.__getstate__()

    def __getstate__(self) -> dict[str, Any]:
        from .serialization import save_raw

        return {"handle": bytearray(save_raw(self))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from .serialization import load_raw

        loaded = load_raw(state["handle"])
        self._shape, self._ctx = loaded.shape, loaded.context
        self._values, self._indices = loaded._values, loaded._indices
        if isinstance(self, CSRNDArray):
            self._indptr = loaded._indptr


class CSRNDArray(BaseSparseNDArray):
    """A matrix in compressed sparse row format: row i holds data[indptr[i]:indptr[i+1]] in the columns indices[indptr[i]:indptr[i+1]].

    Columns rise within a row and do not repeat. See `csr_matrix` for the ways to make one.
    """

    __slots__ = ("_indptr",)

    _indptr: torch.Tensor

    @classmethod
    def _new(cls, values: torch.Tensor, indices: torch.Tensor, indptr: torch.Tensor, shape: tuple[int, ...], ctx: Context) -> CSRNDArray:
        array = object.__new__(cls)
        array._values, array._indices, array._indptr = values, indices, indptr
        array._shape, array._ctx, array._ag, array._rec, array._x = tuple(shape), ctx, None, None, None
        return array

    @classmethod
    def _zeros(cls, shape: tuple[int, ...], ctx: Context, dtype: torch.dtype) -> CSRNDArray:
        device = ctx.device
        index = torch.empty(0, dtype=torch.int64, device=device)
        return cls._new(torch.empty(0, dtype=dtype, device=device), index, index.new_zeros(shape[0] + 1), shape, ctx)

    @classmethod
    def _of(cls, tensor: torch.Tensor, ctx: Context) -> CSRNDArray:
        """The csr form of a dense matrix. Errors: ValueError for other dimensions."""
        if tensor.ndim != 2:
            raise ValueError(f"csr storage is for matrices, got shape {tuple(tensor.shape)}")
        array = cls._zeros(tuple(tensor.shape), ctx, tensor.dtype)
        array._take_apart(tensor)
        return array

    @property
    def stype(self) -> str:
        """'csr'."""
        return "csr"

    def _clear(self, dtype: torch.dtype | None = None) -> None:
        device = self._ctx.device
        self._values = torch.empty(0, dtype=dtype or self._values.dtype, device=device)
        self._indices = torch.empty(0, dtype=torch.int64, device=device)
        self._indptr = torch.zeros(self._shape[0] + 1, dtype=torch.int64, device=device)

    def _parts(self) -> tuple[torch.Tensor, ...]:
        return self._values, self._indices, self._indptr

    def _with(self, values: torch.Tensor) -> CSRNDArray:
        return CSRNDArray._new(values, self._indices, self._indptr, self._shape, self._ctx)

    def _take_parts(self, other: Any) -> None:
        device = self._ctx.device
        self._values = other._values.detach().to(device, self._values.dtype, copy=True)
        self._indices, self._indptr = (part.to(device, copy=True) for part in (other._indices, other._indptr))

    def _rows(self) -> torch.Tensor:
        """The row of each stored element."""
        return torch.repeat_interleave(torch.arange(self._shape[0], device=self._indptr.device), self._indptr[1:] - self._indptr[:-1])

    def _dense(self) -> torch.Tensor:
        result = self._values.new_zeros(self._shape)
        if self._values.numel():
            result[self._rows(), self._indices] = self._values
        return result

    def _take_apart(self, tensor: torch.Tensor) -> None:
        stored = tensor != 0
        self._values = tensor[stored]
        self._indices = stored.nonzero()[:, 1].contiguous()
        self._indptr = torch.cat([self._indices.new_zeros(1), stored.sum(1).cumsum(0)])

    def _problem(self, full_check: bool) -> str | None:
        rows, columns = self._shape
        indptr, indices = self._indptr, self._indices
        if indptr.numel() != rows + 1:
            return f"{indptr.numel()} row offsets for {rows} rows, expected one more than rows"
        if indices.numel() != self._values.shape[0]:
            return f"{indices.numel()} column indices for {self._values.shape[0]} stored elements"
        if int(indptr[0]) != 0 or int(indptr[-1]) != indices.numel():
            return f"row offsets must run from 0 to {indices.numel()}, they run from {int(indptr[0])} to {int(indptr[-1])}"
        if not full_check:
            return None
        if bool((indptr[1:] < indptr[:-1]).any()):
            return "row offsets must not fall"
        if indices.numel() == 0:
            return None
        if int(indices.min()) < 0 or int(indices.max()) >= columns:
            return f"a column index is outside 0 to {columns - 1}"
        rows_of = self._rows()
        if bool(((indices[1:] <= indices[:-1]) & (rows_of[1:] == rows_of[:-1])).any()):
            return "the column indices of a row must rise"
        return None

    def _aux_data(self, i: int) -> NDArray:
        return self._part((self._indptr, self._indices)[i])

    @property
    def indptr(self) -> NDArray:
        """A copy of the row offsets (int64, one more than rows)."""
        return self._part(self._indptr)

    @indptr.setter
    def indptr(self, indptr: Any) -> None:
        raise NotImplementedError("the row offsets of a csr array cannot be replaced: make a new array")

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """A copy with another element type; the array itself if copy is False and the type is the same."""
        result = super().astype(dtype, copy)
        if result is not self:
            result._indptr = self._indptr.clone()
        return result

    def _set_number(self, value: float) -> None:
        raise ValueError("Assigning numeric types to CSRNDArray is not implemented yet.")

    def __getitem__(self, key: Any) -> Any:
        """Rows: `a[i]` and `a[i:j]` give csr arrays (copies). Errors: ValueError for steps, tuples and other keys."""
        if isinstance(key, INTEGERS):
            begin = self._shape[0] - 1 if key == -1 else int(key)
            return call("slice", self, begin=(begin,), end=(begin + 1,))
        if isinstance(key, slice):
            if key.step is not None:
                raise ValueError("CSRNDArray only supports continuous slicing on axis 0")
            if key.start is None and key.stop is None:
                return self
            return call("slice", self, begin=(key.start or 0,), end=(key.stop or self._shape[0],))
        if isinstance(key, tuple):
            raise ValueError("Multi-dimension indexing is not supported")  # noqa: TRY004 - MXNet's class
        raise ValueError(f"Undefined behaviour for {key}")

    def tostype(self, stype: str) -> Any:
        """A copy with another storage type ('default' or 'csr'). Errors: ValueError for row_sparse."""
        if stype == "row_sparse":
            raise ValueError("cast_storage from csr to row_sparse is not supported")
        return _cast(self, stype)

    def asscipy(self) -> Any:
        """A copy as a scipy.sparse.csr_matrix."""
        sparse = scipy_sparse()
        if sparse is None:
            raise ImportError("scipy could not be imported. Please make sure that the scipy is installed.")
        parts = tuple(part.cpu().numpy().copy() for part in self._parts())
        return sparse.csr_matrix(parts, shape=self._shape, dtype=self.dtype)


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which only some rows are stored: row indices[i] is data[i], all others are zero. Indices rise.

    Gradients of Embedding and of dot with csr come in this form. See `row_sparse_array` for the ways to make one.
    """

    __slots__ = ()

    @classmethod
    def _new(cls, values: torch.Tensor, indices: torch.Tensor, shape: tuple[int, ...], ctx: Context) -> RowSparseNDArray:
        array = object.__new__(cls)
        array._values, array._indices = values, indices
        array._shape, array._ctx, array._ag, array._rec, array._x = tuple(shape), ctx, None, None, None
        return array

    @classmethod
    def _zeros(cls, shape: tuple[int, ...], ctx: Context, dtype: torch.dtype) -> RowSparseNDArray:
        device = ctx.device
        values = torch.empty((0, *shape[1:]), dtype=dtype, device=device)
        return cls._new(values, torch.empty(0, dtype=torch.int64, device=device), shape, ctx)

    @classmethod
    def _of(cls, tensor: torch.Tensor, ctx: Context) -> RowSparseNDArray:
        """The row_sparse form of a dense array."""
        if tensor.ndim < 1:
            raise ValueError(f"row_sparse storage needs at least one dimension, got shape {tuple(tensor.shape)}")
        array = cls._zeros(tuple(tensor.shape), ctx, tensor.dtype)
        array._take_apart(tensor)
        return array

    @property
    def stype(self) -> str:
        """'row_sparse'."""
        return "row_sparse"

    def _clear(self, dtype: torch.dtype | None = None) -> None:
        device = self._ctx.device
        self._values = torch.empty((0, *self._shape[1:]), dtype=dtype or self._values.dtype, device=device)
        self._indices = torch.empty(0, dtype=torch.int64, device=device)

    def _parts(self) -> tuple[torch.Tensor, ...]:
        return self._values, self._indices

    def _with(self, values: torch.Tensor) -> RowSparseNDArray:
        return RowSparseNDArray._new(values, self._indices, self._shape, self._ctx)

    def _take_parts(self, other: Any) -> None:
        device = self._ctx.device
        self._values = other._values.detach().to(device, self._values.dtype, copy=True)
        self._indices = other._indices.to(device, copy=True)

    def _dense(self) -> torch.Tensor:
        result = self._values.new_zeros(self._shape)
        if self._indices.numel():
            result[self._indices] = self._values
        return result

    def _take_apart(self, tensor: torch.Tensor) -> None:
        stored = (tensor != 0).flatten(1).any(1) if tensor.ndim > 1 else tensor != 0
        self._indices = stored.nonzero()[:, 0].contiguous()
        self._values = tensor[self._indices]

    def take_gradient(self, gradient: torch.Tensor | None, req: str) -> None:
        """Stores a gradient (None: zero), or adds it; a sparse one gives its rows, whether zero or not."""
        if gradient is None or not gradient.is_sparse:
            super().take_gradient(gradient, req)
            return
        rows, values = gradient._indices()[0], gradient._values().to(self._values.dtype)
        if req == "add":
            rows, values = torch.cat([self._indices, rows]), torch.cat([self._values, values])
        self._indices, place = rows.unique(return_inverse=True)
        self._values = values.new_zeros((self._indices.numel(), *self._shape[1:])).index_add_(0, place, values)

    def _problem(self, full_check: bool) -> str | None:
        indices = self._indices
        if indices.numel() != self._values.shape[0]:
            return f"{indices.numel()} row indices for {self._values.shape[0]} stored rows"
        if tuple(self._values.shape[1:]) != self._shape[1:]:
            return f"stored rows have shape {tuple(self._values.shape[1:])}, expected {self._shape[1:]}"
        if not full_check or indices.numel() == 0:
            return None
        if int(indices.min()) < 0 or int(indices.max()) >= self._shape[0]:
            return f"a row index is outside 0 to {self._shape[0] - 1}"
        return "row indices must rise" if bool((indices[1:] <= indices[:-1]).any()) else None

    def _aux_data(self, i: int) -> NDArray:
        return self._part((self._indices,)[i])

    def __getitem__(self, key: Any) -> Any:
        """Only `a[:]`, the array itself. Errors: Exception for rows, ValueError for tuples and other keys."""
        if isinstance(key, INTEGERS):
            raise Exception("a row_sparse array has no rows by number: make it dense first")  # noqa: TRY002 - MXNet's class
        if isinstance(key, slice):
            if key.step is not None or key.start is not None or key.stop is not None:
                raise Exception("of a row_sparse array only [:] can be taken")  # noqa: TRY002 - MXNet's class
            return self
        if isinstance(key, tuple):
            raise ValueError("Multi-dimension indexing is not supported")  # noqa: TRY004 - MXNet's class
        raise ValueError(f"Undefined behaviour for {key}")

    def tostype(self, stype: str) -> Any:
        """A copy with another storage type ('default' or 'row_sparse'). Errors: ValueError for csr."""
        if stype == "csr":
            raise ValueError("cast_storage from row_sparse to csr is not supported")
        return _cast(self, stype)

    def _set_number(self, value: float) -> None:
        """Stores every row, of zeros too, as MXNet does."""
        self._write_guard(None)
        self._indices = torch.arange(self._shape[0], device=self._values.device)
        self._values = self._values.new_full(self._shape, value)

    def retain(self, indices: Any, out: Any = None) -> Any:
        """The rows of the given indices only."""
        return call("_sparse_retain", self, indices, out=out)


SPARSE_CLASSES: dict[str, type[BaseSparseNDArray]] = {"csr": CSRNDArray, "row_sparse": RowSparseNDArray}


def _cast(source: NDArray, stype: str) -> Any:
    return call("cast_storage", source, stype=stype)


def to_storage(source: NDArray, stype: str) -> NDArray:
    """The array itself if it has that storage type, else a converted copy (by way of the dense form where needed), without history."""
    if source.stype == stype:
        return source
    dense = source._t
    if stype == "default":
        return wrap(dense, source._ctx)
    return SPARSE_CLASSES[stype]._of(dense, source._ctx)  # type: ignore[no-any-return]


def row_sparse_of(gradient: torch.Tensor, like: NDArray) -> RowSparseNDArray:
    """A sparse gradient of an array as a row_sparse array."""
    result = RowSparseNDArray._zeros(like.shape, like._ctx, torch_dtype(like.dtype))
    result.take_gradient(gradient, "write")
    return result


def scipy_sparse() -> Any:
    """scipy.sparse where it is installed, else None."""
    try:
        import scipy.sparse  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return None
    return scipy.sparse
