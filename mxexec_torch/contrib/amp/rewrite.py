"""The graph rewrite behind `convert_symbol`: a copy of a graph with amp_cast and amp_multicast nodes where element types have to change.

Facts: src/nnvm/low_precision_pass.cc and src/nnvm/amp_infer_unknown.cc.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from ...dtypes import NAME_TO_CODE, NAME_TO_TORCH, name_of
from ...errors import MXNetError
from ...graph import Entry, Node, topological
from ...infer.rules import same_dtype
from ...infer.solver import infer_dtypes
from ...infer.state import Dtypes
from ...registry import get
from ...symbol.compose import parse_attributes

__all__ = ["Policy", "reduce_precision", "set_input_dtypes"]

_Key = tuple[int, int, int]

# Casts are named after the output they read. MXNet has no names, only numbers, for the outputs of most operators with one output ...
_NAMED = frozenset(
    """
    Activation Convolution Convolution_v1 Crop Deconvolution FullyConnected IdentityAttachKLSparseReg InstanceNorm MakeLoss Pad Pooling_v1 ROIPooling
    SVMOutput SequenceLast SequenceMask SequenceReverse SoftmaxActivation SoftmaxOutput SwapAxis UpSampling _CrossDeviceCopy
    _contrib_DeformableConvolution _contrib_MultiBoxDetection _contrib_MultiBoxPrior _contrib_PSROIPooling _contrib_ROIAlign _contrib_RROIAlign
    _contrib_count_sketch _contrib_fft _contrib_ifft _contrib_index_array _contrib_interleaved_matmul_encdec_qk
    _contrib_interleaved_matmul_encdec_valatt _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt col2im elemwise_add
    im2col softmax softmin
    """.split()
)
# ... and for those of these with several.
_NUMBERED = frozenset("_histogram _linalg_det _linalg_gelqf _linalg_slogdet _linalg_syevd _sample_multinomial _split_v2 moments sort topk".split())


@dataclass(frozen=True)
class Policy:
    """What to run in which type.

    low: 'float16' or 'bfloat16'. low_ops, fp32_ops, widest_ops: operator names. conditional: operator -> attribute -> values that ask for float32.
    excluded: names of nodes that stay in float32. data_names: the graph's inputs that are no parameters.
    cast_params: parameters are stored in the low type where only low-type operators read them.
    """

    low: str
    low_ops: Collection[str]
    fp32_ops: Collection[str]
    widest_ops: Collection[str]
    conditional: Mapping[str, Mapping[str, Collection[str]]]
    excluded: Collection[str]
    data_names: Collection[str]
    cast_params: bool


def reduce_precision(heads: Sequence[Entry], policy: Policy) -> list[Entry]:
    """The rewritten graph's heads, all float32. The given graph is not changed."""
    rewrite = _Rewrite(policy)
    for node in topological(heads):
        rewrite.visit(node)
    return [rewrite.read(head, "float32") for head in heads]


def _key(entry: Entry) -> _Key:
    return id(entry.node), entry.index, entry.version


@dataclass
class _Rewrite:
    policy: Policy
    copies: dict[int, Node] = field(default_factory=dict)
    known: dict[str, dict[_Key, Entry]] = field(default_factory=dict)  # type -> output of the old graph -> its value in that type in the new one

    def __post_init__(self) -> None:
        self.known = {"float32": {}, self.policy.low: {}}

    def visit(self, node: Node) -> None:
        """Copies a node whose inputs have been copied."""
        policy = self.policy
        copy = Node(node.op, node.name, node.attrs.copy(), (), node.params)
        copy.subgraphs, copy.extra, copy.version, copy._specs = list(node.subgraphs), node.extra, node.version, node._specs
        name = node.op.name if node.op is not None else None
        if name in policy.fp32_ops or node.name in policy.excluded:
            copy.inputs = [self._fp32_input(entry) for entry in node.inputs]
            self._all_outputs(node, copy, "float32")
        elif name is None:
            pass
        elif name in policy.low_ops:
            self._low(node, copy)
        elif name in policy.widest_ops:
            self._widest(node, copy)
        elif any(node.attrs.get(key) in values for key, values in policy.conditional.get(name, {}).items()):
            written = _written(node)
            fp32 = self.known["float32"]
            copy.inputs = [self._as_is(e) if i in written and _key(e) not in fp32 else self.read(e, "float32") for i, e in enumerate(node.inputs)]
            self._all_outputs(node, copy, "float32")
        else:
            copy.inputs = [self._as_is(entry) for entry in node.inputs]
            self._follow(node, copy)
        self.copies[id(node)] = copy

    def read(self, entry: Entry, dtype: str) -> Entry:
        """An output of the old graph in the new one, in a type: as it is where it is known to have it, else through one shared cast."""
        found = self.known[dtype].get(_key(entry))
        if found is None:
            name = f"{entry.node.name}{_suffix(entry)}_amp_cast_{dtype}"
            found = self.known[dtype][_key(entry)] = Entry(_operator("amp_cast", name, {"dtype": dtype}, [self._as_is(entry)]), 0, entry.version)
        return found

    def _as_is(self, entry: Entry) -> Entry:
        return Entry(self.copies[id(entry.node)], entry.index, entry.version)

    def _fp32_input(self, entry: Entry) -> Entry:
        """Variables count as float32 already."""
        if entry.node.op is None and _key(entry) not in self.known["float32"]:
            return self._as_is(entry)
        return self.read(entry, "float32")

    def _all_outputs(self, node: Node, copy: Node, dtype: str) -> None:
        for index in range(node.num_outputs()):
            self.known[dtype][id(node), index, 0] = Entry(copy, index)

    def _note_outputs(self, node: Node, copy: Node, dtypes: Sequence[torch.dtype | None]) -> None:
        for index, dtype in enumerate(dtypes):
            if dtype is not None and name_of(dtype) in self.known:
                self.known[name_of(dtype)][id(node), index, 0] = Entry(copy, index)

    def _low(self, node: Node, copy: Node) -> None:
        low = NAME_TO_TORCH[self.policy.low]
        inputs, outputs = _dtypes_from_first(node, low)
        self._note_outputs(node, copy, outputs)
        written, known = _written(node), self.known[self.policy.low]
        for position, entry in enumerate(node.inputs):
            variable = entry.node.op is None
            parameter = self.policy.cast_params and variable and entry.node.name not in self.policy.data_names
            if _key(entry) not in known and (parameter or position in written or inputs[position] not in (low, None)):
                copy.inputs.append(self._as_is(entry))
                if self.policy.cast_params and variable:
                    known[_key(entry)] = copy.inputs[-1]
            else:
                copy.inputs.append(self.read(entry, self.policy.low))

    def _widest(self, node: Node, copy: Node) -> None:
        if not node.inputs:
            raise MXNetError(f"operator {node.op.name if node.op else ''} {node.name!r} is to run in the widest type of its inputs, but has none")
        fp32, low = self.known["float32"], self.known[self.policy.low]
        if any(_key(e) not in fp32 and _key(e) not in low for e in node.inputs):
            first = node.inputs[0]
            inputs = [self._as_is(entry) for entry in node.inputs]
            cast = _operator("amp_multicast", f"{first.node.name}{_suffix(first)}_amp_multicast", {"num_outputs": str(len(inputs))}, inputs)
            copy.inputs = [Entry(cast, index, entry.version) for index, entry in enumerate(node.inputs)]
            return
        dtype = "float32" if any(_key(e) in fp32 for e in node.inputs) else self.policy.low
        copy.inputs = [self.read(entry, dtype) for entry in node.inputs]
        self._all_outputs(node, copy, dtype)

    def _follow(self, node: Node, copy: Node) -> None:
        """Notes the types of the outputs of an operator that takes any, where the type of its first input is known."""
        if not node.inputs:
            return
        first = _key(node.inputs[0])
        dtype = next((d for d in (self.policy.low, "float32") if first in self.known[d]), None)
        if dtype is not None:
            try:
                self._note_outputs(node, copy, _dtypes_from_first(node, NAME_TO_TORCH[dtype])[1])
            except MXNetError:
                return  # the operator refuses the type; binding says so, with all types at hand


