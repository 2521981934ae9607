"""`Symbol`: the public class of graph outputs, and the functions that make variables, groups and loaded graphs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Number
from typing import Any

import numpy as np

from ..attribute import current_scope
from ..dtypes import NAME_TO_CODE, name_of
from ..errors import MXNetError, NotImplementedForSymbol, UnsupportedError
from ..graph import Entry, Node, split_variables, topological
from . import _internal, json
from . import op as _op
from .base import SymbolBase, set_symbol_class
from .compose import HIDDEN_KEYS, attribute_text, compose, copy_graph, hidden_key, make_node, parse_attributes, unknown_inputs, visible_entries
from .creation import arange, eye, full, histogram, hypot, linspace, maximum, minimum, ones, pow, power, split_v2, zeros
from .debug import graph_debug_str
from .fluent import Fluent
from .inference import InferenceMethods

__all__ = [  # MXNet's, in its order; `fromjson` is one more name of load_json
    "Symbol", "var", "Variable", "Group", "load", "load_json", "pow", "power", "maximum", "minimum", "hypot", "eye", "zeros", "ones", "full", "arange",
    "linspace", "histogram", "split_v2",
]  # fmt: skip

_STORAGE_CODES = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
_BACKENDS = ("MKLDNN", "MKLDNN_QUANTIZE")
_COMPARABLE = (float, int, np.generic)


class Symbol(Fluent, InferenceMethods, SymbolBase):
    """One or several outputs of a symbolic graph. Immutable from the outside, except for `_compose` and `_set_attr`."""

    __slots__ = ()
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]

    # -- conversions and basic protocol -----------------------------------------------------------------------------------------
    def as_nd_ndarray(self) -> Symbol:
        """The symbol itself."""
        return self

    def as_np_ndarray(self) -> Symbol:
        """Always an error: the symbols of mx.sym.np do not exist here."""
        raise UnsupportedError("mx.sym.np is not implemented: legacy symbols cannot be turned into NumPy symbols; stay with mx.sym operators")

    def __repr__(self) -> str:
        name = self.name
        if name is None:
            return f"<{type(self).__name__} group [{', '.join(str(part.name) for part in self)}]>"
        return f"<{type(self).__name__} {name}>"

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Symbol]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol(self.__bool__, "bool")

    __nonzero__ = __bool__

    def __getitem__(self, index: int | str | slice) -> Symbol:
        """One output by position or name, or a group of them by slice. Errors: as MXNet, MXNetError for a negative position."""
        count = len(self._entries)
        if isinstance(index, slice):
            start = 0 if index.start is None else index.start
            stop = count if index.stop is None else index.stop
            return Group([self[i] for i in range(start, stop, 1 if index.step is None else index.step)])
        if isinstance(index, str):
            index = self._output_position(index)
        if not isinstance(index, int):
            raise TypeError("Symbol only support integer index to fetch i-th output")
        if index >= count:
            raise IndexError
        if index < 0:
            raise MXNetError(f"Symbol only accept nonnegative index, not {index}")
        return type(self)([self._entries[index]])

    def _output_position(self, name: str) -> int:
        found = [i for i, known in enumerate(self.list_outputs()) if known == name]
        if len(found) > 1:
            raise ValueError(f'There are multiple outputs with name "{name}"')
        if not found:
            raise ValueError(f'Cannot find output that matches name "{name}"')
        return found[0]

    def __copy__(self) -> Symbol:
        return self.__deepcopy__(None)

    def __deepcopy__(self, memo: Any) -> Symbol:
        return type(self)(copy_graph(self._entries))

    def __getstate__(self) -> dict[str, str | None]:
        return {"handle": self.tojson() if self._entries else None}

    def __setstate__(self, state: Mapping[str, str | None]) -> None:
        text = state["handle"]
        self._entries = json.read(text) if text is not None else []

    # -- composition --------------------------------------------------------------------------------------------------------------
    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """A copy in which variables are replaced by other symbols, by keyword."""
        copy = self.__copy__()
        copy._compose(*args, **kwargs)
        return copy

    def _compose(self, *args: Symbol, **kwargs: Any) -> None:
        """Replaces variables of this symbol in place. Errors: TypeError for non-symbols, MXNetError for unknown names."""
        name = kwargs.pop("name", None)
        if args and kwargs:
            raise TypeError("compose only accept input Symbols either as positional or keyword arguments, not both")
        if not all(isinstance(value, SymbolBase) for value in (*args, *kwargs.values())):
            raise TypeError("Compose expect `Symbol` as arguments")
        for what, value in [(f"Argument {i}", a) for i, a in enumerate(args)] + [(f"Keyword Argument {k}", v) for k, v in kwargs.items()]:
            if len(value._entries) != 1:
                raise MXNetError(f"{what} is a tuple, single value is required")
        single = self._single_node()
        if single is not None and not single.inputs and (args or kwargs):
            self._compose_single(single, name, [a._entries[0] for a in args], {key: value._entries[0] for key, value in kwargs.items()})
            return
        if args:
            raise MXNetError("General composition only support kwargs for now: name the variables that the arguments replace")
        if name:
            self._entries[0].node.name = name
        if kwargs:
            self._entries = compose(self._entries, {key: value._entries[0] for key, value in kwargs.items()})

    def _compose_single(self, node: Node, name: str | None, args: list[Entry], kwargs: dict[str, Entry]) -> None:
        """Gives inputs to an operator that has none yet (see `_gen_atomic_symbol`)."""
        if node.op is None:
            raise unknown_inputs(kwargs, ["data"]) if kwargs and "data" not in kwargs else MXNetError(f"variable {node.name!r} takes no inputs")
        self._entries = visible_entries(make_node(node.op, name or node.name, node.attrs, args, kwargs))

    def _gen_atomic_symbol(self) -> Symbol:
        """The operator of this symbol with its attributes, without name and inputs. Errors: MXNetError for groups and variables."""
        node = self._single_node()
        if node is None or node.op is None:
            raise MXNetError("Generating atomic symbol from other symbol only works for nongrouped symbol, and for operators.")
        return type(self)(visible_entries(Node(node.op, "", node.attrs.copy(), (), node.params)))

    # -- names and attributes -------------------------------------------------------------------------------------------------
    def _single_node(self) -> Node | None:
        """The node when all outputs belong to one."""
        if not self._entries:
            return None
        first = self._entries[0].node
        return first if all(entry.node is first for entry in self._entries) else None

    @property
    def name(self) -> str | None:
        """The node's name; None for a group."""
        node = self._single_node()
        return None if node is None else node.name

    def attr(self, key: str) -> str | None:
        """One attribute of the node as text, None when it is not set; 'name' and 'op_name' count as attributes."""
        if not isinstance(key, str):
            raise AttributeError(f"{type(key).__name__!r} object has no attribute 'encode': attribute names are strings")
        node = self._single_node()
        if node is None:
            return None
        if key == "name":
            return node.name
        if key == "op_name":
            return "null" if node.op is None else node.op.name
        if key == "_value_index":
            return str(self._entries[0].index)
        value = node.attrs.get(key)
        return node.attrs.get(f"__{key}__") if value is None and key in HIDDEN_KEYS else value

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """All attributes of the node; {} for a group."""
        if recursive:
            raise DeprecationWarning("Symbol.list_attr with recursive=True has been deprecated. Please use attr_dict instead.")
        node = self._single_node()
        return {} if node is None else _listed(node.attrs)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Attributes of all nodes that have any, by node name."""
        result: dict[str, dict[str, str]] = {}
        for node in topological(self._entries):
            if node.attrs:
                result.setdefault(node.name, {}).update(_listed(node.attrs))
        return result

    def _set_attr(self, **kwargs: str) -> None:
        """Sets attributes of the node, which symbols share. Errors: ValueError for non-strings, MXNetError for unknown attributes."""
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError("Set Attr only accepts string values")
            node = self._single_node()
            if node is None:
                raise MXNetError("Symbol.SetAttrs only works for non-grouped symbol")
            if key == "name":
                node.name = value
                continue
            hidden = hidden_key(key, value)
            attrs = {**node.attrs, (hidden if hidden is not None and key in HIDDEN_KEYS else key): value}
            if node.op is not None:
                node.params, node._specs = parse_attributes(node.op, attrs)
            node.attrs = attrs

    # -- structure --------------------------------------------------------------------------------------------------------------
    def get_internals(self) -> Symbol:
        """A group of all visible outputs of all nodes, inputs first."""
        return type(self)([entry for node in topological(self._entries) for entry in visible_entries(node)])

    def get_children(self) -> Symbol | None:
        """The inputs of this symbol's nodes as a group; None for variables."""
        nodes = {id(entry.node): entry.node for entry in self._entries}
        inputs = [entry for node in nodes.values() for entry in node.inputs]
        return type(self)(inputs) if inputs else None

    def list_arguments(self) -> list[str]:
        """Names of the variables that no operator writes to, in depth-first order."""
        return [node.name for node in split_variables(topological(self._entries))[0]]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the variables that operators write to (moving statistics)."""
        return [node.name for node in split_variables(topological(self._entries))[1]]

    def list_inputs(self) -> list[str]:
        """Names of all variables, arguments and auxiliary states mixed, in depth-first order."""
        return [node.name for node in topological(self._entries) if node.op is None]

    def list_outputs(self) -> list[str]:
        """Names of the outputs: the variable's name, or `<node>_<output>`."""
        return [output_name(entry) for entry in self._entries]

    def debug_str(self) -> str:
        """The graph as text, one block a node."""
        return graph_debug_str(self._entries)

    # -- files ---------------------------------------------------------------------------------------------------------------------
    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph as JSON text, byte for byte as MXNet 1.9.1 writes it."""
        return json.write(self._entries, remove_amp_cast)

    def save(self, fname: str, remove_amp_cast: bool = True) -> None:
        """Writes `tojson` to a file."""
        if not isinstance(fname, str):
            raise TypeError("fname need to be string")
        text = self.tojson(remove_amp_cast)
        try:
            with open(fname, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        except OSError as error:
            raise MXNetError(f"cannot write symbol file {fname!r}: {error}") from error

    # -- running -----------------------------------------------------------------------------------------------------------------
    def bind(
        self, ctx: Any, args: Any, args_grad: Any = None, grad_req: Any = "write", aux_states: Any = None, group2ctx: Any = None,
        shared_exec: Any = None, backend: str | None = None,
    ) -> Any:  # fmt: skip
        """An Executor over given arrays; see `binding.bind`. backend: 'eager', 'inductor' or another back-end of torch.compile."""
        from ..binding import bind

        return bind(self, ctx, args, args_grad, grad_req, aux_states, group2ctx, shared_exec, backend)

    def simple_bind(
        self,
        ctx: Any,
        grad_req: Any = "write",
        type_dict: Any = None,
        stype_dict: Any = None,
        group2ctx: Any = None,
        shared_arg_names: Any = None,
        shared_exec: Any = None,
        shared_buffer: Any = None,
        **kwargs: Any,
    ) -> Any:
        """An Executor with newly allocated arrays; keywords are the shapes of arguments. See `binding.simple_bind`.

        `backend='inductor'` compiles the graph, forward and backward (default: what MXEXEC_TORCH_BACKEND says, else eager).
        """
        from ..binding import simple_bind

        return simple_bind(self, ctx, grad_req, type_dict, stype_dict, group2ctx, shared_arg_names, shared_exec, shared_buffer, **kwargs)

    def eval(self, ctx: Any = None, **kwargs: Any) -> Any:
        """Binds the given arrays and runs forward once; returns the list of outputs."""
        if ctx is None:
            from ..context import current_context

            ctx = current_context()
        return self.bind(ctx, kwargs).forward()

    def optimize_for(
        self,
        backend: str,
        args: dict[str, Any] | None = None,
        aux: dict[str, Any] | None = None,
        ctx: Any = None,
        shape_dict: Mapping[str, Any] | None = None,
        type_dict: Mapping[str, Any] | None = None,
        stype_dict: Mapping[str, Any] | None = None,
        skip_infer: bool = False,
        **kwargs: Any,
    ) -> Symbol:
        """A copy of this symbol. MXNet's backends fuse nodes for one CPU or GPU library and keep the values; there is none to apply here.

        Errors: AssertionError / ValueError for wrong containers, as MXNet.
        """
        assert isinstance(backend, str), f"backend must be a string, got {type(backend)}"
        assert args is None or isinstance(args, dict), f"args must be a dict, got {type(args)}"
        assert aux is None or isinstance(aux, dict), f"aux must be a dict, got {type(aux)}"
        for value in (shape_dict or {}).values():
            if not isinstance(value, (tuple, list)):
                raise ValueError(f"{value} has to be a tuple or list.")
        return self.__copy__()

    def get_backend_symbol(self, backend: str) -> Symbol:
        """A copy of this symbol, see `optimize_for`. Errors: MXNetError for backends that MXNet's CPU build does not have."""
        if not isinstance(backend, str):
            raise AttributeError(f"{type(backend).__name__!r} object has no attribute 'encode': a backend is named by a string")
        if backend not in _BACKENDS:
            raise MXNetError(f"SubgraphProperty {backend} is not found in SubgraphBackendRegistry: known are {', '.join(_BACKENDS)}")
        return self.__copy__()

    def gradient(self, wrt: Any) -> Symbol:
        """Always an error: bind with gradient arrays and call backward."""
        raise MXNetError("Symbol.gradient is not implemented, in MXNet neither: bind with args_grad and call Executor.backward")

    # -- arithmetic ---------------------------------------------------------------------------------------------------------------
    def __add__(self, other: Any) -> Symbol:
        return _arithmetic(self, other, "_Plus", "_PlusScalar")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Symbol:
        return _arithmetic(self, other, "_Minus", "_MinusScalar")

    def __rsub__(self, other: Any) -> Symbol:
        return _arithmetic(self, other, "_Minus", "_RMinusScalar", swap=True)

    def __mul__(self, other: Any) -> Symbol:
        return _arithmetic(self, other, "_Mul", "_MulScalar")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Symbol:
        return _arithmetic(self, other, "_Div", "_DivScalar")

    __div__ = __truediv__

    def __rtruediv__(self, other: Any) -> Symbol:
        return _arithmetic(self, other, "_Div", "_RDivScalar", swap=True)

    __rdiv__ = __rtruediv__

    def __mod__(self, other: Any) -> Symbol:
        return _arithmetic(self, other, "_Mod", "_ModScalar")

    def __rmod__(self, other: Any) -> Symbol:
        return _arithmetic(self, other, "_Mod", "_RModScalar", swap=True)

    def __pow__(self, other: Any) -> Symbol:
        return _arithmetic(self, other, "_Power", "_PowerScalar")

    def __rpow__(self, other: Any) -> Symbol:
        return _arithmetic(self, other, "_Power", "_rpower_scalar", swap=True)

    def __neg__(self) -> Symbol:
        return self.__mul__(-1.0)

    def __abs__(self) -> Symbol:
        return _op.abs(self)  # type: ignore[no-any-return]

    def __iadd__(self, other: Any) -> Symbol:
        raise NotImplementedForSymbol(self.__iadd__, "+=", other, 1)

    def __isub__(self, other: Any) -> Symbol:
        raise NotImplementedForSymbol(self.__isub__, "-=", other)

    def __imul__(self, other: Any) -> Symbol:
        raise NotImplementedForSymbol(self.__imul__, "*=", other)

    def __itruediv__(self, other: Any) -> Symbol:
        raise NotImplementedForSymbol(self.__itruediv__, "/=", other)

    __idiv__ = __itruediv__

    def __eq__(self, other: object) -> Symbol:  # type: ignore[override]
        return _comparison(self, other, "_equal")

    def __ne__(self, other: object) -> Symbol:  # type: ignore[override]
        return _comparison(self, other, "_not_equal")

    def __gt__(self, other: Any) -> Symbol:
        return _comparison(self, other, "_greater")

    def __ge__(self, other: Any) -> Symbol:
        return _comparison(self, other, "_greater_equal")

    def __lt__(self, other: Any) -> Symbol:
        return _comparison(self, other, "_lesser")

    def __le__(self, other: Any) -> Symbol:
        return _comparison(self, other, "_lesser_equal")


