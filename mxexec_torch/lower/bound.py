"""A graph bound to torch tensors: forward, backward and the buffers between them. Knows torch only; `executor` adds MXNet's API.

How the executor's contract is met:
- Every variable's tensor belongs to the user. The graph runs on *aliases* made once by `tensor.data`: same memory, own version counter.
  So a user's write between forward and backward neither trips autograd's version check nor is lost: saved inputs are references.
- Outputs are copied into buffers that live as long as the binding, so a handle fetched early always shows the newest value.
  A write into an output buffer is carried back into the graph before backward (operators such as tanh save their output).
- Gradients are copied (write) or added (add) into the user's gradient buffers.
- Auxiliary states change when backward runs, as in MXNet, from the tensors that the forward pass saved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import torch

from .. import ranges
from ..errors import MXNetError
from ..foreign import mark_foreign
from ..graph import Entry, Node
from ..infer.meta import plain_shapes
from ..infer.state import show
from ..ops.runtime.mode import backward_is_training, backward_mode
from ..registry import Grad
from . import control_flow  # noqa: F401 - compiles the bodies of control-flow operators
from .accumulate import Additions, find_additions
from .backends import backend_name, compiled
from .cuda_graphs import Recorded, recordable
from .gradient_graph import is_mirrored
from .integers import integer_paths, integer_program
from .mirror import recomputing
from .program import Program, build_program, explain
from .rng import replayed, rng_state

__all__ = ["BoundGraph"]

_LARGE = 1 << 14  # numbers in a gradient that is worth adopting
_HEAD_GRAD_NEEDED = (
    "Because the last operator is not Loss function, head_gradient is required when calling backward. If you are attempting to minimize "
    "the output as an objective, please modify your network and pass it through the make_loss symbol."
)


# Operators whose gradient MXNet writes in whatever element type the gradient array has; the others refuse one of another type.
_CONVERTING = frozenset((
    "Cast", "Flatten", "Reshape", "_copy", "_np_cumsum", "_plus_scalar", "add_n", "elemwise_add", "expand_dims", "log_softmax", "make_loss", "mean",
    "reshape_like", "softmax", "softmin", "squeeze", "sum",
))  # fmt: skip


class BoundGraph:
    """heads over `variables`, bound to tensors.

    tensors, grads, reqs: one per variable; grads may be None, reqs are 'write' | 'add' | 'null' (auxiliary states: 'null').
    shapes, dtypes: id(node) -> one value per output. devices: id(node) -> torch device. outputs: reusable output buffers or None.
    """

    def __init__(
        self, heads: Sequence[Entry], nodes: Sequence[Node], variables: Sequence[Node], tensors: Sequence[torch.Tensor],
        grads: Sequence[torch.Tensor | None], reqs: Sequence[str], shapes: Mapping[int, list[Any]], dtypes: Mapping[int, list[Any]],
        devices: Mapping[int, torch.device], outputs: Sequence[torch.Tensor | None],
        contexts: Mapping[int, Any] | None = None, backend: str | None = None,
        takers: Mapping[int, Callable[[torch.Tensor | None, str], None]] | None = None,
    ) -> None:  # fmt: skip
        self.heads, self.nodes, self.variables = list(heads), list(nodes), list(variables)
        self.tensors, self.grads = list(tensors), list(grads)
        self.reqs = [req if grad is not None else "null" for req, grad in zip(reqs, grads, strict=True)]
        self.shapes, self.dtypes, self.devices = shapes, dtypes, devices
        self._takers = dict(takers or {})  # variable -> takes (gradient, request) in place of the buffer: sparse gradients
        self.contexts = contexts  # id(node) -> MXNet context, when nodes are placed by group (for debug_str)
        self._position = {id(v): i for i, v in enumerate(self.variables)}
        self._head_variable = [self._position.get(id(e.node)) for e in self.heads]
        self.outputs: list[torch.Tensor | None] = [
            self.tensors[v] if v is not None else given for v, given in zip(self._head_variable, outputs, strict=True)
        ]
        asked = [i for i, req in enumerate(self.reqs) if req != "null"]
        self._asked = {id(self.variables[i]) for i in asked}
        # crossing: the copy of the graph gives the gradients of floating arguments too
        self._paths, crossing = integer_paths(self.heads, self.nodes, self._asked, dtypes)
        self._wanted = [i for i in asked if self.tensors[i].is_floating_point() and not crossing]
        self._integer = [i for i in asked if crossing or not self.tensors[i].is_floating_point()]
        wanted = set(self._wanted)
        self._plain = [t.data for t in self.tensors]
        for entry in (e for n in self.nodes if n.op is not None and n.op.bind is not None for e in n.inputs if e.node.op is None):
            mark_foreign(self.tensors[self._position[id(entry.node)]])  # a Custom operator or a loop's body writes states through the alias
        self._leaves = [alias.requires_grad_() if i in wanted else alias for i, alias in enumerate(t.data for t in self.tensors)]
        self._programs: dict[bool, Program] = {}
        self._recomputing: dict[bool, Callable[..., tuple[torch.Tensor, ...]]] = {}
        self.backend = backend_name(backend)
        self._bindings: dict[int, Any] = {0: {id(v): req for v, req in zip(self.variables, self.reqs, strict=True)}}
        self._shadows: dict[bool, Program] = {}  # by mode
        self._results: tuple[torch.Tensor, ...] | None = None  # of the last differentiable forward pass
        self._output_versions: list[int] = []
        self._recorded: dict[bool, Recorded | None] = {}
        self._replayed: Recorded | None = None  # what replayed the last forward pass
        self._last_train = False
        self._rng: Any = None
        self.differentiated, self.visited = self._differentiated_nodes()
        self.mirrored = frozenset(id(n) for n in self.nodes if is_mirrored(n)) if self.visited else frozenset()  # recomputed in backward
        self._additions = Additions({}, {})
        if self.differentiated and "add" in self.reqs:
            self._additions = find_additions(self.heads, self.nodes, self.variables, self.reqs)
        self._untouched = self._never_written()
        self._refused = self._refused_gradients()
        self._mistyped = self._mistyped_gradients()

    # -- programs ---------------------------------------------------------------------------------------------------------
    def program(self, train: bool) -> Program:
        """The lowered graph of a mode, made when first used."""
        found = self._programs.get(train)
        if found is None:
            heads = [*self.heads, *self._additions.taps.values()] if self._additions.taps else self.heads
            found = build_program(heads, self.variables, self.shapes, self.dtypes, self.devices, train, self._bindings, self.visited, True)
            if self.backend != "eager":
                found.run = compiled(found, self.backend)
            self._programs[train] = found
        return found

    def _runner(self, program: Program, differentiable: bool) -> Callable[..., tuple[torch.Tensor, ...]]:
        """The program's function, or the one that recomputes mirrored nodes in backward."""
        if not differentiable or not self.mirrored or self.backend != "eager":
            return program.form()
        if program.train not in self._recomputing:
            self._recomputing[program.train] = recomputing(program, self.mirrored)
        return self._recomputing[program.train]

    # -- forward ----------------------------------------------------------------------------------------------------------
    def forward(self, train: bool, observe: Callable[[Program], Callable[..., tuple[torch.Tensor, ...]]] | None = None) -> None:
        """Runs the graph and fills the output buffers. `observe(program)` gives a watched form to run instead (monitors)."""
        self._results = None  # free the previous graph before making the next
        program = self.program(train)
        self._last_train = train
        if program.random:
            self._rng = rng_state(self.devices)
        recorded = self._recorded_step(program) if observe is None else None
        try:
            results = recorded.forward() if recorded is not None else self._compute(program, observe)
        except (RuntimeError, IndexError, ValueError) as error:
            raise explain(program, self._plain, error) from error
        self._replayed = recorded if recorded is not None and recorded.replaying else None
        if train and self._wanted:
            self._results = results
        self._output_versions = [-1 if buffer is None else buffer._version for buffer in self.outputs]

    def _compute(self, program: Program, observe: Callable[[Program], Callable[..., tuple[torch.Tensor, ...]]] | None = None) -> tuple[torch.Tensor, ...]:
        """One forward pass: results, what operators write, and the output buffers."""
        differentiable = bool(program.train and self._wanted)
        if not differentiable and observe is None and self.backend == "eager" and program.closed and not ranges.is_recording():
            inference, kept = program.inference
            with torch.inference_mode():
                results = inference(*self._plain, *[t for k in kept for t in k.get(self.tensors)])
        else:
            run = self._runner(program, differentiable) if observe is None else observe(program)
            with torch.set_grad_enabled(differentiable):
                results = run(*(self._leaves if differentiable else self._plain))
        with torch.no_grad():
            for variable, index in program.writes:
                self.tensors[variable].copy_(results[index])
            for i, head in enumerate(self._head_variable):
                if head is None:
                    self._publish(i, results[i])
        return results

    def _publish(self, index: int, result: torch.Tensor) -> None:
        buffer = self.outputs[index]
        if buffer is None or buffer.shape != result.shape:
            buffer = self.outputs[index] = torch.empty_like(result, memory_format=torch.contiguous_format)
        buffer.copy_(result)

    def _recorded_step(self, program: Program) -> Recorded | None:
        """The step of a mode as CUDA graphs, when that is asked for and possible."""
        if program.train not in self._recorded:
            step = Recorded(lambda: self._compute(program), self._finish) if recordable(program, self.devices) and not self._takers else None
            self._recorded[program.train] = step
        return self._recorded[program.train]

    # -- backward ---------------------------------------------------------------------------------------------------------
    def value_of(self, variable: Node) -> torch.Tensor:
        """The tensor bound to a variable."""
        return self._plain[self._position[id(variable)]]

    @cached_property
    def _live(self) -> set[int]:
        return self._dependents(self._asked, through_zeros=False)

    def needs_head_grad(self, index: int) -> bool:
        """Whether a wanted gradient depends on the head gradient of output `index`."""
        node = self.heads[index].node
        return id(node) in self._live and (node.op is None or node.op.needs_head_grad(node.params))

    def backward(self, head_grads: Sequence[torch.Tensor | None], train: bool = True, observe: Any = None) -> None:
        """Fills the gradient buffers from the last forward pass (or from the current arrays when there was none).

        head_grads: one per output or fewer. train: False asks layers such as BatchNorm for their inference gradients.
        Errors: MXNetError when an output that needs a head gradient has none, or when a gradient is wanted that MXNet refuses.
        """
        if not self._wanted and not self._integer:
            return
        if self._refused:
            raise MXNetError("\n".join(self._refused))
        given = [*head_grads, *([None] * (len(self.heads) - len(head_grads)))]
        for i, grad in enumerate(given):
            if grad is None and self.needs_head_grad(i):
                raise MXNetError(_HEAD_GRAD_NEEDED)
        with backward_mode(train):
            if self._wanted:
                self._backward_floating(given, observe)
            if self._integer:
                self._backward_integer(given)

    def _backward_floating(self, given: Sequence[torch.Tensor | None], observe: Any) -> None:
        results, self._results = self._results, None
        if results is not None:
            self._carry_back(results, self._output_versions)
            if self._replayed is not None:
                if backward_is_training() and observe is None and self._replayed.backward(given):
                    return
                results = None  # a replay leaves no autograd history
        if results is None:
            results = self._run_again(observe)
            self._carry_back(results, [-1] * len(self.heads))  # outputs are what their arrays hold, as in MXNet
        self._finish(results, given)
        if observe is not None:
            observe.backward_ran(given)

    def _finish(self, results: tuple[torch.Tensor, ...], given: Sequence[torch.Tensor | None]) -> None:
        """The second half of a step: gradients into their buffers, auxiliary states."""
        for k, i in enumerate(self._additions.taps):
            if results[len(self.heads) + k].requires_grad:
                results[len(self.heads) + k].register_hook(partial(self._added, i))
        grads = _gradients(self.heads, results, given, [self._leaves[i] for i in self._wanted])
        with torch.no_grad():
            adopts = not any(g is not None and g.numel() >= _LARGE for g in given) and self.program(self._last_train).closed
            self._store([(self._wanted[k], g) for k, g in enumerate(grads)], adopts)
            if backward_is_training():
                self._update_auxiliary(results)

    @cached_property
    def _storages(self) -> set[int]:
        return {t.untyped_storage().data_ptr() for t in self._plain}

    def _carry_back(self, results: tuple[torch.Tensor, ...], versions: Sequence[int]) -> None:
        """Takes over output buffers of other versions than these: what the user wrote there since forward."""
        for i, variable in enumerate(self._head_variable):
            buffer = self.outputs[i]
            if variable is None and buffer is not None and buffer._version != versions[i] and buffer.shape == results[i].shape:
                data = results[i].data
                if data.untyped_storage().data_ptr() not in self._storages:  # a view of an argument holds nothing of its own
                    data.copy_(buffer)

    def _run_again(self, observe: Any = None) -> tuple[torch.Tensor, ...]:
        """The differentiable pass of the last mode over the current arrays, with the random numbers of the last forward pass."""
        program = self.program(self._last_train)
        run = self._runner(program, True) if observe is None else observe.silently(program)
        with replayed(self._rng if program.random else None, self.devices), torch.enable_grad():
            return run(*self._leaves)

    def _store(self, grads: Sequence[tuple[int, torch.Tensor | None]], adopts: bool = False) -> None:
        """Writes or adds gradients. adopts: whether nobody outside can hold one of them (a large head gradient, code of a Custom operator)."""
        targets, sources = [], []
        for i, grad in grads:
            buffer = self.grads[i]
            assert buffer is not None
            if grad is not None and i in self._mistyped:
                raise MXNetError(
                    f"Gradient array of argument {self.variables[i].name!r}: data type do not match specified type. "
                    f"Expected: {show(self.tensors[i].dtype)} v.s. given {show(buffer.dtype)}"
                )
            if i in self._takers:
                if grad is not None or i not in self._untouched:
                    self._takers[i](grad, self.reqs[i])
            elif grad is not None and grad.is_sparse:
                (buffer if self.reqs[i] == "add" else buffer.zero_()).add_(grad)
            elif self.reqs[i] == "add" and i not in self._additions.taps:
                if i in self._additions.rules:
                    buffer.copy_(self._added(i, torch.zeros_like(buffer) if grad is None else grad))
                elif grad is not None:
                    buffer.add_(grad.reshape(buffer.shape))
            elif grad is None:
                if i not in self._untouched:
                    buffer.zero_()
            elif not adopts or not _adopted(buffer, grad):
                targets.append(buffer)
                sources.append(grad)
        if targets:
            torch._foreach_copy_(targets, sources)

    def _added(self, i: int, grad: torch.Tensor) -> torch.Tensor:
        """The content of a gradient array after one more gradient was added to it in MXNet's manner."""
        content = self.grads[i]
        assert content is not None
        content = content.reshape(grad.shape)
        rule = self._additions.rules.get(i)
        return (content + grad if rule is None else rule(content, grad)).reshape(grad.shape)

    def _update_auxiliary(self, results: tuple[torch.Tensor, ...]) -> None:
        if not self._last_train:
            return
        for update in self.program(True).backward_writes:
            node = update.node
            if id(node) in self.visited and node.op is not None and node.op.backward_writes is not None:
                inputs = {name: self._plain[v] for name, v in update.variables.items()}
                tensors = [results[k].detach() for k in update.results]
                for name, value in node.op.backward_writes(node.params, inputs, tensors).items():
                    if name in update.variables:
                        self.tensors[update.variables[name]].copy_(value)

    def _differentiated_nodes(self) -> tuple[set[int], set[int]]:
        """(nodes that a gradient reaches, nodes that MXNet's backward pass visits), of those that depend on a wanted argument.

        The pass also visits what lies below operators whose gradient is always zero (BlockGrad): BatchNorm's statistics change there.
        """
        if not self._asked:
            return set(), set()
        depends = self._dependents(self._asked)
        reached = {id(e.node) for e in self.heads}
        visited = set(reached)
        for node in reversed(self.nodes):
            if id(node) not in visited or id(node) not in depends or node.op is None:
                continue
            visited.update(id(e.node) for e in node.inputs)
            if id(node) in reached:
                if node.op.grad is Grad.MISSING:
                    raise MXNetError(
                        f"Operator {node.op.name} is non-differentiable because it didn't register FGradient attribute (node {node.name!r}): "
                        "bind the arguments below it with grad_req 'null' or put BlockGrad behind it"
                    )
                if node.op.grad is Grad.AUTO:
                    reached.update(id(e.node) for e in node.inputs)
        return depends & reached, depends & visited

    def _refused_gradients(self) -> list[str]:
        """Errors of operators that MXNet cannot differentiate with respect to an input that depends on a wanted argument."""
        if not self._asked:
            return []
        depends = self._dependents(self._asked, through_zeros=False)
        errors = []
        for node in self.nodes:
            refused = node.op.refused_grads if node.op is not None else ()
            if node.op is not None and refused:
                for spec, entry in zip(node.input_specs(), node.inputs, strict=True):
                    if spec.name in refused and id(entry.node) in depends:
                        errors.append(
                            f"Error in operator {node.name}: {node.op.name} layer doesn't support calculate {spec.name} gradient "
                            f"(Cannot take gradient wrt {spec.name}): bind {entry.node.name!r} with grad_req 'null'"
                        )
        return errors

    def _dependents(self, roots: set[int], through_zeros: bool = True) -> set[int]:
        """ids of the nodes that depend on the roots, these included; through operators whose gradient is zero on request."""
        depends = set(roots)
        for node in self.nodes:
            if any(id(e.node) in depends for e in node.inputs) and (through_zeros or (node.op is not None and node.op.grad is not Grad.ZERO)):
                depends.add(id(node))
        return depends

    def _never_written(self) -> set[int]:
        """Variables that only serve as inputs whose gradient MXNet never writes (labels of loss heads)."""
        if not any(node.op is not None and node.op.untouched_grads for node in self.nodes):
            return set()
        touched: set[int] = set()
        listed: set[int] = set()
        for node in self.nodes:
            if node.op is not None and node.op.untouched_grads:
                for spec, entry in zip(node.input_specs(), node.inputs, strict=True):
                    (listed if spec.name in node.op.untouched_grads else touched).add(id(entry.node))
            else:
                touched.update(id(entry.node) for entry in node.inputs)
        return {self._position[key] for key in listed - touched if key in self._position}

    def _mistyped_gradients(self) -> set[int]:
        """Variables whose gradient array has another element type than they, where MXNet's backward pass stumbles over that."""
        arrays = zip(self.tensors, self.grads, strict=True)
        differing = {i for i, (t, grad) in enumerate(arrays) if grad is not None and grad.dtype is not t.dtype and self.reqs[i] != "null"}
        if not differing:
            return differing
        strict = {id(e.node) for node in self.nodes if node.op is not None and node.op.name not in _CONVERTING for e in node.inputs}
        return {i for i in differing if id(self.variables[i]) in strict}

    # -- gradients through integers -----------------------------------------------------------------------------------------
    def _backward_integer(self, given: Sequence[torch.Tensor | None]) -> None:
        """Gradients that torch does not have: of integer arguments, and of all where casts to integers are on the way (see `integers`)."""
        reached = [i for i in self._integer if id(self.variables[i]) in self._paths]
        with torch.no_grad():
            self._store([(i, None) for i in self._integer if i not in reached])
        if not reached:
            return
        shadow = self._shadows.get(self._last_train)
        if shadow is None:
            shadow = self._shadows[self._last_train] = integer_program(
                self.heads, self.nodes, self.variables, self._paths, self.shapes, self.dtypes, self.devices, self._last_train
            )
        inputs = list(self._plain)
        for i in reached:
            inputs[i] = (inputs[i].detach() if inputs[i].is_floating_point() else inputs[i].double()).requires_grad_()
        with replayed(self._rng if shadow.random else None, self.devices), torch.enable_grad():
            results = shadow.run(*inputs)
        grads = _gradients(self.heads, results, given, [inputs[i] for i in reached])
        with torch.no_grad():
            for i, grad in zip(reached, grads, strict=True):
                self._store([(i, None if grad is None else grad.to(self.tensors[i].dtype))])
            if not self._wanted and self._last_train and self.program(True).backward_writes:
                self._update_auxiliary(self._run_again())


