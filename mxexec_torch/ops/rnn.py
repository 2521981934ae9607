"""The fused RNN operator."""

from __future__ import annotations

import math
from typing import Annotated

from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes
from ..registry import Attrs, IsTrain, Tensor, op
from ..values import Bool, Float, NonNegInt, OneOf, OptDouble, OptInt, Range
from .runtime.rnn import parameter_pieces, run_rnn

__all__ = ["parameter_size"]


def parameter_size(mode: str, layers: int, directions: int, inputs: int, hidden: int, projection: int | None) -> int:
    """Length of the packed parameter vector."""
    pieces = parameter_pieces(mode, layers, directions, inputs, hidden, projection)
    return sum(math.prod(shape) for piece in pieces for shape in piece) + 2 * len(pieces) * pieces[0][0][0]


def _check(a: Attrs) -> None:
    if a.projection_size is not None and a.mode != "lstm":
        raise MXNetError(f"projection_size is for mode 'lstm' only, mode is {a.mode!r}")
    if a.projection_size is not None and a.state_size < a.projection_size:
        raise MXNetError(f"state_size {a.state_size} must be at least projection_size {a.projection_size}")
    low, high = a.lstm_state_clip_min, a.lstm_state_clip_max
    if (low is not None or high is not None) and a.mode == "lstm":
        if low is None or high is None:
            raise MXNetError("lstm_state_clip_min and lstm_state_clip_max must be given together")
        if high < low:
            raise MXNetError(f"lstm_state_clip_max {high} must not be less than lstm_state_clip_min {low}")


def _outputs(a: Attrs) -> tuple[str, ...]:
    if not a.state_outputs:
        return ("output",)
    return ("output", "state_output", "statecell_output") if a.mode == "lstm" else ("output", "state_output")


def _rnn_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("data")
    if data is None:
        return
    if len(data) != 3:
        raise s.fail(f"Input data should be rank-3 tensor of dim [sequence length, batch size, input size], got shape {list(data)}")
    steps, batch, inputs = data
    directions = 2 if a.bidirectional else 1
    width = a.state_size if a.projection_size is None else a.projection_size
    state, cell = (directions * a.num_layers, batch, width), (directions * a.num_layers, batch, a.state_size)
    s.unify("state", state)
    s.unify("state_cell", cell)
    s.unify("sequence_length", (batch,))
    if inputs != -1:
        s.unify("parameters", (parameter_size(a.mode, a.num_layers, directions, inputs, a.state_size, a.projection_size),))
    for index, shape in zip(range(len(s.outputs)), ((steps, batch, directions * width), state, cell), strict=False):
        s.unify_out(shape, index)


def _rnn_dtype(a: Attrs, t: Dtypes) -> None:
    known = t.get("data")
    if known is None:
        return
    for name in t.names:
        if name != "sequence_length" or t.get(name) is None:
            t.unify(name, known)
    for index in range(len(t.outputs)):
        t.unify_out(known, index)


@op(
    "RNN", aliases=("_npx_rnn",), floats_only=True, shape=_rnn_shape, dtype=_rnn_dtype, outputs=_outputs, check=_check, random=True,
    present={"state_cell": lambda a: a.mode == "lstm", "sequence_length": lambda a: a.use_sequence_length},
    limits=("sequence_length and the LSTM state clip count on CUDA only: MXNet's CPU kernels ignore them, and so does this operator there.",),
)  # fmt: skip
def rnn(
    data: Tensor, parameters: Tensor, state: Tensor, state_cell: Tensor | None = None, sequence_length: Tensor | None = None, /, *,
    state_size: NonNegInt, num_layers: NonNegInt, bidirectional: Bool = False,
    mode: Annotated[str, OneOf("gru", "lstm", "rnn_relu", "rnn_tanh")], p: Annotated[Float, Range(0, 1)] = 0.0, state_outputs: Bool = False,
    projection_size: OptInt = None, lstm_state_clip_min: OptDouble = None, lstm_state_clip_max: OptDouble = None,
    lstm_state_clip_nan: Bool = False, use_sequence_length: Bool = False, train: IsTrain,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Stacked LSTM, GRU or plain recurrent layers over a whole sequence, with dropout p between layers in training.

    data (t, n, c), parameters (size,): all weights then all biases in layer, direction order; state and state_cell
    (layers * directions, n, state_size) -> (t, n, directions * state_size) and, with state_outputs, the last states.
    projection_size replaces state_size in state and output. Source: src/operator/rnn-inl.h
    Deviations: LSTM with projection also trains on CPU.
    """
    if p >= 1:
        raise MXNetError(f"RNN: dropout p must be in [0, 1), got {p}")
    directions = 2 if bidirectional else 1
    layers = directions * num_layers
    want = parameter_size(mode, num_layers, directions, data.shape[-1], state_size, projection_size)
    width = projection_size if projection_size is not None else state_size
    if data.ndim != 3 or tuple(parameters.shape) != (want,) or tuple(state.shape) != (layers, data.shape[1], width):
        raise MXNetError(
            f"RNN: data {list(data.shape)} needs parameters [{want}] and state [{layers},{data.shape[1]},{width}], "
            f"got {list(parameters.shape)} and {list(state.shape)}"
        )
    clip = None
    if lstm_state_clip_min is not None and lstm_state_clip_max is not None:
        clip = (lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan)
    results = run_rnn(
        data, parameters, state, state_cell, sequence_length, mode, state_size, num_layers, bidirectional, p, projection_size, clip, train
    )  # fmt: skip
    return results if state_outputs else results[:1]