set_symbol_class(Symbol)


def symbol_of(entries: Iterable[Entry]) -> Symbol:
    """The symbol with these outputs."""
    return Symbol(entries)


def output_name(entry: Entry) -> str:
    """The name of one output."""
    node = entry.node
    if node.op is None:
        return node.name
    suffix = node.op.output_names(node.params)[entry.index]
    return f"{node.name}_{suffix}" if node.name else suffix


def _listed(attrs: Mapping[str, str]) -> dict[str, str]:
    """Attributes with the annotations under both spellings."""
    return {**attrs, **{key: attrs[f"__{key}__"] for key in HIDDEN_KEYS if f"__{key}__" in attrs}}


def _arithmetic(left: Symbol, right: Any, with_symbol: str, with_scalar: str, swap: bool = False) -> Symbol:
    if isinstance(right, Symbol):
        pair = (right, left) if swap else (left, right)
        return getattr(_internal, with_symbol)(*pair)  # type: ignore[no-any-return]
    if isinstance(right, Number):
        return getattr(_internal, with_scalar)(left, scalar=right)  # type: ignore[no-any-return]
    raise TypeError(f"type {type(right)} not supported")


def _comparison(left: Symbol, right: Any, function: str) -> Symbol:
    if isinstance(right, Symbol):
        return getattr(_internal, function)(left, right)  # type: ignore[no-any-return]
    if isinstance(right, _COMPARABLE):
        return getattr(_internal, f"{function}_scalar")(left, scalar=right)  # type: ignore[no-any-return]
    raise TypeError(f"type {type(right)} not supported")


