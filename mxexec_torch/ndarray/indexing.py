"""Reading and writing NDArrays by index.

Basic keys (ints, slices, None, ...) give a view where the selected block is contiguous in memory and a copy otherwise; keys with lists or
arrays select as NumPy does, always a copy. Masks count as the integers 0 and 1. An index that selects one element gives shape (1,).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..errors import MXNetError
from ..semantics import is_np_shape
from .slots import Slots
from .tape import IN_GRAPH, IN_PLACE, Record, guard_write, state

if TYPE_CHECKING:
    from .core import NDArray

__all__ = ["Indexing", "expand_key", "get_indexing_dispatch_code", "get_oshape_of_gather_nd_op", "indexing_key_expand_implicit_axes"]

_INTS = (int, np.integer)
_ARRAYS = (np.ndarray, list, tuple, range)
_NUMBERS = (float, int, np.generic)


# Set by `bind` (invoke does, which needs the class that needs this module).
_dense: type[Any] = object
_record: Any = None
_new: Any = object.__new__


def bind(cls: type, record: Any) -> None:
    """Names the dense array class and the function that records a function of tensors."""
    global _dense, _record
    _dense, _record = cls, record


def _leading(tensor: torch.Tensor, key: Any) -> torch.Tensor | None:
    """The view that an int or a slice of step 1 selects along the first axis; None for other keys. Errors: IndexError out of bounds."""
    if key.__class__ is int:
        try:
            view = tensor.select(0, key)
        except IndexError:
            raise IndexError(f"index {key} is out of bounds for axis 0 with size {tensor.shape[0]}") from None
        return view if tensor.ndim > 1 or is_np_shape() else view.view(1)
    if key.__class__ is slice and (key.step is None or key.step == 1):
        size = tensor.shape[0]
        begin, stop, _ = key.indices(size)
        return tensor.narrow(0, begin, max(stop - begin, 0)) if stop - begin != size else None
    return None


def _block(tensor: torch.Tensor, key: Any) -> torch.Tensor | None:
    """torch's view of what a tuple of ints and rising slices selects; None for other keys and for ints out of bounds."""
    if key.__class__ is not tuple or not key or len(key) > tensor.ndim:
        return None
    for entry in key:
        if entry.__class__ is slice:
            if not (entry.step is None or (entry.step.__class__ is int and entry.step > 0)):
                return None
        elif entry.__class__ is not int:
            return None
    try:
        return tensor[key]
    except (IndexError, TypeError):
        return None


def _whole_slice(key: Any) -> bool:
    return isinstance(key, slice) and key == slice(None)


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
                    tensor = tensor.narrow(axis, begin, count)
            elif step > 0:
                tensor = tensor[(slice(None),) * axis + (slice(begin, begin + (count - 1) * step + 1, step),)]
            else:
                tensor = tensor.index_select(axis, torch.arange(begin, begin + count * step, step, device=tensor.device))
        return tensor

    def attributes(self) -> dict[str, tuple[int | None, ...]]:
        """begin, end and step as the operator `slice` takes them."""
        ends = tuple(None if b + n * s < 0 else b + n * s for b, n, s in self.slices)
        return {"begin": tuple(b for b, _, _ in self.slices), "end": ends, "step": tuple(s for _, _, s in self.slices)}

    @property
    def backwards(self) -> bool:
        """Whether several elements are taken with a negative step."""
        return any(step < 0 for _, _, step in self.slices)


