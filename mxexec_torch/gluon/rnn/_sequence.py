"""Sequences as one array or as a list of steps, for unrolling cells."""

from __future__ import annotations

from typing import Any

from ... import ndarray, symbol
from ..parameter import tensor_types

__all__ = ["begin_states", "format_sequence", "mask_sequence", "reverse_sequences"]


def _as_list(value: Any) -> list[Any]:
    return [value] if isinstance(value, ndarray.NDArray) else list(value)


def format_sequence(length: int | None, inputs: Any, layout: str, merge: bool | None, in_layout: str | None = None) -> tuple[Any, int, Any, int]:
    """(inputs as one array or a list, time axis, F, batch size). merge: True one array, False a list, None as they come.

    The batch size is 0 for symbols. Errors: AssertionError for another length or a grouped symbol.
    """
    assert inputs is not None, "unroll needs inputs"
    axis = layout.find("T")
    in_axis = axis if in_layout is None else in_layout.find("T")
    first = inputs if isinstance(inputs, tensor_types) else inputs[0]
    F: Any = symbol if isinstance(first, symbol.Symbol) else ndarray
    batch_size = 0
    if isinstance(inputs, tensor_types):
        if F is ndarray:
            batch_size = inputs.shape[layout.find("N")]
        if merge is False:
            if F is symbol:
                assert len(inputs._entries) == 1, "unroll doesn't allow grouped symbol as input: give it list(inputs), or let unroll split it"
                steps = length
            else:
                steps = inputs.shape[in_axis]
                assert length is None or length == steps, f"the inputs have {steps} steps, not {length}"
            inputs = _as_list(F.split(inputs, axis=in_axis, num_outputs=steps, squeeze_axis=1))
    else:
        assert length is None or len(inputs) == length, f"{len(inputs)} inputs for {length} steps"
        if F is ndarray:
            batch_size = first.shape[0]
        if merge is True:
            inputs, in_axis = F.stack(*inputs, axis=axis), axis
    if isinstance(inputs, tensor_types) and axis != in_axis:
        inputs = F.swapaxes(inputs, dim1=axis, dim2=in_axis)
    return inputs, axis, F, batch_size


def begin_states(cell: Any, F: Any, given: Any, inputs: Any, batch_size: int) -> Any:
    """The states given, or the cell's zeros on the inputs' context."""
    if given is not None:
        return given
    if F is not ndarray:
        return cell.begin_state(func=F.zeros, batch_size=batch_size)
    with (inputs if isinstance(inputs, tensor_types) else inputs[0]).context:
        return cell.begin_state(func=F.zeros, batch_size=batch_size)


def mask_sequence(F: Any, data: Any, length: int, valid_length: Any, time_axis: int, merge: Any) -> Any:
    """Steps beyond each sample's length set to 0; one array, or a list unless `merge`."""
    whole = data if isinstance(data, tensor_types) else F.stack(*data, axis=time_axis)
    masked = F.SequenceMask(whole, sequence_length=valid_length, use_sequence_length=True, axis=time_axis)
    return masked if merge else _as_list(F.split(masked, num_outputs=length, axis=time_axis, squeeze_axis=True))


def reverse_sequences(sequences: Any, unroll_step: int, valid_length: Any = None) -> list[Any]:
    """The steps in reverse order, each sample within its own length."""
    if valid_length is None:
        return list(reversed(sequences))
    F: Any = symbol if isinstance(sequences[0], symbol.Symbol) else ndarray
    reversed_ = F.SequenceReverse(F.stack(*sequences, axis=0), sequence_length=valid_length, use_sequence_length=True)
    if unroll_step > 1 or F is symbol:
        return list(F.split(reversed_, axis=0, num_outputs=unroll_step, squeeze_axis=True))
    return [reversed_[0]]
