"""What runs on the CPU in place of single nodes when nobody watches the values inside a graph.

- Two-dimensional float32 convolutions run over channels_last data (`ops.runtime.convolution`); in between torch keeps that order by itself.
- In inference a convolution runs as one oneDNN call with the normalisation, addition and activation after it, over a weight that was
  put into oneDNN's order before. Such weights are kept for as long as torch counts no write to the arrays they come from.

This is the one place where that is decided. Values are the nodes' own up to rounding; what a graph returns is copied into contiguous arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from ..foreign import is_foreign
from ..graph import Entry, Node
from ..ops.layout import is_channel_last, spatial
from ..ops.runtime.convolution import convolve
from .trace import LoweredNode

__all__ = ["Kept", "Plan", "Step", "channels_last_plan", "inference_plan"]

Tensor = torch.Tensor
_LARGE = 4_000_000  # multiplications a convolution from which on the other order of the data is faster (measured, with gradients)
_REUSED = 20  # and positions that use each weight


@dataclass(eq=False)
class Kept:
    """Tensors computed from variables only, and computed again when one of those has been written.

    variables: their positions; make(*tensors) -> the results. One for each binding.
    """

    variables: list[int]
    make: Callable[..., tuple[Tensor, ...]]
    count: int
    _versions: list[int] | None = None
    _results: tuple[Tensor, ...] = ()

    def get(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The results for the present contents of `tensors` (one a variable of the graph)."""
        used = [tensors[i] for i in self.variables]
        versions = [t._version for t in used]
        if versions != self._versions or any(map(is_foreign, used)):
            self._results = self.make(*used)
            self._versions = versions
        return self._results


@dataclass
class Step:
    """A call that gives the first output of a node. inputs: entries, or (kept, index) for what is kept between calls."""

    call: Callable[..., Tensor]
    inputs: list[Entry | tuple[Kept, int]]


@dataclass
class Plan:
    """steps: id(node) -> what runs instead of it. absorbed: ids of nodes that are part of a later step. kept: see `Kept`."""

    steps: dict[int, Step] = field(default_factory=dict)
    absorbed: set[int] = field(default_factory=set)
    kept: list[Kept] = field(default_factory=list)


# -- convolutions --------------------------------------------------------------------------------------------------------------
def _is_convolution(node: Node, lowered: Mapping[int, LoweredNode], devices: Mapping[int, torch.device]) -> bool:
    if node.op is None or node.op.name not in ("Convolution", "Convolution_v1") or len(node.params.kernel) != 2 or is_channel_last(node.params.layout):
        return False
    takes = lowered[id(node)].takes
    return devices[id(node)].type == "cpu" and all(dtype is torch.float32 for _, dtype in takes) and 0 not in (*takes[0][0], *takes[1][0])


def _settings(node: Node) -> dict[str, Any]:
    a = node.params
    return {"stride": spatial(a.stride, 2, 1), "pad": spatial(a.pad, 2, 0), "dilate": spatial(a.dilate, 2, 1), "groups": a.num_group}


def channels_last_plan(nodes: Sequence[Node], lowered: Mapping[int, LoweredNode], devices: Mapping[int, torch.device]) -> Plan:
    """Convolutions over channels_last data, differentiable; nothing where they are too small to gain by it."""
    convolutions = [n for n in nodes if _is_convolution(n, lowered, devices)]
    work, weights = 0, 1
    for node in convolutions:
        form = lowered[id(node)]
        size = math.prod(form.takes[1][0])
        work += size * math.prod(form.shapes[0][:1] + form.shapes[0][2:])
        weights += size
    if work < max(_LARGE * len(convolutions), _REUSED * weights):
        return Plan()
    return Plan({id(n): Step(partial(convolve, **_settings(n)), list(n.inputs)) for n in convolutions})