def _span(entry: slice, size: int) -> tuple[int, int, int]:
    """Begin, number of elements and step of a slice; the step of at most one element counts as 1. Errors: ValueError for step 0."""
    if entry.step == 0:
        raise ValueError("slice step cannot be zero")
    begin, stop, step = entry.indices(size)
    count = max(0, -(-(stop - begin) // step) if step > 0 else -(-(begin - stop) // -step))
    return (begin if count else 0), count, (step if count > 1 else 1)


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


class _Advanced:
    """An advanced key for one shape: ints and arrays as index tensors, and where new axes end up."""

    def __init__(self, key: tuple[Any, ...], shape: tuple[int, ...], device: torch.device) -> None:
        self.index: list[Any] = []
        arrays, at = [], []  # the index arrays and their positions in the key
        for position, entry in enumerate(key):
            if entry is None:
                continue
            axis = len(self.index)
            if isinstance(entry, slice):
                self.index.append(entry)
                continue
            if isinstance(entry, _INTS):
                _check_int(int(entry), axis, shape[axis])
                array = torch.tensor([int(entry) % shape[axis]], device=device)
            else:
                array = _index_tensor(entry, shape[axis], device, axis)
            arrays.append(array)
            at.append(position)
            self.index.append(array)
        block = _common_shape([tuple(a.shape) for a in arrays])
        if 0 in block and not is_np_shape():
            raise MXNetError("an empty index array selects nothing: its shape is unknown without np_shape")
        adjacent = at == list(range(at[0], at[0] + len(at)))
        first = next(i for i, entry in enumerate(self.index) if not isinstance(entry, slice))
        together = all(not isinstance(entry, slice) for entry in self.index[first : first + len(arrays)])
        # the block of index arrays leads the result where the key separates them; torch does not see a separating new axis
        self._to_front = list(range(first, first + len(block))) if together and not adjacent and first else []
        # MXNet counts the result's axes before a new one without those of the block
        steps = [0 if adjacent else len(block)]
        for position in range(len(key)):
            steps.append(steps[-1] + (0 if position in at else 1))
        self.new_axes = [steps[position] for position, entry in enumerate(key) if entry is None]

    def take(self, tensor: torch.Tensor) -> torch.Tensor:
        """The selected elements, without new axes."""
        tensor, index = _flipped(tensor, tuple(self.index))
        result = tensor[index]
        return result.movedim(self._to_front, list(range(len(self._to_front)))) if self._to_front else result

    def select(self, tensor: torch.Tensor) -> torch.Tensor:
        """The selected elements."""
        result = self.take(tensor)
        for axis in self.new_axes:
            result = result.unsqueeze(min(axis, result.ndim))
        return result


def _common_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    common: tuple[int, ...] = ()
    for shape in shapes:
        try:
            common = tuple(torch.broadcast_shapes(common, shape))
        except RuntimeError:
            raise ValueError(f"shape1={common} is not broadcastable to shape2={shape}") from None
    return common


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


class Indexing(Slots):
    """`x[key]` and `x[key] = value`."""

    __slots__ = ()

    @staticmethod
    def _basic_indexing_slice_is_contiguous(slc_key: tuple[slice, ...], shape: tuple[int, ...]) -> bool:
        """Whether slices select a block that is contiguous in memory, so that indexing gives a view."""
        basic = _Basic(tuple(slc_key), tuple(shape))
        return basic.contiguous(tuple(shape)) and not basic.backwards

    def __getitem__(self, key: Any) -> Any:
        tensor = self._t
        if not state.recording and self.__class__ is _dense and tensor.ndim > 0:
            view = _leading(tensor, key)
            if view is None and (block := _block(tensor, key)) is not None:
                view = block if block.is_contiguous() else block.clone(memory_format=torch.contiguous_format)
                if view.ndim == 0 and not is_np_shape():
                    view = view.view(1)
            if view is not None:
                result = _new(_dense)
                result._t, result._ctx, result._ag, result._rec, result._x = view, self._ctx, None, None, None
                return result
        shape = tuple(tensor.shape)
        if (tensor.ndim == 0 and (key == () or key == slice(None))) or (isinstance(key, tuple) and len(key) == 0) or _whole_slice(key):
            return self
        expanded = expand_key(_plain_indices(key), shape)
        if is_advanced(expanded):
            advanced = _Advanced(expanded, shape, tensor.device)
            return _record("gather_nd", {}, advanced.select, [self])
        basic = _Basic(expanded, shape)
        values = basic.select(tensor).view(basic.result) if basic.contiguous(shape) and not basic.backwards else None
        result = _record("slice", basic.attributes(), lambda t: basic.select(t).reshape(basic.result), [self], values)
        if result._rec is not None and basic.result != basic.block:
            result._rec = Record("Reshape", {"shape": tuple(basic.result)}, (result._rec,))
        return result

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


# -- assignment ---------------------------------------------------------------------------------------------------------------
def _assign(array: NDArray, key: Any, value: Any) -> None:
    target = array._t
    if not state.recording and target.ndim > 0 and array.__class__ is _dense:
        view = target if key is Ellipsis or _whole_slice(key) else _leading(target, key)
        if view is None:
            view = _block(target, key)
        if view is not None and _assign_view(view, value):
            return
    shape = tuple(target.shape)
    if state.recording:
        if hasattr(value, "_t") and value._rec is not None and _whole(key) and value.shape == shape:
            value.copyto(array)  # recorded: the array becomes the value
            return
        if array._rec is not None and not array._rec.freed:
            raise MXNetError(IN_GRAPH if _whole(key) else IN_PLACE)
        guard_write(array, value)
    if target.ndim == 0:
        if not (isinstance(key, tuple) and len(key) == 0) and key != slice(None) and key is not Ellipsis:
            raise IndexError("scalar array can only accept `()` and `:` as index")
        if not isinstance(value, _NUMBERS) and getattr(value, "size", 0) != 1:
            raise ValueError("setting an array element with a sequence.")
        target.copy_(_value_tensor(value, target).reshape(()))
        return
    if target.numel() == 0:
        return
    expanded = expand_key(_without_true(key), shape)
    if is_advanced(expanded):
        _assign_advanced(target, expanded, value)
    else:
        _assign_basic(target, _Basic(expanded, shape), expanded, value)


def _assign_view(view: torch.Tensor, value: Any) -> bool:
    """Writes numbers and dense arrays of the view's shape; False for values that need more care."""
    if (value.__class__ is float or value.__class__ is int) and view.is_floating_point():
        view.fill_(value)
        return True
    if value.__class__ is _dense and value._t.shape == view.shape and view.numel():
        view.copy_(value._t)
        return True
    return False


def _whole(key: Any) -> bool:
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


def _value_tensor(value: Any, target: torch.Tensor) -> torch.Tensor:
    """A value to assign, as a tensor of the target's type. Errors: TypeError for what is not array-like."""
    if hasattr(value, "_t"):
        if value.stype != "default":
            raise TypeError(f"a {value.stype} array cannot be assigned to a part of a dense one: use copyto, or tostype('default')")
        tensor: torch.Tensor = value._t
    elif isinstance(value, np.ndarray):
        tensor = _from_numpy(value)
    else:
        try:
            plain = [v.asnumpy() if hasattr(v, "asnumpy") else v for v in value] if isinstance(value, (list, tuple)) else value
            numbers = np.array(plain, dtype=np.float64)
        except (TypeError, ValueError):
            raise _no_array(value) from None
        tensor = torch.from_numpy(np.ascontiguousarray(numbers).reshape(numbers.shape))
    return tensor.to(device=target.device, dtype=target.dtype)


def _no_array(value: Any) -> TypeError:
    return TypeError(f"{_dense} does not support assignment with non-array-like object {value} of type {type(value)}")


def _from_numpy(value: np.ndarray[Any, Any]) -> torch.Tensor:
    if value.dtype.kind not in "biuf":  # NumPy converts complex numbers, texts and objects as far as it can, as in MXNet
        try:
            value = value.astype(np.float64)
        except (TypeError, ValueError):
            raise _no_array(value) from None
    return torch.from_numpy(np.array(value, order="C"))


def _without_true(key: Any) -> Any:
    """The key of an assignment: True selects everything, as in NumPy. Errors: IndexError for False, which MXNet takes for True."""
    entries = key if isinstance(key, tuple) else (key,)
    if any(entry is False for entry in entries):
        raise IndexError("False as index of an assignment selects nothing")
    return _plain_indices(tuple(entry for entry in entries if entry is not True))


def _fit(value: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """The value broadcast to a shape, surplus leading axes of length 1 dropped."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
    if tuple(value.shape) == shape:
        return value
    try:
        return value.expand(shape)
    except RuntimeError:
        text = "operands could not be broadcast together with remapped shapes[original->remapped]:"
        raise ValueError(f"{text} {tuple(value.shape)} and requested shape {shape}") from None


def _assign_basic(target: torch.Tensor, basic: _Basic, key: tuple[Any, ...], value: Any) -> None:
    if isinstance(value, _NUMBERS):
        _store(target, basic, _number(value, target))
        return
    tensor = _value_tensor(value, target)
    if 0 in basic.block:
        if tensor.numel() == 0:
            return
        raise MXNetError(f"nothing is selected of an array of shape {tuple(target.shape)}: only an empty array can be assigned to that")
    if tensor.data_ptr() == target.data_ptr():
        tensor = tensor.clone()
    kept = tuple(basic.kept) or (1,)
    if any(entry is None for entry in key) and tensor.ndim > len(kept):
        # the value was shaped for the key with its new axes
        tensor = _fit(tensor, tuple(basic.result)).reshape(kept)
    _store(target, basic, _fit(tensor, kept).reshape(basic.block))


def _store(target: torch.Tensor, basic: _Basic, value: torch.Tensor) -> None:
    if not basic.backwards:
        basic.select(target).copy_(value)
        return
    grids = [torch.arange(begin, begin + count * step, step, device=target.device) for begin, count, step in basic.slices]
    index = tuple(torch.meshgrid(*grids, indexing="ij"))
    target[index] = value


def _assign_advanced(target: torch.Tensor, key: tuple[Any, ...], value: Any) -> None:
    advanced = _Advanced(key, tuple(target.shape), target.device)
    places = advanced.take(torch.arange(target.numel(), device=target.device).view(target.shape))
    if isinstance(value, _NUMBERS):
        target.view(-1)[places.reshape(-1)] = _number(value, target)
        return
    tensor = _value_tensor(value, target)
    if advanced.new_axes and tensor.ndim > places.ndim:
        tensor = tensor.squeeze([axis for axis in advanced.new_axes if axis < tensor.ndim])
    target.view(-1)[places.reshape(-1)] = _fit(tensor, tuple(places.shape)).reshape(-1)


def _number(value: Any, target: torch.Tensor) -> torch.Tensor:
    """A number in the target's type: cut and wrapped for integers, as C does."""
    if target.is_floating_point() or target.dtype is torch.bool:
        return target.new_full((), float(value))
    number = float(value)
    whole = torch.tensor(int(value) if math.isfinite(number) and abs(number) < 2**63 else 0, dtype=torch.int64, device=target.device)
    return whole.to(target.dtype)


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
