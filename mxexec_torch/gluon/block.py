"""Blocks: layers and models with parameters and children; hybridized, they run as one lowered graph."""

from __future__ import annotations

import re
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from .. import name as _name
from .. import ndarray, symbol
from ..cached_op import CachedOp
from ..ndarray.core import NDArray
from ._structure import flatten as _flatten
from ._structure import gather as _gather_type_ctx_info
from ._structure import regroup as _regroup
from ._structure import same_format
from ._summary import print_summary
from .parameter import DeferredInitializationError, Parameter, ParameterDict
from .utils import HookHandle, _brief_print_list, _indent, refuse_np

__all__ = ["Block", "HybridBlock", "SymbolBlock"]  # noqa: F822 - the last by __getattr__


class _BlockScope:
    """The name scope of a block: names of blocks and symbols made inside get its prefix. Counts names per kind."""

    _current = threading.local()

    def __init__(self, block: Block) -> None:
        self._block = block
        self._counter: dict[str, int] = {}
        self._entered: list[tuple[_BlockScope | None, _name.Prefix]] = []

    @staticmethod
    def create(prefix: str | None, params: ParameterDict | None, hint: str) -> tuple[str, ParameterDict]:
        """(prefix, parameter dict) of a new block in the current scope."""
        scope: _BlockScope | None = getattr(_BlockScope._current, "value", None)
        if prefix is None:
            prefix = (_name.current_manager().get(None, hint) if scope is None else scope._next(hint)) + "_"
        outer = "" if scope is None else scope._block.prefix
        if params is not None:
            own = ParameterDict(params.prefix, params)
        elif scope is None:
            own = ParameterDict(prefix)
        else:
            parent = scope._block.params
            own = ParameterDict(parent.prefix + prefix, parent._shared)
        return outer + prefix, own

    def _next(self, hint: str) -> str:
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> _BlockScope:
        if not self._block._empty_prefix:
            names = _name.Prefix(self._block.prefix)
            self._entered.append((getattr(_BlockScope._current, "value", None), names))
            _BlockScope._current.value = self
            names.__enter__()
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if not self._block._empty_prefix:
            outer, names = self._entered.pop()
            names.__exit__(kind, value, trace)
            _BlockScope._current.value = outer


def _holds_stray_block(data: Any, children: list[Any]) -> bool:
    """Whether nested lists and dicts hold a block that is no child."""
    if isinstance(data, Block):
        return not any(data is child for child in children)
    members = data.values() if isinstance(data, dict) else data if isinstance(data, (list, tuple)) else ()
    return any(_holds_stray_block(member, children) for member in members)


