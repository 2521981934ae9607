"""The operator registry: an operator is declared once, as a Python function whose signature is its schema.

Positional-only parameters are tensor inputs in MXNet's order, keyword-only parameters are attributes::

    @op("FullyConnected", present={"bias": lambda a: not a.no_bias}, shape=fc_shape)
    def fully_connected(data: Tensor, weight: Tensor, bias: Tensor | None = None, /, *,
                        num_hidden: Int, no_bias: Bool = False, flatten: Bool = True) -> Tensor: ...

Input annotations: `Tensor` (argument), `Aux` (auxiliary state), `State` (an argument that the operator also writes), `*data: Tensor`
(variadic). Keyword-only parameters annotated `IsTrain` or `Device` are injected by the caller and no part of the schema.
The body returns a tensor, a tuple of all outputs (hidden ones included), or `Out` when it also writes.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Union

import torch

from .booleans import takes_bool
from .errors import MXNetError
from .factories import _REGISTRY, get_alias_func, get_create_func, get_register_func, get_registry  # noqa: F401 - public here: mx.registry
from .values import IGNORED, Range, ValueType

__all__ = [
    "REQUIRED", "AttrSpec", "Attrs", "Aux", "Device", "Grad", "InputSpec", "IsTrain", "OpDef", "Out", "State", "Tensor",
    "alias", "all_names", "get", "get_alias_func", "get_create_func", "get_register_func", "get_registry", "lookup", "op", "ops",
]  # fmt: skip

Tensor = torch.Tensor


class _Marker:
    def __init__(self, kind: str) -> None:
        self.kind = kind


_AUX, _STATE, _TRAIN, _DEVICE = _Marker("aux"), _Marker("state"), _Marker("train"), _Marker("device")
Aux = Annotated[torch.Tensor, _AUX]
State = Annotated[torch.Tensor, _STATE]
IsTrain = Annotated[bool, _TRAIN]
Device = Annotated[torch.device, _DEVICE]


class Grad(Enum):
    """How an operator differentiates."""

    AUTO = "auto"  # torch autograd through the body (own rules live in ops/runtime as autograd.Functions)
    ZERO = "zero"  # MXNet defines the gradient and it is always zero
    MISSING = "missing"  # MXNet defines no gradient: asking for one is an error


class _Required:
    def __repr__(self) -> str:
        return "<required>"


REQUIRED: Any = _Required()


class Attrs(dict[str, Any]):
    """The parsed attributes of one node: read as `a.num_hidden`. Treat as immutable; `key` identifies the values."""

    __slots__ = ("_key",)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def key(self) -> tuple[Any, ...]:
        """A hashable identity of the values."""
        try:
            return self._key
        except AttributeError:
            self._key: tuple[Any, ...] = tuple(self.items())
            return self._key


class Out:
    """What a body returns when it does more than compute outputs.

    outputs: all outputs, hidden ones included. writes: new contents of inputs by name, applied when forward has run.
    saved: further tensors that `OpDef.backward_writes` reads.
    """

    __slots__ = ("outputs", "saved", "writes")

    def __init__(self, *outputs: torch.Tensor, writes: Mapping[str, torch.Tensor] | None = None, saved: Sequence[torch.Tensor] = ()) -> None:
        self.outputs = outputs
        self.writes: dict[str, torch.Tensor] = dict(writes or {})
        self.saved = tuple(saved)


@dataclass(frozen=True, slots=True)
class InputSpec:
    """A tensor input. kind: 'arg' | 'aux' | 'state'."""

    name: str
    kind: str = "arg"
    optional: bool = False
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class AttrSpec:
    """An attribute: its value type, default (REQUIRED when there is none) and bounds."""

    name: str
    type: ValueType
    default: Any
    bounds: Range | None = None
    ignored: bool = False
    described: str | None = None

    @property
    def table_text(self) -> str:
        """The type column of MXNet's argument table, for example ``int, optional, default='1'``."""
        if self.described is not None:
            return self.described
        if self.default is REQUIRED:
            return f"{self.type.describe}, required"
        comma = "," if self.type.describe.startswith("{") else ", "
        return f"{self.type.describe}{comma}optional, default={self.type.show_default(self.default)}"


