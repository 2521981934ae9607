"""Reading and writing NDArrays by index.

Basic keys (ints, slices, None, ...) give a view where the selected block is contiguous in memory and a copy otherwise; keys with lists or
arrays select as NumPy does, always a copy. Masks count as the integers 0 and 1. An index that selects one element gives shape (1,).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..semantics import is_np_shape
from .tape import state

if TYPE_CHECKING:
    from ..context import Context
    from .core import NDArray

__all__ = ["Indexing", "expand_key", "get_indexing_dispatch_code", "get_oshape_of_gather_nd_op", "indexing_key_expand_implicit_axes"]

_INTS = (int, np.integer)
_ARRAYS = (np.ndarray, list, tuple, range)
_NUMBERS = (float, int, np.generic)


def expand_key(key: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The key as a tuple with one entry an axis (None aside): the ellipsis, or the missing end, filled with full slices."""
    entries = key if isinstance(key, tuple) else (key,)
    ellipses = [i for i, entry in enumerate(entries) if entry is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("Cannot use more than one ellipsis (`...`) for indexing")
    rest = tuple(entry for entry in entries if entry is not Ellipsis)
    at = ellipses[0] if ellipses else len(rest)
    missing = len(shape) + sum(entry is None for entry in rest) - len(rest)
    expanded = rest[:at] + (slice(None),) * missing + rest[at:]
    axes = sum(entry is not None for entry in expanded)
    if axes > len(shape):
        raise IndexError(f"too many indices ({axes}) for array with {len(shape)} dimensions")
    return expanded


def _is_array(entry: Any) -> bool:
    return isinstance(entry, _ARRAYS) or hasattr(entry, "_t")


def is_advanced(key: tuple[Any, ...]) -> bool:
    """Whether a key holds an array index. Errors: ValueError for entries that are no index."""
    advanced = False
    for entry in key:
        if _is_array(entry):
            advanced = True
        elif not (entry is None or isinstance(entry, (slice, *_INTS))):
            raise ValueError(f"NDArray does not support slicing with key {entry} of type {type(entry)}.")
    return advanced


def _check_int(index: int, axis: int, size: int) -> None:
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")


class _Basic:
    """A basic key for one shape: bounds as `slice.indices` gives them, axes that an int drops, and the shape of the result."""

    def __init__(self, key: tuple[Any, ...], shape: tuple[int, ...]) -> None:
        self.slices: list[tuple[int, int, int]] = []  # begin, count, step
        self.result: list[int] = []  # without int axes, with new ones
        self.block: list[int] = []  # int axes as 1
        self.kept: list[int] = []  # without int axes, without new ones
        axis = 0
        for entry in key:
            if entry is None:
                self.result.append(1)
                continue
            size = shape[axis]
            if isinstance(entry, slice):
                self.slices.append(_span(entry, size))
                self.result.append(self.slices[-1][1])
                self.kept.append(self.slices[-1][1])
            else:
                _check_int(int(entry), axis, size)
                self.slices.append((int(entry) % size, 1, 1))
            self.block.append(self.slices[-1][1])
            axis += 1
        if not self.result and not is_np_shape():
            self.result = [1]

    def contiguous(self, shape: tuple[int, ...]) -> bool:
        """Whether the selected elements lie next to each other in a contiguous array of that shape."""
        counts = [count for _, count, _ in self.slices]
        if 0 in counts or all(count == 1 for count in counts):
            return True
        inside = False
        for (_, count, step), size in zip(reversed(self.slices), reversed(shape), strict=True):
            if count > 1 and (step != 1 or inside):
                return False
            inside = inside or count < size
        return True

    def select(self, tensor: torch.Tensor) -> torch.Tensor:
        """The block (int axes kept as 1): a torch view, or a gathered copy where a step is negative."""
        for axis, (begin, count, step) in enumerate(self.slices):
            if step == 1:
                if count != tensor.shape[axis]:
                    tensor = tensor.narrow(axis, begin if count else 0, count)
            elif step > 0:
                tensor = tensor[(slice(None),) * axis + (slice(begin, begin + (count - 1) * step + 1 if count else begin, step),)]
            else:
                tensor = tensor.index_select(axis, torch.arange(begin, begin + count * step, step, device=tensor.device))
        return tensor

    @property
    def backwards(self) -> bool:
        """Whether a step is negative."""
        return any(step < 0 for _, _, step in self.slices)


def _span(entry: slice, size: int) -> tuple[int, int, int]:
    if entry.step == 0:
        raise ValueError("slice step cannot be zero")
    begin, stop, step = entry.indices(size)
    return begin, max(0, -(-(stop - begin) // step) if step > 0 else -(-(begin - stop) // -step)), step


def _index_tensor(entry: Any, size: int, device: torch.device, axis: int) -> torch.Tensor:
    """An array index as int64 tensor with entries in 0..size-1. Errors: IndexError when one is out of bounds."""
    if hasattr(entry, "_t"):
        index = entry._t.to(device=device, dtype=torch.int64)
    elif isinstance(entry, range):
        index = torch.tensor(list(entry), dtype=torch.int64, device=device)
    else:
        values = np.asarray([e.asnumpy() if hasattr(e, "asnumpy") else e for e in entry] if isinstance(entry, (list, tuple)) else entry)
        index = torch.as_tensor(values.astype(np.int64), device=device)
    return _within(index, size, axis)


def _within(index: torch.Tensor, size: int, axis: int) -> torch.Tensor:
    if index.numel() and not index.is_meta:
        low, high = index.min().item(), index.max().item()
        if low < -size or high >= size:
            bad = int(high if high >= size else low)
            raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {size}")
    return torch.where(index < 0, index + size, index)


def _torch_key(key: tuple[Any, ...], shape: tuple[int, ...], device: torch.device) -> tuple[Any, ...]:
    """An advanced key as torch takes it: ints and arrays as tensors, slices with a negative step as index ranges."""
    result: list[Any] = []
    axis = 0
    for entry in key:
        if entry is None:
            result.append(None)
            continue
        size = shape[axis]
        if isinstance(entry, slice):
            result.append(slice(*entry.indices(size)) if (entry.step or 1) > 0 else entry)
        elif isinstance(entry, _INTS):
            _check_int(int(entry), axis, size)
            result.append(torch.tensor(int(entry) % size, device=device))
        else:
            result.append(_index_tensor(entry, size, device, axis))
        axis += 1
    return tuple(result)


def _advanced_get(tensor: torch.Tensor, key: tuple[Any, ...]) -> torch.Tensor:
    tensor, key = _flipped(tensor, key)
    return tensor[key]


def _flipped(tensor: torch.Tensor, key: tuple[Any, ...]) -> tuple[torch.Tensor, tuple[Any, ...]]:
    """torch has no negative steps: such slices are taken first."""
    axis = 0
    result = list(key)
    for position, entry in enumerate(key):
        if entry is None:
            continue
        if isinstance(entry, slice) and (entry.step or 1) < 0:
            begin, count, step = _span(entry, tensor.shape[axis])
            tensor = tensor.index_select(axis, torch.arange(begin, begin + count * step, step, device=tensor.device))
            result[position] = slice(None)
        axis += 1
    return tensor, tuple(result)


class Indexing:
    """`x[key]` and `x[key] = value`."""

    __slots__ = ()

    _t: torch.Tensor
    _ctx: Context

    def __getitem__(self, key: Any) -> Any:
        from .invoke import record

        tensor = self._t
        shape = tensor.shape
        if key.__class__ is int and tensor.ndim > 1 and not state.recording and self.__class__ is _dense:
            if not -shape[0] <= key < shape[0]:
                raise IndexError(f"index {key} is out of bounds for axis 0 with size {shape[0]}")
            return wrap(tensor[key], self._ctx)
        if (tensor.ndim == 0 and (key == () or key == slice(None))) or (isinstance(key, tuple) and len(key) == 0):
            return self
        if isinstance(key, slice) and key == slice(None):
            return self
        expanded = expand_key(_plain_indices(key), tuple(shape))
        if is_advanced(expanded):
            index = _torch_key(expanded, tuple(shape), tensor.device)
            return record("gather_nd", {}, lambda t: _advanced_get(t, index), [self])  # type: ignore[list-item]
        basic = _Basic(expanded, tuple(shape))
        values = basic.select(tensor).view(basic.result) if basic.contiguous(tuple(shape)) and not basic.backwards else None
        return record("_slice", {}, lambda t: basic.select(t).reshape(basic.result), [self], values)  # type: ignore[list-item]

    def __setitem__(self, key: Any, value: Any) -> None:
        _assign(self, key, value)  # type: ignore[arg-type]


def _plain_indices(key: Any) -> Any:
    """Zero-dimensional arrays as ints, True and False as the array indices [1] and [0]."""
    if isinstance(key, tuple):
        return tuple(_plain_index(entry) for entry in key)
    return _plain_index(key)


def _plain_index(entry: Any) -> Any:
    if isinstance(entry, bool):
        return int(entry)
    if hasattr(entry, "_t") and entry._t.ndim == 0:
        return int(entry._t.item())
    if isinstance(entry, np.ndarray) and entry.ndim == 0 and entry.dtype.kind in "iu":
        return int(entry)
    return entry


_dense: type = Indexing
wrap: Any = None


def use_class(cls: type, wrapper: Any) -> None:
    """Names the dense array class and how to make one (core does: it imports this module)."""
    global _dense, wrap
    _dense, wrap = cls, wrapper


# -- assignment ---------------------------------------------------------------------------------------------------------------
def _assign(array: NDArray, key: Any, value: Any) -> None:
    target = array._t
    shape = tuple(target.shape)
    if state.recording:
        if hasattr(value, "_t") and value._rec is not None and _whole(key) and value.shape == shape:
            value.copyto(array)  # recorded: the array becomes the value
            return
        array._write_guard(value)
    if target.ndim == 0:
        if not (isinstance(key, tuple) and len(key) == 0) and key != slice(None) and key is not Ellipsis:
            raise IndexError("scalar array can only accept `()` and `:` as index")
        if not isinstance(value, _NUMBERS) and getattr(value, "size", 0) != 1:
            raise ValueError("setting an array element with a sequence.")
        target.copy_(_value_tensor(value, target).reshape(()))
        return
    if target.numel() == 0:
        return
    expanded = expand_key(_plain_indices(key), shape)
    if is_advanced(expanded):
        _assign_advanced(target, expanded, value)
    else:
        _assign_basic(target, _Basic(expanded, shape), expanded, value)


def _whole(key: Any) -> bool:
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


def _value_tensor(value: Any, target: torch.Tensor) -> torch.Tensor:
    """A value to assign, as a tensor of the target's type. Errors: TypeError for what is not array-like."""
    if hasattr(value, "_t"):
        tensor: torch.Tensor = value._t
    elif isinstance(value, np.ndarray):
        tensor = _from_numpy(value)
    else:
        try:
            numbers = np.array([v.asnumpy() if hasattr(v, "asnumpy") else v for v in value] if isinstance(value, (list, tuple)) else value, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{type(target).__name__} does not support assignment with non-array-like object {value} of type {type(value)}") from None
        tensor = torch.from_numpy(np.ascontiguousarray(numbers).reshape(numbers.shape))
    return tensor.to(device=target.device, dtype=target.dtype)


def _from_numpy(value: np.ndarray[Any, Any]) -> torch.Tensor:
    if value.dtype.kind not in "biuf":
        raise TypeError(f"cannot assign a NumPy array of type {value.dtype}")
    return torch.from_numpy(np.array(value, order="C"))


def _fit(value: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """The value broadcast to a shape, surplus leading axes of length 1 dropped."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
    if tuple(value.shape) == shape:
        return value
    try:
        return value.expand(shape)
    except RuntimeError:
        raise ValueError(f"could not broadcast input array from shape {tuple(value.shape)} into shape {shape}") from None


def _assign_basic(target: torch.Tensor, basic: _Basic, key: tuple[Any, ...], value: Any) -> None:
    if isinstance(value, _NUMBERS):
        _store(target, basic, float(value) if not isinstance(value, (bool, np.bool_)) else int(value))
        return
    tensor = _value_tensor(value, target)
    if tensor.data_ptr() == target.data_ptr():
        tensor = tensor.clone()
    kept = tuple(basic.kept) or (1,)
    if any(entry is None for entry in key) and tensor.ndim > len(kept):
        # the value was shaped for the key with its new axes
        tensor = _fit(tensor, tuple(basic.result)).reshape(kept)
    _store(target, basic, _fit(tensor, kept).reshape(basic.block))


def _store(target: torch.Tensor, basic: _Basic, value: Any) -> None:
    if not basic.backwards:
        view = basic.select(target)
        view.fill_(value) if not isinstance(value, torch.Tensor) else view.copy_(value)
        return
    grids = [torch.arange(begin, begin + count * step, step, device=target.device) for begin, count, step in basic.slices]
    index = tuple(torch.meshgrid(*grids, indexing="ij"))
    target[index] = value.contiguous() if isinstance(value, torch.Tensor) else target.new_full((), value)


def _assign_advanced(target: torch.Tensor, key: tuple[Any, ...], value: Any) -> None:
    index = _torch_key(key, tuple(target.shape), target.device)
    plain, index = _positions(target, index)
    places = plain[index]
    tensor = target.new_full((), value) if isinstance(value, _NUMBERS) else _value_tensor(value, target)
    target.view(-1)[places.reshape(-1)] = _fit(tensor, tuple(places.shape)).reshape(-1)


def _positions(target: torch.Tensor, index: tuple[Any, ...]) -> tuple[torch.Tensor, tuple[Any, ...]]:
    flat = torch.arange(target.numel(), device=target.device).view(target.shape)
    return _flipped(flat, index)


# -- helpers that other code imports from mxnet.ndarray -----------------------------------------------------------------------
def indexing_key_expand_implicit_axes(key: Any, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], int]:
    """(the key with one entry an axis, -1): MXNet's name of `expand_key`; -1 says that there is no zero-dimensional mask."""
    return expand_key(key, shape), -1


def get_indexing_dispatch_code(key: tuple[Any, ...]) -> int:
    """0 for a basic key, 1 for one with array indices. Errors: ValueError for entries that are no index."""
    assert isinstance(key, tuple)
    return int(is_advanced(key))


def get_oshape_of_gather_nd_op(dshape: tuple[int, ...], ishape: tuple[int, ...]) -> tuple[int, ...]:
    """The output shape of gather_nd for data and index shapes."""
    assert len(dshape) > 0 and len(ishape) > 0
    return (*ishape[1:], *dshape[ishape[0] :])
