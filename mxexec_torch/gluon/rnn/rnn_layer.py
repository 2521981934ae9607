"""Recurrent layers over whole sequences, one operator each: RNN, LSTM, GRU."""

from __future__ import annotations

from typing import Any

from ... import ndarray, symbol
from ..block import HybridBlock
from ..parameter import tensor_types
from . import rnn_cell

__all__ = ["GRU", "LSTM", "RNN"]

_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


class _RNNLayer(HybridBlock):
    """Layers of one kind, in one or both directions, over sequences in `layout`.

    Parameters are named `<l or r><layer>_<i2h, h2h or h2r>_<weight or bias>`; in files of save_parameters like those of the cells.
    """

    def __init__(
        self, hidden_size: int, num_layers: int, layout: str, dropout: float, bidirectional: bool, input_size: int,
        i2h_weight_initializer: Any, h2h_weight_initializer: Any, i2h_bias_initializer: Any, h2h_bias_initializer: Any, mode: str,
        projection_size: int | None, h2r_weight_initializer: Any, lstm_state_clip_min: Any, lstm_state_clip_max: Any,
        lstm_state_clip_nan: bool, dtype: Any, use_sequence_length: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        assert layout in ("TNC", "NTC"), f"Invalid layout {layout}; must be one of ['TNC' or 'NTC']"
        self._hidden_size, self._num_layers, self._input_size, self._mode, self._layout = hidden_size, num_layers, input_size, mode, layout
        self._projection_size = projection_size or None
        self._dropout, self._dtype, self._use_sequence_length = dropout, dtype, use_sequence_length
        self._dir, self._gates = 2 if bidirectional else 1, _GATES[mode]
        self._clip = {
            "lstm_state_clip_min": lstm_state_clip_min, "lstm_state_clip_max": lstm_state_clip_max, "lstm_state_clip_nan": lstm_state_clip_nan
        }  # fmt: skip
        self._initializers = {
            "i2h_weight": i2h_weight_initializer, "h2h_weight": h2h_weight_initializer, "i2h_bias": i2h_bias_initializer,
            "h2h_bias": h2h_bias_initializer, "h2r_weight": h2r_weight_initializer,
        }  # fmt: skip
        self.skip_states: bool | None = None
        rows, columns, shown = self._gates * hidden_size, input_size, self._projection_size or hidden_size
        for layer in range(num_layers):
            shapes: dict[str, Any] = {"i2h_weight": (rows, columns), "h2h_weight": (rows, shown), "i2h_bias": (rows,), "h2h_bias": (rows,)}
            if self._projection_size:
                shapes["h2r_weight"] = (self._projection_size, hidden_size)
            for direction in self._directions():
                for name, shape in shapes.items():
                    self._register_param(f"{direction}{layer}_{name}", shape, self._initializers[name], dtype)
            columns = shown * self._dir

    def _directions(self) -> str:
        return "lr"[: self._dir]

    def _register_param(self, name: str, shape: Any, init: Any, dtype: Any) -> Any:
        parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True, dtype=dtype)
        setattr(self, name, parameter)
        return parameter

    def __repr__(self) -> str:
        rows, columns = self.l0_i2h_weight.shape  # type: ignore[attr-defined]
        parts = [f"{columns or None} -> {rows // self._gates}", self._layout]
        if self._num_layers != 1:
            parts.append(f"num_layers={self._num_layers}")
        if self._dropout != 0:
            parts.append(f"dropout={self._dropout}")
        if self._dir == 2:
            parts.append("bidirectional")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Any]:
        lead = prefix + "." if prefix else ""
        found = {}
        for name, parameter in self._reg_params.items():
            place, _, rest = name.partition("_")
            cell = f"{place[0]}_cell." if self._dir == 2 else ""
            found[f"{lead}_unfused.{place[1:]}.{cell}{rest}"] = parameter
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(lead + name))
        return found

    def state_info(self, batch_size: int = 0) -> list[Any]:
        """Shape, layout and type of the states: (layers x directions, N, C)."""
        return [self._state(batch_size, self._hidden_size)]

    def _state(self, batch_size: int, size: int) -> dict[str, Any]:
        return {"shape": (self._num_layers * self._dir, batch_size, size), "__layout__": "LNC", "dtype": self._dtype}

    def _unfuse(self) -> Any:
        """The same network of cells, with these parameters."""
        assert not self._projection_size, "_unfuse does not support projection layer yet!"
        assert not self._clip["lstm_state_clip_min"] and not self._clip["lstm_state_clip_max"], "_unfuse does not support state clipping yet!"
        options = {f"{name}_initializer": init for name, init in self._initializers.items() if name != "h2r_weight"}
        if self._mode.startswith("rnn_"):
            options["activation"] = self._mode[4:]
        kind = {"lstm": rnn_cell.LSTMCell, "gru": rnn_cell.GRUCell}.get(self._mode, rnn_cell.RNNCell)
        stack = rnn_cell.HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        columns = self._input_size
        with stack.name_scope():
            for layer in range(self._num_layers):
                cells = [kind(self._hidden_size, input_size=columns, prefix=f"{d}{layer}_", **options) for d in self._directions()]
                stack.add(rnn_cell.BidirectionalCell(*cells) if self._dir == 2 else cells[0])
                if self._dropout > 0 and layer != self._num_layers - 1:
                    stack.add(rnn_cell.DropoutCell(self._dropout))
                columns = self._hidden_size * self._dir
        return stack

    def cast(self, dtype: Any) -> None:
        """Changes the element type of parameters and states."""
        super().cast(dtype)
        self._dtype = dtype

    def begin_state(self, batch_size: int = 0, func: Any = None, **kwargs: Any) -> list[Any]:
        """The first states, made by func (zeros)."""
        make = ndarray.zeros if func is None else func
        return [make(name=f"{self.prefix}h0_{i}", **{**info, **kwargs}) for i, info in enumerate(self.state_info(batch_size))]

    def __call__(self, inputs: Any, states: Any = None, sequence_length: Any = None, **kwargs: Any) -> Any:
        self.skip_states = states is None
        if states is None:
            if isinstance(inputs, ndarray.NDArray):
                states = self.begin_state(inputs.shape[self._layout.find("N")], ctx=inputs.context, dtype=inputs.dtype)
            else:
                states = self.begin_state(0, func=symbol.zeros)
        if isinstance(states, tensor_types):
            states = [states]
        lengths = (sequence_length,) if self._use_sequence_length else ()
        return super().__call__(inputs, states, *lengths, **kwargs)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, sequence_length: Any = None, **kwargs: Any) -> Any:
        if F is ndarray:
            for state, info in zip(states, self.state_info(inputs.shape[self._layout.find("N")]), strict=False):
                if state.shape != info["shape"]:
                    raise ValueError(f"Invalid recurrent state shape. Expecting {info['shape']}, got {state.shape}.")
        outputs, after = self._forward_kernel(F, inputs, states, sequence_length, **kwargs)
        return outputs if self.skip_states else (outputs, after)

    def _forward_kernel(self, F: Any, inputs: Any, states: Any, sequence_length: Any, **kwargs: Any) -> tuple[Any, Any]:
        projections = ("i2h", "h2h", "h2r") if self._projection_size else ("i2h", "h2h")
        parts = [
            kwargs[f"{direction}{layer}_{projection}_{kind}"].reshape(-1)
            for kind in ("weight", "bias")
            for layer in range(self._num_layers)
            for direction in self._directions()
            for projection in projections
            if (projection, kind) != ("h2r", "bias")
        ]
        params = F._internal._rnn_param_concat(*parts, dim=0)
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, 0, 1)
        lengths = [sequence_length] if self._use_sequence_length else []
        out = F.RNN(
            inputs, params, *states, *lengths, use_sequence_length=self._use_sequence_length, state_size=self._hidden_size,
            projection_size=self._projection_size, num_layers=self._num_layers, bidirectional=self._dir == 2, p=self._dropout,
            state_outputs=True, mode=self._mode, **self._clip,
        )  # fmt: skip
        outputs = F.swapaxes(out[0], 0, 1) if self._layout == "NTC" else out[0]
        return outputs, [out[1], out[2]] if self._mode == "lstm" else [out[1]]


