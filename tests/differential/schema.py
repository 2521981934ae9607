"""Cases of every classic operator: the operator cases with other sizes, element types and attributes, all drawn from the registry's schema.

An operator without a case of its own starts from `SEEDS` or from guessed attributes. What comes out need not be valid: where MXNet refuses a
case, its error class is what is compared.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any

import numpy as np
from hypothesis import strategies as st

import mxexec_torch  # noqa: F401 - registers the operators
from mxexec_torch import registry
from mxexec_torch.registry import AttrSpec, OpDef

from ..opdb import store
from ..opdb.case import Array, Case, integers, positive, uniform
from .seeds import SEEDS

__all__ = ["EXCLUDED", "examples", "mutated", "operators"]

FLOATS = ("float16", "float32", "float64")
KINDS = ("sizes", "one", "rank", "zero", "types", "type", "attr", "attr", "attr", "add", "null")
WHOLE = ("int32", "int64", "int8", "uint8")
# Files, user code, graph bodies, placeholders and names whose output is memory that MXNet leaves as it finds it.
EXCLUDED = {
    "Custom", "_CrossDeviceCopy", "_cond", "_contrib_quantized_rnn", "_cvcopyMakeBorder", "_cvimdecode", "_cvimread", "_cvimresize", "_foreach",
    "_imdecode", "_while_loop", "_contrib_fft", "_contrib_ifft", "_contrib_count_sketch", "_contrib_getnnz", "_contrib_edge_id", "cast_storage",
    "_sparse_retain", "_square_sum", "_onehot_encode", "reset_arrays", "_copyto", "_set_value", "_contrib_SparseEmbedding", "_empty",
    "_contrib_calibrate_entropy", "_backward_gather_nd", "_contrib_quantize_asym",
}  # fmt: skip
# MXNet's gradients of these are neither added nor written where grad_req='add' asks for addition: intermediate results end up in them.
ADDED_WRONGLY = ("_contrib_boolean_mask", "_contrib_hawkesll", "_linalg_")


@functools.cache
def _seeds() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for family in store.families():
        for case in store.load(family)[0]:
            definition = registry.lookup(case.op)
            if definition is None or case.build or case.onednn or case.unjudged or case.tolerance or case.op in EXCLUDED:
                continue
            if any(a.stype != "default" or a.dtype == "bfloat16" or max(a.shape, default=0) > 40 for a in case.inputs.values()):
                continue
            found.setdefault(definition.name, []).append(case)
    for case in SEEDS:
        found.setdefault(registry.get(case.op).name, []).append(case)
    for name, definition in registry.ops().items():
        if name not in found and name not in EXCLUDED and not name.startswith("_sg_"):
            found[name] = [_guessed(definition)]
    return {k: v for k, v in found.items() if k not in EXCLUDED}


def _guessed(definition: OpDef) -> Case:
    required = {s.name: _guess(s) for s in definition.attrs.values() if s.default is registry.REQUIRED and s.name != definition.key_var_num_args}
    names = ["arg0", "arg1"] if definition.variadic else list(definition.input_names)
    return Case(definition.name, "guessed", {n: positive(2, 3) for n in names}, required)


def _guess(spec: AttrSpec) -> Any:
    text = spec.type.describe
    if text.startswith("{"):
        return text[1:].split("'")[1]
    guesses = (("int", 2), ("long", 2), ("float", 0.5), ("double", 0.5), ("Shape", (2, 2)), ("bool", True))
    return next((v for p, v in guesses if text.startswith(p)), "x")


def operators() -> list[str]:
    """All operators that can be drawn."""
    return sorted(_seeds())


def _attribute(draw: st.DrawFn, spec: AttrSpec, now: Any) -> Any:
    text = spec.type.describe
    if text.startswith("{"):
        return draw(st.sampled_from([n for n in re.findall(r"'([^']*)'", text) if n != "bfloat16"]))
    if "None" in text and draw(st.integers(0, 3)) == 0:
        return None
    if text.startswith("bool"):
        return draw(st.booleans())
    if isinstance(now, tuple) and now and draw(st.booleans()):
        at = draw(st.integers(0, len(now) - 1))
        other = draw(st.floats(-1.5, 1.5, width=16) if isinstance(now[at], float) else st.integers(-2, 4))
        return (*now[:at], other, *now[at + 1 :])
    if text.startswith(("Shape", "tuple", "int", "long")):
        whole = st.integers(-3, 4)
        if text.startswith(("Shape", "tuple of <int", "tuple of <long")) and draw(st.integers(0, 4)):
            return tuple(draw(st.lists(whole, max_size=4)))
        if text.startswith("tuple"):
            return tuple(draw(st.lists(st.floats(-1.5, 1.5, width=16), max_size=3)))
        return draw(whole)
    if text.startswith(("float", "double")):
        return draw(st.sampled_from([0.0, 0.25, 0.5, 1.0, -0.5, 1.5, 2.0, -1.0]))
    return now


def _resized(draw: st.DrawFn, case: Case) -> Case:
    sizes = sorted({d for a in case.inputs.values() for d in a.shape if d > 1})
    new = {s: draw(st.integers(1, 6)) for s in sizes}
    inputs = {}
    for name, array in case.inputs.items():
        shape = tuple(new.get(d, d) for d in array.shape)
        inputs[name] = array if shape == array.shape else _other(array, shape)
    return dataclasses.replace(case, inputs=inputs)


def _other(array: Array, shape: tuple[int, ...]) -> Array:
    if array.kind != "values":
        return dataclasses.replace(array, shape=shape)
    made = np.nan_to_num(array.make(""), posinf=3.0, neginf=-3.0)
    if made.size and (made == made.round()).all():
        return integers(*shape, low=int(made.min()), high=int(made.max()), dtype=array.dtype)
    return uniform(*shape, low=float(made.min()) if made.size else 0.0, high=float(made.max()) if made.size else 1.0, dtype=array.dtype)


def _requested(draw: st.DrawFn, case: Case, definition: OpDef, kind: str) -> Case:
    """The case with its gradients added to what is there, or with one of them not asked for."""
    wanted = case.grad_names([i.name for i in definition.inputs if i.kind == "aux"])
    if not wanted:
        return case
    if kind == "null":
        return dataclasses.replace(case, grad=[n for n in wanted if n != draw(st.sampled_from(wanted))])
    return case if definition.name.startswith(ADDED_WRONGLY) else dataclasses.replace(case, req="add")


@st.composite
def mutated(draw: st.DrawFn, name: str) -> Case:
    """A case of this operator with some of: other sizes, another shape for one input, other element types, other attributes."""
    case = draw(st.sampled_from(_seeds()[name]))
    definition = registry.get(name)
    attrs = dict(case.attrs)
    for kind in draw(st.lists(st.sampled_from(KINDS), max_size=3, unique=True)):
        if case.sample and kind != "attr":
            continue  # moments need many draws
        inputs = dict(case.inputs)
        names = list(inputs)
        if kind == "sizes":
            case = _resized(draw, case)
            continue
        if kind == "attr":
            usable = [s for s in definition.attrs.values() if s.name not in (definition.key_var_num_args, "ctx") and not s.ignored]
            if usable:
                for spec in draw(st.lists(st.sampled_from(usable), min_size=1, max_size=2, unique_by=lambda s: s.name)):
                    attrs[spec.name] = _attribute(draw, spec, attrs.get(spec.name, spec.default))
            continue
        if not names:
            continue
        if kind in ("add", "null"):
            case = _requested(draw, case, definition, kind)
            continue
        if kind == "types":
            dtype = draw(st.sampled_from(FLOATS + WHOLE))
            inputs = {n: a.typed(dtype) if a.dtype == "float32" else a for n, a in inputs.items()}
        else:
            chosen = draw(st.sampled_from(names))
            array = inputs[chosen]
            if kind == "type":
                inputs[chosen] = array.typed(draw(st.sampled_from(FLOATS + WHOLE)))
            elif kind == "zero":
                if not array.shape:
                    continue
                at = draw(st.integers(0, len(array.shape) - 1))
                size = array.shape[at]
                inputs = {n: _other(a, tuple(0 if d == size else d for d in a.shape)) for n, a in inputs.items()}
                case = dataclasses.replace(case, np_shape=True)
            elif kind == "one" and array.shape:
                at = draw(st.integers(0, len(array.shape) - 1))
                inputs[chosen] = _other(array, (*array.shape[:at], 1, *array.shape[at + 1 :]))
            elif kind == "rank":
                extra = draw(st.integers(1, 3))
                inputs[chosen] = _other(array, (extra, *array.shape) if draw(st.booleans()) or len(array.shape) < 2 else array.shape[1:])
        case = dataclasses.replace(case, inputs=inputs)
    arrays = ", ".join(f"{n}={a.dtype}{list(a.shape)}" for n, a in case.inputs.items())
    label = f"{arrays} {sorted((k, v) for k, v in attrs.items())} {case.req} {case.grad or ''}{' np_shape' if case.np_shape else ''} from {case.label}"
    return dataclasses.replace(case, attrs=attrs, label=label, error=False)


@st.composite
def examples(draw: st.DrawFn) -> Case:
    """A case of any operator."""
    return draw(mutated(draw(st.sampled_from(operators()))))
