"""Recurrent cells of which the projections are convolutions."""

from __future__ import annotations

from typing import Any

from ....base import numeric_types
from ...rnn._cells import HybridRecurrentCell

__all__ = [
    "Conv1DGRUCell", "Conv1DLSTMCell", "Conv1DRNNCell", "Conv2DGRUCell", "Conv2DLSTMCell", "Conv2DRNNCell", "Conv3DGRUCell", "Conv3DLSTMCell",
    "Conv3DRNNCell",
]  # fmt: skip


class _ConvCell(HybridRecurrentCell):
    """Input and state go through convolutions to `_gates` times hidden_channels; the state's keeps the size, so its kernel is odd.

    input_shape: of one sample, without the batch axis.
    """

    _gates: int
    _states: int
    _kind: str
    _dims: int

    def __init__(
        self, input_shape: Any, hidden_channels: int, i2h_kernel: Any, h2h_kernel: Any, i2h_pad: Any, i2h_dilate: Any, h2h_dilate: Any,
        i2h_weight_initializer: Any, h2h_weight_initializer: Any, i2h_bias_initializer: Any, h2h_bias_initializer: Any, conv_layout: str,
        activation: Any, prefix: str | None, params: Any,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._hidden_channels, self._input_shape, self._conv_layout, self._activation = hidden_channels, input_shape, conv_layout, activation
        i2h_kernel, i2h_pad, i2h_dilate = (self._spread(v) for v in (i2h_kernel, i2h_pad, i2h_dilate))
        h2h_kernel, h2h_dilate = self._spread(h2h_kernel), self._spread(h2h_dilate)
        assert all(k % 2 == 1 for k in h2h_kernel), f"Only support odd number, get h2h_kernel= {h2h_kernel}"
        h2h_pad = tuple(d * (k - 1) // 2 for d, k in zip(h2h_dilate, h2h_kernel, strict=True))
        first = conv_layout.find("C") == 1  # channels before the image
        self._channel_axis = conv_layout.find("C")
        self._in_channels, image = (input_shape[0], input_shape[1:]) if first else (input_shape[-1], input_shape[:-1])
        after = tuple(x + 2 * p - d * (k - 1) if x else 0 for x, k, p, d in zip(image, i2h_kernel, i2h_pad, i2h_dilate, strict=True))
        self._state_shape = (hidden_channels, *after) if first else (*after, hidden_channels)
        rows = hidden_channels * self._gates
        for name, channels, kernel, init in (
            ("i2h", self._in_channels, i2h_kernel, i2h_weight_initializer), ("h2h", hidden_channels, h2h_kernel, h2h_weight_initializer)
        ):  # fmt: skip
            shape = (rows, channels, *kernel) if first else (rows, *kernel, channels)
            setattr(self, f"{name}_weight", self.params.get(f"{name}_weight", shape=shape, init=init, allow_deferred_init=True))
        for name, init in (("i2h", i2h_bias_initializer), ("h2h", h2h_bias_initializer)):
            setattr(self, f"{name}_bias", self.params.get(f"{name}_bias", shape=(rows,), init=init, allow_deferred_init=True))
        common = {"num_filter": rows, "stride": (1,) * self._dims, "layout": conv_layout}
        self._i2h = {"kernel": i2h_kernel, "pad": i2h_pad, "dilate": i2h_dilate, **common}
        self._h2h = {"kernel": h2h_kernel, "pad": h2h_pad, "dilate": h2h_dilate, **common}

    def _spread(self, value: Any) -> tuple[int, ...]:
        values = (value,) * self._dims if isinstance(value, numeric_types) else tuple(value)
        assert len(values) == self._dims, f"For {self._dims}D convolution, the convolution settings can only be int or list/tuple of length {self._dims}"
        return values

    def state_info(self, batch_size: int = 0) -> list[Any]:
        """States of the shape that the input's convolution gives."""
        return [{"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout} for _ in range(self._states)]

    def _alias(self) -> str:
        return self._kind

    def __repr__(self) -> str:
        rows = self._hidden_channels * self._gates
        return f"{type(self).__name__}({self._in_channels or None} -> {rows}, {self._activation}, {self._conv_layout})"

    def _projections(self, F: Any, lead: str, inputs: Any, state: Any, p: dict[str, Any]) -> tuple[Any, Any]:
        i2h = F.Convolution(inputs, p["i2h_weight"], p["i2h_bias"], name=f"{lead}i2h", **self._i2h)
        h2h = F.Convolution(state, p["h2h_weight"], p["h2h_bias"], name=f"{lead}h2h", **self._h2h)
        return i2h, h2h


class _ConvRNNCell(_ConvCell):
    """h' = act(conv(x) + conv(h))."""

    _gates, _states, _kind = 1, 1, "conv_rnn"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        lead = f"t{self._counter}_"
        i2h, h2h = self._projections(F, lead, inputs, states[0], params)
        output = self._get_activation(F, i2h + h2h, self._activation, name=f"{lead}out")
        return output, [output]


class _ConvLSTMCell(_ConvCell):
    """Convolutional LSTM; gates in the order input, forget, transform, output."""

    _gates, _states, _kind = 4, 2, "conv_lstm"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        lead = f"t{self._counter}_"
        i2h, h2h = self._projections(F, lead, inputs, states[0], params)
        gates = F.SliceChannel(i2h + h2h, num_outputs=4, name=f"{lead}slice", axis=self._channel_axis)
        into = F.Activation(gates[0], act_type="sigmoid", name=f"{lead}i")
        keep = F.Activation(gates[1], act_type="sigmoid", name=f"{lead}f")
        new = self._get_activation(F, gates[2], self._activation, name=f"{lead}c")
        out = F.Activation(gates[3], act_type="sigmoid", name=f"{lead}o")
        memory = F.elemwise_add(keep * states[1], into * new, name=f"{lead}state")
        output = F.elemwise_mul(out, self._get_activation(F, memory, self._activation), name=f"{lead}out")
        return output, [output, memory]


class _ConvGRUCell(_ConvCell):
    """Convolutional GRU; gates in the order reset, update, new."""

    _gates, _states, _kind = 3, 1, "conv_gru"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        lead = f"t{self._counter}_"
        i2h, h2h = self._projections(F, lead, inputs, states[0], params)
        x = F.SliceChannel(i2h, num_outputs=3, name=f"{lead}i2h_slice", axis=self._channel_axis)
        h = F.SliceChannel(h2h, num_outputs=3, name=f"{lead}h2h_slice", axis=self._channel_axis)
        reset = F.Activation(x[0] + h[0], act_type="sigmoid", name=f"{lead}r_act")
        update = F.Activation(x[1] + h[1], act_type="sigmoid", name=f"{lead}z_act")
        new = self._get_activation(F, x[2] + reset * h[2], self._activation, name=f"{lead}h_act")
        output = F.elemwise_add((1.0 - update) * new, update * states[0], name=f"{lead}out")
        return output, [output]


def _cell(name: str, base: type[_ConvCell], kind: str, dims: int) -> type[_ConvCell]:
    """The published class for so many axes."""
    zero, one = (0,) * dims, (1,) * dims

    class Cell(base):  # type: ignore[valid-type, misc]
        _dims = dims

        def __init__(
            self, input_shape: Any, hidden_channels: int, i2h_kernel: Any, h2h_kernel: Any, i2h_pad: Any = zero, i2h_dilate: Any = one,
            h2h_dilate: Any = one, i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros",
            h2h_bias_initializer: Any = "zeros", conv_layout: str = _LAYOUTS[dims], activation: Any = "tanh", prefix: str | None = None,
            params: Any = None,
        ) -> None:  # fmt: skip
            super().__init__(
                input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate, i2h_weight_initializer,
                h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, conv_layout, activation, prefix, params,
            )  # fmt: skip

    Cell.__name__ = Cell.__qualname__ = name
    Cell.__doc__ = f"Convolutional {kind} cell over {dims} ax{'i' if dims == 1 else 'e'}s."
    return Cell


_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
Conv1DRNNCell = _cell("Conv1DRNNCell", _ConvRNNCell, "RNN", 1)
Conv2DRNNCell = _cell("Conv2DRNNCell", _ConvRNNCell, "RNN", 2)
Conv3DRNNCell = _cell("Conv3DRNNCell", _ConvRNNCell, "RNN", 3)
Conv1DLSTMCell = _cell("Conv1DLSTMCell", _ConvLSTMCell, "LSTM", 1)
Conv2DLSTMCell = _cell("Conv2DLSTMCell", _ConvLSTMCell, "LSTM", 2)
Conv3DLSTMCell = _cell("Conv3DLSTMCell", _ConvLSTMCell, "LSTM", 3)
Conv1DGRUCell = _cell("Conv1DGRUCell", _ConvGRUCell, "GRU", 1)
Conv2DGRUCell = _cell("Conv2DGRUCell", _ConvGRUCell, "GRU", 2)
Conv3DGRUCell = _cell("Conv3DGRUCell", _ConvGRUCell, "GRU", 3)
