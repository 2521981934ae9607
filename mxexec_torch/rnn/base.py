"""What recurrent cells share: parameters by name, states, unrolling, splitting packed weights into gates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import ndarray, symbol

__all__ = ["BaseRNNCell", "RNNParams"]


def _normalize_sequence(length: int | None, inputs: Any, layout: str, merge: bool | None, in_layout: str | None = None) -> tuple[Any, int]:
    """(inputs, time axis): as one symbol with a time axis (merge=True), a list over time (False), or as they are (None)."""
    assert inputs is not None, "unroll(inputs=None) has been deprecated. Please create input variables outside unroll."
    axis = layout.find("T")
    in_axis = axis if in_layout is None else in_layout.find("T")
    if isinstance(inputs, symbol.Symbol):
        if merge is False:
            text = "unroll doesn't allow grouped symbol as input. Please convert to list with list(inputs) first or let unroll handle splitting."
            assert len(inputs.list_outputs()) == 1, text
            return list(symbol.split(inputs, axis=in_axis, num_outputs=length, squeeze_axis=1)), axis
    else:
        assert length is None or len(inputs) == length, f"{len(inputs)} inputs for {length} steps"
        if merge is not True:
            return inputs, axis
        inputs = symbol.Concat(*[symbol.expand_dims(one, axis=axis) for one in inputs], dim=axis)
        in_axis = axis
    return (symbol.swapaxes(inputs, dim0=axis, dim1=in_axis) if axis != in_axis else inputs), axis


class RNNParams:
    """Variables by name, made when first asked for; cells given the same object share their weights."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Any] = {}

    def get(self, name: str, **kwargs: Any) -> Any:
        """The variable `prefix + name`."""
        full = self._prefix + name
        if full not in self._params:
            self._params[full] = symbol.Variable(full, **kwargs)
        return self._params[full]


class BaseRNNCell:
    """Base class of cells: `output, states = cell(inputs, states)` is one step, `cell.unroll(length, inputs)` all of them.

    prefix: of the names of parameters and outputs. params: RNNParams to share with another cell.
    """

    _num_hidden: int

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._params = RNNParams(prefix) if params is None else params
        self._prefix = prefix
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Starts the numbering of steps anew, for unrolling again."""
        self._init_counter = -1
        self._counter = -1
        for cell in getattr(self, "_cells", ()):
            cell.reset()

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        raise NotImplementedError(f"{type(self).__name__} defines no step")

    def _step_name(self) -> str:
        """The prefix of the next step's names."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    @property
    def params(self) -> RNNParams:
        """The parameters, to share with another cell."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[Any]:
        """A dict with shape and layout for each state."""
        raise NotImplementedError(f"{type(self).__name__} defines no state_info")

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """The shapes of the states, 0 for the batch."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self) -> Sequence[str]:
        return ()

    def _check_unmodified(self) -> None:
        text = "After applying modifier cells (e.g. DropoutCell) the base cell cannot be called directly. Call the modifier cell instead."
        assert not self._modified, text

    def begin_state(self, func: Callable[..., Any] = symbol.zeros, **kwargs: Any) -> list[Any]:
        """First states: zeros, or what `func(name=, shape=, ...)` makes (symbol.Variable, ...)."""
        self._check_unmodified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            kwargs.update(info or {})
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **kwargs))
        return states

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """Weights by gate instead of packed: `prefix + i2h_weight` becomes `prefix + i2h_i_weight`, ..."""
        args = dict(args)
        gates = self._gate_names
        for group in ("i2h", "h2h") if gates else ():
            for kind in ("weight", "bias"):
                packed = args.pop(f"{self._prefix}{group}_{kind}")
                for position, gate in enumerate(gates):
                    rows = slice(position * self._num_hidden, (position + 1) * self._num_hidden)
                    args[f"{self._prefix}{group}{gate}_{kind}"] = packed[rows].copy()
        return args

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """The reverse of `unpack_weights`."""
        args = dict(args)
        gates = self._gate_names
        for group in ("i2h", "h2h") if gates else ():
            for kind in ("weight", "bias"):
                parts = [args.pop(f"{self._prefix}{group}{gate}_{kind}") for gate in gates]
                args[f"{self._prefix}{group}_{kind}"] = ndarray.concatenate(parts)
        return args

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, Any]:
        """(outputs, states) of `length` steps. inputs: a symbol with a time axis, or a list. merge_outputs: outputs as one symbol."""
        self.reset()
        steps, _ = _normalize_sequence(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in range(length):
            output, states = self(steps[step], states)
            outputs.append(output)
        return _normalize_sequence(length, outputs, layout, merge_outputs)[0], states

    def _get_activation(self, inputs: Any, activation: Any, **kwargs: Any) -> Any:
        """An activation given by name or as a function of a symbol."""
        if isinstance(activation, str):
            return symbol.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)
