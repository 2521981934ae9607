"""Cells of fully connected gates (RNN, LSTM, GRU) and of convolutions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from .. import symbol
from ..initializer import LSTMBias
from .base import BaseRNNCell, RNNParams

__all__ = ["BaseConvRNNCell", "ConvGRUCell", "ConvLSTMCell", "ConvRNNCell", "GRUCell", "LSTMCell", "RNNCell"]


class _Gated(BaseRNNCell):
    """A cell whose step combines i2h(inputs) and h2h(state), each with a row of units for every gate."""

    def _both(self, inputs: Any, state: Any, names: tuple[str, str]) -> tuple[Any, Any]:
        """(i2h, h2h) under these names."""
        raise NotImplementedError

    def _act(self, inputs: Any, **kwargs: Any) -> Any:
        """The activation of the candidate."""
        return symbol.Activation(inputs, act_type="tanh", **kwargs)

    _slicing: dict[str, Any] = {}

    def _plain_step(self, inputs: Any, states: Any, activation: Any) -> tuple[Any, list[Any]]:
        name = self._step_name()
        i2h, h2h = self._both(inputs, states[0], (f"{name}i2h", f"{name}h2h"))
        output = self._get_activation(i2h + h2h, activation, name=f"{name}out")
        return output, [output]

    def _lstm_step(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        name = self._step_name()
        i2h, h2h = self._both(inputs, states[0], (f"{name}i2h", f"{name}h2h"))
        parts = symbol.SliceChannel(i2h + h2h, num_outputs=4, name=f"{name}slice", **self._slicing)
        taken, kept = (symbol.Activation(parts[i], act_type="sigmoid", name=f"{name}{gate}") for i, gate in ((0, "i"), (1, "f")))
        candidate = self._act(parts[2], name=f"{name}c")
        shown = symbol.Activation(parts[3], act_type="sigmoid", name=f"{name}o")
        memory = symbol._internal._plus(kept * states[1], taken * candidate, name=f"{name}state")
        output = symbol._internal._mul(shown, self._act(memory), name=f"{name}out")
        return output, [output, memory]

    def _gru_step(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        name = self._step_name()
        conv = bool(self._slicing)  # MXNet names the two kinds differently
        i2h, h2h = self._both(inputs, states[0], (f"{name}i2h", f"{name}h2h") if conv else (f"{name}_i2h", f"{name}_h2h"))
        i2h_r, i2h_z, i2h_o = symbol.SliceChannel(i2h, num_outputs=3, name=f"{name}_i2h_slice")
        h2h_r, h2h_z, h2h_o = symbol.SliceChannel(h2h, num_outputs=3, name=f"{name}_h2h_slice")
        reset = symbol.Activation(i2h_r + h2h_r, act_type="sigmoid", name=f"{name}_r_act")
        update = symbol.Activation(i2h_z + h2h_z, act_type="sigmoid", name=f"{name}_z_act")
        candidate = self._act(i2h_o + reset * h2h_o, name=f"{name}_h_act")
        output = symbol._internal._plus((1.0 - update) * candidate, update * states[0], name=f"{name}out")
        return output, [output]


class _Dense(_Gated):
    """Gates by fully connected layers."""

    def __init__(self, num_hidden: int, prefix: str, params: RNNParams | None, bias_init: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden
        self._weights = {"i2h": self.params.get("i2h_weight"), "h2h": self.params.get("h2h_weight")}
        bias = self.params.get("i2h_bias") if bias_init is None else self.params.get("i2h_bias", init=bias_init)
        self._biases = {"i2h": bias, "h2h": self.params.get("h2h_bias")}

    _states = 1

    @property
    def state_info(self) -> list[Any]:
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"} for _ in range(self._states)]

    def _both(self, inputs: Any, state: Any, names: tuple[str, str]) -> tuple[Any, Any]:
        units = self._num_hidden * len(self._gate_names)
        made = [
            symbol.FullyConnected(data=data, weight=self._weights[group], bias=self._biases[group], num_hidden=units, name=name)
            for group, data, name in zip(("i2h", "h2h"), (inputs, state), names, strict=True)
        ]
        return made[0], made[1]


class RNNCell(_Dense):
    """The simple cell: activation(W x + U h + b)."""

    def __init__(self, num_hidden: int, activation: Any = "tanh", prefix: str = "rnn_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("",)

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        return self._plain_step(inputs, states, self._activation)


class LSTMCell(_Dense):
    """Long short-term memory; forget_bias: first value of the forget gate's bias."""

    _states = 2

    def __init__(self, num_hidden: int, prefix: str = "lstm_", params: RNNParams | None = None, forget_bias: float = 1.0) -> None:
        super().__init__(num_hidden, prefix, params, LSTMBias(forget_bias=forget_bias))

    @property
    def _gate_names(self) -> Sequence[str]:
        return ["_i", "_f", "_c", "_o"]

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        return self._lstm_step(inputs, states)


