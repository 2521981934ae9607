"""Cells made of cells: the fused form, stacks, both directions, dropout, zoneout, residual connections."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from .. import ndarray, symbol
from ..initializer import FusedRNN
from .base import BaseRNNCell, RNNParams, _normalize_sequence
from .cells import GRUCell, LSTMCell, RNNCell

__all__ = ["BidirectionalCell", "DropoutCell", "FusedRNNCell", "ModifierCell", "ResidualCell", "SequentialRNNCell", "ZoneoutCell"]

_GATES = {"rnn_relu": [""], "rnn_tanh": [""], "lstm": ["_i", "_f", "_c", "_o"], "gru": ["_r", "_z", "_o"]}


class FusedRNNCell(BaseRNNCell):
    """Several layers in one RNN operator, with one packed parameter vector `prefix + parameters`. Can only be unrolled.

    mode: 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'. get_next_state: whether unroll gives the final states.
    """

    def __init__(
        self, num_hidden: int, num_layers: int = 1, mode: str = "lstm", bidirectional: bool = False, dropout: float = 0.0,
        get_next_state: bool = False, forget_bias: float = 1.0, prefix: str | None = None, params: RNNParams | None = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=f"{mode}_" if prefix is None else prefix, params=params)
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._bidirectional = bidirectional
        self._dropout = dropout
        self._get_next_state = get_next_state
        self._directions = ["l", "r"] if bidirectional else ["l"]
        initializer = FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=initializer)

    @property
    def state_info(self) -> list[Any]:
        shape = (len(self._directions) * self._num_layers, 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"} for _ in range(2 if self._mode == "lstm" else 1)]

    @property
    def _gate_names(self) -> list[str]:
        return _GATES[self._mode]

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def _slots(self, num_input: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """(name, shape) of every part of the packed vector: weights of all layers and directions, then the biases."""
        hidden = self._num_hidden
        places = [(layer, f"{self._prefix}{direction}{layer}_") for layer in range(self._num_layers) for direction in self._directions]
        for layer, place in places:
            width = num_input if layer == 0 else len(self._directions) * hidden
            for group, columns in (("i2h", width), ("h2h", hidden)):
                yield from ((f"{place}{group}{gate}_weight", (hidden, columns)) for gate in self._gate_names)
        for _, place in places:
            for group in ("i2h", "h2h"):
                yield from ((f"{place}{group}{gate}_bias", (hidden,)) for gate in self._gate_names)

    def _views(self, packed: Any, num_input: int) -> dict[str, Any]:
        """The parts of a packed vector by name, sharing its memory."""
        views, position = {}, 0
        for name, shape in self._slots(num_input):
            size = shape[0] * (shape[1] if len(shape) > 1 else 1)
            part = packed[position : position + size]
            views[name] = part.reshape(shape) if len(shape) > 1 else part
            position += size
        assert position == packed.size, f"Invalid parameters size for FusedRNNCell: {packed.size} instead of {position}"
        return views

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        args = dict(args)
        packed = args.pop(self._parameter.name)
        hidden, directions = self._num_hidden, len(self._directions)
        upper = (self._num_layers - 1) * (hidden + directions * hidden + 2)
        num_input = packed.size // directions // hidden // self._num_gates - upper - hidden - 2
        args.update({name: part.copy() for name, part in self._views(packed, num_input).items()})
        return args

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        args = dict(args)
        first = args[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        num_input = first.shape[1]
        total = sum(shape[0] * (shape[1] if len(shape) > 1 else 1) for _, shape in self._slots(num_input))
        packed = ndarray.zeros((total,), ctx=first.context, dtype=first.dtype)
        for name, part in self._views(packed, num_input).items():
            part[:] = args.pop(name)
        args[self._parameter.name] = packed
        return args

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        raise NotImplementedError("FusedRNNCell cannot be stepped. Please use unroll")

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, Any]:
        self.reset()
        inputs, axis = _normalize_sequence(length, inputs, layout, True)
        if axis == 1:
            warnings.warn("NTC layout detected. Consider using TNC for FusedRNNCell for faster speed", stacklevel=2)
            inputs = symbol.swapaxes(inputs, dim1=0, dim2=1)
        else:
            assert axis == 0, f"Unsupported layout {layout}"
        states = self.begin_state() if begin_state is None else begin_state
        named = dict(zip(("state", "state_cell") if self._mode == "lstm" else ("state",), states, strict=False))
        rnn = symbol.RNN(
            data=inputs, parameters=self._parameter, state_size=self._num_hidden, num_layers=self._num_layers,
            bidirectional=self._bidirectional, p=self._dropout, state_outputs=self._get_next_state, mode=self._mode, name=f"{self._prefix}rnn",
            **named,
        )  # fmt: skip
        outputs, final = rnn, []
        if self._get_next_state:
            outputs, final = rnn[0], [rnn[1 + i] for i in range(len(named))]
            for state in final:
                state._set_attr(__layout__="LNC")
        if axis == 1:
            outputs = symbol.swapaxes(outputs, dim1=0, dim2=1)
        return _normalize_sequence(length, outputs, layout, merge_outputs)[0], final

    def _layer(self, prefix: str) -> BaseRNNCell:
        if self._mode == "lstm":
            return LSTMCell(self._num_hidden, prefix=prefix)
        if self._mode == "gru":
            return GRUCell(self._num_hidden, prefix=prefix)
        return RNNCell(self._num_hidden, activation=self._mode.removeprefix("rnn_"), prefix=prefix)

    def unfuse(self) -> SequentialRNNCell:
        """The same layers as single cells; `unpack_weights` here and `pack_weights` there convert the parameters."""
        stack = SequentialRNNCell()
        for layer in range(self._num_layers):
            cells = [self._layer(f"{self._prefix}{direction}{layer}_") for direction in self._directions]
            stack.add(cells[0] if len(cells) == 1 else BidirectionalCell(cells[0], cells[1], output_prefix=f"{self._prefix}bi_l{layer}_"))
            if self._dropout > 0 and layer != self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{layer}_"))
        return stack


class _Several(BaseRNNCell):
    """A cell made of others, whose states stand one after the other."""

    _cells: list[Any]

    @property
    def state_info(self) -> list[Any]:
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, func: Callable[..., Any] = symbol.zeros, **kwargs: Any) -> list[Any]:
        self._check_unmodified()
        return [state for cell in self._cells for state in cell.begin_state(func=func, **kwargs)]

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        for cell in self._cells:
            args = cell.unpack_weights(args)
        return args

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        for cell in self._cells:
            args = cell.pack_weights(args)
        return args

    def _with_states(self, states: Any) -> Iterator[tuple[Any, Any]]:
        """(cell, its states)."""
        position = 0
        for cell in self._cells:
            count = len(cell.state_info)
            yield cell, states[position : position + count]
            position += count


class SequentialRNNCell(_Several):
    """Cells on top of each other."""

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(prefix="", params=params)
        self._override_cell_params = params is not None
        self._cells = []

    def add(self, cell: Any) -> None:
        """Appends a cell."""
        self._cells.append(cell)
        if self._override_cell_params:
            assert cell._own_params, "Either specify params for SequentialRNNCell or child cells, not both."
            cell.params._params.update(self.params._params)
        self.params._params.update(cell.params._params)

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        self._counter += 1
        following: list[Any] = []
        for cell, own in self._with_states(states):
            assert not isinstance(cell, BidirectionalCell), "BidirectionalCell cannot be stepped. Please use unroll"
            inputs, own = cell(inputs, own)
            following.extend(own)
        return inputs, following

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, Any]:
        self.reset()
        final: list[Any] = []
        for cell, own in self._with_states(self.begin_state() if begin_state is None else begin_state):
            merge = merge_outputs if cell is self._cells[-1] else None
            inputs, own = cell.unroll(length, inputs=inputs, begin_state=own, layout=layout, merge_outputs=merge)
            final.extend(own)
        return inputs, final


class BidirectionalCell(_Several):
    """One cell forwards, one backwards in time, their outputs joined. Can only be unrolled."""

    def __init__(self, l_cell: Any, r_cell: Any, params: RNNParams | None = None, output_prefix: str = "bi_") -> None:
        super().__init__("", params=params)
        self._output_prefix = output_prefix
        self._override_cell_params = params is not None
        for cell in (l_cell, r_cell):
            if self._override_cell_params:
                assert cell._own_params, "Either specify params for BidirectionalCell or child cells, not both."
                cell.params._params.update(self.params._params)
        for cell in (l_cell, r_cell):
            self.params._params.update(cell.params._params)
        self._cells = [l_cell, r_cell]

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        raise NotImplementedError("Bidirectional cannot be stepped. Please use unroll")

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, Any]:
        self.reset()
        steps, axis = _normalize_sequence(length, inputs, layout, False)
        orders = (steps, list(reversed(steps)))
        outputs, final = [], []
        for (cell, own), order in zip(self._with_states(self.begin_state() if begin_state is None else begin_state), orders, strict=True):
            given, states = cell.unroll(length, inputs=order, begin_state=own, layout=layout, merge_outputs=merge_outputs)
            outputs.append(given)
            final.append(states)
        if merge_outputs is None:
            merge_outputs = all(isinstance(given, symbol.Symbol) for given in outputs)
            if not merge_outputs:
                outputs = [self._split(given, axis, length) for given in outputs]
        forwards, backwards = outputs
        if merge_outputs:
            joined = [forwards, symbol.reverse(backwards, axis=axis)]
            return symbol.Concat(*joined, dim=2, name=f"{self._output_prefix}out"), final
        pairs = enumerate(zip(forwards, reversed(backwards), strict=True))
        return [symbol.Concat(left, right, dim=1, name=f"{self._output_prefix}t{i}") for i, (left, right) in pairs], final

    @staticmethod
    def _split(given: Any, axis: int, length: int) -> Any:
        if isinstance(given, symbol.Symbol):
            return list(symbol.SliceChannel(given, axis=axis, num_outputs=length, squeeze_axis=1))
        return given


class DropoutCell(BaseRNNCell):
    """Dropout between layers; no state."""

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None) -> None:
        super().__init__(prefix, params)
        assert isinstance(dropout, (int, float)), "dropout probability must be a number"
        self.dropout = dropout

    @property
    def state_info(self) -> list[Any]:
        return []

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        return (symbol.Dropout(data=inputs, p=self.dropout) if self.dropout > 0 else inputs), states

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, Any]:
        self.reset()
        inputs, _ = _normalize_sequence(length, inputs, layout, merge_outputs)
        if isinstance(inputs, symbol.Symbol):
            return self(inputs, [])
        return super().unroll(length, inputs, begin_state=begin_state, layout=layout, merge_outputs=merge_outputs)


class ModifierCell(BaseRNNCell):
    """Base class of cells that change another one, whose parameters and states they use."""

    def __init__(self, base_cell: Any) -> None:
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        self._own_params = False
        return self.base_cell.params  # type: ignore[no-any-return]

    @property
    def state_info(self) -> list[Any]:
        return self.base_cell.state_info  # type: ignore[no-any-return]

    def begin_state(self, init_sym: Callable[..., Any] = symbol.zeros, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        self._check_unmodified()
        func = kwargs.pop("func", init_sym)
        self.base_cell._modified = False
        begin = self.base_cell.begin_state(func, **kwargs)
        self.base_cell._modified = True
        return begin  # type: ignore[no-any-return]

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        return self.base_cell.unpack_weights(args)  # type: ignore[no-any-return]

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        return self.base_cell.pack_weights(args)  # type: ignore[no-any-return]


class ZoneoutCell(ModifierCell):
    """Zoneout: with these probabilities outputs and states stay as in the step before."""

    def __init__(self, base_cell: Any, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        assert not isinstance(base_cell, FusedRNNCell), "FusedRNNCell doesn't support zoneout. Please unfuse first."
        both = isinstance(base_cell, BidirectionalCell)
        both = both or (isinstance(base_cell, SequentialRNNCell) and any(isinstance(c, BidirectionalCell) for c in base_cell._cells))
        assert not both, "BidirectionalCell cannot be stepped, so it has no zoneout. Please add ZoneoutCell to the cells underneath instead."
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self.prev_output: Any = None

    def reset(self) -> None:
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        output, following = self.base_cell(inputs, states)
        if self.zoneout_outputs != 0.0:
            before = symbol.zeros((0, 0)) if self.prev_output is None else self.prev_output
            output = self._mixed(self.zoneout_outputs, output, before)
        if self.zoneout_states != 0.0:
            following = [self._mixed(self.zoneout_states, new, old) for new, old in zip(following, states, strict=True)]
        self.prev_output = output
        return output, following

    @staticmethod
    def _mixed(probability: float, new: Any, old: Any) -> Any:
        return symbol.where(symbol.Dropout(symbol.ones_like(new), p=probability), new, old)


class ResidualCell(ModifierCell):
    """Adds the inputs to the outputs."""

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        output, states = self.base_cell(inputs, states)
        return symbol.elemwise_add(output, inputs, name=f"{output.name}_plus_residual"), states

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, Any]:
        self.reset()
        self.base_cell._modified = False
        outputs, states = self.base_cell.unroll(length, inputs=inputs, begin_state=begin_state, layout=layout, merge_outputs=merge_outputs)
        self.base_cell._modified = True
        merge = isinstance(outputs, symbol.Symbol) if merge_outputs is None else merge_outputs
        inputs, _ = _normalize_sequence(length, inputs, layout, merge)
        if merge:
            return symbol.elemwise_add(outputs, inputs, name=f"{outputs.name}_plus_residual"), states
        pairs = zip(outputs, inputs, strict=True)
        return [symbol.elemwise_add(out, one, name=f"{out.name}_plus_residual") for out, one in pairs], states
