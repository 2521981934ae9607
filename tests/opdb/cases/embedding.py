"""Embedding and the sequence operators."""

from ..case import Case, integers, normal, over_dtypes, values

_LENGTHS = values([2.0, 4.0, 1.0])
_TABLE = dict(data=values([[0.0, 4, 1], [2, 3, 2]]), weight=normal(5, 3))
_SIZE = dict(input_dim=5, output_dim=3)


def _sequence(op: str, label: str, data: tuple[int, ...], lengths: bool = False, **attrs: object) -> Case:
    inputs = dict(data=normal(*data))
    if lengths:
        inputs["sequence_length"] = _LENGTHS
    return Case(op, label, inputs=inputs, attrs=dict(use_sequence_length=lengths, **attrs), grad=("data",))


CASES = [
    Case("Embedding", inputs=_TABLE, attrs=_SIZE, grad=("weight",)),
    Case("Embedding", "add", inputs=_TABLE, attrs=_SIZE, grad=("weight",), req="add"),
    Case("Embedding", "out_of_range", inputs=dict(data=values([[-1.0, 2.7, 9.0]]), weight=normal(5, 3)), attrs=_SIZE, grad=()),
    *over_dtypes(Case("Embedding", "typed", inputs=_TABLE, attrs=_SIZE, grad=("weight",)), "float64", keep=("data",)),
    Case("Embedding", "int_index", inputs=dict(data=integers(2, 3, high=4, dtype="int32"), weight=normal(5, 3)), attrs=_SIZE, grad=("weight",)),
    Case("Embedding", "wrong_weight", inputs=dict(data=integers(2, high=4), weight=normal(4, 3)), attrs=_SIZE, error=True),
    Case("Embedding", "empty", inputs=_TABLE, attrs=dict(input_dim=0, output_dim=3), error=True),
    *[_sequence(op, "all", (4, 3, 2)) for op in ("SequenceMask", "SequenceReverse")],
    Case("SequenceLast", "all", inputs=dict(data=normal(4, 3, 2)), grad=(), gradcheck="MXNet crashes in its backward"),
    *[_sequence(op, "lengths", (4, 3, 2), lengths=True) for op in ("SequenceMask", "SequenceLast", "SequenceReverse")],
    *[_sequence(op, "lengths_4d", (4, 3, 2, 2), lengths=True) for op in ("SequenceMask", "SequenceLast", "SequenceReverse")],
    *[_sequence(op, "axis_one", (3, 4, 2), lengths=True, axis=1) for op in ("SequenceMask", "SequenceLast")],
    _sequence("SequenceMask", "value", (4, 3, 2), lengths=True, value=-9.5),
    Case("SequenceReverse", "axis_one", inputs=dict(data=normal(3, 4)), attrs=dict(axis=1), error=True),
    Case("SequenceMask", "rank", inputs=dict(data=normal(3)), error=True),
]
