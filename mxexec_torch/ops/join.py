"""Joining tensors: Concat, stack, and the packing of RNN parameters."""

from __future__ import annotations

from typing import Annotated

import torch

from ..infer.rules import normalize_axis
from ..infer.state import Shape as KnownShape
from ..infer.state import Shapes, complete, merge_shapes, show
from ..registry import Attrs, Tensor, op
from ..values import Int, Range

__all__: list[str] = []

Count = Annotated[Int, Range(1)]


def _common(a: Attrs, s: Shapes) -> tuple[KnownShape | None, int]:
    """The shape that inputs and output share outside the joined axis (-1 there), and that axis."""
    common: KnownShape | None = None
    axis = 0
    for known in [*s.inputs, *s.outputs]:
        if known is not None:
            axis = normalize_axis(s, a.dim, len(known))
            try:
                common = merge_shapes(common, (*known[:axis], -1, *known[axis + 1 :]))
            except ValueError:
                raise s.fail(f"Incompatible input shape: expected {show(common)}, got {show(known)}") from None
    return common, axis


def _concat_shape(a: Attrs, s: Shapes) -> None:
    common, axis = _common(a, s)
    if common is None:
        return
    for position in range(len(s.inputs)):
        s.unify(position, common)
    s.unify_out(common)
    sizes = [known[axis] for known in s.inputs]
    if -1 not in sizes:
        s.unify_out((*common[:axis], sum(sizes), *common[axis + 1 :]))


@op("Concat", aliases=("concat", "_sparse_concat"), key_var_num_args="num_args", shape=_concat_shape)
def concat(*data: Tensor, num_args: Count, dim: Int = 1) -> Tensor:
    """Joins tensors along an axis they already have. data: equal shapes but for `dim` -> the sizes along `dim` added.

    Source: src/operator/nn/concat.cc
    """
    return torch.cat(data, dim)


def _rnn_concat_shape(a: Attrs, s: Shapes) -> None:
    _concat_shape(a, s)
    out, axis = s.out(), 0
    if not complete(out) or any(known is None for known in s.inputs):
        return
    axis = normalize_axis(s, a.dim, len(out))
    missing = [i for i, known in enumerate(s.inputs) if known[axis] == -1]
    if not missing or len(missing) > 2:
        return
    rest = out[axis] - sum(known[axis] for known in s.inputs if known[axis] != -1)
    if rest < 0:
        raise s.fail(f"the inputs exceed the output {show(out)} along axis {axis}")
    for i in missing:
        known = s.inputs[i]
        s.unify(i, (*known[:axis], rest // len(missing), *known[axis + 1 :]))


@op("_rnn_param_concat", aliases=("_npi_rnn_param_concat",), key_var_num_args="num_args", shape=_rnn_concat_shape)
def rnn_param_concat(*data: Tensor, num_args: Count, dim: Int = 1) -> Tensor:
    """Concat that also infers one or two missing sizes from the output (the packed parameters of RNN).

    data: equal shapes but for `dim` -> the sizes along `dim` added. Source: src/operator/nn/concat.cc
    """
    return torch.cat(data, dim)


def _stack_shape(a: Attrs, s: Shapes) -> None:
    common: KnownShape | None = None
    for known in s.inputs:
        try:
            common = merge_shapes(common, known)
        except ValueError:
            raise s.fail(f"stack needs inputs of one shape: expected {show(common)}, got {show(known)}") from None
    if common is None:
        return
    axis = normalize_axis(s, a.axis, len(common) + 1)
    s.unify_out((*common[:axis], a.num_args, *common[axis:]))


@op("stack", key_var_num_args="num_args", shape=_stack_shape)
def stack(*data: Tensor, axis: Int = 0, num_args: Count) -> Tensor:
    """Joins tensors along a new axis. data: n tensors of one shape -> n at `axis`.

    Source: src/operator/tensor/matrix_op.cc
    """
    return torch.stack(data, axis)
