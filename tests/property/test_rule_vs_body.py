"""A shape rule and the operator's body are two derivations of one thing: they must agree, and rules must only ever add knowledge.

Every operator with a shape rule is tried, with shapes drawn by family: one shape for elementwise operators, broadcastable shapes for the
broadcasting ones, and for the rest the shapes of its operator cases with other sizes in place of theirs.
"""

from __future__ import annotations

import os
from typing import Any

import hypothesis.extra.numpy as hnp
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mxexec_torch  # noqa: F401 - registers the operators
from mxexec_torch import registry
from mxexec_torch.errors import MXNetError
from mxexec_torch.infer.rules import broadcast, elementwise, same_dtype
from mxexec_torch.infer.state import Dtypes, Shapes, complete, merge_shapes
from mxexec_torch.registry import Attrs, OpDef

from ..opdb import store
from ..opdb.case import Case, normal

Shape = tuple[int, ...]
Example = tuple[Attrs, list[Shape], list[torch.dtype]]
REFUSALS = (MXNetError, RuntimeError, IndexError, ValueError, TypeError)
MANY = int(os.environ.get("MXEXEC_TORCH_EXAMPLES", "12"))  # examples an operator and test
SEEDS = [  # operators without a case to draw shapes from
    Case("_backward_gather_nd", "seed", {"data": normal(2, 3), "indices": normal(2, 2)}, {"shape": (4, 5, 3)}),
    Case("_copyto", "seed", {"data": normal(2, 3)}), Case("_zeros_without_dtype", "seed", {}, {"shape": (2, 3)}),
    Case("_sg_mkldnn_selfatt_qk", "seed", {"queries_keys_values": normal(5, 2, 12)}, {"heads": 2}),
    Case("_sg_mkldnn_selfatt_valatt", "seed", {"queries_keys_values": normal(5, 2, 12), "attention": normal(4, 5, 5)}, {"heads": 2}),
]  # fmt: skip
SHAPES: dict[str, int] = {}  # operator -> different shapes on which rule and body were compared
META = torch.device("meta")
# LeakyReLU: an unknown gamma is taken to have an element a channel, though (1,) is allowed: more than knowledge, as in MXNet.
# _contrib_edge_id: refuses what is not known, as in MXNet.
GUESSES = {"LeakyReLU", "_contrib_edge_id"}


def _from_cases() -> dict[str, list[Example]]:
    """Attributes and input shapes of the operator cases, by operator."""
    found: dict[str, list[Example]] = {}
    for case in [*SEEDS, *(case for family in store.families() for case in store.load(family)[0])]:
        operator = registry.lookup(case.op)
        if operator is None or case.error or case.build or case.np_shape:
            continue
        attrs = dict(case.attrs)
        if operator.key_var_num_args:
            attrs.setdefault(operator.key_var_num_args, len(case.inputs))
        dtypes = [getattr(torch, spec.dtype) for spec in case.inputs.values()]
        try:
            parsed = operator.parse(attrs)
        except MXNetError:
            continue  # an attribute of the published Python function, not of the operator
        found.setdefault(operator.name, []).append((parsed, [spec.shape for spec in case.inputs.values()], dtypes))
    return found


CASES = _from_cases()
RULED = sorted(n for n, o in registry.ops().items() if o.shape is not None and not o.eager_only and not o.any_attrs)


def _any_attrs(operator: OpDef) -> Attrs | None:
    """Attributes to run an operator with: its defaults, or those of one of its cases."""
    try:
        return operator.parse({})
    except MXNetError:
        examples = CASES.get(operator.name)
        return examples[0][0] if examples else None


def _float(count: int) -> list[torch.dtype]:
    return [torch.float32] * count


@st.composite
def _one_shape(draw: st.DrawFn, operator: OpDef, attrs: Attrs) -> Example:
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5))
    count = len(operator.node_inputs(attrs, 2))
    return attrs, [shape] * count, _float(count)


@st.composite
def _broadcastable(draw: st.DrawFn, operator: OpDef, attrs: Attrs) -> Example:
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=1, max_dims=4, min_side=1, max_side=4)).input_shapes
    return attrs, [tuple(s) for s in shapes], _float(2)


@st.composite
def _resized(draw: st.DrawFn, examples: list[Example]) -> Example:
    """An operator case, as it is or with every size (but 0 and 1) replaced by another one throughout."""
    attrs, shapes, dtypes = draw(st.sampled_from(examples))
    if draw(st.booleans()):
        sizes = sorted({d for s in shapes for d in s if d > 1})
        new = draw(st.lists(st.integers(2, 9), min_size=len(sizes), max_size=len(sizes), unique=True))
        renamed = dict(zip(sizes, new, strict=True))
        shapes = [tuple(renamed.get(d, d) for d in s) for s in shapes]
    return attrs, shapes, dtypes