# -- inference -----------------------------------------------------------------------------------------------------------------
def inference_plan(
    nodes: Sequence[Node], returned: set[int], variables: Sequence[Node], lowered: Mapping[int, LoweredNode], devices: Mapping[int, torch.device]
) -> Plan:
    """Convolutions with constant weights and what follows them as one call; where torch has no such call, `channels_last_plan`.

    returned: ids of the nodes whose results the program returns.
    """
    if not _has_fused_convolution():
        return channels_last_plan(nodes, lowered, devices)
    uses: dict[int, list[Node]] = {}
    for node in nodes:
        for entry in node.inputs:
            uses.setdefault(id(entry.node), []).append(node)
    finder = _Finder(uses, returned, {id(v): i for i, v in enumerate(variables)}, lowered, devices)
    plan = Plan()
    for node in nodes:
        group = finder.group(node) if _is_convolution(node, lowered, devices) else None
        if group is not None:
            kept, step = group.build()
            plan.kept.append(kept)
            plan.steps[id(group.tail)] = step
            plan.absorbed.update(id(n) for n in group.nodes if n is not group.tail)
    return plan


def _has_fused_convolution() -> bool:
    return torch.backends.mkldnn.is_available() and all(
        hasattr(torch.ops.mkldnn, name) for name in ("_convolution_pointwise", "_reorder_convolution_weight")
    )


@dataclass
class _Group:
    """A convolution and the nodes that become part of it, in order; `tail` is the last."""

    convolution: Node
    size: list[int]  # of the data
    variables: dict[str, int]
    nodes: list[Node]
    norm: Node | None = None
    other: Entry | None = None
    relu: bool = False
    then: Callable[[Tensor], Tensor] | None = None  # a further activation, in place

    @property
    def tail(self) -> Node:
        return self.nodes[-1]

    def build(self) -> tuple[Kept, Step]:
        """What is kept of the weights, and the call."""
        settings = _settings(self.convolution)
        place = (list(settings["pad"]), list(settings["stride"]), list(settings["dilate"]), settings["groups"])
        scale = None if self.norm is None else (self.norm.params.eps, self.norm.params.fix_gamma)
        names = list(self.variables)
        kept = Kept([self.variables[n] for n in names], partial(_prepare, names, scale, place, self.size), 2)
        inputs: list[Entry | tuple[Kept, int]] = [self.convolution.inputs[0], (kept, 0), (kept, 1)]
        call: Callable[..., Tensor] = partial(_convolution, place, "relu" if self.relu else "none")
        if self.other is not None:
            call = partial(_convolution_add, place, "relu" if self.relu else None)
            inputs.append(self.other)
        return kept, Step(call if self.then is None else partial(_followed, call, self.then), inputs)


def _prepare(
    names: Sequence[str], scale: tuple[float, bool] | None, place: tuple[Any, ...], size: list[int], *tensors: Tensor
) -> tuple[Tensor, ...]:
    """Weight in oneDNN's order and bias, with a following normalisation folded in."""
    with torch.inference_mode():
        given = dict(zip(names, tensors, strict=True))
        weight, bias = given["weight"], given.get("bias")
        if scale is not None:
            eps, fixed = scale
            factor = (given["var"] + eps).rsqrt()
            factor = factor if fixed else factor * given["gamma"]
            mean = given["mean"] if bias is None else given["mean"] - bias
            weight, bias = weight * factor.reshape(-1, 1, 1, 1), given["beta"] - mean * factor
        elif bias is None:
            bias = weight.new_zeros(weight.shape[0])
        pad, stride, dilate, groups = place
        packed = torch.ops.mkldnn._reorder_convolution_weight(weight.contiguous(), pad, stride, dilate, groups, size)
        return packed, bias.clone()


