"""Leaves and backward: how gradients get from torch's autograd into MXNet's gradient buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..dtypes import torch_dtype
from ..errors import MXNetError
from ..infer.meta import plain_shapes
from ..ops.runtime.mode import backward_mode
from .tape import GRADIENT, Leaf, Record, leaves_of, records_below, release, state

if TYPE_CHECKING:
    from .core import NDArray

__all__ = ["GRAD_REQ", "attach", "backward", "deliver", "gradient_list"]

GRAD_REQ = {"null": 0, "write": 1, "add": 3}

_NOT_IN_GRAPH = (
    "Check failed: !AGInfo::IsNone(*i): Cannot differentiate node because it is not in a computational graph. "
    "You need to set is_recording to true or use autograd.record() to save computational graphs for backward. "
    "If you want to differentiate the same graph twice, you need to pass retain_graph=True to backward."
)


def attach(array: NDArray, grad: NDArray, req: str) -> None:
    """Makes an array a leaf with that gradient buffer. Errors: KeyError for an unknown request."""
    GRAD_REQ[req]  # noqa: B018 - the KeyError is MXNet's
    data = array._t.data if array.stype == "default" else array._placeholder()  # type: ignore[attr-defined]
    if not data.is_floating_point():
        data = data.double()  # torch has no gradients of integers
    alias = data.requires_grad_()
    array._ag = alias
    array._rec = Record(None, None, (), leaf=Leaf(alias, grad, req))


def _roots(heads: Sequence[NDArray], head_grads: Sequence[NDArray | None]) -> tuple[list[Record], list[torch.Tensor], list[torch.Tensor]]:
    records, roots, seeds = [], [], []
    for head, grad in zip(heads, head_grads, strict=True):
        if head._rec is None or head._rec.freed or head._rec.constant:
            raise MXNetError(_NOT_IN_GRAPH)
        records.append(head._rec)
        if head._ag is not None and head._ag.requires_grad:
            roots.append(head._ag)
            seeds.append(_seed(head._ag, grad))
    return records, roots, seeds


def _seed(root: torch.Tensor, grad: NDArray | None) -> torch.Tensor:
    if grad is None:
        return torch.ones_like(root)
    seed = grad._t.data if grad._ag is None or not state.recording else grad._ag
    if seed.shape != root.shape:
        if seed.ndim == root.ndim and seed.shape[1:] == root.shape[1:] and seed.shape[0] > root.shape[0]:
            seed = seed[: root.shape[0]]  # MXNet reads as many rows as it needs
        if seed.numel() != root.numel():
            raise MXNetError(f"the head gradient has shape {tuple(seed.shape)}, the array {tuple(root.shape)}")
        seed = seed.reshape(root.shape)
    return seed.to(device=root.device, dtype=root.dtype)


def _run(
    roots: list[torch.Tensor], seeds: list[torch.Tensor], targets: list[torch.Tensor], retain: bool, create: bool, train: bool
) -> Sequence[torch.Tensor | None]:
    """torch's backward pass. Nothing that runs inside is recorded on the tape; training mode is what the caller asks for."""
    if not roots or not targets:
        return [None] * len(targets)
    recording, training = state.recording, state.training
    state.recording, state.training = False, train
    try:
        with backward_mode(train):
            with plain_shapes():
                return torch.autograd.grad(roots, targets, seeds, retain_graph=retain or create, create_graph=create, allow_unused=True)
    except MXNetError:
        raise
    except RuntimeError as error:
        raise MXNetError(f"backward failed: {error}") from error
    finally:
        state.recording, state.training = recording, training


def backward(heads: Sequence[NDArray], head_grads: Sequence[NDArray | None], retain_graph: bool, train_mode: bool) -> None:
    """Writes the gradients of the heads into the buffers of the leaves below them.

    Errors: MXNetError when a head was not recorded, its history is freed, or no leaf wants a gradient.
    """
    records, roots, seeds = _roots(heads, head_grads)
    below = records_below(records)
    leaves = [leaf for leaf in leaves_of(below) if leaf.req != "null"]
    labels = [r for record in below if getattr(record.op, "untouched_grads", ()) for r in record.inputs if r.leaf is not None]
    if not leaves and not labels:
        raise MXNetError("Check failed: xs.size() > 0: There are no inputs in computation graph that require gradients.")
    found = _run(roots, seeds, [leaf.alias for leaf in leaves], retain_graph, False, train_mode)
    for leaf, gradient in zip(leaves, found, strict=True):
        deliver(leaf, gradient)
    if not retain_graph:
        release(records)


def deliver(leaf: Leaf, gradient: torch.Tensor | None) -> None:
    """Writes one gradient; None means zero (every path goes through operators without a gradient)."""
    buffer = leaf.grad
    leaf.fresh = True
    if buffer.stype != "default":
        buffer.take_gradient(gradient, leaf.req)
        return
    target: torch.Tensor = buffer._t
    if gradient is None:
        if leaf.req == "write":
            target.zero_()
    elif leaf.req == "add":
        target.add_(gradient.to(target.dtype))
    elif gradient.is_sparse:
        target.zero_().add_(gradient)
    else:
        target.copy_(gradient)


def gradient_list(
    heads: Sequence[NDArray], head_grads: Sequence[NDArray | None], variables: Sequence[NDArray],
    retain_graph: bool, create_graph: bool, train_mode: bool,
) -> list[Any]:
    """Gradients of the heads with respect to leaves, as new arrays (recorded when create_graph); the buffers stay as they are."""
    from .core import wrap
    from .sparse_array import row_sparse_of

    records, roots, seeds = _roots(heads, head_grads)
    below = records_below(records)
    reachable = {id(leaf) for leaf in leaves_of(below)}
    for position, variable in enumerate(variables, 1):
        where = f"Cannot differentiate with respect to the {position}-th variable because it"
        leaf = variable._rec.leaf if variable._rec is not None else None
        if leaf is None:
            raise MXNetError(f"{where} does not require gradient: call attach_grad() on it before recording")
        if id(leaf) not in reachable:
            raise MXNetError(f"{where} is unreachable from the outputs.")
    targets = [variable._ag for variable in variables if variable._ag is not None]
    found = _run(roots, seeds, targets, retain_graph, create_graph, train_mode)
    results: list[Any] = []
    for variable, gradient in zip(variables, found, strict=True):
        if gradient is not None and gradient.is_sparse:
            results.append(row_sparse_of(gradient, variable))
            continue
        zero = gradient is None or gradient._is_zerotensor()  # torch's lazy zeros cannot be read
        # a copy: the gradient may be a head gradient itself
        kind = torch_dtype(variable.dtype)
        value = torch.zeros(variable.shape, dtype=kind) if zero or gradient is None else gradient.data.to(kind, copy=True)
        result = wrap(value, variable._ctx)
        if create_graph:
            result._rec = Record(GRADIENT, {}, (*records, variable._rec))
            result._ag = gradient if gradient is not None and gradient.requires_grad else None
        results.append(result)
    if not retain_graph and not create_graph:
        release(records)
    return results
