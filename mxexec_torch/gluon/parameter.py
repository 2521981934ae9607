"""Parameters: arrays with names, gradients and a copy on each context, and dictionaries of them."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any

import numpy as np

from .. import autograd, context, initializer, ndarray, symbol
from ..context import Context, cpu
from ..dtypes import name_of, torch_dtype
from ..errors import MXNetError
from ..ndarray.core import NDArray
from ..semantics import is_np_shape
from .utils import _brief_print_list, _indent, refuse_np, shape_is_known

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict", "tensor_types"]

tensor_types = (symbol.Symbol, NDArray)
_REQUESTS = ("write", "add", "null")
_STORAGE = ("default", "row_sparse", "csr")


class DeferredInitializationError(MXNetError):
    """The parameter's shape is not known yet: it is initialized by the first forward pass."""


def _contexts(ctx: Any) -> list[Context]:
    if ctx is None:
        return [context.current_context()]
    return [ctx] if isinstance(ctx, Context) else list(ctx)


def _place(ctx: Context) -> tuple[int, int]:
    """What tells copies apart: all kinds of CPU memory are one."""
    return ctx.device_typeid & 1, ctx.device_id


class Parameter:
    """A weight, bias or state of blocks: one array per context, with a gradient array unless grad_req is 'null'.

    shape: 0 for dimensions that the first input decides (needs allow_deferred_init). lr_mult, wd_mult: factors for the optimizer.
    init: initializer, wins over the one given to `initialize`. differentiable: False keeps grad_req at 'null'.
    stype, grad_stype: storage type of the array and of its gradient.
    """

    def __init__(
        self, name: str, grad_req: str = "write", shape: Any = None, dtype: Any = np.float32, lr_mult: float = 1.0, wd_mult: float = 1.0,
        init: Any = None, allow_deferred_init: bool = False, differentiable: bool = True, stype: str = "default", grad_stype: str = "default",
    ) -> None:  # fmt: skip
        for what, value in (("grad_stype", grad_stype), ("stype", stype)):
            assert value in _STORAGE, f"{what} for Parameter '{name}' must be one of {_STORAGE}, but got '{value}'"
        self.name = name
        self._shape = (shape,) if isinstance(shape, int) else shape
        self._dtype = dtype
        self.lr_mult, self.wd_mult, self.init = lr_mult, wd_mult, init
        self._allow_deferred_init, self._differentiable = allow_deferred_init, differentiable
        self._stype, self._grad_stype = stype, grad_stype
        self._var: Any = None
        self._data: list[Any] | None = None
        self._grad: list[Any] | None = None
        self._ctx_list: list[Context] = []
        self._positions: dict[tuple[int, int], int] = {}
        self._deferred_init: Any = ()  # (initializer, contexts, default initializer, values or None) while initialization waits
        self._trainer: Any = None
        self._grad_req: str | None = None
        self.grad_req = grad_req

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name} (shape={self.shape}, dtype={self.dtype})"

    # -- properties -----------------------------------------------------------------------------------------------------------
    @property
    def grad_req(self) -> Any:
        """What backward does with the gradient: 'write', 'add' or 'null'."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        assert req in _REQUESTS, f"grad_req must be one of {_REQUESTS}, but got '{req}'"
        wanted = req if self._differentiable else "null"
        if wanted == self._grad_req:
            return
        self._grad_req = wanted
        if self._data is None:
            return
        if wanted == "null":
            self._grad = None
            self._data = [array.detach() for array in self._data]
        else:
            self._init_grad()

    @property
    def dtype(self) -> Any:
        """The element type; setting it casts."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> Any:
        """The shape, None when nothing is known. Unknown dimensions are 0 (-1 under NumPy shape semantics)."""
        if self._shape is None or not is_np_shape():
            return self._shape
        return tuple(d or -1 for d in self._shape)

    @shape.setter
    def shape(self, new_shape: Any) -> None:
        old = self._shape
        fits = old is None or (len(old) == len(new_shape) and all(o in (-1, 0, n) for n, o in zip(new_shape, old, strict=True)))
        assert fits, f"Parameter '{self.name}': shape {new_shape} is incompatible with given shape {old}"
        self._shape = new_shape

    @property
    def stype(self) -> str:
        """The storage type."""
        return self._stype

    def _set_trainer(self, trainer: Any) -> None:
        if self._stype != "default" and self._trainer and trainer and self._trainer is not trainer:
            raise RuntimeError(f"Failed to set the trainer for Parameter '{self.name}': a {self._stype} Parameter has one trainer, which is set already")
        self._trainer = trainer

    # -- values ---------------------------------------------------------------------------------------------------------------
    def _check_and_get(self, arr_list: Any, ctx: Any) -> Any:
        """One array of the list (of the current context for None), or the list itself for `list`. Errors: RuntimeError, Deferred..."""
        if arr_list is None:
            if self._deferred_init:
                raise DeferredInitializationError(
                    f"Parameter '{self.name}' has not been initialized yet because its shape is not known: it is initialized by the first forward "
                    "pass. Pass data through the network first, or give in_units, in_channels, ... to the layers"
                )
            raise RuntimeError(
                f"Parameter '{self.name}' has not been initialized. Call initialize() on the block or on block.collect_params(); block.params "
                "leaves out the children"
            )
        if ctx is list:
            return arr_list
        if ctx is None:
            if len(arr_list) == 1:
                return arr_list[0]
            ctx = context.current_context()
        position = self._positions.get(_place(ctx))
        if position is None:
            raise RuntimeError(f"Parameter '{self.name}' was not initialized on context {ctx}. It was only initialized on {self._ctx_list}.")
        return arr_list[position]

    def _dense_only(self, what: str, instead: str) -> None:
        if self._stype != "default":
            raise RuntimeError(f"Cannot return a copy of Parameter '{self.name}' via {what}: its storage type is {self._stype}. Use {instead} instead.")

    def data(self, ctx: Context | None = None) -> Any:
        """The array on a context (default: the only one, or the current context's)."""
        self._dense_only("data()", "row_sparse_data()")
        return self._check_and_get(self._data, ctx)

    def list_data(self) -> Any:
        """The arrays on all contexts."""
        self._dense_only("list_data()", "list_row_sparse_data()")
        return self._check_and_get(self._data, list)

    def _with_grad(self) -> None:
        if self._data is not None and self._grad is None:
            raise RuntimeError(f"Cannot get gradient array for Parameter '{self.name}' because grad_req='null'")

    def grad(self, ctx: Context | None = None) -> Any:
        """The gradient array on a context."""
        self._with_grad()
        return self._check_and_get(self._grad, ctx)

    def list_grad(self) -> Any:
        """The gradient arrays on all contexts."""
        self._with_grad()
        return self._check_and_get(self._grad, list)

    def list_ctx(self) -> list[Context]:
        """The contexts. Errors: RuntimeError before `initialize`."""
        if self._data is not None:
            return self._ctx_list
        if self._deferred_init:
            return self._deferred_init[1]  # type: ignore[no-any-return]
        raise RuntimeError(f"Parameter '{self.name}' has not been initialized")

    def _rows(self, what: str, ctx: Any, row_id: Any) -> Any:
        if self._stype != "row_sparse":
            raise RuntimeError(f"Cannot return a copy of Parameter {self.name} via {what}: its storage type is {self._stype}. Use data() instead.")
        if not isinstance(row_id, NDArray):
            raise TypeError(f"row_id must have NDArray type, but {type(row_id)} is given")
        if not self._trainer:
            raise RuntimeError(f"Cannot get row_sparse data for Parameter '{self.name}' when no Trainer is created with it.")
        found = self._check_and_get(self._data, ctx)
        self._trainer._row_sparse_pull(self, found, row_id)
        return found

    def row_sparse_data(self, row_id: Any) -> Any:
        """The rows `row_id` of a row_sparse parameter, on row_id's context."""
        return self._rows("row_sparse_data()", row_id.ctx if isinstance(row_id, NDArray) else None, row_id)

    def list_row_sparse_data(self, row_id: Any) -> Any:
        """The rows `row_id` on all contexts."""
        return self._rows("list_row_sparse_data()", list, row_id)

    def set_data(self, data: Any) -> None:
        """Sets the values on all contexts."""
        self.shape = data.shape
        if self._data is None:
            assert self._deferred_init, f"Parameter '{self.name}' has not been initialized"
            self._deferred_init = (*self._deferred_init[:3], data)
            return
        trainer = self._trainer
        if trainer and trainer._kv_initialized and trainer._update_on_kvstore and self not in trainer._params_to_init:
            trainer._reset_kvstore()  # the store has a copy of its own
        for array in self._data:
            array[:] = data

    def zero_grad(self) -> None:
        """Sets the gradients to 0."""
        for gradient in self._grad or ():
            ndarray.zeros_like(gradient, out=gradient)

    def var(self) -> Any:
        """The symbol variable that stands for the parameter."""
        if self._var is None:
            self._var = symbol.var(
                self.name, shape=self.shape, dtype=self.dtype, lr_mult=self.lr_mult, wd_mult=self.wd_mult, init=self.init, stype=self._stype
            )
        return self._var

    def cast(self, dtype: Any) -> None:
        """Changes the element type of values and gradients."""
        self._dtype = dtype
        if self._data is None:
            return
        with autograd.pause():
            self._data = [array.astype(dtype) for array in self._data]
            if self._grad is not None:
                self._grad = [gradient.astype(dtype) for gradient in self._grad]
                autograd.mark_variables(self._data, self._grad, self.grad_req)

    # -- initialization -------------------------------------------------------------------------------------------------------
    def initialize(self, init: Any = None, ctx: Any = None, default_init: Any = None, force_reinit: bool = False) -> None:
        """Allocates the arrays on contexts and fills them; waits for the first forward pass where the shape is open and may wait.

        init: wins over the parameter's own initializer, which wins over default_init (Uniform). Errors: ValueError for an open shape.
        """
        refuse_np()
        if self._data is not None and not force_reinit:
            warnings.warn(f"Parameter '{self.name}' is already initialized, ignoring. Set force_reinit=True to re-initialize.", stacklevel=2)
            return
        self._data = self._grad = None
        default = initializer.Uniform() if default_init is None else default_init
        if init is None:
            init = default if self.init is None else self.init
        known = shape_is_known(self.shape)
        if not known and not self._allow_deferred_init:
            raise ValueError(f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}.")
        self._deferred_init = (init, _contexts(ctx), default, None)
        if known:
            self._finish_deferred_init()

    def _finish_deferred_init(self) -> None:
        """Initialization once the shape is known."""
        if not self._deferred_init:
            return
        init, contexts, default, data = self._deferred_init
        self._deferred_init = ()
        assert shape_is_known(self.shape), (
            f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}. Give in_units, in_channels, ... to the block."
        )
        with autograd.pause():
            if data is None:
                data = ndarray.zeros(self.shape, dtype=self.dtype, ctx=cpu(), stype=self._stype)
                initializer.create(default)(initializer.InitDesc(self.name, {"__init__": init}), data)
            self._init_impl(data, contexts)

    def _init_impl(self, data: Any, ctx_list: Any) -> None:
        """Copies values to contexts and makes the gradients."""
        self._ctx_list = list(ctx_list)
        self._positions = {_place(ctx): i for i, ctx in enumerate(self._ctx_list)}
        self._data = [data.copyto(ctx) for ctx in self._ctx_list]
        self._init_grad()

    def _init_grad(self) -> None:
        if self.grad_req == "null":
            self._grad = None
            return
        assert self._data is not None
        self._grad = [ndarray.zeros(a.shape, dtype=a.dtype, ctx=a.ctx, stype=self._grad_stype) for a in self._data]
        autograd.mark_variables(self._data, self._grad, self.grad_req)

    def _reduce(self) -> Any:
        """The values on the CPU: the mean over contexts, all rows of a row_sparse parameter."""
        if self._stype != "default":
            rows = ndarray.arange(0, self.shape[0], dtype="int64", ctx=cpu())
            data = ndarray.zeros(self.shape, stype="row_sparse", ctx=cpu())
            self._trainer._row_sparse_pull(self, data, rows, full_idx=True)
            return data
        copies = [array.copyto(cpu()).detach() for array in self.list_data()]
        return copies[0] if len(copies) == 1 else ndarray.add_n(*copies) / len(copies)

    def reset_ctx(self, ctx: Any) -> None:
        """Moves the parameter to other contexts. Errors: ValueError before `initialize`."""
        contexts = _contexts(ctx)
        if self._data:
            data = self._reduce()
            with autograd.pause():
                self._init_impl(data, contexts)
        elif self._deferred_init:
            init, _, default, data = self._deferred_init
            self._deferred_init = (init, contexts, default, data)
        else:
            raise ValueError(f"Cannot reset context for Parameter '{self.name}' because it has not been initialized.")

    def _load_init(self, data: Any, ctx: Any, cast_dtype: bool = False, dtype_source: str = "current") -> None:
        """Takes values from a file: as `initialize` where that has not happened, else as `set_data`.

        cast_dtype: converts other types, to the parameter's ('current') or the file's ('saved'). Errors: AssertionError for shapes and types.
        """
        prefix = f"Failed loading Parameter '{self.name}' from saved params:"
        if self.shape:
            unknown = -1 if is_np_shape() else 0
            for own, saved in zip(self.shape, data.shape, strict=False):
                assert own in (unknown, saved), f"{prefix} shape incompatible expected {self.shape} vs saved {data.shape}"
            self.shape = tuple(saved if own == unknown else own for own, saved in zip(self.shape, data.shape, strict=False))
        assert not cast_dtype or dtype_source in ("current", "saved"), f"dtype_source must be 'current' or 'saved', got {dtype_source!r}"
        if self.dtype and torch_dtype(self.dtype) is not torch_dtype(data.dtype):
            assert cast_dtype, (
                f"{prefix} dtype incompatible expected {name_of(self.dtype)} vs saved {name_of(data.dtype)}. "
                "Set cast_dtype=True to cast the dtype of saved params."
            )
            if dtype_source == "current":
                data = data.astype(self.dtype, copy=False)
            else:
                self.dtype = data.dtype
        if data.stype != self._stype:
            data = data.tostype(self._stype)
        contexts = None if ctx is None else _contexts(ctx)
        known = self._ctx_list if self._data is not None else self._deferred_init[1] if self._deferred_init else None
        assert contexts is None or known is None or set(contexts) == set(known), (
            f"Failed to load Parameter '{self.name}' on {contexts} because it was previous initialized on {known}."
        )
        if self._data is None:
            self._init_impl(data, known or contexts or [cpu()])
        else:
            self.set_data(data)
        self._deferred_init = ()


