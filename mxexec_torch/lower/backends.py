"""How a bound graph's function runs: as it is (eager), or compiled as a whole, backward included, with the bound shapes.

`backend=` of bind and simple_bind chooses, else `MXEXEC_TORCH_BACKEND`, read when a graph is bound: `eager` (the default), `inductor`,
or another back-end of torch.compile.
What cannot be compiled runs as it is, with one warning that names the node in the way.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence

import torch

from ..errors import MXNetError
from .program import Program

__all__ = ["backend_name", "compiled"]

Run = Callable[..., tuple[torch.Tensor, ...]]


def backend_name(given: str | None = None) -> str:
    """The back-end to use: the one given, else what the environment asks for. Errors: MXNetError when torch has none of that name."""
    name = given or os.environ.get("MXEXEC_TORCH_BACKEND") or "eager"
    if name not in ("eager", "inductor"):
        from torch import _dynamo

        if name not in _dynamo.list_backends(exclude_tags=None):
            source = "backend" if given else "MXEXEC_TORCH_BACKEND"
            known = ", ".join(repr(n) for n in ("eager", *_dynamo.list_backends()))  # without those for debugging
            raise MXNetError(f"{source}={name!r} is not a back-end of torch.compile: expected one of {known}")
    return name


def compiled(program: Program, backend: str) -> Run:
    """The program's function, compiled when it is first called."""
    if backend == "eager":
        return program.run
    node = next((n for n in program.nodes if n.op is not None and (n.op.eager_only or n.op.bind is not None)), None)
    if node is not None and node.op is not None:
        _warn(backend, f"node {node.name!r} ({node.op.name}) is run by Python code of its own")
        return program.run
    return _Compiled(program, backend)


class _Compiled:
    def __init__(self, program: Program, backend: str) -> None:
        self._program, self._plain, self._backend = program, program.run, backend
        self._runs: dict[bool, Run] = {}  # by whether gradients are wanted

    def __call__(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        differentiable = torch.is_grad_enabled()
        run = self._runs.get(differentiable)
        if run is not None:
            return run(*tensors)
        try:
            found = self._compile(tensors)
            results = found(*tensors)
        except Exception as error:  # noqa: BLE001 - whatever the compiler raises: the plain function is right, or raises what is
            results = self._plain(*tensors)
            _warn(self._backend, _culprit(self._program) or f"{type(error).__name__}: {next(iter(str(error).strip().splitlines()), '')}")
            found = self._plain
        self._runs[differentiable] = found
        return results

    def _compile(self, tensors: Sequence[torch.Tensor]) -> Run:
        graph = self._program.graph_module
        assert graph is not None
        if self._backend != "inductor":
            run: Run = torch.compile(graph, backend=self._backend, fullgraph=True, dynamic=False)
            return run
        # The graph is flat and its shapes are fixed: no need for dynamo, nor for its guards at every call.
        # Random numbers come from the generators, as they do without a compiler.
        import torch._inductor as inductor

        return inductor.compile(graph, list(tensors), options={"fallback_random": True})  # type: ignore[no-any-return]


def _culprit(program: Program) -> str | None:
    """The first node whose lowered form the compiler cannot look through."""
    from torch import _dynamo, fx

    tried: set[int] = set()
    for node in program.nodes:
        form = program.lowered.get(id(node))
        if node.op is None or form is None or id(form) in tried:
            continue
        tried.add(id(form))
        device = program.devices[id(node)]
        inputs = [torch.zeros(shape, dtype=dtype, device=device) for shape, dtype in form.takes]
        try:
            torch.compile(fx.GraphModule({}, form.graph), backend="eager", fullgraph=True, dynamic=False)(*inputs)
        except _dynamo.exc.TorchDynamoException as error:
            return f"node {node.name!r} ({node.op.name}): {str(error).strip().splitlines()[0]}"
        except (RuntimeError, IndexError, ValueError):
            continue  # zeros are no input for it
    return None


def _warn(backend: str, reason: str) -> None:
    warnings.warn(f"a graph runs without the back-end {backend}: {reason}", stacklevel=2)
