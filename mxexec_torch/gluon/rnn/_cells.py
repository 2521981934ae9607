"""The base of recurrent cells and the plain ones: RNN, LSTM and GRU."""

from __future__ import annotations

from typing import Any

from ... import ndarray
from ..block import Block, HybridBlock
from ..nn.activations import LeakyReLU
from ._sequence import begin_states, format_sequence, mask_sequence

__all__ = ["GRUCell", "HybridRecurrentCell", "LSTMCell", "RNNCell", "RecurrentCell"]

MODIFIED = "After applying modifier cells (e.g. ZoneoutCell) the base cell cannot be called directly. Call the modifier cell instead."


class RecurrentCell(Block):
    """One step of a recurrent network: `cell(inputs, states)` gives (output, new states); `unroll` runs several steps."""

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Starts counting steps anew, before unrolling again."""
        self._init_counter = self._counter = -1
        for cell in self._children.values():
            cell.reset()

    def state_info(self, batch_size: int = 0) -> list[Any]:
        """Shape and layout of the states."""
        raise NotImplementedError

    def begin_state(self, batch_size: int = 0, func: Any = None, **kwargs: Any) -> list[Any]:
        """The first states, made by func (zeros). Errors: AssertionError for a cell under a modifier."""
        assert not self._modified, MODIFIED
        make = ndarray.zeros if func is None else func
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            states.append(make(name=f"{self._prefix}begin_state_{self._init_counter}", **{**(info or {}), **kwargs}))
        return states

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None, valid_length: Any = None
    ) -> tuple[Any, Any]:
        """(outputs, states after the last step). inputs: one array in `layout` or a list of steps.

        merge_outputs: one array (True), a list (False), or what is cheaper. valid_length: of each sample; outputs beyond it are 0.
        """
        self.reset()
        steps, axis, F, batch_size = format_sequence(length, inputs, layout, False)
        states = begin_states(self, F, begin_state, steps, batch_size)
        outputs, history = [], []
        for step in range(length):
            output, states = self(steps[step], states)
            outputs.append(output)
            history.append(states)
        found: Any = outputs
        if valid_length is not None:
            last = {"sequence_length": valid_length, "use_sequence_length": True, "axis": 0}
            states = [F.SequenceLast(F.stack(*each, axis=0), **last) for each in zip(*history, strict=True)]
            found = mask_sequence(F, outputs, length, valid_length, axis, True)
        return format_sequence(length, found, layout, merge_outputs)[0], states

    def _get_activation(self, F: Any, inputs: Any, activation: Any, **kwargs: Any) -> Any:
        """An activation by name, as a layer or as a function."""
        if activation in ("tanh", "relu", "sigmoid", "softsign"):
            return getattr(F, activation)(inputs, **kwargs)
        if isinstance(activation, str):
            return F.Activation(inputs, act_type=activation, **kwargs)
        if isinstance(activation, LeakyReLU):
            return F.LeakyReLU(inputs, act_type="leaky", slope=activation._alpha, **kwargs)
        return activation(inputs, **kwargs)

    def forward(self, inputs: Any, states: Any) -> Any:
        """One step."""
        self._counter += 1
        return super().forward(inputs, states)


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A recurrent cell that can be hybridized."""

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """One step with the functions of F."""
        raise NotImplementedError