class RNN(_RNNLayer):
    """Elman network with 'relu' or 'tanh'."""

    def __init__(
        self, hidden_size: int, num_layers: int = 1, activation: str = "relu", layout: str = "TNC", dropout: float = 0,
        bidirectional: bool = False, i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros", input_size: int = 0, dtype: Any = "float32", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer, h2h_weight_initializer,
            i2h_bias_initializer, h2h_bias_initializer, f"rnn_{activation}", None, None, None, None, False, dtype, **kwargs,
        )  # fmt: skip


class LSTM(_RNNLayer):
    """Long short-term memory, with projection of the output (projection_size) and limits of the memory (state_clip_*) on request."""

    def __init__(
        self, hidden_size: int, num_layers: int = 1, layout: str = "TNC", dropout: float = 0, bidirectional: bool = False,
        input_size: int = 0, i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros", projection_size: int | None = None, h2r_weight_initializer: Any = None,
        state_clip_min: Any = None, state_clip_max: Any = None, state_clip_nan: bool = False, dtype: Any = "float32", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer, h2h_weight_initializer,
            i2h_bias_initializer, h2h_bias_initializer, "lstm", projection_size, h2r_weight_initializer, state_clip_min, state_clip_max,
            state_clip_nan, dtype, **kwargs,
        )  # fmt: skip

    def state_info(self, batch_size: int = 0) -> list[Any]:
        """h and c."""
        return [self._state(batch_size, self._projection_size or self._hidden_size), self._state(batch_size, self._hidden_size)]


class GRU(_RNNLayer):
    """Gated recurrent units."""

    def __init__(
        self, hidden_size: int, num_layers: int = 1, layout: str = "TNC", dropout: float = 0, bidirectional: bool = False,
        input_size: int = 0, i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros", dtype: Any = "float32", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer, h2h_weight_initializer,
            i2h_bias_initializer, h2h_bias_initializer, "gru", None, None, None, None, False, dtype, **kwargs,
        )  # fmt: skip
