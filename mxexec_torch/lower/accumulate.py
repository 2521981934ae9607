"""Where 'add' is more than an addition in MXNet 1.9.1, found on the backward graph as MXNet would build it.

- An argument's gradient array is the memory of its gradient. Where that gradient is also what other nodes' backward reads (an argument
  added to something: `x + b`), those read the array's content after the addition.
- Some operators write their gradient another way (`OpDef.added`): SoftmaxOutput overwrites, the regression heads scale the whole array.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from ..graph import Entry, Node
from .gradient_graph import GradEntry, GradientGraph, GradNode, build_gradient_graph

__all__ = ["Additions", "find_additions"]

Rule = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # (content of the array, gradient) -> new content


class Additions(NamedTuple):
    """taps: values of the forward pass whose gradient becomes the content of an argument's array. rules: how that content is made.

    Both are for positions among the bound variables.
    """

    taps: dict[int, Entry]
    rules: dict[int, Rule]


def find_additions(heads: Sequence[Entry], nodes: Sequence[Node], variables: Sequence[Node], reqs: Sequence[str]) -> Additions:
    """The arguments bound with 'add' whose gradient array is not simply added to."""
    wanted = [i for i, req in enumerate(reqs) if req != "null"]
    graph = build_gradient_graph(heads, nodes, [variables[i] for i in wanted])
    readers = {(id(e.node), e.index) for n in graph.order() if isinstance(n, GradNode) for e in n.inputs}
    taps: dict[int, Entry] = {}
    rules: dict[int, Rule] = {}
    for i, gradient in zip(wanted, graph.heads[len(heads) :], strict=True):
        if reqs[i] != "add":
            continue
        rule = _rule(graph, gradient)
        if rule is not None:
            rules[i] = rule
        if (id(gradient.node), gradient.index) in readers:
            source = next((entry for entry, total in graph.totals if total == gradient), None)
            if source is not None and source.node.op is not None:
                taps[i] = source
    if taps:
        names = ", ".join(repr(variables[i].name) for i in taps)
        warnings.warn(
            f"grad_req='add' on {names}: as in MXNet 1.9.1, gradients that pass through the addition this argument takes part in contain what its "
            "gradient array held before. Use broadcast_add there, or 'write' and add the gradients yourself.",
            stacklevel=5,
        )
    return Additions(taps, rules)


def _rule(graph: GradientGraph, gradient: GradEntry) -> Rule | None:
    """The rule of the operator that computes a gradient, None for an addition."""
    node = gradient.node.of if isinstance(gradient.node, GradNode) else None
    if node is None or node.op is None or not node.op.added:
        return None
    rules: Mapping[str, Any] = node.op.added
    for position, spec in enumerate(node.input_specs()):
        if spec.name in rules and graph.input_grads.get((id(node), position)) == gradient:
            rule, params = rules[spec.name], node.params
            return lambda content, grad: rule(params, content, grad)
    return None
