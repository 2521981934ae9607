"""Operators on padded batches of sequences."""

from __future__ import annotations

import torch

from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes
from ..registry import Attrs, Tensor, op
from ..values import Bool, Float, Int

__all__: list[str] = []

_LENGTHS = {"sequence_length": lambda a: a.use_sequence_length}


def _batch(a: Attrs, s: Shapes) -> tuple[int, ...] | None:
    """Data's shape after the common checks; the lengths get the batch's size."""
    data: tuple[int, ...] | None = s.get("data")
    if data is None:
        return None
    if len(data) < 2:
        raise s.fail(f"The data array must be of rank 2 or greater, got shape {list(data)}")
    if a.axis not in (0, 1):
        raise s.fail(f"Current implementation expects axis to be 0 or 1, got {a.axis}")
    s.unify("sequence_length", (data[1 - a.axis],))
    return data


def _same_shape(a: Attrs, s: Shapes) -> None:
    data = _batch(a, s)
    if data is not None:
        s.unify_out(data)


def _reverse_shape(a: Attrs, s: Shapes) -> None:
    if a.axis != 0:
        raise s.fail(f"Current implementation expects axis to be 0, got {a.axis}")
    _same_shape(a, s)


def _last_shape(a: Attrs, s: Shapes) -> None:
    data = _batch(a, s)
    if data is not None:
        s.unify_out((data[1 - a.axis], *data[2:]))


def _dtype(a: Attrs, t: Dtypes) -> None:
    data = t.get("data")
    if data is None:
        return
    t.unify_out(data)
    if t.get("sequence_length") is None:
        t.unify("sequence_length", data)


def _check_lengths(data: Tensor, lengths: Tensor | None, axis: int) -> None:
    if data.ndim < 2 or axis not in (0, 1):
        raise MXNetError(f"sequence operators need data of rank 2 or greater and axis 0 or 1, got shape {list(data.shape)} and axis {axis}")
    if lengths is not None and tuple(lengths.shape) != (data.shape[1 - axis],):
        raise MXNetError(f"Shape inconsistent, Provided = {list(lengths.shape)}, inferred shape=({data.shape[1 - axis]},) (input 'sequence_length')")


@op("SequenceMask", aliases=("_npx_sequence_mask",), present=_LENGTHS, untouched_grads=("sequence_length",), shape=_same_shape, dtype=_dtype)
def sequence_mask(
    data: Tensor, sequence_length: Tensor | None = None, /, *, use_sequence_length: Bool = False, value: Float = 0.0, axis: Int = 0
) -> Tensor:
    """Replaces elements past each sequence's length by value; the identity without lengths.

    data (t, n, ...) or, with axis 1, (n, t, ...), sequence_length (n,) of any type -> data's shape. Source: src/operator/sequence_mask-inl.h
    """
    _check_lengths(data, sequence_length, axis)
    if sequence_length is None:
        return data
    steps = torch.arange(data.shape[axis], device=data.device).reshape((-1, 1) if axis == 0 else (1, -1))
    lengths = sequence_length.long().reshape((1, -1) if axis == 0 else (-1, 1))
    inside = (steps < lengths).reshape(*data.shape[:2], *(1,) * (data.ndim - 2))
    return torch.where(inside, data, torch.full_like(data, value))


@op("SequenceLast", present=_LENGTHS, untouched_grads=("sequence_length",), shape=_last_shape, dtype=_dtype)
def sequence_last(data: Tensor, sequence_length: Tensor | None = None, /, *, use_sequence_length: Bool = False, axis: Int = 0) -> Tensor:
    """The last element of each sequence.

    data (t, n, ...) or, with axis 1, (n, t, ...), sequence_length (n,) of any type -> (n, ...). Source: src/operator/sequence_last-inl.h
    """
    _check_lengths(data, sequence_length, axis)
    if sequence_length is None:
        return data.select(axis, data.shape[axis] - 1)
    last = (sequence_length.long() - 1).clamp(min=0)
    samples = torch.arange(data.shape[1 - axis], device=data.device)
    return data[last, samples] if axis == 0 else data[samples, last]


@op("SequenceReverse", present=_LENGTHS, untouched_grads=("sequence_length",), shape=_reverse_shape, dtype=_dtype)
def sequence_reverse(data: Tensor, sequence_length: Tensor | None = None, /, *, use_sequence_length: Bool = False, axis: Int = 0) -> Tensor:
    """Reverses the steps of each sequence; padding stays where it is.

    data (t, n, ...), sequence_length (n,) of any type -> data's shape. Source: src/operator/sequence_reverse-inl.h
    """
    _check_lengths(data, sequence_length, axis)
    if axis != 0:
        raise MXNetError(f"Current implementation expects axis to be 0, got {axis}")
    if sequence_length is None:
        return data.flip(0)
    steps = torch.arange(data.shape[0], device=data.device).unsqueeze(1)
    lengths = sequence_length.long().unsqueeze(0)
    source = torch.where(steps < lengths, lengths - 1 - steps, steps.expand(data.shape[0], data.shape[1]))
    return data[source, torch.arange(data.shape[1], device=data.device)]