class Constant(Parameter):
    """A parameter with a fixed value and no gradient."""

    def __init__(self, name: str, value: Any) -> None:
        self.value = value if isinstance(value, NDArray) else ndarray.array(value)
        given = self.value

        class Init(initializer.Initializer):
            """Copies the constant's value."""

            def _init_weight(self, _: str, arr: Any) -> None:
                given.copyto(arr)

        known_as = f"Constant_{name}_{id(self)}"
        initializer.alias(known_as)(Init)
        super().__init__(name, grad_req="null", shape=given.shape, dtype=given.dtype, init=known_as)

    @property
    def grad_req(self) -> str:
        """Always 'null'."""
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req != "null":
            warnings.warn(f'Constant parameter "{self.name}" has no gradient: grad_req "{req}" is ignored.', stacklevel=2)


class ParameterDict:
    """Parameters by name. `get` makes them, with the dict's prefix before the name; `shared` is asked first."""

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix = prefix
        self._params: OrderedDict[str, Any] = OrderedDict()
        self._shared = shared

    def __repr__(self) -> str:
        rows = "".join(_indent(f"  {parameter}", 2) + "\n" for parameter in self.values()) or "\n"
        return f"{self._prefix + ' ' if self._prefix else ''}(\n{rows})"

    def __getitem__(self, key: str) -> Any:
        return self._params[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def items(self) -> ItemsView[str, Any]:
        """(name, parameter) pairs."""
        return self._params.items()

    def keys(self) -> KeysView[str]:
        """Names."""
        return self._params.keys()

    def values(self) -> ValuesView[Any]:
        """Parameters."""
        return self._params.values()

    @property
    def prefix(self) -> str:
        """What `get` puts before names."""
        return self._prefix

    def _get_impl(self, name: str) -> Any:
        found = self._params.get(name)
        if found is None and self._shared is not None and name in self._shared._params:
            found = self._params[name] = self._shared._params[name]
        return found

    def get(self, name: str, **kwargs: Any) -> Any:
        """The parameter `prefix + name`; a new one with these properties unless it exists (then they must agree)."""
        full = self._prefix + name
        parameter = self._get_impl(full)
        if parameter is None:
            parameter = self._params[full] = Parameter(full, **kwargs)
            return parameter
        for key, wanted in kwargs.items():
            stored = getattr(parameter, key, None)
            if stored is None:
                setattr(parameter, key, wanted)
            elif not _agree(parameter, key, wanted, stored):
                raise AssertionError(
                    f"Cannot retrieve Parameter '{full}' because desired attribute does not match with stored for attribute '{key}': "
                    f"desired '{wanted}' vs stored '{stored}'."
                )
        return parameter

    def get_constant(self, name: str, value: Any = None) -> Any:
        """The constant `prefix + name`, made from the value unless it exists. Errors: KeyError without a value."""
        full = self._prefix + name
        parameter = self._get_impl(full)
        if parameter is None:
            if value is None:
                raise KeyError(f"No constant named '{full}'. Please specify value if you want to create a new constant.")
            parameter = self._params[full] = Constant(full, value)
        elif value is not None:
            assert isinstance(parameter, Constant), f"Parameter '{full}' already exists but it is not a constant."
            wanted = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
            same = parameter.shape == wanted.shape and (parameter.value.asnumpy() == wanted).all()
            assert same, f"Constant '{full}' already exists with another value"
        return parameter

    def update(self, other: Any) -> None:
        """Takes over another dict's parameters. Errors: AssertionError for two parameters of one name."""
        for name, parameter in other.items():
            assert self._params.get(name, parameter) is parameter, (
                f"Cannot update self with other because they have different Parameters with the same name '{name}'"
            )
        self._params.update(other.items())

    def initialize(self, init: Any = None, ctx: Any = None, verbose: bool = False, force_reinit: bool = False) -> None:
        """Initializes all parameters. init: for those without an initializer of their own (default: Uniform)."""
        default = initializer.Uniform() if init is None else init
        if verbose:
            default.set_verbosity(verbose=verbose)
        for parameter in self.values():
            parameter.initialize(None, ctx, default, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Sets all gradients to 0."""
        for parameter in self.values():
            if parameter.grad_req != "null":
                parameter.zero_grad()

    def reset_ctx(self, ctx: Any) -> None:
        """Moves all parameters to contexts."""
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """All contexts of the parameters."""
        return list({ctx for parameter in self.values() for ctx in parameter.list_ctx()})

    def setattr(self, name: str, value: Any) -> None:
        """Sets a property of all parameters: `setattr('grad_req', 'null')`."""
        for parameter in self.values():
            setattr(parameter, name, value)

    def save(self, filename: str, strip_prefix: str = "") -> None:
        """Writes the values to a file under their names less `strip_prefix`. Errors: ValueError for a name without it."""
        arrays = {}
        for parameter in self.values():
            if not parameter.name.startswith(strip_prefix):
                raise ValueError(
                    f"Prefix '{strip_prefix}' is to be striped before saving, but Parameter's name '{parameter.name}' does not start with it: "
                    "the block shares parameters of another block, or a child was made outside of name_scope()"
                )
            arrays[parameter.name[len(strip_prefix) :]] = parameter._reduce()
        ndarray.save(filename, arrays)

    def load(
        self, filename: str, ctx: Any = None, allow_missing: bool = False, ignore_extra: bool = False, restore_prefix: str = "",
        cast_dtype: bool = False, dtype_source: str = "current",
    ) -> None:  # fmt: skip
        """Reads values from a file of `save` or `export`; `restore_prefix` is put before the file's names."""
        for name in self.keys() if restore_prefix else ():
            assert name.startswith(restore_prefix), f"restore_prefix is '{restore_prefix}' but Parameter '{name}' does not start with it"
        self.load_dict(ndarray.load(filename), ctx, allow_missing, ignore_extra, restore_prefix, filename, cast_dtype, dtype_source)

    def load_dict(
        self, param_dict: Any, ctx: Any = None, allow_missing: bool = False, ignore_extra: bool = False, restore_prefix: str = "",
        filename: str | None = None, cast_dtype: bool = False, dtype_source: str = "current",
    ) -> None:  # fmt: skip
        """`load` from a dict of arrays; 'arg:' and 'aux:' before names are dropped. Errors: AssertionError for missing and extra names."""
        pairs = param_dict.items() if isinstance(param_dict, Mapping) else param_dict
        loaded = {restore_prefix + (name[4:] if name[:4] in ("arg:", "aux:") else name): array for name, array in pairs}
        source = f"file: {filename}" if filename else "param_dict"
        cut = len(restore_prefix)
        if not allow_missing:
            for name in self.keys():
                assert name in loaded, f"Parameter '{name[cut:]}' is missing in {source}, which contains parameters: {_brief_print_list(loaded)}"
        for name, array in loaded.items():
            if name in self._params:
                self._params[name]._load_init(array, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)
            else:
                assert ignore_extra, (
                    f"Parameter '{name[cut:]}' loaded from {source} is not present in ParameterDict, choices are: {_brief_print_list(self._params)}. "
                    "Set ignore_extra to True to ignore."
                )


def _agree(parameter: Any, key: str, wanted: Any, stored: Any) -> bool:
    """Whether a property asked for fits the parameter's; open dimensions of shapes are filled in."""
    if key == "shape" and len(wanted) == len(stored):
        pairs = list(zip(wanted, stored, strict=True))
        if all(w == s or w <= 0 or s <= 0 for w, s in pairs):
            parameter._shape = tuple(s if w in (0, -1) else w for w, s in pairs)
            return True
    elif key == "dtype" and wanted is not None and name_of(wanted) == name_of(stored):
        return True
    return bool(wanted is None or wanted == stored)


