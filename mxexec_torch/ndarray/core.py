"""The NDArray class: a torch tensor with MXNet's face, and `wrap`, which makes one from a tensor.

Slots: `_t` the data (a plain tensor that never requires gradients; every write happens in its memory), `_ctx` the context, `_ag` the same
values with torch's autograd history while they are part of a recorded computation, `_rec` their place on the tape, `_x` rarely used things.
`_ag` and `_t` share memory but not torch's version counter: MXNet saves inputs by reference, so a later write changes gradients and is no error.
"""

from __future__ import annotations

import ctypes
import itertools
import operator
import warnings
import weakref
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..context import Context, context_of, current_context
from ..dtypes import BFLOAT16, NAME_TO_TORCH, array_dtype, numpy_type, torch_dtype
from ..errors import MXNetError, UnsupportedError
from ..foreign import mark_foreign
from ..ops.reshape import apply_codes
from . import gradients
from .arithmetic import Arithmetic
from .fluent import Fluent
from .indexing import Indexing
from .tape import guard_write, state

if TYPE_CHECKING:
    from numpy.typing import NDArray as NumpyArray

__all__ = ["NDArray", "NDArrayHandle", "handle_of", "wrap"]

NDArrayHandle = ctypes.c_void_p

_NUMPY_TYPES: dict[torch.dtype, Any] = {dtype: numpy_type(name) for name, dtype in NAME_TO_TORCH.items()}
_handles: weakref.WeakValueDictionary[int, NDArray] = weakref.WeakValueDictionary()
_next_handle = itertools.count(0x1000, 0x10)  # never reused, unlike id()


class _Extra:
    """What few arrays have: a handle that was given out, the mark of a read-only array."""

    __slots__ = ("handle", "writable")

    def __init__(self) -> None:
        self.handle: int | None = None
        self.writable = True