class Block:
    """Base class of layers and models: subclasses define `forward`. Attributes that are blocks or parameters are registered.

    prefix: of the names of its parameters and children (default: class name and a number). params: parameters shared with another block.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        self._empty_prefix = prefix == ""
        self._prefix, self._params = _BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = _BlockScope(self)
        self._children: OrderedDict[str, Any] = OrderedDict()
        self._reg_params: dict[str, Any] = {}
        self._forward_hooks: OrderedDict[int, Any] = OrderedDict()
        self._forward_pre_hooks: OrderedDict[int, Any] = OrderedDict()

    def __repr__(self) -> str:
        rows = [f"  ({key}): {_indent(repr(member), 2)}" for key, member in self.__dict__.items() if isinstance(member, Block)]
        return f"{type(self).__name__}(\n" + "\n".join(rows) + "\n)"

    def __setattr__(self, name: str, value: Any) -> None:
        existing = getattr(self, name, None)
        if isinstance(existing, (Parameter, Block)) and not isinstance(value, type(existing)):
            raise TypeError(f"Changing attribute type for {name} from {type(existing)} to {type(value)} is not allowed.")
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            assert name not in self._reg_params, f"attribute {name} is a parameter already: share parameters with params= when making the block"
            self._reg_params[name] = value
        super().__setattr__(name, value)

    def _alias(self) -> str:
        """The kind's name in automatic names."""
        return type(self).__name__.lower()

    # -- names and structure --------------------------------------------------------------------------------------------------
    @property
    def prefix(self) -> str:
        """The prefix of names."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its last underscore."""
        return self._name

    def name_scope(self) -> _BlockScope:
        """`with self.name_scope():` blocks, parameters and symbols made inside get the prefix."""
        return self._scope

    @property
    def params(self) -> ParameterDict:
        """The block's own parameters, without those of children."""
        return self._params

    def _warn_of_stray_blocks(self) -> None:
        children = list(self._children.values())
        for key, member in self.__dict__.items():
            if key != "_children" and isinstance(member, (list, tuple, dict)) and _holds_stray_block(member, children):
                warnings.warn(
                    f'"{type(self).__name__}.{key}" is an unregistered container with Blocks. Blocks in lists and dicts are no children: '
                    "use register_child() or nn.Sequential / nn.HybridSequential",
                    stacklevel=3,
                )

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """The parameters of the block and all children; `select`: a regular expression that names must begin with."""
        self._warn_of_stray_blocks()
        found = ParameterDict(self._params.prefix)
        pattern = re.compile(select) if select else None
        found.update({name: p for name, p in self.params.items() if pattern is None or pattern.match(name)})
        for child in self._children.values():
            found.update(child.collect_params(select=select))
        return found

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Any]:
        """Parameters by path of attributes ('body.0.weight')."""
        lead = prefix + "." if prefix else ""
        found = {lead + key: parameter for key, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(lead + name))
        return found

    def register_child(self, block: Any, name: str | None = None) -> None:
        """Makes a block a child, named by its number unless told otherwise."""
        self._children[str(len(self._children)) if name is None else name] = block

    def apply(self, fn: Callable[[Any], Any]) -> Block:
        """Calls fn on all children, then on the block; returns the block."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """`hook(block, inputs)` runs before forward."""
        handle = HookHandle()
        handle.attach(self._forward_pre_hooks, hook)
        return handle

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """`hook(block, inputs, outputs)` runs after forward."""
        handle = HookHandle()
        handle.attach(self._forward_hooks, hook)
        return handle

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """`callback(name, operator name, array)` sees the outputs (and inputs) of every operator of hybridized children."""
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    # -- parameters -----------------------------------------------------------------------------------------------------------
    def initialize(self, init: Any = None, ctx: Any = None, verbose: bool = False, force_reinit: bool = False) -> None:
        """Initializes all parameters on contexts. init: for those without an initializer of their own (default: Uniform)."""
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: Any) -> None:
        """Changes the element type of all parameters."""
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self.params.values():
            parameter.cast(dtype)

    def save_parameters(self, filename: str, deduplicate: bool = False) -> None:
        """Writes parameters under their attribute paths. deduplicate: a shared parameter once, under its last path."""
        paths = self._collect_params_with_prefix()
        if deduplicate:
            last = {id(parameter): path for path, parameter in paths.items()}
            order = dict.fromkeys(id(parameter) for parameter in paths.values())
            paths = {last[key]: paths[last[key]] for key in order}
        ndarray.save(filename, {path: parameter._reduce() for path, parameter in paths.items()})

    def save_params(self, filename: str) -> None:
        """Deprecated: writes parameters under their names without the block's prefix."""
        warnings.warn("save_params is deprecated. Please use save_parameters.", stacklevel=2)
        try:
            self.collect_params().save(filename, strip_prefix=self.prefix)
        except ValueError as error:
            raise ValueError(f"{error}\nsave_params is deprecated. Using save_parameters may resolve this error.") from error

    def load_parameters(
        self, filename: str, ctx: Any = None, allow_missing: bool = False, ignore_extra: bool = False, cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:  # fmt: skip
        """Reads a file of `save_parameters`, or one of full names (`export`, `collect_params().save`).

        Errors: AssertionError for missing parameters, wrong shapes and types, ValueError for extra ones.
        """
        loaded = ndarray.load(filename)
        params = self._collect_params_with_prefix()
        if not loaded and not params:
            return
        if not isinstance(loaded, dict) or not any("." in name for name in loaded):
            self.collect_params().load(filename, ctx, allow_missing, ignore_extra, self.prefix, cast_dtype=cast_dtype, dtype_source=dtype_source)
            return
        if not allow_missing:
            present = {id(params[name]) for name in loaded if name in params}
            for name, parameter in params.items():
                assert id(parameter) in present, (
                    f"Parameter '{name}' is missing in file '{filename}', which contains parameters: {_brief_print_list(loaded)}. "
                    "Set allow_missing=True to ignore missing parameters."
                )
        for name, array in loaded.items():
            if name in params:
                params[name]._load_init(array, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)
            elif not ignore_extra:
                raise ValueError(
                    f"Parameter '{name}' loaded from file '{filename}' is not present in ParameterDict, which contains parameters "
                    f"{_brief_print_list(params)}. Set ignore_extra=True to ignore."
                )

    def load_params(self, filename: str, ctx: Any = None, allow_missing: bool = False, ignore_extra: bool = False) -> None:
        """Deprecated name of `load_parameters`."""
        warnings.warn("load_params is deprecated. Please use load_parameters.", stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Writes `prefix-model.json` (structure and graphs of hybridized blocks) and `prefix-model.params`."""
        from .model_file import write_model

        write_model(self, f"{prefix}-model.json")
        self.save_parameters(f"{prefix}-model.params")

    def load(self, prefix: str) -> None:
        """Reads what `save` wrote into a block of the same structure."""
        from .model_file import read_model

        read_model(self, f"{prefix}-model.json")
        self.load_parameters(f"{prefix}-model.params")

    # -- running --------------------------------------------------------------------------------------------------------------
    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridizes all children that are HybridBlocks."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def __call__(self, *args: Any) -> Any:
        refuse_np()
        for hook in list(self._forward_pre_hooks.values()):
            hook(self, args)
        out = self.forward(*args)
        for hook in list(self._forward_hooks.values()):
            hook(self, args, out)
        return out

    def forward(self, *args: Any) -> Any:
        """Computes the outputs."""
        raise NotImplementedError

    def summary(self, *inputs: Any) -> None:
        """Prints a table of layers, output shapes and numbers of parameters, from one pass over the inputs."""
        print_summary(self, inputs)


class HybridBlock(Block):
    """A block whose `hybrid_forward(F, x, ...)` works on arrays (F is mx.nd) and symbols (F is mx.sym), with parameters as keywords.

    `hybridize()` makes it run as one graph: traced with symbols at the first call, lowered once per set of input shapes and types.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._cached_graph: Any = ()
        self._cached_op: CachedOp | None = None
        self._cached_op_args: list[tuple[bool, Any]] = []  # (True, position among the inputs) or (False, parameter), in the graph's order
        self._in_format: Any = None
        self._out_format: Any = None
        self._active = False
        self._flags: list[tuple[str, Any]] = []
        self._callback: Any = None
        self._monitor_all = False
        self._backend: str | None = None
        self._backend_opts: dict[str, Any] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, HybridBlock):
            self._clear_cached_op()

    def register_child(self, block: Any, name: str | None = None) -> None:
        """As Block's. Errors: ValueError for a child that is no HybridBlock."""
        if not isinstance(block, HybridBlock):
            raise ValueError(
                f"Children of HybridBlock must also be HybridBlock, but {block} has type {type(block)}. "
                "If you are using Sequential, please try HybridSequential instead."
            )
        super().register_child(block, name)
        self._clear_cached_op()

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """`callback(name, operator name, array)` sees the outputs (and with monitor_all the inputs) of every operator when hybridized."""
        self._callback, self._monitor_all = callback, monitor_all
        super().register_op_hook(callback, monitor_all)

    def hybridize(
        self, active: bool = True, backend: str | None = None, clear: bool = True, static_alloc: bool = False, static_shape: bool = False,
        inline_limit: int = 2, forward_bulk_size: int | None = None, backward_bulk_size: int | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        """Runs as a graph from now on (or no longer). The memory options and backends are accepted and change nothing.

        clear: forgets the graph traced before.
        """
        if kwargs:
            self._backend_opts = kwargs
        self._backend, self._active = backend, active
        options: dict[str, Any] = {"static_alloc": static_alloc, "static_shape": static_shape, "inline_limit": inline_limit}
        self._flags = [
            *options.items(),
            *((k, v) for k, v in (("forward_bulk_size", forward_bulk_size), ("backward_bulk_size", backward_bulk_size)) if v is not None),
        ]
        if clear:
            self._clear_cached_op()
        if active and (self._forward_hooks or self._forward_pre_hooks):
            warnings.warn(f'"{self}" is being hybridized while still having forward hook/pre-hook: as a child, its hooks do not run.', stacklevel=2)
        super().hybridize(active, **options, forward_bulk_size=forward_bulk_size, backward_bulk_size=backward_bulk_size)

    def optimize_for(self, x: Any, *args: Any, backend: str | None = None, clear: bool = False, **kwargs: Any) -> None:
        """Hybridizes and traces at once, without running. Errors: ValueError without a backend, arrays or with several contexts."""
        if not backend:
            raise ValueError('Must specify "backend" to optimize_for')
        self.hybridize(True, backend, clear, **kwargs)
        symbols, arrays, contexts, _ = _gather_type_ctx_info([x, *args])
        if not symbols and not arrays:
            raise ValueError("In HybridBlock, there must be one NDArray or one Symbol in the input.")
        if len(contexts) > 1:
            raise ValueError(f"a hybridized block works on one context, the inputs are on {contexts}")
        self._build_cache(x, *args)

    def _clear_cached_op(self) -> None:
        self._cached_graph = ()
        self._cached_op = None
        self._cached_op_args = []

    def cast(self, dtype: Any) -> None:
        """Changes the element type of all parameters."""
        self._clear_cached_op()
        super().cast(dtype)

    # -- the graph ------------------------------------------------------------------------------------------------------------
    def _get_graph(self, *args: Any) -> Any:
        """(input variables, outputs) as symbols, traced at the first call."""
        if not self._cached_graph:
            flat, self._in_format = _flatten(args, "input")
            count = sum(arg is not None for arg in flat)
            if count == 0:
                raise ValueError(f"All args are None and we do not support such a case. Received args={args}")
            names: Iterator[str] = iter(["data"] if count == 1 else [f"data{i}" for i in range(count)])
            variables = [None if arg is None else symbol.var(next(names)) for arg in flat]
            params = {key: parameter.var() for key, parameter in self._reg_params.items()}
            with self.name_scope():
                out = self.hybrid_forward(symbol, *_regroup(variables, self._in_format), **params)
            heads, self._out_format = _flatten(out, "output")
            self._cached_graph = [v for v in variables if v is not None], symbol.Group(heads)
        return self._cached_graph

    def _build_cache(self, *args: Any) -> None:
        data, out = self._get_graph(*args)
        positions = {variable.name: i for i, variable in enumerate(data)}
        params = self.collect_params()
        used = out.list_inputs()
        for name in used:
            assert name in params or name in positions, f"Unknown input to HybridBlock: {name}"
        self._warn_of_unused(positions, params, set(used))
        flat, _ = _flatten(args, "input")
        mine = [params[name] for name in used if name in params]
        try:
            for parameter in mine:
                parameter.data()
        except DeferredInitializationError:
            self._deferred_infer_shape(*flat)
            for parameter in mine:
                parameter._finish_deferred_init()
        if self._backend:
            out = self._optimized(out, [arg for arg in flat if arg is not None], positions, params)
            self._cached_graph = data, out
        self._cached_op_args = [(True, positions[name]) if name in positions else (False, params[name]) for name in out.list_inputs()]
        where: list[tuple[str, Any]] = [
            (what, [i for i, (is_data, _) in enumerate(self._cached_op_args) if is_data is wanted])
            for what, wanted in (("data_indices", True), ("param_indices", False))
        ]
        self._cached_op = CachedOp(out, where + self._flags)

    def _optimized(self, out: Any, flat: list[Any], positions: dict[str, int], params: ParameterDict) -> Any:
        """The graph as the backend leaves it."""
        arrays = {name: flat[i] for name, i in positions.items() if isinstance(flat[i], NDArray)}
        arrays.update({name: params[name].data() for name in out.list_inputs() if name in params})
        states = set(out.list_auxiliary_states())
        arguments = {name: array for name, array in arrays.items() if name not in states}
        ctx = next(iter(arrays.values())).ctx if arrays else None
        return out.optimize_for(self._backend, arguments, {n: a for n, a in arrays.items() if n in states}, ctx, {}, **self._backend_opts)

    @staticmethod
    def _warn_of_unused(positions: dict[str, int], params: ParameterDict, used: set[str]) -> None:
        inputs = [f"{i}-th" for name, i in positions.items() if name not in used]
        if inputs:
            warnings.warn(f"The {', '.join(inputs)} input to HybridBlock is not used by any computation. Is this intended?", stacklevel=5)
        stray = [name for name in params if name not in used]
        if stray:
            warnings.warn(f"Parameter {', '.join(stray)} is not used by any computation. Is this intended?", stacklevel=5)

    def _call_cached_op(self, *args: Any) -> Any:
        if self._cached_op is None:
            self._build_cache(*args)
        assert self._cached_op is not None
        if self._callback is not None:
            self._cached_op._register_op_hook(self._callback, self._monitor_all)
        flat, fmt = _flatten(args, "input")
        if not same_format(self._in_format, fmt):
            raise ValueError(
                f"The argument structure of HybridBlock does not match the cached version. Stored format = {self._in_format}, input format = {fmt}"
            )
        data = [arg for arg in flat if arg is not None]
        inputs = [data[what] if is_data else what.data() for is_data, what in self._cached_op_args]
        out = self._cached_op(*inputs)
        return _regroup([out] if isinstance(out, NDArray) else out, self._out_format)

    def _deferred_infer_shape(self, *args: Any) -> None:
        try:
            self.infer_shape(*args)
        except Exception as error:
            raise ValueError(f"Deferred initialization failed because shape cannot be inferred. {error}") from error

    def _infer_attrs(self, infer: str, attr: str, *args: Any) -> None:
        inputs, out = self._get_graph(*args)
        flat = [arg for arg in _flatten(args, "input")[0] if arg is not None]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            arguments, _, states = getattr(out, infer)(**{v.name: getattr(arg, attr) for v, arg in zip(inputs, flat, strict=True)})
        if arguments is None:
            raise ValueError(caught[0].message if caught else f"{infer} leaves parameters open")
        known = dict(zip(out.list_arguments() + out.list_auxiliary_states(), [*arguments, *states], strict=True))
        for parameter in self.collect_params().values():
            setattr(parameter, attr, known[parameter.name])

    def infer_shape(self, *args: Any) -> None:
        """Gives all parameters the shapes that these inputs imply."""
        self._infer_attrs("infer_shape", "shape", *args)

    def infer_type(self, *args: Any) -> None:
        """Gives all parameters the types that these inputs imply."""
        self._infer_attrs("infer_type", "dtype", *args)

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> None:
        """Writes `path-symbol.json` and `path-<epoch, four digits>.params`, for SymbolBlock.imports, Module and other bindings.

        Errors: RuntimeError before a hybridized forward pass.
        """
        if not self._cached_graph:
            raise RuntimeError("Please first call block.hybridize() and then run forward with this block at least once before calling export.")
        out = self._cached_graph[1]
        out.save(f"{path}-symbol.json", remove_amp_cast=remove_amp_cast)
        kinds = {**dict.fromkeys(out.list_arguments(), "arg"), **dict.fromkeys(out.list_auxiliary_states(), "aux")}
        mine = [what for is_data, what in self._cached_op_args if not is_data]
        ndarray.save(f"{path}-{epoch:04d}.params", {f"{kinds[p.name]}:{p.name}": p._reduce() for p in mine})

    # -- running --------------------------------------------------------------------------------------------------------------
    def forward(self, x: Any, *args: Any) -> Any:
        """Runs on arrays (as a graph when hybridized) or builds a symbol. Errors: ValueError for a mixture, or neither."""
        symbols, arrays, contexts, ctx = _gather_type_ctx_info([x, *args])
        if symbols and arrays:
            raise ValueError("In HybridBlock, we do not support mixed NDArrays and Symbols types for the input.")
        if symbols:
            params = {key: parameter.var() for key, parameter in self._reg_params.items()}
            with self.name_scope():
                return self.hybrid_forward(symbol, x, *args, **params)
        if ctx is None:
            raise ValueError("In HybridBlock, there must be one NDArray or one Symbol in the input.")
        if self._active:
            if len(contexts) > 1:
                raise ValueError(f"Find multiple contexts in the input: a hybridized block works on one context, got {contexts}")
            with ctx:
                return self._call_cached_op(x, *args)
        with ctx:
            try:
                params = {key: parameter.data(ctx) for key, parameter in self._reg_params.items()}
            except DeferredInitializationError:
                self._deferred_infer_shape(x, *args)
                for parameter in self.params.values():
                    parameter._finish_deferred_init()
                params = {key: parameter.data(ctx) for key, parameter in self._reg_params.items()}
            return self.hybrid_forward(ndarray, x, *args, **params)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs with the functions of F; parameters come as keywords by attribute name."""
        raise NotImplementedError


def __getattr__(name: str) -> Any:
    if name in ("SymbolBlock", "_infer_param_types", "_common_prefix"):  # made of HybridBlock in a module of their own
        from . import symbol_block

        return getattr(symbol_block, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
