"""Variational dropout, LSTM with projection, unrolling as a loop of the graph."""

from __future__ import annotations

from typing import Any

from ...parameter import tensor_types
from ...rnn._cells import HybridRecurrentCell
from ...rnn._sequence import begin_states, format_sequence, mask_sequence
from ...rnn.rnn_cell import BidirectionalCell, ModifierCell, _Stack

__all__ = ["LSTMPCell", "VariationalDropoutCell"]


class VariationalDropoutCell(ModifierCell):
    """Dropout of inputs, the first state and outputs of a cell with masks that stay the same over the steps."""

    def __init__(self, base_cell: Any, drop_inputs: float = 0.0, drop_states: float = 0.0, drop_outputs: float = 0.0) -> None:
        parts = list(base_cell._children.values()) if isinstance(base_cell, _Stack) else [base_cell]
        assert not drop_states or not any(isinstance(cell, BidirectionalCell) for cell in parts), (
            "BidirectionalCell doesn't support variational state dropout: put VariationalDropoutCell on the cells in it"
        )
        super().__init__(base_cell)
        self.drop_inputs, self.drop_states, self.drop_outputs = drop_inputs, drop_states, drop_outputs
        self.drop_inputs_mask = self.drop_states_mask = self.drop_outputs_mask = None

    def _alias(self) -> str:
        return "vardrop"

    def reset(self) -> None:
        """Draws new masks from now on."""
        super().reset()
        self.drop_inputs_mask = self.drop_states_mask = self.drop_outputs_mask = None

    def _masked(self, F: Any, which: str, value: Any) -> Any:
        """A value times its mask, drawn at the first step."""
        rate = getattr(self, which)
        if not rate:
            return value
        mask = getattr(self, f"{which}_mask")
        if mask is None:
            mask = F.Dropout(F.ones_like(value), p=rate)
            setattr(self, f"{which}_mask", mask)
        return value * mask

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        if self.drop_states:
            states = [self._masked(F, "drop_states", states[0]), *states[1:]]
        output, new = self.base_cell(self._masked(F, "drop_inputs", inputs), states)
        return self._masked(F, "drop_outputs", output), new

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None, valid_length: Any = None
    ) -> tuple[Any, Any]:
        """Masks whole sequences where states are not dropped; see RecurrentCell.unroll."""
        if self.drop_states:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        inputs, axis, F, batch_size = format_sequence(length, inputs, layout, True)
        states = begin_states(self, F, begin_state, inputs, batch_size)
        if self.drop_inputs:
            inputs = F.Dropout(inputs, p=self.drop_inputs, axes=(axis,))
        outputs, states = self.base_cell.unroll(length, inputs, states, layout, merge_outputs=True, valid_length=valid_length)
        if self.drop_outputs:
            outputs = F.Dropout(outputs, p=self.drop_outputs, axes=(axis,))
        merge = isinstance(outputs, tensor_types) if merge_outputs is None else merge_outputs
        outputs = format_sequence(length, outputs, layout, merge)[0]
        if valid_length is not None:
            outputs = mask_sequence(F, outputs, length, valid_length, axis, merge)
        return outputs, states


class LSTMPCell(HybridRecurrentCell):
    """LSTM of which the output is projected to projection_size."""

    def __init__(
        self, hidden_size: int, projection_size: int, i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
        h2r_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros", input_size: int = 0,
        prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._hidden_size, self._input_size, self._projection_size = hidden_size, input_size, projection_size
        for name, shape, init in (
            ("i2h_weight", (4 * hidden_size, input_size), i2h_weight_initializer),
            ("h2h_weight", (4 * hidden_size, projection_size), h2h_weight_initializer),
            ("h2r_weight", (projection_size, hidden_size), h2r_weight_initializer),
            ("i2h_bias", (4 * hidden_size,), i2h_bias_initializer),
            ("h2h_bias", (4 * hidden_size,), h2h_bias_initializer),
        ):
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def state_info(self, batch_size: int = 0) -> list[Any]:
        """The projected output and the memory."""
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in (self._projection_size, self._hidden_size)]

    def _alias(self) -> str:
        return "lstmp"

    def __repr__(self) -> str:
        rows, columns = self.i2h_weight.shape  # type: ignore[attr-defined]
        return f"{type(self).__name__}({columns or None} -> {rows} -> {self._projection_size})"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **p: Any) -> Any:
        lead, rows = f"t{self._counter}_", 4 * self._hidden_size
        i2h = F.FullyConnected(inputs, p["i2h_weight"], p["i2h_bias"], num_hidden=rows, name=f"{lead}i2h")
        h2h = F.FullyConnected(states[0], p["h2h_weight"], p["h2h_bias"], num_hidden=rows, name=f"{lead}h2h")
        gates = F.SliceChannel(i2h + h2h, num_outputs=4, name=f"{lead}slice")
        kinds = (("sigmoid", "i"), ("sigmoid", "f"), ("tanh", "c"), ("sigmoid", "o"))
        into, keep, new, out = (F.Activation(gates[k], act_type=act, name=lead + letter) for k, (act, letter) in enumerate(kinds))
        memory = F.elemwise_add(keep * states[1], into * new, name=f"{lead}state")
        hidden = F.elemwise_mul(out, F.Activation(memory, act_type="tanh"), name=f"{lead}hidden")
        output = F.FullyConnected(hidden, p["h2r_weight"], num_hidden=self._projection_size, no_bias=True, name=f"{lead}out")
        return output, [output, memory]


def dynamic_unroll(
    cell: Any, inputs: Any, begin_state: Any, drop_inputs: float = 0, drop_outputs: float = 0, layout: str = "TNC", valid_length: Any = None
) -> tuple[Any, Any]:
    """(outputs, states): unrolls a cell with `foreach`, for sequences of any length.

    valid_length: of each sample; states stay as they were after it, outputs are 0.
    """
    inputs, axis, F, _ = format_sequence(0, inputs, layout, True)
    if axis != 0:
        inputs = F.swapaxes(inputs, 0, axis)
    states = begin_state if isinstance(begin_state, (list, tuple)) else [begin_state]
    if drop_inputs:
        inputs = F.Dropout(inputs, p=drop_inputs, axes=(axis,))
    if valid_length is None:
        outputs, after = F.contrib.foreach(cell, inputs, begin_state)
    else:

        def step(x: Any, carried: Any) -> Any:
            *before, count = carried
            output, new = cell(x, before)
            running = F.broadcast_greater(valid_length, count)
            return output, [*(F.where(running, now, old) for now, old in zip(new, before, strict=True)), count + 1]

        outputs, carried = F.contrib.foreach(step, inputs, [*states, F.zeros(1)])
        after = carried[:-1]
    if drop_outputs:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(axis,))
    if axis != 0:
        outputs = F.swapaxes(outputs, 0, axis)
    if valid_length is not None:
        outputs = F.SequenceMask(outputs, sequence_length=valid_length, use_sequence_length=True, axis=axis)
    return outputs, after
