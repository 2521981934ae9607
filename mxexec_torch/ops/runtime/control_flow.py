"""Loops and branches over compiled bodies. Each is one recorded call; torch's autograd differentiates through the steps that ran."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from ...semantics import is_np_shape
from .leaf import leaf

__all__ = ["Body", "body_leaf", "branch_leaf", "foreach_leaf", "while_leaf"]

Tensor = torch.Tensor
Run = Callable[..., tuple[Tensor, ...]]


class Body(Protocol):
    """A compiled subgraph."""

    def __call__(self, inputs: Sequence[Tensor], train: bool) -> list[Tensor]:
        """The outputs for these inputs."""

    def describe(self, inputs: Sequence[Tensor]) -> list[tuple[tuple[int, ...], torch.dtype]]:
        """Shape and type of the outputs for inputs like these."""


def _arrange(count: int, *groups: tuple[Sequence[int], Sequence[Tensor]]) -> list[Tensor]:
    placed: list[Any] = [None] * count
    for locs, tensors in groups:
        for loc, tensor in zip(locs, tensors, strict=True):
            placed[loc] = tensor
    return placed


def _empty(known: Sequence[tuple[tuple[int, ...], torch.dtype]], device: torch.device) -> list[Tensor]:
    return [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in known]


def _step(row: Tensor) -> Tensor:
    """One step's slice: outside np_shape there are no arrays without dimensions."""
    return row.reshape(1) if row.ndim == 0 and not is_np_shape() else row


def _named(function: Run) -> Run:
    function.__qualname__ = function.__name__
    return leaf(function)


def foreach_leaf(body: Body, data_locs: Sequence[int], state_locs: Sequence[int], remain_locs: Sequence[int], num_out_data: int) -> Run:
    """body over the first axis of the data."""
    count = len(data_locs) + len(state_locs) + len(remain_locs)

    def foreach(*tensors: Tensor, train: bool, device: torch.device) -> tuple[Tensor, ...]:
        data, states = tensors[: len(data_locs)], list(tensors[len(data_locs) : len(data_locs) + len(state_locs)])
        remain = tensors[len(data_locs) + len(state_locs) :]
        length = data[0].shape[0]
        if any(d.shape[0] != length for d in data):
            raise ValueError(f"the arrays to iterate over have different lengths: {[d.shape[0] for d in data]}")

        def arguments(slices: Sequence[Tensor]) -> list[Tensor]:
            return _arrange(count, (data_locs, slices), (state_locs, states), (remain_locs, remain))

        if device.type == "meta" or length == 0:
            known = body.describe(arguments([_step(d.new_empty(d.shape[1:])) for d in data]))
            stacked = _empty([((length, *shape), dtype) for shape, dtype in known[:num_out_data]], device)
            return *stacked, *(_empty(known[num_out_data:], device) if length else [s.clone() for s in states])
        steps: list[list[Tensor]] = []
        for slices in zip(*(d.unbind(0) for d in data), strict=True):
            results = body(arguments([_step(d) for d in slices]), train)
            steps.append(results[:num_out_data])
            states = results[num_out_data:]
        return *(torch.stack(column) for column in zip(*steps, strict=True)), *states

    return _named(foreach)


def _holds(value: Tensor) -> bool:
    if value.numel() != 1:
        raise ValueError(f"a condition must be one number, got shape {tuple(value.shape)}")
    return bool(value)


def while_leaf(
    condition: Body, body: Body, cond_locs: Sequence[int], func_locs: Sequence[int], var_locs: Sequence[int], num_out_data: int, limit: int
) -> Run:
    """body while condition, at most `limit` times."""
    # where a loop variable stands among the condition's inputs, by its position among all inputs
    in_condition = {position: i for i, position in enumerate(cond_locs)}

    def while_loop(*tensors: Tensor, train: bool, device: torch.device) -> tuple[Tensor, ...]:
        asked, given = [tensors[p] for p in cond_locs], [tensors[p] for p in func_locs]
        known = body.describe(given)
        if device.type == "meta":
            return tuple(_empty([((limit, *shape), dtype) for shape, dtype in known[:num_out_data]] + known[num_out_data:], device))
        steps: list[list[Tensor]] = []
        while len(steps) < limit and _holds(condition(asked, train)[0].detach()):
            results = body(given, train)
            steps.append(results[:num_out_data])
            for loc, value in zip(var_locs, results[num_out_data:], strict=True):
                given[loc] = value
                if func_locs[loc] in in_condition:
                    asked[in_condition[func_locs[loc]]] = value
        columns = []
        for index, (shape, dtype) in enumerate(known[:num_out_data]):
            rows = [step[index] for step in steps]
            missing = torch.zeros((limit - len(rows), *shape), dtype=dtype, device=device)
            columns.append(torch.cat([torch.stack(rows), missing]) if rows else missing)
        return *columns, *(given[loc].clone() if not steps else given[loc] for loc in var_locs)

    return _named(while_loop)


def branch_leaf(
    condition: Body, then: Body, otherwise: Body, cond_locs: Sequence[int], then_locs: Sequence[int], else_locs: Sequence[int]
) -> Run:
    """One of two bodies."""

    def cond(*tensors: Tensor, train: bool, device: torch.device) -> tuple[Tensor, ...]:
        if device.type == "meta":
            return tuple(_empty(then.describe([tensors[p] for p in then_locs]), device))
        chosen = _holds(condition([tensors[p] for p in cond_locs], train)[0].detach())
        body, locs = (then, then_locs) if chosen else (otherwise, else_locs)
        return tuple(body([tensors[p] for p in locs], train))

    return _named(cond)


def body_leaf(body: Body) -> Run:
    """One body, once."""

    def run_body(*tensors: Tensor, train: bool, device: torch.device) -> tuple[Tensor, ...]:
        return tuple(_empty(body.describe(tensors), device) if device.type == "meta" else body(tensors, train))

    return _named(run_body)