def _strategy(operator: OpDef, square: bool = False) -> st.SearchStrategy[Example] | None:
    """Examples; square: those of elementwise operators take shapes of cases in, which for matrix operators are square."""
    attrs = _any_attrs(operator)
    if attrs is not None and operator.shape is elementwise and operator.dtype is None and not operator.variadic:
        examples = CASES.get(operator.name) if square else None
        return st.one_of(_one_shape(operator, attrs), _resized(examples)) if examples else _one_shape(operator, attrs)
    if attrs is not None and operator.shape is broadcast:
        return _broadcastable(operator, attrs)
    cases = CASES.get(operator.name)
    return _resized(cases) if cases else None


def _by_rule(operator: OpDef, attrs: Attrs, shapes: list[Any], outputs: list[Any] | None = None) -> Shapes:
    names = [spec.name for spec in operator.node_inputs(attrs, len(shapes))]
    state = Shapes(operator, attrs, "node", shapes, outputs or [None] * operator.num_outputs(attrs), names)
    assert operator.shape is not None
    operator.shape(attrs, state)
    return state


def _by_body(operator: OpDef, attrs: Attrs, shapes: list[Shape], dtypes: list[torch.dtype]) -> tuple[torch.Tensor, ...]:
    inputs = [torch.empty(s, dtype=d, device=META) for s, d in zip(shapes, dtypes, strict=True)]
    with torch.no_grad():
        return operator.run(attrs, inputs, True, META).outputs


def _agree(rule: Shapes, outputs: tuple[torch.Tensor, ...]) -> None:
    for index, (by_rule, by_body) in enumerate(zip(rule.outputs, outputs, strict=True)):
        assert by_rule is None or len(by_rule) == by_body.ndim, f"output {index}: rule {by_rule}, body {tuple(by_body.shape)}"
        if by_rule is not None:
            assert all(a in (-1, b) for a, b in zip(by_rule, by_body.shape, strict=True)), f"output {index}: rule {by_rule}, body {tuple(by_body.shape)}"


TRIED = [n for n in RULED if _strategy(registry.get(n)) is not None]


@pytest.mark.parametrize("name", TRIED)
def test_rule_and_body_agree(name: str) -> None:
    """Complete input shapes: what the rule says of outputs and element types is what the body makes of meta tensors."""
    operator = registry.get(name)
    strategy = _strategy(operator, square=True)
    assert strategy is not None
    accepted = set()

    @settings(max_examples=MANY, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(example=strategy)
    def check(example: Example) -> None:
        attrs, shapes, dtypes = example
        try:
            rule = _by_rule(operator, attrs, list(shapes))
            outputs = _by_body(operator, attrs, shapes, dtypes)
        except REFUSALS:
            return  # sizes that the attributes do not allow; the cases themselves are known to run
        _agree(rule, outputs)
        accepted.add(tuple(shapes))
        names = [spec.name for spec in operator.node_inputs(attrs, len(shapes))]
        types = Dtypes(operator, attrs, "node", dtypes, [None] * operator.num_outputs(attrs), names)
        (operator.dtype or same_dtype)(attrs, types)
        for index, (by_rule, output) in enumerate(zip(types.outputs, outputs, strict=True)):
            assert by_rule in (None, output.dtype), f"output {index}: rule {by_rule}, body {output.dtype}"

    check()
    assert accepted, "no example ran"
    SHAPES[name] = len(accepted)


NEED_ALL = ("_np_cumsum",)  # MXNet refuses to infer them from less than whole shapes


@pytest.mark.parametrize("name", [n for n in TRIED if n not in GUESSES])
def test_rules_only_add_knowledge(name: str) -> None:
    """With sizes hidden a rule finds nothing that contradicts what it finds with all of them, and its own outputs do not disturb it."""
    operator = registry.get(name)
    strategy = _strategy(operator)
    assert strategy is not None

    @settings(max_examples=MANY, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(example=strategy, data=st.data())
    def check(example: Example, data: st.DataObject) -> None:
        attrs, shapes, _ = example
        try:
            full = _by_rule(operator, attrs, list(shapes))
        except REFUSALS:
            return
        again = _by_rule(operator, attrs, list(full.inputs), list(full.outputs))
        assert (again.inputs, again.outputs) == (full.inputs, full.outputs), "a second run of the rule finds something else"
        hidden = [
            None if data.draw(st.booleans()) else tuple(-1 if data.draw(st.booleans()) else d for d in shape) for shape in shapes
        ]
        try:
            partial = _by_rule(operator, attrs, list(hidden))
        except MXNetError:
            assert name in NEED_ALL
            return
        for known, whole in zip([*partial.inputs, *partial.outputs], [*full.inputs, *full.outputs], strict=True):
            if complete(whole):
                assert merge_shapes(known, whole) == whole, f"{hidden} gives {known}, {list(shapes)} gives {whole}"

    check()


def test_every_rule_is_tried() -> None:
    """Each operator with a shape rule has something to draw shapes from."""
    assert not set(RULED) - set(TRIED)
