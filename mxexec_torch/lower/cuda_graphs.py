"""Steps of a bound graph on one CUDA device, recorded once as CUDA graphs and replayed: no launch is paid for in Python any more.

Off unless `MXEXEC_TORCH_CUDA_GRAPHS=1` (read when a graph is bound): a recorded step keeps its intermediate memory for as long as the
executor lives. It works because a binding's arrays, outputs and gradients stay where they are from call to call. Random numbers are drawn
anew at each replay (torch's CUDA generators know their graphs).
What cannot be recorded - values that the CPU has to see, a user's Python operator - runs as it is, with one warning.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .program import Program

__all__ = ["Recorded", "recordable", "record"]

_WARM_UP = 3  # plain runs first: libraries choose their algorithms and allocate their work spaces then

Results = tuple[torch.Tensor, ...]
Heads = Sequence[torch.Tensor | None]


def record(function: Callable[[], Any], pool: Any) -> tuple[Callable[[], None], Any]:
    """(replay, what the function returned while it was recorded). Recording runs nothing: replay to get values.

    Errors: RuntimeError when the function does what a CUDA graph cannot hold.
    """
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        result = function()
    return graph.replay, result


def recordable(program: Program, devices: Mapping[int, torch.device]) -> bool:
    """Whether steps of this program are to be recorded: asked for, all on one CUDA device, and torch code throughout."""
    if os.environ.get("MXEXEC_TORCH_CUDA_GRAPHS", "0") in ("", "0"):
        return False
    places = {devices[id(node)] for node in program.nodes}
    return program.closed and len(places) == 1 and next(iter(places)).type == "cuda"


class Recorded:
    """The forward pass of one mode and the backward pass that follows it.

    compute: runs forward and fills the outputs, returns all results (with autograd history when differentiable).
    finish: fills the gradients from those results and the head gradients.
    """

    def __init__(self, compute: Callable[[], Results], finish: Callable[[Results, Heads], None]) -> None:
        self._compute, self._finish = compute, finish
        self._runs = 0
        self._refused = False
        self._pool: Any = None
        self._replay_forward: Callable[[], None] | None = None
        self._replay_backward: Callable[[], None] | None = None
        self._results: Results = ()
        self._heads: Heads = ()

    @property
    def replaying(self) -> bool:
        """Whether the last forward pass was a replay: its results have no autograd history of their own."""
        return self._replay_forward is not None

    def forward(self) -> Results:
        """The results, in memory that stays the same once the step is recorded."""
        if self._replay_forward is None and (self._refused or self._runs < _WARM_UP or not self._record_forward()):
            self._runs += 1
            return self._compute()
        assert self._replay_forward is not None
        self._replay_forward()
        return self._results

    def backward(self, heads: Heads) -> bool:
        """Replays the backward pass of the last replayed forward pass; False when that is not possible for these head gradients."""
        if self._refused:
            return False
        if self._replay_backward is None and not self._record_backward(heads):
            return False
        if [h is None for h in heads] != [h is None for h in self._heads]:
            return False
        for held, given in zip(self._heads, heads, strict=True):
            if held is not None and given is not None:
                held.copy_(given)
        assert self._replay_backward is not None
        self._replay_backward()
        return True

    def _record_forward(self) -> bool:
        try:
            self._pool = torch.cuda.graph_pool_handle()
            self._replay_forward, self._results = record(self._compute, self._pool)
        except RuntimeError as error:
            return self._refuse(error)
        return True

    def _record_backward(self, heads: Heads) -> bool:
        self._heads = [None if h is None else h.clone() for h in heads]
        try:
            self._replay_backward, _ = record(lambda: self._finish(self._results, self._heads), self._pool)
        except RuntimeError as error:
            return self._refuse(error)
        return True

    def _refuse(self, error: RuntimeError) -> bool:
        self._refused, self._replay_forward, self._replay_backward = True, None, None
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        warnings.warn(f"a graph's steps are not recorded as CUDA graphs: {reason}", stacklevel=2)
        return False