class NDArray(Arithmetic, Indexing, Fluent):
    """A multi-dimensional array of one element type on one device.

    `NDArray(handle)` gives the array that a handle stands for (monitor callbacks receive handles); use `mx.nd.array` to make one from data.
    """

    __slots__ = ()
    __array_priority__ = 1000.0  # numpy leaves `ndarray + NDArray` to us, and we refuse it as MXNet does

    def __init__(self, handle: Any = None, writable: bool = True) -> None:
        if handle is not None and not isinstance(handle, NDArrayHandle):
            raise AssertionError(f"NDArray takes an NDArrayHandle (ctypes.cast(handle, NDArrayHandle)), not {type(handle).__name__}")
        key = None if handle is None else handle.value
        if key is None:  # an array that has no memory yet
            self._t, self._ctx, self._ag, self._rec = torch.empty(0), current_context(), None, None
        else:
            source = _handles.get(key)
            if source is None:
                raise MXNetError(f"NDArray handle {handle!r} stands for no array that still exists")
            self._t, self._ctx, self._ag, self._rec = source._t, source._ctx, source._ag, source._rec
        self._x = None
        if not writable:
            self._extra().writable = False

    def _extra(self) -> _Extra:
        extra: _Extra = _Extra() if self._x is None else self._x
        self._x = extra
        return extra

    # -- description --------------------------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions, as a tuple of ints."""
        return tuple(self._t.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._t.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._t.numel()

    @property
    def dtype(self) -> Any:
        """The element type as a NumPy type class (`numpy.float32`)."""
        return _NUMPY_TYPES[self._t.dtype]

    @property
    def context(self) -> Context:
        """Where the array lives."""
        return self._ctx

    ctx = context

    @property
    def stype(self) -> str:
        """'default' for dense arrays."""
        return "default"

    @property
    def writable(self) -> bool:
        """False for arrays wrapped read-only (those given to monitors)."""
        return self._x is None or bool(self._x.writable)

    @property
    def handle(self) -> ctypes.c_void_p:
        """A handle that stands for this array while it exists: `NDArray(handle)` shares its memory."""
        return NDArrayHandle(handle_of(self))

    def __len__(self) -> int:
        return self._t.shape[0]  # IndexError for 0 dimensions, as in MXNet

    def __repr__(self) -> str:
        shape = "x".join(str(d) for d in self.shape)
        return f"\n{self.asnumpy()!s}\n<{type(self).__name__} {shape} @{self._ctx}>"

    __str__ = __repr__

    # -- values -------------------------------------------------------------------------------------------------------------
    def asnumpy(self) -> NumpyArray[Any]:
        """A copy as a NumPy array; errors of operators on a GPU surface here."""
        data = self._t
        if data.dtype is torch.bfloat16:
            return data.cpu().contiguous().view(torch.int16).numpy().copy().view(BFLOAT16).reshape(data.shape)
        return data.cpu().numpy().copy(order="C")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumpyArray[Any]:
        """What NumPy makes of an NDArray given to it: an array of objects, as NumPy 1 did with MXNet's (call `asnumpy` for numbers).

        Errors: ValueError when numbers are asked for.
        """
        if dtype is not None and np.dtype(dtype) != np.dtype(object):
            raise ValueError("NumPy cannot convert an NDArray to numbers itself: call asnumpy()")
        shape = self.shape
        objects = np.empty(shape + (1,) * (32 - len(shape)) if shape else (), dtype=object)  # 32: NumPy 1's limit of dimensions
        flat = self._t.reshape(-1)
        elements = [_like(self, flat[i : i + 1]) for i in range(flat.numel())] if shape else [self]
        for index, element in zip(np.ndindex(objects.shape), elements, strict=True):
            objects[index] = element
        return objects

    def asscalar(self) -> Any:
        """The only element as a NumPy scalar (as an array where there are several axes). Errors: ValueError for more elements."""
        if self._t.numel() != 1:
            raise ValueError("The current array is not a scalar")
        values = self.asnumpy()
        return values[0] if values.ndim == 1 else values[()]

    def __bool__(self) -> bool:
        count = self._t.numel()
        if count == 0:
            return False
        if count == 1:
            return bool(self._t.item())
        raise ValueError("The truth value of an NDArray with multiple elements is ambiguous.")

    def wait_to_read(self) -> None:
        """Returns when the array's value has been computed."""
        if self._t.is_cuda:
            torch.cuda.synchronize(self._t.device)

    # -- copies and conversions ---------------------------------------------------------------------------------------------
    def copyto(self, other: NDArray | Context) -> Any:
        """Copies the values into another array of the same shape (converting the type) or to a context; returns the target.

        Copying to itself warns and returns False. Errors: TypeError for other targets, MXNetError for another shape.
        """
        if isinstance(other, NDArray):
            if other is self or (other._t is self._t and other.stype == self.stype == "default"):
                warnings.warn("You are attempting to copy an array to itself", RuntimeWarning, stacklevel=2)
                return False
            if other.stype != "default":
                return other._assign_dense(self._t)  # type: ignore[attr-defined]
            return self._copy_into(other)
        if isinstance(other, Context):
            device = other.device
            result = _record("_copyto", {}, lambda t: t.to(device, copy=True), [self])
            result._ctx = other
            return result
        raise TypeError(f"copyto does not support type {type(other)}")

    def _copy_into(self, other: NDArray) -> NDArray:
        target = other._t
        if target.shape != self._t.shape:
            raise MXNetError(f"copyto: operands shape mismatch: Incompatible attr: expected [{_dims(self._t)}], got [{_dims(target)}]")
        if state.recording and (other._rec is not None or self._rec is not None):
            other._write_guard(None)
            dtype, device = target.dtype, target.device
            copied = _record("_copyto", {}, lambda t: t.to(device=device, dtype=dtype, copy=True), [self])
            other._ag, other._rec = copied._ag, copied._rec
        target.copy_(self._t)
        return other

    def copy(self) -> NDArray:
        """A copy on the same context."""
        result: NDArray = self.copyto(self._ctx)
        return result

    def __copy__(self) -> NDArray:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> NDArray:
        return self.copy()

    def as_in_context(self, context: Context) -> NDArray:
        """This array, or a copy where it lives elsewhere."""
        return self if self._ctx == context else self.copyto(context)

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        """A copy of another element type; with copy=False the array itself when it has that type already."""
        wanted = array_dtype(dtype)
        if not copy and wanted is self._t.dtype:
            return self
        result: NDArray = _record("_copyto", {}, lambda t: _converted(t, wanted), [self])
        return result

    def tostype(self, stype: str) -> Any:
        """A copy of another storage type: 'default', 'csr' (2-D only) or 'row_sparse'."""
        if stype == "csr" and self._t.ndim != 2:
            raise ValueError(f"To convert to a CSR, the NDArray should be 2 Dimensional. Current shape is {self.shape}")
        if stype == "default":
            return self.copy()
        if stype not in ("csr", "row_sparse"):
            raise MXNetError(f"cast_storage: Invalid Input: '{stype}', valid values are: {{'csr', 'default', 'row_sparse'}}")
        return _call("cast_storage", self, stype=stype)

    def as_nd_ndarray(self) -> NDArray:
        """The array as legacy NDArray, sharing memory and history."""
        return self

    def as_np_ndarray(self) -> Any:
        """The array as mx.np.ndarray. Errors: UnsupportedError, the NumPy interface (mx.np) is not part of this package yet."""
        raise UnsupportedError("mx.np is not supported: as_np_ndarray() has nothing to return; stay with mx.nd, or use asnumpy()")

    def detach(self) -> NDArray:
        """The same memory without history and gradient."""
        return _like(self, self._t)

    # -- shape --------------------------------------------------------------------------------------------------------------
    def reshape(self, *shape: Any, **kwargs: Any) -> NDArray:
        """A view of another shape; MXNet's codes 0, -1, -2, -3, -4 and `reverse` apply.

        Errors: ValueError for a smaller size, MXNetError for a larger one or a bad code, AssertionError without a shape.
        """
        if len(shape) == 1 and isinstance(shape[0], (list, tuple)):
            shape = tuple(shape[0])
        elif not shape:
            shape = kwargs.get("shape", ())
            assert shape, "Shape must be provided."
            shape = tuple(shape)
        unknown = [k for k in kwargs if k not in ("shape", "reverse")]
        if unknown:
            raise TypeError(f"Got unknown keywords in reshape: {', '.join(unknown)}. Accepted keyword arguments are 'shape' and 'reverse'.")
        target = _reshaped(self.shape, shape, bool(kwargs.get("reverse", False)))
        result: NDArray = _record("Reshape", {"shape": shape}, lambda t: t.reshape(target), [self], self._t.view(target))
        return result

    def flatten(self, inplace: bool = False) -> NDArray:
        """All axes but the first as one; a view when `inplace`."""
        if inplace:
            return self.reshape((0, -1))
        result: NDArray = _call("Flatten", self)
        return result

    def expand_dims(self, axis: int, inplace: bool = False) -> NDArray:
        """A new axis of length 1 at `axis`; a view when `inplace`."""
        if not inplace:
            result: NDArray = _call("expand_dims", self, axis=axis)
            return result
        ndim = self._t.ndim
        assert -ndim - 1 <= axis <= ndim, f"axis {axis} is out of range for {ndim}d array"
        shape = list(self.shape)
        shape.insert(axis if axis >= 0 else axis + ndim + 1, 1)
        return self.reshape(tuple(shape))

    def squeeze(self, axis: Any = None, inplace: bool = False) -> NDArray:
        """Axes of length 1 removed (all, or those of `axis`); a view when `inplace`."""
        if not inplace:
            result: NDArray = _call("squeeze", self, axis=axis)
            return result
        shape = list(self.shape)
        axes = range(len(shape)) if axis is None else [axis] if isinstance(axis, int) else axis
        if axis is not None:
            assert len(set(axes)) == len(axes), "axis contains duplicate which is not allowed"
        drop = set()
        for a in axes:
            a = a + len(shape) if a < 0 else a
            if axis is not None:
                assert shape[a] == 1, f"Squeeze target axis {a} must be size 1, got {shape[a]}"
            if shape[a] == 1:
                drop.add(a)
        kept = tuple(d for i, d in enumerate(shape) if i not in drop)
        return self.reshape(kept or (1,))

    def broadcast_to(self, shape: Any) -> NDArray:
        """A copy expanded along axes of length 1. Errors: ValueError when the shapes do not fit."""
        own = self.shape
        wanted = tuple(shape)
        text = f"operands could not be broadcast together with remapped shapes[original->remapped]: {own} and requested shape {wanted}"
        if len(wanted) < len(own):
            raise ValueError(text)
        for size, length in zip(reversed(own), reversed(wanted), strict=False):
            if size != length and size != 1:
                raise ValueError(text)
        array = self if len(wanted) == len(own) else self.reshape((1,) * (len(wanted) - len(own)) + own)
        result: NDArray = _call("broadcast_to", array, shape=wanted)
        return result

    def broadcast_like(self, other: NDArray) -> NDArray:
        """`broadcast_to` another array's shape."""
        return self.broadcast_to(other.shape)

    @property
    def T(self) -> NDArray:  # noqa: N802 - MXNet's name
        """The transposed array, a copy."""
        if self._t.ndim < 2:
            return self
        result: NDArray = _call("transpose", self)
        return result

    # -- writing ------------------------------------------------------------------------------------------------------------
    def _write_guard(self, value: Any) -> None:
        """Refuses writes that recording cannot represent."""
        if state.recording:
            guard_write(self, value)

    def _full(self, value: Any) -> NDArray:
        """Sets every element."""
        self._write_guard(None)
        self._t.fill_(value)
        return self

    def _sync_copyfrom(self, source: Any) -> None:
        """Copies a NumPy array or a sequence of the same shape into this array. Errors: TypeError, ValueError."""
        try:
            values = np.ascontiguousarray(source, dtype=np.dtype(self.dtype) if self._t.dtype is not torch.bfloat16 else np.float32)
        except (TypeError, ValueError):
            raise TypeError(f"array must consist of array-like data, type {type(source)} is not supported") from None
        if np.shape(source) != self.shape:
            raise ValueError(f"Shape inconsistent: expected {np.shape(source)} vs got {self.shape}")
        self._t.copy_(torch.from_numpy(values.reshape(self.shape)))

    def slice_assign(self, rhs: NDArray, begin: Any, end: Any, step: Any) -> NDArray:
        """Writes an array into the block begin:end:step."""
        result: NDArray = _call("_slice_assign", self, rhs, out=self, begin=begin, end=end, step=step)
        return result

    def slice_assign_scalar(self, value: Any, begin: Any, end: Any, step: Any) -> NDArray:
        """Writes a number into the block begin:end:step."""
        result: NDArray = _call("_slice_assign_scalar", self, out=self, scalar=float(value), begin=begin, end=end, step=step)
        return result

    # -- autograd -----------------------------------------------------------------------------------------------------------
    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Gives the array a gradient buffer of zeros: backward writes ('write'), adds ('add') or leaves it ('null'). Cuts its history.

        stype: storage type of the gradient, the array's own unless given. Errors: KeyError for another request.
        """
        kind = stype or self.stype
        if kind == "default":
            grad = wrap(torch.zeros(self.shape, dtype=torch_dtype(self.dtype), device=self._ctx.device), self._ctx)
        else:
            from .sparse import zeros

            grad = zeros(kind, self.shape, self._ctx, self.dtype)
        gradients.attach(self, grad, grad_req)

    @property
    def grad(self) -> NDArray | None:
        """The gradient buffer (a new handle of the same memory each time), or None."""
        leaf = self._rec.leaf if self._rec is not None else None
        if leaf is None:
            return None
        return _like(leaf.grad, leaf.grad._t) if leaf.grad.stype == "default" else leaf.grad

    def backward(self, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Computes the gradients of this array with respect to the leaves it was recorded from.

        out_grad: gradient of the result (default: ones). retain_graph: keep the history for another backward.
        Errors: MXNetError when nothing was recorded or no leaf wants a gradient.
        """
        gradients.backward([self], [out_grad], retain_graph, train_mode)

    @property
    def _fresh_grad(self) -> bool:
        """Whether backward has written the gradient since Gluon's Trainer last read it."""
        leaf = self._rec.leaf if self._rec is not None else None
        return leaf is not None and leaf.fresh

    @_fresh_grad.setter
    def _fresh_grad(self, fresh: bool) -> None:
        leaf = self._rec.leaf if self._rec is not None else None
        if leaf is not None:
            leaf.fresh = bool(fresh)

    # -- exchange -----------------------------------------------------------------------------------------------------------
    def to_dlpack_for_read(self) -> Any:
        """A DLPack capsule of the array's memory."""
        return torch.utils.dlpack.to_dlpack(mark_foreign(self._t))

    to_dlpack_for_write = to_dlpack_for_read

    def __dlpack__(self, **kwargs: Any) -> Any:
        return mark_foreign(self._t).__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self._t.__dlpack_device__()

    def __getstate__(self) -> dict[str, Any]:
        from .serialization import save_raw

        return {"handle": bytearray(save_raw(self))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from .serialization import load_raw

        loaded = load_raw(state["handle"]) if state.get("handle") is not None else NDArray()
        self._t, self._ctx, self._ag, self._rec, self._x = loaded._t, loaded._ctx, None, None, None

    def __reduce__(self) -> Any:
        return type(self), (None,), self.__getstate__()


def _reshaped(source: tuple[int, ...], codes: Sequence[Any], reverse: bool) -> tuple[int, ...]:
    """The shape that reshape codes give, of the source's size. Errors: ValueError for a smaller size, MXNetError otherwise."""
    try:
        target = apply_codes([operator.index(c) for c in codes], source, reverse)
    except ValueError as error:
        raise MXNetError(f"reshape of {source} to {tuple(codes)}: {error}") from None
    size, wanted = prod(source), prod(target)
    if size < wanted:
        raise MXNetError(f"target shape size is larger than the current shape: {size} elements cannot become {target}")
    if size != wanted:
        raise ValueError(f"Cannot reshape array of size {size} into shape {tuple(codes)}")
    return target


def _converted(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A copy in another type; floats are cut towards zero and wrap into small integers as C does."""
    if tensor.is_floating_point() and not dtype.is_floating_point and dtype not in (torch.bool, torch.int64):
        return tensor.to(torch.int64).to(dtype)
    return tensor.to(dtype, copy=True)


_new = object.__new__


def wrap(tensor: torch.Tensor, ctx: Context | None = None) -> NDArray:
    """An NDArray over a tensor's memory, without history. `ctx` defaults to the tensor's device (cpu ids are not known to torch)."""
    array = _new(NDArray)
    array._t = tensor
    array._ctx = context_of(tensor.device) if ctx is None else ctx
    array._ag = None
    array._rec = None
    array._x = None
    return array


def _like(array: NDArray, tensor: torch.Tensor) -> NDArray:
    """`wrap` with another array's class and context."""
    result = _new(type(array))
    result._t, result._ctx, result._ag, result._rec, result._x = tensor, array._ctx, None, None, None
    return result


def handle_of(array: NDArray) -> int:
    """The integer that stands for the array in callbacks of the C API's kind, valid as long as the array exists."""
    extra = array._extra()
    if extra.handle is None:
        extra.handle = next(_next_handle)
        _handles[extra.handle] = array
    return extra.handle


def _dims(tensor: torch.Tensor) -> str:
    return ",".join(str(d) for d in tensor.shape)


# Set by `bind`: invoke needs this module.
_call: Any = None
_record: Any = None


def bind(call: Any, record: Any) -> None:
    """Names the functions that run an operator by name and that record a function of tensors."""
    global _call, _record
    _call, _record = call, record