class _GatedCell(HybridRecurrentCell):
    """A cell of input and state projections to `_gates` times the hidden size. The projections are called i2h and h2h."""

    _gates: int
    _kind: str

    def _project_to(self, hidden_size: int, input_size: int, weights: tuple[Any, Any], biases: tuple[Any, Any]) -> None:
        self._hidden_size, self._input_size = hidden_size, input_size
        rows = self._gates * hidden_size
        for name, columns, init in (("i2h", input_size, weights[0]), ("h2h", hidden_size, weights[1])):
            setattr(self, f"{name}_weight", self.params.get(f"{name}_weight", shape=(rows, columns), init=init, allow_deferred_init=True))
        for name, init in (("i2h", biases[0]), ("h2h", biases[1])):
            setattr(self, f"{name}_bias", self.params.get(f"{name}_bias", shape=(rows,), init=init, allow_deferred_init=True))

    def state_info(self, batch_size: int = 0) -> list[Any]:
        """One state (N, hidden size)."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}]

    def _alias(self) -> str:
        return self._kind

    def __repr__(self) -> str:
        rows, columns = self.i2h_weight.shape  # type: ignore[attr-defined]
        activation = f", {self._activation}" if self._kind == "rnn" else ""  # type: ignore[attr-defined]
        return f"{type(self).__name__}({columns or None} -> {rows}{activation})"

    def _projections(self, F: Any, lead: str, inputs: Any, state: Any, p: dict[str, Any]) -> tuple[Any, Any]:
        size = self._gates * self._hidden_size
        both = (("i2h", inputs), ("h2h", state))
        i2h, h2h = (F.FullyConnected(x, p[f"{n}_weight"], p[f"{n}_bias"], num_hidden=size, name=f"{lead}{n}") for n, x in both)
        return i2h, h2h


class RNNCell(_GatedCell):
    """h' = act(W x + b + U h + c)."""

    _gates, _kind = 1, "rnn"

    def __init__(
        self, hidden_size: int, activation: Any = "tanh", i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros", input_size: int = 0, prefix: str | None = None,
        params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._activation = activation
        weights, biases = (i2h_weight_initializer, h2h_weight_initializer), (i2h_bias_initializer, h2h_bias_initializer)
        self._project_to(hidden_size, input_size, weights, biases)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        lead = f"t{self._counter}_"
        i2h, h2h = self._projections(F, lead, inputs, states[0], params)
        output = self._get_activation(F, F.elemwise_add(i2h, h2h, name=f"{lead}plus0"), self._activation, name=f"{lead}out")
        return output, [output]


class LSTMCell(_GatedCell):
    """Long short-term memory; states h and c, gates in the order input, forget, transform, output."""

    _gates, _kind = 4, "lstm"

    def __init__(
        self, hidden_size: int, i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros", input_size: int = 0, prefix: str | None = None, params: Any = None, activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        weights, biases = (i2h_weight_initializer, h2h_weight_initializer), (i2h_bias_initializer, h2h_bias_initializer)
        self._project_to(hidden_size, input_size, weights, biases)
        self._activation, self._recurrent_activation = activation, recurrent_activation

    def state_info(self, batch_size: int = 0) -> list[Any]:
        """Two states (N, hidden size)."""
        return super().state_info(batch_size) + super().state_info(batch_size)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        lead = f"t{self._counter}_"
        i2h, h2h = self._projections(F, lead, inputs, states[0], params)
        gates = F.SliceChannel(F.elemwise_add(i2h, h2h, name=f"{lead}plus0"), num_outputs=4, name=f"{lead}slice")
        inner, outer = self._activation, self._recurrent_activation
        kinds = ((outer, "i"), (outer, "f"), (inner, "c"), (outer, "o"))
        into, keep, new, out = (self._get_activation(F, gates[k], act, name=lead + letter) for k, (act, letter) in enumerate(kinds))
        kept = F.elemwise_mul(keep, states[1], name=f"{lead}mul0")
        memory = F.elemwise_add(kept, F.elemwise_mul(into, new, name=f"{lead}mul1"), name=f"{lead}state")
        shown = F.Activation(memory, act_type=inner, name=f"{lead}activation0")
        output = F.elemwise_mul(out, shown, name=f"{lead}out")
        return output, [output, memory]


class GRUCell(_GatedCell):
    """Gated recurrent unit as cuDNN has it; gates in the order reset, update, new."""

    _gates, _kind = 3, "gru"

    def __init__(
        self, hidden_size: int, i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros", input_size: int = 0, prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        weights, biases = (i2h_weight_initializer, h2h_weight_initializer), (i2h_bias_initializer, h2h_bias_initializer)
        self._project_to(hidden_size, input_size, weights, biases)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        lead, before = f"t{self._counter}_", states[0]
        i2h, h2h = self._projections(F, lead, inputs, before, params)
        from_input = F.SliceChannel(i2h, num_outputs=3, name=f"{lead}i2h_slice")
        from_state = F.SliceChannel(h2h, num_outputs=3, name=f"{lead}h2h_slice")
        reset, update = (
            F.Activation(F.elemwise_add(from_input[k], from_state[k], name=f"{lead}plus{k}"), act_type="sigmoid", name=f"{lead}{letter}_act")
            for k, letter in enumerate("rz")
        )
        seen = F.elemwise_mul(reset, from_state[2], name=f"{lead}mul0")
        new = F.Activation(F.elemwise_add(from_input[2], seen, name=f"{lead}plus2"), act_type="tanh", name=f"{lead}h_act")
        rest = F.elemwise_sub(F.ones_like(update, name=f"{lead}ones_like0"), update, name=f"{lead}minus0")
        mixed = F.elemwise_mul(rest, new, name=f"{lead}mul1")
        output = F.elemwise_add(mixed, F.elemwise_mul(update, before, name=f"{lead}mul20"), name=f"{lead}out")
        return output, [output]