def var(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: Any = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: Any = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """A variable: an argument or auxiliary state of graphs.

    shape, dtype, stype take part in inference; lr_mult, wd_mult are read by optimizers, init by initializers; further keywords look
    like `__x__`. Errors: TypeError for a name that is no string, ValueError for other keywords or attributes that are no strings.
    """
    if not isinstance(name, str):
        raise TypeError("Expect a string for variable `name`")
    attrs = dict(current_scope().get(attr))
    if shape is not None:
        attrs["__shape__"] = attribute_text(shape)
    if lr_mult is not None:
        attrs["__lr_mult__"] = str(lr_mult)
    if wd_mult is not None:
        attrs["__wd_mult__"] = str(wd_mult)
    if dtype is not None:
        attrs["__dtype__"] = str(_dtype_code(dtype))
    if init is not None:
        attrs["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        attrs["__storage_type__"] = str(_STORAGE_CODES[stype])
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            text = "Additional attributes must start and end with double underscores, e.g, __yourattr__"  # the end of MXNet's own message
            raise ValueError(f"Attribute name={key} is not supported. {text}")
        attrs[key] = str(value)
    symbol = Symbol([Entry(Node(None, name))])
    symbol._set_attr(**attrs)
    return symbol


Variable = var


def _dtype_code(dtype: Any) -> int:
    try:
        return NAME_TO_CODE[name_of(dtype)]
    except TypeError as error:
        if "does not exist in MXNet" in str(error):
            raise KeyError(np.dtype(dtype).type) from None
        raise


def Group(symbols: Any, create_fn: Callable[[list[Entry]], Symbol] = Symbol) -> Symbol:
    """A symbol with the outputs of all the given ones, in order, duplicates kept. Errors: TypeError for anything but symbols."""
    if not symbols or any(not isinstance(symbol, SymbolBase) for symbol in symbols):
        raise TypeError("Expected a list of symbols as input")
    return create_fn([entry for symbol in symbols for entry in symbol._entries])


def load(fname: str) -> Symbol:
    """The symbol stored in a JSON file, of any MXNet version since 0.5. Errors: MXNetError for missing or unreadable files."""
    if not isinstance(fname, str):
        raise TypeError("fname need to be string")
    try:
        with open(os.path.expanduser(fname), "rb") as file:
            text = file.read()
    except OSError as error:
        raise MXNetError(f"cannot open symbol file {fname!r}: {error.strerror or error}") from error
    try:
        return Symbol(json.read(text))
    except MXNetError as error:
        raise type(error)(f"{fname}: {error}") from None


def load_json(json_str: str) -> Symbol:
    """The symbol of a JSON text, of any MXNet version since 0.5. Errors: MXNetError naming what is wrong with it."""
    if not isinstance(json_str, str):
        raise TypeError("fname required to be string")
    return Symbol(json.read(json_str))


fromjson = load_json
