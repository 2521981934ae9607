"""Recurrent cells: the plain ones, stacks of cells, modifiers and the bidirectional cell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import symbol
from ...base import numeric_types
from ..parameter import tensor_types
from ..utils import _indent
from ._cells import (
    MODIFIED,
    GRUCell,
    HybridRecurrentCell,
    LSTMCell,
    RecurrentCell,
    RNNCell,
)
from ._sequence import begin_states as _get_begin_state
from ._sequence import format_sequence as _format_sequence
from ._sequence import mask_sequence as _mask_sequence_variable_length
from ._sequence import reverse_sequences as _reverse_sequences

__all__ = [
    "BidirectionalCell", "DropoutCell", "GRUCell", "HybridRecurrentCell", "HybridSequentialRNNCell", "LSTMCell", "ModifierCell", "RNNCell",
    "RecurrentCell", "ResidualCell", "SequentialRNNCell", "ZoneoutCell",
]  # fmt: skip


def _cells_state_info(cells: Iterable[Any], batch_size: int) -> list[Any]:
    return [info for cell in cells for info in cell.state_info(batch_size)]


def _cells_begin_state(cells: Iterable[Any], **kwargs: Any) -> list[Any]:
    return [state for cell in cells for state in cell.begin_state(**kwargs)]


def _shares(cells: Iterable[Any], states: Any) -> Iterable[tuple[Any, Any]]:
    """Each cell with its part of the states."""
    begin = 0
    for cell in cells:
        end = begin + len(cell.state_info())
        yield cell, states[begin:end]
        begin = end


class _Stack:
    """What stacks of cells do, hybrid or not: each cell's output is the next one's input, the states stand one after the other."""

    _children: Any
    _counter: int
    _modified: bool

    def __repr__(self) -> str:
        rows = [f"({key}): {_indent(repr(cell), 2)}" for key, cell in self._children.items()]
        return f"{type(self).__name__}(\n" + "\n".join(rows) + "\n)"

    def add(self, cell: Any) -> None:
        """Appends a cell."""
        self.register_child(cell)  # type: ignore[attr-defined]

    def state_info(self, batch_size: int = 0) -> list[Any]:
        """The states of all cells."""
        return _cells_state_info(self._children.values(), batch_size)

    def begin_state(self, **kwargs: Any) -> list[Any]:
        """The first states of all cells."""
        assert not self._modified, MODIFIED
        return _cells_begin_state(self._children.values(), **kwargs)

    def __call__(self, inputs: Any, states: Any) -> Any:
        self._counter += 1
        assert not any(isinstance(cell, BidirectionalCell) for cell in self._children.values()), "a BidirectionalCell cannot be stepped: use unroll"
        new: list[Any] = []
        for cell, own in _shares(self._children.values(), states):
            inputs, after = cell(inputs, own)
            new += after
        return inputs, new

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None, valid_length: Any = None
    ) -> tuple[Any, Any]:
        """Unrolls one cell after the other; see RecurrentCell.unroll."""
        self.reset()  # type: ignore[attr-defined]
        inputs, _, F, batch_size = _format_sequence(length, inputs, layout, None)
        states = _get_begin_state(self, F, begin_state, inputs, batch_size)
        new: list[Any] = []
        last = len(self._children) - 1
        for i, (cell, own) in enumerate(_shares(self._children.values(), states)):
            merge = merge_outputs if i == last else None
            inputs, after = cell.unroll(length, inputs=inputs, begin_state=own, layout=layout, merge_outputs=merge, valid_length=valid_length)
            new.extend(after)
        return inputs, new

    def __getitem__(self, i: int) -> Any:
        return self._children[str(i)]

    def __len__(self) -> int:
        return len(self._children)


class SequentialRNNCell(_Stack, RecurrentCell):
    """Cells one above the other."""

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell):
    """Hybrid cells one above the other."""

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        return self(inputs, states)


class DropoutCell(HybridRecurrentCell):
    """Dropout of the inputs; no states."""

    def __init__(self, rate: float, axes: Any = (), prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix, params)
        assert isinstance(rate, numeric_types), f"rate must be a number, not {type(rate)}"
        self._rate, self._axes = rate, axes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[Any]:
        """None."""
        return []

    def _alias(self) -> str:
        return "dropout"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        if self._rate > 0:
            inputs = F.Dropout(data=inputs, p=self._rate, axes=self._axes, name=f"t{self._counter}_fwd")
        return inputs, states

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None, valid_length: Any = None
    ) -> tuple[Any, Any]:
        """All steps at once where they are one array; see RecurrentCell.unroll."""
        self.reset()
        inputs, _, F, _ = _format_sequence(length, inputs, layout, merge_outputs)
        if isinstance(inputs, tensor_types):
            return self.hybrid_forward(F, inputs, begin_state or [])  # type: ignore[no-any-return]
        return super().unroll(length, inputs, begin_state=begin_state, layout=layout, merge_outputs=merge_outputs, valid_length=None)


class ModifierCell(HybridRecurrentCell):
    """Base of cells that change another cell's outputs or states; parameters and states are the other cell's."""

    def __init__(self, base_cell: Any) -> None:
        assert not base_cell._modified, f"Cell {base_cell.name} is already modified. One cell cannot be modified twice"
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> Any:
        """The base cell's parameters."""
        return self.base_cell.params

    def state_info(self, batch_size: int = 0) -> list[Any]:
        """The base cell's states."""
        return self.base_cell.state_info(batch_size)  # type: ignore[no-any-return]

    def begin_state(self, func: Any = symbol.zeros, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """The base cell's first states."""
        assert not self._modified, MODIFIED
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=func, **kwargs)  # type: ignore[no-any-return]
        finally:
            self.base_cell._modified = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"