def _adopted(buffer: torch.Tensor, grad: torch.Tensor) -> bool:
    """Lets a gradient buffer take over a large gradient's memory, where nobody else holds either: saves a copy."""
    if grad.numel() < _LARGE or grad.device.type != "cpu" or grad.dtype is not buffer.dtype or not (grad.is_contiguous() and buffer.is_contiguous()):
        return False
    if grad.untyped_storage().nbytes() != grad.numel() * grad.element_size() or not (_held_alone(grad) and _held_alone(buffer)):
        return False
    buffer.data = grad.view(buffer.shape)
    return True


def _held_alone(tensor: torch.Tensor) -> bool:
    return bool(torch._C._storage_Use_Count(tensor.untyped_storage()._cdata) == 2)  # the tensor and this look


def _gradients(
    heads: Sequence[Entry], results: Sequence[torch.Tensor], given: Sequence[torch.Tensor | None], leaves: Sequence[torch.Tensor]
) -> Sequence[torch.Tensor | None]:
    """Gradients of the leaves (None: not reached). The last of several equal heads counts, as in MXNet."""
    chosen: dict[tuple[int, int], int] = {(id(e.node), e.index): i for i, e in enumerate(heads)}
    outputs, grads = [], []
    for i in sorted(chosen.values()):
        result = results[i]
        if result.requires_grad:
            grad = given[i]
            outputs.append(result)
            grads.append(torch.ones_like(result) if grad is None else grad.to(device=result.device, dtype=result.dtype))
    if not outputs:
        return [None] * len(leaves)
    engine = torch.autograd.Variable._execution_engine  # what torch.autograd.grad calls once it has checked the shapes again, which takes longer
    with plain_shapes():
        found: Sequence[torch.Tensor | None]
        found = engine.run_backward(tuple(outputs), tuple(grads), False, False, tuple(leaves), allow_unreachable=True, accumulate_grad=False)
        return found
