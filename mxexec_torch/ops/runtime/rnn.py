"""Fused recurrent layers over one packed parameter vector."""

from __future__ import annotations

import warnings

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .leaf import leaf

__all__ = ["GATES", "parameter_pieces", "run_rnn"]

Tensor = torch.Tensor
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def parameter_pieces(mode: str, layers: int, directions: int, inputs: int, hidden: int, projection: int | None) -> list[tuple[tuple[int, ...], ...]]:
    """Shapes of the weights of each layer and direction: input, recurrent and (with a projection) projection weights.

    The packed vector holds all weights in this order, then all biases: input bias and recurrent bias of each layer and direction.
    """
    rows, recurrent = GATES[mode] * hidden, projection or hidden
    pieces: list[tuple[tuple[int, ...], ...]] = []
    for layer in range(layers):
        width = inputs if layer == 0 else directions * recurrent
        shapes: tuple[tuple[int, ...], ...] = ((rows, width), (rows, recurrent))
        pieces.extend([(*shapes, (projection, hidden)) if projection else shapes] * directions)
    return pieces


def _unpack(parameters: Tensor, pieces: list[tuple[tuple[int, ...], ...]]) -> list[Tensor]:
    """Flat weights in torch's order: per layer and direction w_ih, w_hh, b_ih, b_hh and w_hr."""
    shapes = [shape for piece in pieces for shape in piece]
    rows = pieces[0][0][0]
    sizes = [a * b for a, b in shapes] + [rows] * (2 * len(pieces))
    parts = parameters.split(sizes)
    weights = [part.view(shape) for part, shape in zip(parts, shapes, strict=False)]
    biases, each = parts[len(shapes) :], len(pieces[0])
    flat: list[Tensor] = []
    for i in range(len(pieces)):
        own = weights[i * each : (i + 1) * each]
        flat += [*own[:2], *biases[2 * i : 2 * i + 2], *own[2:]]
    return flat


def _clipped_lstm(
    data: Tensor, state: Tensor, cell: Tensor, flat: list[Tensor], layers: int, directions: int, p: float, train: bool, clip: tuple[float, float, bool]
) -> tuple[Tensor, Tensor, Tensor]:
    """LSTM step by step with the cell clipped after each step, as cuDNN clips it."""
    each = len(flat) // (layers * directions)
    low, high, stop_nan = clip
    states, cells = [], []
    for layer in range(layers):
        outs = []
        for direction in range(directions):
            k = layer * directions + direction
            w_ih, w_hh, b_ih, b_hh, *projection = flat[k * each : (k + 1) * each]
            h, c = state[k], cell[k]
            steps = []
            gates_in = data @ w_ih.t() + b_ih
            for t in range(data.shape[0]) if direction == 0 else reversed(range(data.shape[0])):
                i, f, g, o = (gates_in[t] + h @ w_hh.t() + b_hh).chunk(4, 1)
                c = (f.sigmoid() * c + i.sigmoid() * g.tanh()).clamp(low, high)
                c = torch.where(c.isnan(), torch.full_like(c, low), c) if stop_nan else c
                h = o.sigmoid() * c.tanh()
                h = h @ projection[0].t() if projection else h
                steps.append(h)
            outs.append(torch.stack(steps if direction == 0 else steps[::-1]))
            states.append(h)
            cells.append(c)
        data = torch.cat(outs, 2)
        if p and train and layer < layers - 1:
            data = torch.dropout(data, p, True)
    return data, torch.stack(states), torch.stack(cells)


@leaf
def run_rnn(
    data: Tensor, parameters: Tensor, state: Tensor, cell: Tensor | None, lengths: Tensor | None, mode: str, hidden: int, layers: int,
    bidirectional: bool, p: float, projection: int | None, clip: tuple[float, float, bool] | None, train: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """(output, last hidden state, last cell state for LSTM) of a time-major batch.

    lengths and clip count on CUDA devices only, as in MXNet: its CPU kernels ignore both.
    """
    directions = 2 if bidirectional else 1
    if data.is_meta:
        width = directions * (projection or hidden)
        out = data.new_empty((*data.shape[:2], width))
        return (out, torch.empty_like(state)) if cell is None else (out, torch.empty_like(state), torch.empty_like(cell))
    flat = _unpack(parameters, parameter_pieces(mode, layers, directions, data.shape[2], hidden, projection))
    if clip is not None and cell is not None and data.is_cuda:
        return _clipped_lstm(data, state, cell, flat, layers, directions, p, train, clip)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # cuDNN would like its own packing
        if lengths is not None and data.is_cuda:
            return _packed(data, state, cell, lengths, flat, mode, layers, bidirectional, p, train)
        settings = (True, layers, p, train, bidirectional, False)
        if cell is not None:
            return torch.lstm(data, (state, cell), flat, *settings)
        kernel = {"gru": torch.gru, "rnn_tanh": torch.rnn_tanh, "rnn_relu": torch.rnn_relu}[mode]
        return kernel(data, state, flat, *settings)


def _packed(
    data: Tensor, state: Tensor, cell: Tensor | None, lengths: Tensor, flat: list[Tensor], mode: str, layers: int, bidirectional: bool, p: float,
    train: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Runs each sequence for its own length; outputs past it are zero."""
    packed = pack_padded_sequence(data, lengths.detach().cpu().long(), enforce_sorted=False)
    order, back = packed.sorted_indices, packed.unsorted_indices
    assert order is not None and back is not None
    settings = (flat, True, layers, p, train, bidirectional)
    rest: tuple[Tensor, ...]
    if cell is not None:
        out, h, c = torch.lstm(packed.data, packed.batch_sizes, (state[:, order], cell[:, order]), *settings)
        rest = (h[:, back], c[:, back])
    else:
        kernel = {"gru": torch.gru, "rnn_tanh": torch.rnn_tanh, "rnn_relu": torch.rnn_relu}[mode]
        out, h = kernel(packed.data, packed.batch_sizes, state[:, order], *settings)
        rest = (h[:, back],)
    padded, _ = pad_packed_sequence(packed._replace(data=out), total_length=data.shape[0])
    return padded, *rest
