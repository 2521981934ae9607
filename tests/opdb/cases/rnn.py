"""The fused RNN operator (recorded with oneDNN's kernels: the plain ones leave outputs unwritten)."""

from ..case import Case, normal

_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 3, "lstm": 4}


def _size(mode: str, layers: int, directions: int, inputs: int, hidden: int) -> int:
    total = 0
    for layer in range(layers):
        width = inputs if layer == 0 else directions * hidden
        total += directions * _GATES[mode] * hidden * (width + hidden + 2)
    return total


def _rnn(mode: str, layers: int, both: bool, states: bool, dtype: str = "float32", label: str = "", **attrs: object) -> Case:
    directions = 2 if both else 1
    inputs = dict(
        data=normal(3, 2, 4, dtype=dtype), parameters=normal(_size(mode, layers, directions, 4, 3), std=0.4, dtype=dtype),
        state=normal(layers * directions, 2, 3, dtype=dtype),
    )
    if mode == "lstm":
        inputs["state_cell"] = normal(layers * directions, 2, 3, dtype=dtype)
    given = dict(mode=mode, num_layers=layers, bidirectional=both, state_outputs=states, state_size=3, **attrs)
    name = label or f"{mode}_{layers}{'_both' if both else ''}{'_states' if states else ''}"
    return Case("RNN", name, inputs=inputs, attrs=given, onednn=True)


CASES = [
    *[_rnn(mode, layers, both, states) for mode in _GATES for layers in (1, 2) for both in (False, True) for states in (False, True)],
    _rnn("lstm", 1, False, True, dtype="float64", label="float64"),
    _rnn("gru", 3, False, True, label="three_layers"),
    Case("RNN", "wrong_parameters", attrs=dict(mode="gru", num_layers=1, state_size=3), error=True, inputs=dict(
        data=normal(3, 2, 4), parameters=normal(7), state=normal(1, 2, 3))),
    Case("RNN", "rank", attrs=dict(mode="gru", num_layers=1, state_size=3), error=True, inputs=dict(
        data=normal(2, 4), parameters=normal(72), state=normal(1, 2, 3))),
    Case("RNN", "unknown_mode", attrs=dict(mode="tree", num_layers=1, state_size=3), error=True, inputs=dict(
        data=normal(3, 2, 4), parameters=normal(72), state=normal(1, 2, 3))),
]  # fmt: skip
