"""CachedOp: a symbol called like an operator on NDArrays (Gluon's hybridized blocks), lowered once per set of input shapes and types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .context import Context, current_context
from .errors import MXNetError
from .graph import Entry, Node, topological
from .infer.solver import infer_dtypes, infer_shapes
from .lower.integers import integer_paths, integer_program
from .lower.monitor import input_label
from .lower.program import Program, build_program, explain
from .lower.rng import replayed, rng_state
from .ndarray.core import NDArray, wrap
from .ndarray.interpret import Interpreter
from .ndarray.plans import owned, store
from .ndarray.recording import connected, with_history
from .ndarray.tape import Record, state
from .registry import InputSpec, OpDef

__all__ = ["CachedOp"]


@dataclass
class _Lowered:
    """The symbol lowered for one set of input shapes and types. shadows: programs for gradients through integers, by the inputs with one."""

    program: Program
    shapes: Any
    dtypes: Any
    devices: dict[int, torch.device]
    integral: bool  # whether gradients may have to pass integer values
    shadows: dict[tuple[int, ...], Program] = field(default_factory=dict)


class _Operator(OpDef):
    """How a CachedOp appears in `autograd.get_symbol`: as one node, or (small graphs) as the graph itself."""

    inlined: list[Entry] | None = None


class CachedOp:
    """`CachedOp(symbol)(*arrays)` gives the symbol's outputs; arrays follow `symbol.list_inputs()`.

    flags: MXNet's options (static_alloc, ...), which ask for memory planning that torch does itself.
    """

    def __init__(self, sym: Any, flags: Sequence[tuple[str, Any]] = (), thread_safe: bool = False) -> None:
        self._symbol = sym
        self._heads = list(sym._entries)
        self._nodes = topological(self._heads)
        # in training also the outputs whose gradients tell that a layer's statistics change
        self._tapped = [*self._heads, *(Entry(n) for n in self._nodes if n.op is not None and n.op.backward_writes is not None)]
        self._variables = [node for node in self._nodes if node.is_variable]
        self.flags = dict(flags)
        self._operator = _Operator(
            "_CachedOp", self._body, (InputSpec("data", variadic=True),), {}, {}, outputs=tuple(sym.list_outputs()), eager_only=True,
        )  # fmt: skip
        operators = len(self._nodes) - len(self._variables)
        if operators <= int(self.flags.get("inline_limit", 2)) and not self.flags.get("static_alloc"):
            self._operator.inlined = self._heads
        self.thread_safe = thread_safe
        self._programs: dict[Any, _Lowered] = {}
        self._interpreter: Interpreter | None = None
        self._hook: tuple[Callable[[str, str, Any], Any], bool] | None = None
        self._watching: dict[int, Callable[..., Any]] = {}

    def _register_op_hook(self, callback: Callable[[str, str, Any], Any], monitor_all: bool = False) -> None:
        """`callback(name, operator name, handle)` sees every operator's outputs, with monitor_all its inputs too."""
        if self._hook != (callback, monitor_all):
            self._hook, self._watching = (callback, monitor_all), {}

    def _watched(self, program: Program, ctx: Context) -> Callable[..., Any]:
        assert self._hook is not None
        found = self._watching.get(id(program))
        if found is None:
            found = self._watching[id(program)] = watched(program, ctx, *self._hook)
        return found

    def __call__(self, *args: NDArray, out: Any = None, default_ctx: Context | None = None) -> Any:
        """Runs the symbol; one output is returned as an array, several as a list. Errors: MXNetError for wrong numbers, shapes and types."""
        if len(args) != len(self._variables):
            raise MXNetError(f"CachedOp expects {len(self._variables)} inputs, but got {len(args)}: {[v.name for v in self._variables]}")
        for array in args:
            if not isinstance(array, NDArray):
                raise TypeError(f"CachedOp takes NDArrays, not {type(array).__name__}")
        if any(array.stype != "default" for array in args) and self._hook is None:
            return self._returned(self._interpreted(args), out)
        ctx = args[0]._ctx if args else default_ctx or current_context()
        records = connected(args) if state.recording else None
        values = [array._t for array in args]
        lowered = self._lowered(values, ctx.device)
        program = lowered.program
        if records is None:
            tensors, results = values, self._run(program, values, values, False, ctx)
        elif lowered.integral:
            tensors = values
            before = rng_state(lowered.devices) if program.random else None
            results = self._run(program, values, values, False, ctx)
        else:
            tensors = with_history(args)
            results = self._run(program, values, tensors, True, ctx)
        for variable, index in program.writes:
            values[variable].copy_(results[index].detach())
        outputs = [self._output(result, tensors, ctx) for result in results[: len(self._heads)]]
        if records is not None:
            self._put_on_tape(outputs, Record(self._operator, {}, records))
            if lowered.integral:
                program, results = self._histories(lowered, with_history(args), before)
                for array, result in zip(outputs, results, strict=False):
                    array._ag = result if result.requires_grad else None
            self._write_in_backward(program, args, results)
        return self._returned(outputs, out)

    def _run(self, program: Program, values: Sequence[torch.Tensor], tensors: Sequence[torch.Tensor], recorded: bool, ctx: Context) -> Any:
        try:
            with torch.set_grad_enabled(recorded):
                return (program.form() if self._hook is None else self._watched(program, ctx))(*tensors)
        except (RuntimeError, IndexError, ValueError) as error:
            raise explain(program, values, error) from error

    def _body(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The symbol as an operator's body, for graphs that `autograd.get_symbol` gave."""
        program = self._lowered(tensors, tensors[0].device).program
        results: tuple[torch.Tensor, ...] = program.run(*tensors)
        return results[: len(self._heads)]

    def _histories(self, lowered: _Lowered, tensors: Sequence[torch.Tensor], before: Any) -> tuple[Program, Any]:
        """What gradients run through where values are integers: the program for that, and its results."""
        wanted = tuple(i for i, tensor in enumerate(tensors) if tensor.requires_grad)
        shadow = lowered.shadows.get(wanted)
        if shadow is None:
            paths, _ = integer_paths(self._heads, self._nodes, {id(self._variables[i]) for i in wanted}, lowered.dtypes)
            shadow = lowered.shadows[wanted] = integer_program(
                lowered.program.heads, self._nodes, self._variables, paths, lowered.shapes, lowered.dtypes, lowered.devices, lowered.program.train
            )
        with replayed(before, lowered.devices), torch.enable_grad():
            return shadow, shadow.run(*tensors)

    def _interpreted(self, args: Sequence[NDArray]) -> list[NDArray]:
        """The outputs for sparse arguments, operator by operator."""
        if self._interpreter is None:
            self._interpreter = Interpreter(self._nodes)
        values = self._interpreter.run({id(v): a for v, a in zip(self._variables, args, strict=True)})
        return [values[id(e.node)][e.index] for e in self._heads]

    def _lowered(self, values: Sequence[torch.Tensor], device: torch.device) -> _Lowered:
        key = (*[t.shape for t in values], *[t.dtype for t in values], device, state.training)
        found = self._programs.get(key)
        if found is None:
            shapes = infer_shapes(self._nodes, {id(v): tuple(t.shape) for v, t in zip(self._variables, values, strict=True)})
            dtypes = infer_dtypes(self._nodes, {id(v): t.dtype for v, t in zip(self._variables, values, strict=True)})
            devices = {id(node): device for node in self._nodes}
            program = build_program(self._tapped if state.training else self._heads, self._variables, shapes, dtypes, devices, state.training)
            paths, crossing = integer_paths(self._heads, self._nodes, {id(v) for v in self._variables}, dtypes)
            integral = crossing or any(not t.is_floating_point() and id(v) in paths for v, t in zip(self._variables, values, strict=True))
            found = self._programs[key] = _Lowered(program, shapes, dtypes, devices, integral)
        return found

    def _output(self, result: torch.Tensor, tensors: Sequence[torch.Tensor], ctx: Context) -> NDArray:
        with torch.set_grad_enabled(result.requires_grad):
            result = owned(result, tensors)
        array = wrap(result.data if result.requires_grad else result, ctx)
        array._ag = result if result.requires_grad else None
        return array

    def _put_on_tape(self, outputs: Sequence[NDArray], record: Record) -> None:
        for index, array in enumerate(outputs):
            array._rec = record if index == 0 else Record(None, None, (record,), index)

    def _write_in_backward(self, program: Program, args: Sequence[NDArray], results: Sequence[torch.Tensor]) -> None:
        """Moving statistics change each time the gradient of their layer is computed."""
        for update, output in zip(program.backward_writes, results[len(self._heads) :], strict=False):
            rule = update.node.op.backward_writes if update.node.op is not None else None
            if rule is None or not output.requires_grad:
                continue
            kept = {name: args[position] for name, position in update.variables.items()}
            tensors = [results[k].data for k in update.results]
            output.register_hook(_Update(rule, update.node.params, kept, tensors))

    def _returned(self, outputs: list[NDArray], out: Any) -> Any:
        if out is None:
            return outputs[0] if len(outputs) == 1 else outputs
        targets = [out] if isinstance(out, NDArray) else list(out)
        for index, (target, array) in enumerate(zip(targets, outputs, strict=True)):
            store(target, array._t, "CachedOp", index)
            target._ag, target._rec = array._ag, array._rec
        return out


def watched(program: Program, ctx: Context, callback: Callable[[str, str, Any], Any], inputs_too: bool) -> Callable[..., Any]:
    """A form of the program that reports each operator as it runs."""

    def ran(node: Node, inputs: Sequence[torch.Tensor], outputs: Any) -> None:
        assert node.op is not None
        found = []
        if inputs_too:
            found = [(input_label(node, position), tensor) for position, tensor in enumerate(inputs)]
        tensors = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        visible = node.op.output_names(node.params)[: node.op.num_visible(node.params)]
        for label, tensor in [*found, *zip(visible, tensors, strict=False)]:
            array = wrap(tensor.detach(), ctx)
            callback(f"{node.name}_{label}", node.op.name, array.handle)

    if program.graph_module is None:
        program.watch = ran
        return program.run
    nested = program.nested()
    for module in nested.children():
        node = module.mxnet_node
        module.register_forward_hook(lambda _module, inputs, outputs, node=node: ran(node, inputs, outputs))
    return nested


class _Update:
    """The hook that applies one layer's `backward_writes`."""

    def __init__(self, rule: Any, attrs: Any, arrays: dict[str, NDArray], tensors: Sequence[torch.Tensor]) -> None:
        self._rule, self._attrs, self._arrays, self._tensors = rule, attrs, arrays, tensors

    def __call__(self, gradient: torch.Tensor) -> None:
        with torch.no_grad():
            inputs = {name: array._t.data for name, array in self._arrays.items()}
            for name, value in self._rule(self._attrs, inputs, self._tensors).items():
                if name in self._arrays:
                    self._arrays[name]._t.copy_(value)