class GRUCell(_Dense):
    """Gated recurrent unit, in cuDNN's form: the reset gate acts on U h + b."""

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)

    @property
    def _gate_names(self) -> Sequence[str]:
        return ["_r", "_z", "_o"]

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        return self._gru_step(inputs, states)


# -- convolutions ---------------------------------------------------------------------------------------------------------------
_LEAKY = functools.partial(symbol.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(_Gated):
    """Gates by convolutions. input_shape: (batch, channels, height, width) of the inputs, batch may be 0. Kernels of h2h must be odd."""

    _prefix_default = ""

    def __init__(
        self, input_shape: Sequence[int], num_hidden: int, h2h_kernel: Any = (3, 3), h2h_dilate: Any = (1, 1), i2h_kernel: Any = (3, 3),
        i2h_stride: Any = (1, 1), i2h_pad: Any = (1, 1), i2h_dilate: Any = (1, 1), i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros", activation: Any = _LEAKY,
        prefix: str = "", params: RNNParams | None = None, conv_layout: str = "NCHW",
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        assert all(k % 2 == 1 for k in h2h_kernel[:2]), f"Only support odd number, get h2h_kernel= {h2h_kernel}"
        self._num_hidden = num_hidden
        self._input_shape = input_shape
        self._conv_layout = conv_layout
        self._activation = activation
        same = tuple(d * (k - 1) // 2 for k, d in zip(h2h_kernel, h2h_dilate, strict=True))
        self._i2h = {"kernel": i2h_kernel, "stride": i2h_stride, "pad": i2h_pad, "dilate": i2h_dilate, "layout": conv_layout}
        self._h2h = {"kernel": h2h_kernel, "dilate": h2h_dilate, "pad": same, "stride": (1, 1), "layout": conv_layout}
        probe = symbol.Convolution(data=symbol.Variable("data"), num_filter=num_hidden, **self._i2h)
        self._state_shape = (0, *probe.infer_shape(data=tuple(input_shape))[1][0][1:])
        self._slicing = {"axis": conv_layout.find("C")}
        self._iW = self.params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self.params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self.params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self.params.get("h2h_bias", init=h2h_bias_initializer)

    _states = 1

    @property
    def state_info(self) -> list[Any]:
        return [{"shape": self._state_shape, "__layout__": self._conv_layout} for _ in range(self._states)]

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def _both(self, inputs: Any, state: Any, names: tuple[str, str]) -> tuple[Any, Any]:
        filters = self._num_hidden * self._num_gates
        i2h = symbol.Convolution(name=names[0], data=inputs, num_filter=filters, weight=self._iW, bias=self._iB, **self._i2h)
        h2h = symbol.Convolution(name=names[1], data=state, num_filter=filters, weight=self._hW, bias=self._hB, **self._h2h)
        return i2h, h2h

    def _act(self, inputs: Any, **kwargs: Any) -> Any:
        return self._get_activation(inputs, self._activation, **kwargs)


def _conv_cell(prefix: str, gates: Sequence[str], states: int, step: str, doc: str) -> Any:
    """A class of convolutional cells with its default prefix, gates, number of states and kind of step."""

    class Cell(BaseConvRNNCell):
        _states = states

        def __init__(
            self, input_shape: Sequence[int], num_hidden: int, h2h_kernel: Any = (3, 3), h2h_dilate: Any = (1, 1), i2h_kernel: Any = (3, 3),
            i2h_stride: Any = (1, 1), i2h_pad: Any = (1, 1), i2h_dilate: Any = (1, 1), i2h_weight_initializer: Any = None,
            h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
            activation: Any = _LEAKY, prefix: str = prefix, params: RNNParams | None = None, conv_layout: str = "NCHW",
        ) -> None:  # fmt: skip
            super().__init__(
                input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride, i2h_pad, i2h_dilate, i2h_weight_initializer,
                h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, activation, prefix, params, conv_layout,
            )  # fmt: skip

        @property
        def _gate_names(self) -> Sequence[str]:
            return gates

        def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
            if step == "plain":
                return self._plain_step(inputs, states, self._activation)
            return self._lstm_step(inputs, states) if step == "lstm" else self._gru_step(inputs, states)

    Cell.__doc__ = doc
    return Cell


ConvRNNCell = _conv_cell("ConvRNN_", ("",), 1, "plain", "RNNCell with convolutions.")
ConvLSTMCell = _conv_cell("ConvLSTM_", ("_i", "_f", "_c", "_o"), 2, "lstm", "LSTMCell with convolutions (Shi et al. 2015).")
ConvGRUCell = _conv_cell("ConvGRU_", ("_r", "_z", "_o"), 1, "gru", "GRUCell with convolutions.")
for _name, _class in (("ConvRNNCell", ConvRNNCell), ("ConvLSTMCell", ConvLSTMCell), ("ConvGRUCell", ConvGRUCell)):
    _class.__name__ = _class.__qualname__ = _name