def _operator(name: str, label: str, attrs: dict[str, str], inputs: Iterable[Entry]) -> Node:
    op = get(name)
    return Node(op, label, attrs, inputs, parse_attributes(op, attrs)[0])


def _written(node: Node) -> set[int]:
    """Positions of the inputs that an operator writes."""
    return {position for position, spec in enumerate(node.input_specs()) if spec.kind != "arg"}


def _suffix(entry: Entry) -> str:
    """What the name of a cast adds to the name of the node it reads."""
    op = entry.node.op
    if op is None:
        return ""
    if op.name not in _NAMED and (op.outputs == ("output",) or op.name in _NUMBERED):
        return f"_{entry.index}"
    names = op.outputs(entry.node.params) if callable(op.outputs) else op.outputs
    return f"_{names[entry.index]}"


def _dtypes_from_first(node: Node, dtype: torch.dtype) -> tuple[list[torch.dtype | None], list[torch.dtype | None]]:
    """(input types, output types) that a first input of this type implies. Errors: MXNetError when the operator refuses it."""
    assert node.op is not None
    inputs = [dtype, *[None] * (len(node.inputs) - 1)]
    state = Dtypes(node.op, node.params, node.name, inputs, [None] * node.num_outputs(), [spec.name for spec in node.input_specs()])
    state.subgraphs = node.subgraphs
    (node.op.dtype or same_dtype)(node.params, state)
    return state.inputs, state.outputs


def set_input_dtypes(heads: Sequence[Entry], policy: Policy, parameters: Collection[str]) -> None:
    """Writes `__dtype__` to the variables of a rewritten graph: to the named parameters, or where there are none to those that have one."""
    order = topological(heads)
    variables = [node for node in order if node.op is None]
    known = infer_dtypes(order, {id(v): torch.float32 for v in variables if v.name in policy.data_names})
    dtypes = {id(v): known[id(v)][0] for v in variables}
    if policy.cast_params:
        dtypes = _fill_unknown(order, dtypes, NAME_TO_TORCH[policy.low])
    for variable in variables:
        if variable.name in parameters if parameters else "__dtype__" in variable.attrs:
            dtype = dtypes[id(variable)]
            variable.attrs["__dtype__"] = str(0 if dtype is None else NAME_TO_CODE[name_of(dtype)])


def _fill_unknown(order: Sequence[Node], inferred: Mapping[int, torch.dtype | None], low: torch.dtype) -> dict[int, torch.dtype | None]:
    """Types of variables of unknown type: that of the casts that read them, if all agree."""
    result = dict(inferred)
    seen: dict[str, torch.dtype] = {}
    for node in order:
        if node.op is None or node.op.name not in ("amp_cast", "amp_multicast"):
            continue
        dtype = low if node.op.name == "amp_multicast" else NAME_TO_TORCH[node.attrs["dtype"]]
        if node.op.name == "amp_multicast" and any(entry.node.op is not None for entry in node.inputs):
            continue
        for variable in (entry.node for entry in node.inputs if entry.node.op is None):
            if variable.name not in seen:
                if result[id(variable)] is None:
                    seen[variable.name] = result[id(variable)] = dtype
            elif seen[variable.name] != dtype:
                result[id(variable)] = inferred[id(variable)]
    return result
