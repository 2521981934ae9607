"""Custom operators as torch functions: the user's forward and backward inside an autograd.Function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from .leaf import leaf

__all__ = ["CustomCall", "as_leaf", "run_custom"]

Tensor = torch.Tensor


class CustomCall(Protocol):
    """One operator object of the user and how to call it. requests: gradient request of each input ('write' | 'add' | 'null')."""

    num_arguments: int
    requests: Sequence[str]

    def start(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[torch.dtype]) -> None:
        """Makes the operator object."""

    def outputs(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[torch.dtype]) -> list[tuple[tuple[int, ...], torch.dtype]]:
        """Shape and type of each output."""

    def forward(self, train: bool, arguments: Sequence[Tensor], outputs: Sequence[Tensor], aux: Sequence[Tensor]) -> list[Tensor]:
        """Runs the user's forward, which fills the outputs in place."""

    def backward(
        self, requests: Sequence[str], grads: Sequence[Tensor], arguments: Sequence[Tensor], outputs: Sequence[Tensor],
        results: Sequence[Tensor], aux: Sequence[Tensor],
    ) -> list[Tensor]:  # fmt: skip
        """Runs the user's backward, which fills `results` in place."""


class _Custom(torch.autograd.Function):
    """Saved tensors are references, as in MXNet: backward sees what the arrays hold then."""

    @staticmethod
    def forward(ctx: Any, call: CustomCall, train: bool, device: torch.device, aux: tuple[Tensor, ...], *arguments: Tensor) -> tuple[Tensor, ...]:
        ctx.call, ctx.aux = call, aux
        ctx.arguments = tuple(t.detach() for t in arguments)
        shapes = call.outputs([tuple(t.shape) for t in (*arguments, *aux)], [t.dtype for t in (*arguments, *aux)])
        empty = [torch.zeros(shape, dtype=dtype, device=device) for shape, dtype in shapes]
        results = tuple(call.forward(train, ctx.arguments, empty, aux))
        ctx.outputs = tuple(t.detach() for t in results)
        ctx.mark_non_differentiable(*[t for t in results if not t.is_floating_point()])
        return results

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        wanted = ctx.needs_input_grad[4:]
        asked = [*ctx.call.requests, *["write"] * len(wanted)]
        requests = [("add" if asked[i] == "add" else "write") if needed else "null" for i, needed in enumerate(wanted)]
        results = [torch.zeros_like(t, memory_format=torch.contiguous_format) for t in ctx.arguments]
        given = [g.contiguous() for g in grads]
        filled = ctx.call.backward(requests, given, ctx.arguments, ctx.outputs, results, ctx.aux)
        return None, None, None, None, *[g if needed else None for g, needed in zip(filled, wanted, strict=True)]


def run_custom(call: CustomCall, data: Sequence[Tensor], train: bool, device: torch.device) -> tuple[Tensor, ...]:
    """Runs a custom operator on its arguments and auxiliary states; the latter are written in place."""
    arguments, aux = data[: call.num_arguments], data[call.num_arguments :]
    if device.type == "meta":
        known = call.outputs([tuple(t.shape) for t in data], [t.dtype for t in data])
        return tuple(torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in known)
    result: tuple[Tensor, ...] = _Custom.apply(call, train, device, tuple(t.detach() for t in aux), *arguments)
    return result


def as_leaf(call: CustomCall) -> Callable[..., tuple[Tensor, ...]]:
    """The operator object of one binding as a function that tracing records as one call."""

    def custom(*data: Tensor, train: bool, device: torch.device) -> tuple[Tensor, ...]:
        return run_custom(call, data, train, device)

    custom.__qualname__ = "custom"
    return leaf(custom)
