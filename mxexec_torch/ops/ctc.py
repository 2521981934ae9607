"""CTCLoss."""

from __future__ import annotations

from typing import Annotated

import torch

from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes, complete, show
from ..registry import Attrs, Tensor, op
from ..values import Bool, OneOf
from .runtime.ctc import ctc_cost

__all__: list[str] = []

Dims = tuple[int, ...]


def _check_shapes(data: Dims, label: Dims, lengths: list[Dims]) -> None:
    if len(data) != 3 or len(label) != 2:
        raise MXNetError(f"CTCLoss needs data (sequence, batch, alphabet) and label (batch, sequence), got {show(data)} and {show(label)}")
    if data[1] != label[0]:
        raise MXNetError(f"The batch size for the labels and data arrays must be the same: {label[0]} and {data[1]}")
    for shape in lengths:
        if shape != (data[1],):
            raise MXNetError(f"Length arrays must be vectors of the batch size {data[1]}, got {show(shape)}")
    if data[0] < label[1]:
        raise MXNetError(f"The max number of labels {label[1]} cannot exceed the maximum sequence length of the data {data[0]}")


def _ctc_shape(a: Attrs, s: Shapes) -> None:
    for name, rank in (("data", 3), ("label", 2)):
        known = s.get(name)
        if known is not None and len(known) != rank:
            raise s.fail(f"{name} of CTCLoss has {rank} dimensions, got shape {show(known)}")
    if not all(complete(x) for x in s.inputs):
        return
    data, label, *lengths = s.inputs
    try:
        _check_shapes(data, label, lengths)
    except MXNetError as error:
        raise s.fail(str(error)) from None
    s.unify_out((data[1],), 0)
    s.unify_out(data, 1)


def _ctc_dtype(a: Attrs, t: Dtypes) -> None:
    for index in range(2):
        t.unify_out(t.get("data"), index)


@op(
    "CTCLoss", aliases=("_contrib_CTCLoss", "_contrib_ctc_loss", "ctc_loss"), outputs=("output0", "output1"), visible=1, shape=_ctc_shape, dtype=_ctc_dtype,
    present={"data_lengths": lambda a: a.use_data_lengths, "label_lengths": lambda a: a.use_label_lengths},
    untouched_grads=("label", "data_lengths", "label_lengths"),
)  # fmt: skip
def ctc_loss(
    data: Tensor, label: Tensor, data_lengths: Tensor | None = None, label_lengths: Tensor | None = None, /, *, use_data_lengths: Bool = False,
    use_label_lengths: Bool = False, blank_label: Annotated[str, OneOf("first", "last")] = "first",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Connectionist temporal classification loss of unnormalized activations, one value a sample.

    data (t, n, alphabet), label (n, l) padded with 0 (blank first) or -1 (blank last), lengths (n,) -> (n,).
    MXNet's hidden second output, the gradient, holds zeros here. Source: src/operator/nn/ctc_loss-inl.h
    """
    lengths = [tuple(x.shape) for x in (data_lengths, label_lengths) if x is not None]
    _check_shapes(tuple(data.shape), tuple(label.shape), lengths)
    first = blank_label == "first"
    cost = ctc_cost(data, label, data_lengths, label_lengths, 0 if first else data.shape[2] - 1, 0 if first else -1)
    return cost, torch.zeros_like(data)