class ZoneoutCell(ModifierCell):
    """Keeps elements of the previous output and states with given probabilities, in training."""

    def __init__(self, base_cell: Any, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        parts = base_cell._children.values() if isinstance(base_cell, _Stack) else [base_cell]
        assert not any(isinstance(cell, BidirectionalCell) for cell in parts), "a BidirectionalCell cannot be stepped: put ZoneoutCell on the cells in it"
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states
        self._prev_output: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out={self.zoneout_outputs}, p_state={self.zoneout_states}, {self.base_cell})"

    def _alias(self) -> str:
        return "zoneout"

    def reset(self) -> None:
        """Forgets the previous output."""
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        output, new = self.base_cell(inputs, states)

        def mixed(p: float, now: Any, before: Any) -> Any:
            return F.where(F.Dropout(F.ones_like(now), p=p), now, before)

        if self.zoneout_outputs != 0.0:
            output = mixed(self.zoneout_outputs, output, F.zeros_like(output) if self._prev_output is None else self._prev_output)
        if self.zoneout_states != 0.0:
            new = [mixed(self.zoneout_states, now, before) for now, before in zip(new, states, strict=True)]
        self._prev_output = output
        return output, new


class ResidualCell(ModifierCell):
    """Adds the inputs to the base cell's output."""

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None, valid_length: Any = None
    ) -> tuple[Any, Any]:
        """Unrolls the base cell and adds the inputs; see RecurrentCell.unroll."""
        self.reset()
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        finally:
            self.base_cell._modified = True
        merge = isinstance(outputs, tensor_types) if merge_outputs is None else merge_outputs
        inputs, axis, F, _ = _format_sequence(length, inputs, layout, merge)
        if valid_length is not None:
            inputs = _mask_sequence_variable_length(F, inputs, length, valid_length, axis, merge)
        if merge:
            return F.elemwise_add(outputs, inputs), states
        return [F.elemwise_add(output, step) for output, step in zip(outputs, inputs, strict=True)], states


class BidirectionalCell(HybridRecurrentCell):
    """Two cells over the sequence, one from each end; their outputs are put together. Only `unroll` works."""

    def __init__(self, l_cell: Any, r_cell: Any, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs: Any, states: Any) -> Any:
        raise NotImplementedError("Bidirectional cannot be stepped. Please use unroll")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(forward={self._children['l_cell']}, backward={self._children['r_cell']})"

    def state_info(self, batch_size: int = 0) -> list[Any]:
        """The states of both cells."""
        return _cells_state_info(self._children.values(), batch_size)

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """The first states of both cells."""
        assert not self._modified, MODIFIED
        return _cells_begin_state(self._children.values(), **kwargs)

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None, valid_length: Any = None
    ) -> tuple[Any, Any]:
        """Runs both cells over the sequence; see RecurrentCell.unroll."""
        self.reset()
        steps, axis, F, batch_size = _format_sequence(length, inputs, layout, False)
        states = _get_begin_state(self, F, begin_state, steps, batch_size)
        (left, left_states), (right, right_states) = _shares(self._children.values(), states)
        backwards = _reverse_sequences(steps, length, valid_length)
        l_out, l_after = left.unroll(length, steps, left_states, layout, merge_outputs, valid_length)
        r_out, r_after = right.unroll(length, backwards, right_states, layout, False, valid_length)
        r_out = _reverse_sequences(r_out, length, valid_length)
        merge = isinstance(l_out, tensor_types) if merge_outputs is None else merge_outputs
        if merge:
            l_out = _format_sequence(None, l_out, layout, True)[0]
            r_out = _format_sequence(None, r_out, layout, True)[0]
            outputs: Any = F.concat(l_out, r_out, dim=2, name=f"{self._output_prefix}out")
        else:
            l_out = _format_sequence(length, l_out, layout, False)[0]
            pairs = enumerate(zip(l_out, r_out, strict=True))
            outputs = [F.concat(a, b, dim=1, name=f"{self._output_prefix}t{i}") for i, (a, b) in pairs]
        if valid_length is not None:
            outputs = _mask_sequence_variable_length(F, outputs, length, valid_length, axis, merge)
        return outputs, l_after + r_after