def _convolution(place: tuple[Any, ...], kind: str, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    result: Tensor = torch.ops.mkldnn._convolution_pointwise(x, weight, bias, *place, kind, [], "")
    return result


def _convolution_add(place: tuple[Any, ...], kind: str | None, x: Tensor, weight: Tensor, bias: Tensor, other: Tensor) -> Tensor:
    result: Tensor = torch.ops.mkldnn._convolution_pointwise.binary(x, other, weight, bias, *place, "add", 1.0, kind, [], "")
    return result


def _followed(call: Callable[..., Tensor], then: Callable[[Tensor], Tensor], *inputs: Tensor) -> Tensor:
    return then(call(*inputs))


@dataclass
class _Finder:
    """Finds groups. uses: id(node) -> nodes that read it; returned: see `inference_plan`; variables: positions by id."""

    uses: Mapping[int, Sequence[Node]]
    returned: set[int]
    variables: Mapping[int, int]
    lowered: Mapping[int, LoweredNode]
    devices: Mapping[int, torch.device]
    taken: set[int] = field(default_factory=set)

    def group(self, node: Node) -> _Group | None:
        """The group that starts at a convolution; None when its weight is no variable."""
        found = self._variables(node, ("weight", "bias"))
        if found is None:
            return None
        group = _Group(node, list(self.lowered[id(node)].takes[0][0]), found, [node])
        for add in (self._add_norm, self._add_sum, self._add_activation):
            follower = self._only_use(group.tail)
            if follower is not None and add(group, follower):
                group.nodes.append(follower)
                self.taken.add(id(follower))
        return group

    def _variables(self, node: Node, names: Sequence[str]) -> dict[str, int] | None:
        """Positions of the inputs after the first, under the given names."""
        positions = [self.variables.get(id(e.node)) for e in node.inputs[1:]]
        if any(p is None or self.devices[id(e.node)].type != "cpu" for p, e in zip(positions, node.inputs[1:], strict=True)):
            return None
        return dict(zip(names, positions, strict=False))  # type: ignore[arg-type]  # none is None

    def _only_use(self, node: Node) -> Node | None:
        uses = self.uses.get(id(node), ())
        if len(uses) != 1 or id(node) in self.returned or id(uses[0]) in self.taken or self.devices[id(uses[0])].type != "cpu":
            return None
        return uses[0] if uses[0].op is not None else None

    def _add_norm(self, group: _Group, node: Node) -> bool:
        assert node.op is not None
        if node.op.name != "BatchNorm" or node.params.axis != 1 or node.inputs[0].node is not group.tail or id(node) in self.returned:
            return False
        found = self._variables(node, ("gamma", "beta", "mean", "var"))
        if found is None or any(dtype is not torch.float32 for _, dtype in self.lowered[id(node)].takes) or self._reads_statistics(node):
            return False
        group.norm = node
        group.variables.update(found)
        return True

    def _reads_statistics(self, node: Node) -> bool:
        return any(e.node is node and e.index != 0 for user in self.uses.get(id(node), ()) for e in user.inputs)

    def _add_sum(self, group: _Group, node: Node) -> bool:
        assert node.op is not None
        if node.op.name not in ("elemwise_add", "broadcast_add") or node.inputs[0].node is node.inputs[1].node:
            return False
        (first, dtype), (second, other_dtype) = self.lowered[id(node)].takes
        if first != second or dtype is not other_dtype:
            return False
        group.other = node.inputs[1] if node.inputs[0].node is group.tail else node.inputs[0]
        return True

    def _add_activation(self, group: _Group, node: Node) -> bool:
        assert node.op is not None
        a = node.params
        if node.op.name == "Activation" and a.act_type == "relu":  # NaN becomes 0, as in MXNet's oneDNN relu
            group.relu = True
        elif node.op.name == "relu":
            group.then = torch.relu_
        elif node.op.name == "LeakyReLU" and a.act_type == "leaky":
            group.then = partial(F.leaky_relu_, negative_slope=a.slope)
        elif node.op.name == "clip" and a.a_min <= a.a_max:
            group.then = partial(torch.clamp_, min=a.a_min, max=a.a_max)
        else:
            return False
        return True