@dataclass(eq=False)
class OpDef:
    """One operator. Every rule takes the parsed attributes `a` first.

    present:    input name -> predicate; the input exists only when true (bias unless no_bias).
    count:      number of tensors of the variadic input (default: attribute `key_var_num_args`).
    variadic_names: names of the variadic inputs, given (a, n) (default: arg0, arg1, ... as MXNet names Concat's).
    written:    of a variadic input annotated `Aux`: the names (before the number) that are auxiliary states; the others are arguments.
    outputs:    output names, hidden ones included (default: ("output",)); `output` gives `<node>_output`, several are numbered by
                MXNet as output0, output1, ... unless named.
    visible:    how many of the outputs the user sees (default: all).
    shape:      two-way shape rule `rule(a, s)` over `infer.state.NodeState`; None: outputs come from the body run on meta tensors.
    dtype:      two-way dtype rule, same form; None: all inputs and outputs have one element type.
    stype:      storage-type rule; None: dense in, dense out.
    head_grad:  whether backward needs a head gradient when the operator is a head (loss layers: False).
    backward_writes: (a, inputs by name, outputs after the first + saved) -> new contents of auxiliary states, applied each time backward
                runs. The first output is not among them: it would be kept from forward to backward for nothing.
    writes_with_hidden: forward writes to its inputs only where the hidden outputs are asked for: by backward or by another node.
    eager_only: cannot be traced (output shape depends on data); runs as a whole inside a graph.
    fills_out:  the result is converted to and repeated over the array given as `out`, which must be given (`_copyto`, `_set_value`).
    joins_out:  (a, result, content of the array given as `out`) -> what is written there.
    random:     draws random numbers (never merged with an equal node).
    differentiable: names of the inputs that have a gradient (None: all floating inputs); asking for another's is `missing_text`.
    lists_inputs: whether MXNet registers names for the inputs (monitors print `<node>_data`, else `<node>_input0`).
    refused_grads: inputs whose gradient is an error when backward runs (indices of Embedding).
    untouched_grads: inputs whose gradient array MXNet never writes (labels of loss heads).
    added:      input name -> (a, content of its gradient array, gradient) -> new content, where MXNet does not simply add for grad_req 'add'.
    limits:     measured and explained deviations, shown in compat_matrix.md.
    init:       input name -> initializer text (MXNet's `__init__` JSON) that a variable at this input gets unless it has one.
    listed:     the attribute rows of that table where MXNet lists others than it reads (`_linspace`).
    specialize: (a, output shapes, output dtypes) -> the attributes the body gets in a bound graph, for operators whose outputs are decided
                by their consumers (`_zeros` with unknown dimensions).
    bind:       (node, [(shape, dtype) of each input], device, gradient requests of the inputs) -> the attributes the body gets in one bound
                graph: made once per binding and shared by its modes (Custom's operator object, the bodies of control flow). Shapes and
                dtypes may be None in interpreted graphs.
    renamed:    attribute names of older files -> the names they have now.
    auxiliary:  a -> names of the variadic inputs that are auxiliary states (Custom).
    in_place:   the body for calls with `out` the first input: takes inputs and attributes as the body does, writes that input and the states
                itself and returns nothing. Memory that inputs share is not its business: such calls take the body.
    table:      names of inputs and attributes in the order of MXNet's argument table, where it is not inputs first or leaves some out.
    input_texts: type texts of inputs in that table other than NDArray-or-Symbol.
    """

    name: str
    body: Callable[..., Any]
    inputs: tuple[InputSpec, ...]
    attrs: dict[str, AttrSpec]
    injected: dict[str, str]  # body keyword -> 'train' | 'device'
    doc: str = ""
    aliases: tuple[str, ...] = ()
    key_var_num_args: str = ""
    present: Mapping[str, Callable[[Attrs], bool]] = field(default_factory=dict)
    count: Callable[[Attrs], int] | None = None
    variadic_names: Callable[[Attrs, int], Sequence[str]] | None = None
    written: tuple[str, ...] = ()
    outputs: Callable[[Attrs], Sequence[str]] | Sequence[str] = ("output",)
    visible: Callable[[Attrs], int] | int | None = None
    shape: Callable[[Attrs, Any], None] | None = None
    dtype: Callable[[Attrs, Any], None] | None = None
    stype: Callable[[Attrs, Any], None] | None = None
    grad: Grad = Grad.AUTO
    head_grad: Callable[[Attrs], bool] | bool = True
    backward_writes: Callable[..., dict[str, torch.Tensor]] | None = None
    writes_with_hidden: bool = False
    eager_only: bool = False
    fills_out: bool = False
    joins_out: Callable[[Attrs, torch.Tensor, torch.Tensor], torch.Tensor] | None = None
    random: bool = False
    hint: str | None = None
    lists_inputs: bool = True
    untouched_grads: tuple[str, ...] = ()
    refused_grads: tuple[str, ...] = ()
    floats_only: bool = False  # data of whole numbers are an error
    integer_grad: bool = True  # False: between integers the gradient is zero
    any_attrs: bool = False  # accepts unknown attributes (operators MXNet registers without a parameter struct, Custom)
    check: Callable[[Attrs], None] | None = None  # further attribute checks at creation (raise MXNetError)
    differentiable: tuple[str, ...] | None = None
    added: Mapping[str, Callable[[Attrs, torch.Tensor, torch.Tensor], torch.Tensor]] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    listed: Sequence[tuple[str, str]] | None = None
    specialize: Callable[[Attrs, Sequence[Any], Sequence[Any]], Attrs] | None = None
    bind: Callable[[Any, Sequence[tuple[Any, Any]], torch.device, Sequence[str]], Attrs] | None = None
    auxiliary: Callable[[Attrs], Sequence[str]] | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    init: Mapping[str, str] = field(default_factory=dict)
    in_place: Callable[..., None] | None = None
    table: tuple[str, ...] | None = None
    input_texts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.takes_bool = takes_bool(self.name)
        self.variadic = any(i.variadic for i in self.inputs)
        self.input_names = tuple(i.name for i in self.inputs)
        self.ignored = frozenset(s.name for s in self.attrs.values() if s.ignored)
        self.passed = tuple(s.name for s in self.attrs.values() if not s.ignored)
        self._defaults = {s.name: s.default for s in self.attrs.values() if s.default is not REQUIRED}
        self._required = tuple(s.name for s in self.attrs.values() if s.default is REQUIRED)
        self._default_attrs: Attrs | None = None

    # -- attributes -------------------------------------------------------------------------------------------------------
    def parse(self, given: Mapping[str, Any]) -> Attrs:
        """Attributes from text or Python values, completed with defaults, in declaration order.

        Errors: MXNetError for an unknown attribute, a missing required one, an unreadable or out-of-bounds value.
        """
        if not given and not self._required:
            if self._default_attrs is None:
                defaults = Attrs(self._defaults)
                if self.check:
                    self.check(defaults)
                self._default_attrs = defaults
            return self._default_attrs
        try:
            return self._read(given)
        except MXNetError as error:
            shown = "".join(f', {k}="{v}"' for k, v in given.items())
            raise MXNetError(f'{error}, in operator {self.name}(name=""{shown})') from None

    def _read(self, given: Mapping[str, Any]) -> Attrs:
        unknown = [name for name in given if name not in self.attrs]
        if unknown and not self.any_attrs:
            raise self.unknown_attribute(unknown[0])  # before what is missing: it is often the same one, misspelt
        attrs = Attrs()
        for name, spec in self.attrs.items():
            attrs[name] = spec.type.read(given[name], name, spec.bounds) if name in given else spec.default
        for name in self._required:
            if name not in given:
                raise MXNetError(f"Required parameter {name} of {self.attrs[name].type.short} is not presented")
        attrs.update((name, given[name]) for name in unknown)
        if self.check:
            self.check(attrs)
        return attrs

    def own_attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes of a node that are the operator's, without the user's own (`__lr_mult__` and the like)."""
        return {name: value for name, value in given.items() if name in self.attrs or (self.any_attrs and not name.startswith("__"))}

    def unknown_attribute(self, name: str) -> MXNetError:
        """The error for an attribute that the operator does not have."""
        rows = "\n".join(f"{s.name} : {s.table_text}" for s in self.attrs.values())
        return MXNetError(f"Cannot find argument '{name}', Possible Arguments:\n----------------\n{rows}\n")

    # -- inputs and outputs of a node ---------------------------------------------------------------------------------------
    def node_inputs(self, a: Attrs, variadic_count: int | None = None) -> list[InputSpec]:
        """The inputs that a node with these attributes has; a variadic input is expanded."""
        result: list[InputSpec] = []
        for spec in self.inputs:
            if spec.variadic:
                n = self.count(a) if self.count else a.get(self.key_var_num_args, variadic_count or 0)
                names = self.variadic_names(a, n) if self.variadic_names else [f"arg{i}" for i in range(n)]
                states = self.auxiliary(a) if self.auxiliary else ()
                result.extend(InputSpec(name, "aux" if name in states else self._variadic_kind(spec, name)) for name in names)
            elif spec.name not in self.present or self.present[spec.name](a):
                result.append(spec)
        return result

    def _variadic_kind(self, spec: InputSpec, name: str) -> str:
        return spec.kind if not self.written or name.rpartition("_")[0] in self.written else "arg"

    def output_names(self, a: Attrs) -> list[str]:
        """Names of all outputs, hidden ones included."""
        return list(self.outputs(a) if callable(self.outputs) else self.outputs)

    def num_outputs(self, a: Attrs) -> int:
        """Number of outputs, hidden ones included."""
        return len(self.outputs(a) if callable(self.outputs) else self.outputs)

    def num_visible(self, a: Attrs) -> int:
        """Number of outputs that the user sees."""
        if self.visible is None:
            return self.num_outputs(a)
        return self.visible(a) if callable(self.visible) else self.visible

    def needs_head_grad(self, a: Attrs) -> bool:
        """Whether backward needs a head gradient for this operator's outputs."""
        return self.head_grad(a) if callable(self.head_grad) else self.head_grad

    # -- running ------------------------------------------------------------------------------------------------------------
    def run(self, a: Attrs, inputs: Sequence[torch.Tensor | None], train: bool, device: torch.device | None = None) -> Out:
        """Runs the body. `inputs` follows `node_inputs(a)`: absent optional inputs are left out."""
        self.check_types(inputs)
        kwargs: dict[str, Any] = {name: a[name] for name in self.passed}
        if self.any_attrs:
            kwargs.update({k: v for k, v in a.items() if k not in self.attrs})
        for keyword, what in self.injected.items():
            kwargs[keyword] = train if what == "train" else device
        result = self.body(*self.place(a, inputs), **kwargs)
        if isinstance(result, Out):
            return result
        return Out(*result) if isinstance(result, (tuple, list)) else Out(result)

    def check_types(self, inputs: Sequence[torch.Tensor | None]) -> None:
        """Errors: MXNetError for data that is not floating point or an input of type bool, where the operator does not take it."""
        first = inputs[0] if inputs else None
        if self.floats_only and first is not None and not first.is_floating_point():
            raise MXNetError(f"This operation only support floating point types, not {str(first.dtype).removeprefix('torch.')}")
        if not self.takes_bool and any(tensor is not None and tensor.dtype is torch.bool for tensor in inputs):
            raise MXNetError(f"{self.name} does not take inputs of type bool")

    def place(self, a: Attrs, inputs: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
        """The positional arguments of the body: None where an optional input is absent."""
        if self.variadic or not self.present:
            return list(inputs)
        given = iter(inputs)
        return [next(given, None) if spec.name not in self.present or self.present[spec.name](a) else None for spec in self.inputs]

    # -- published forms ------------------------------------------------------------------------------------------------------
    def argument_table(self) -> list[tuple[str, str]]:
        """(name, type text) rows as MXNet's registry lists them."""
        rows = [(i.name, self.input_texts.get(i.name, "NDArray-or-Symbol[]" if i.variadic else "NDArray-or-Symbol")) for i in self.inputs]
        rows += self.listed if self.listed is not None else [(s.name, s.table_text) for s in self.attrs.values()]
        table = self.table
        return rows if table is None else sorted((row for row in rows if row[0] in table), key=lambda row: table.index(row[0]))


_BY_NAME: dict[str, OpDef] = {}
_OPS: dict[str, OpDef] = {}


def op(
    name: str, *, aliases: Iterable[str] = (), described: Mapping[str, str] | None = None, signature: Callable[..., Any] | None = None, **rules: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares an operator (see the module's docstring); `rules` are the fields of `OpDef`. Returns the body unchanged.

    described: attribute name -> the type text of MXNet's table, where MXNet registered one by hand.
    signature: a function whose signature is the schema, for bodies that are torch functions themselves.
    """

    def declare(body: Callable[..., Any]) -> Callable[..., Any]:
        inputs, attrs, injected = _read_signature(signature or body, described or {})
        definition = OpDef(
            name=name, body=body, inputs=inputs, attrs=attrs, injected=injected,
            doc=rules.pop("doc", None) or inspect.getdoc(body) or "", aliases=tuple(aliases), **rules,
        )  # fmt: skip
        _OPS[name] = definition
        for known in (name, *definition.aliases):
            if known in _BY_NAME:
                raise ValueError(f"operator name {known!r} is declared twice ({_BY_NAME[known].name} and {name})")
            _BY_NAME[known] = definition
        return body

    return declare


def alias(new: str, existing: str) -> None:
    """Registers a further name of a declared operator."""
    if new in _BY_NAME:
        raise ValueError(f"operator name {new!r} is declared twice")
    definition = _BY_NAME[existing]
    definition.aliases = (*definition.aliases, new)
    _BY_NAME[new] = definition


def lookup(name: str) -> OpDef | None:
    """The operator of that name or alias, or None."""
    return _BY_NAME.get(name)


def get(name: str) -> OpDef:
    """The operator of that name or alias. Errors: MXNetError when there is none."""
    found = _BY_NAME.get(name)
    if found is None:
        raise MXNetError(f"Operator {name} is not registered: MXNet 1.9.1 has no such operator, or this package does not implement it yet")
    return found


def ops() -> dict[str, OpDef]:
    """All declared operators by registered name."""
    return _OPS


def all_names() -> dict[str, OpDef]:
    """All names, aliases included."""
    return _BY_NAME


def _read_signature(body: Callable[..., Any], described: Mapping[str, str]) -> tuple[tuple[InputSpec, ...], dict[str, AttrSpec], dict[str, str]]:
    namespace = inspect.unwrap(body).__globals__
    inputs: list[InputSpec] = []
    attrs: dict[str, AttrSpec] = {}
    injected: dict[str, str] = {}
    for name, parameter in inspect.signature(body).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        extras = _metadata(parameter.annotation, namespace)
        marker = next((e for e in extras if isinstance(e, _Marker)), None)
        if parameter.kind is parameter.KEYWORD_ONLY:
            if marker is not None:
                injected[name] = marker.kind
                continue
            attrs[name] = _attr_spec(name, extras, parameter, described.get(name), body)
        else:
            kind = marker.kind if marker is not None else "arg"
            optional = parameter.default is None
            inputs.append(InputSpec(name, kind, optional, parameter.kind is parameter.VAR_POSITIONAL))
    return tuple(inputs), attrs, injected


def _attr_spec(name: str, extras: list[Any], parameter: inspect.Parameter, described: str | None, body: Callable[..., Any]) -> AttrSpec:
    value_type = next((e for e in extras if isinstance(e, ValueType)), None)
    if value_type is None:
        raise TypeError(f"{body.__qualname__}: attribute {name} has no value type in its annotation")
    bounds = next((e for e in extras if isinstance(e, Range)), None)
    default = REQUIRED if parameter.default is parameter.empty else parameter.default
    if isinstance(default, (float, tuple)):
        default = value_type.convert(default)  # 0.9 as the C float that it stands for
    return AttrSpec(name, value_type, default, bounds, IGNORED in extras, described)


# (module, annotation text) -> metadata. A module writes the same few annotations hundreds of times; evaluating each once keeps imports fast.
_METADATA: dict[tuple[str, str], list[Any]] = {}


def _metadata(annotation: Any, namespace: dict[str, Any]) -> list[Any]:
    """The metadata of a parameter's annotation; text is evaluated among its module's names."""
    if not isinstance(annotation, str):
        return _extras(annotation)
    key = (namespace["__name__"], annotation)
    found = _METADATA.get(key)
    if found is None:
        found = _METADATA[key] = _extras(eval(annotation, namespace))  # text of the package's own source
    return found


def _extras(hint: Any) -> list[Any]:
    """The metadata of an annotation, looking through `X | None`."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        return [e for part in typing.get_args(hint) for e in _extras(part)]
    if typing.get_origin(hint) is Annotated:
        first, *rest = typing.get_args(hint)
        return _extras(first) + rest
    return []
