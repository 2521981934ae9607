"""Runs a case through the public mxnet interface: the very same code in MXNet 1.9.1 and here."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .case import Case

__all__ = ["Result", "refer", "run"]

PREFIXES = {"_contrib_": "contrib", "_linalg_": "linalg", "_image_": "image", "_sparse_": "sparse", "_random_": "random"}
SEED = 20230917  # the year and month in which MXNet retired


@dataclass
class Result:
    """What a run gave. arrays: check name -> array. facts: check name -> JSON value. errors: path -> stage and exception class names."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, dict[str, Any]] = field(default_factory=dict)


class _Stage:
    """Names what is going on, for the error record."""

    def __init__(self) -> None:
        self.name = "create"


def run(mx: Any, case: Case) -> Result:
    """Runs all paths of the case. Exceptions are recorded, not raised."""
    result = Result()
    scope = mx.util.np_shape(True) if case.np_shape else contextlib.nullcontext()
    with scope:
        for path in case.paths:
            stage = _Stage()
            function = {"sym": _symbol, "nd": _imperative}[path] if not case.sample else {"sym": _symbol_sample, "nd": _imperative_sample}[path]
            try:
                function(mx, case, result, stage)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
                result.errors[path] = {"stage": stage.name, "class": [c.__name__ for c in type(error).__mro__], "text": str(error)[:300]}
    return result


def refer(case: Case) -> Result:
    """The golden of a case with a reference: the same checks that a run gives."""
    assert case.reference is not None
    result = Result()
    outputs, gradient = case.reference.function({n: case.array(n) for n in case.inputs}, case.attrs)
    modes = [mode for mode, wanted in (("eval", False), ("train", True)) if wanted in case.train]
    for path in case.paths:
        recorded = ["eval"] if path == "nd" and gradient is None else modes
        result.arrays.update({f"{path}.{mode}.{i}": output for mode in recorded for i, output in enumerate(outputs)})
        if gradient is not None:
            grads = gradient([case.seeded(f"head:{i}", o.shape, o.dtype) for i, o in enumerate(outputs)])
            result.arrays.update({f"{path}.grad.{n}": grads[n] for n in case.grad_names()})
    return result


def published(namespace: Any, name: str) -> Any:
    """The published function of an operator name below mx.sym or mx.nd."""
    for prefix, module in PREFIXES.items():
        if name.startswith(prefix) and (prefix != "_random_" or name.endswith("_like")):  # random.uniform and so on are Python functions
            place = getattr(namespace, module, None)
            for short in (name[len(prefix) :], name):
                if place is not None and hasattr(place, short):
                    return getattr(place, short)
    if hasattr(namespace, name):
        return getattr(namespace, name)
    return getattr(namespace._internal, name)


def _call(mx: Any, space: Any, case: Case, given: dict[str, Any], **extra: Any) -> Any:
    if case.build is not None:
        return case.build(mx, space, given)
    function = published(space, case.op)
    if _by_position(function):
        return function(*given.values(), **case.attrs, **extra)
    return function(**given, **case.attrs, **extra)


def _by_position(function: Any) -> bool:
    try:
        return any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False


def _name(dtype: Any) -> str:
    if dtype is None:
        return "unknown"
    found = np.dtype(dtype)
    return "bfloat16" if found.names else found.name


def _shapes(shapes: Any) -> Any:
    return None if shapes is None else [None if s is None else list(s) for s in shapes]


def _read(array: Any) -> np.ndarray:
    if array.stype != "default":
        array = array.tostype("default")
    found = np.array(array.asnumpy())
    return found["bfloat16"] if found.dtype.names else found


def _fill(mx: Any, target: Any, value: np.ndarray) -> None:
    target[:] = mx.nd.array(value, dtype=value.dtype)


def _symbol(mx: Any, case: Case, result: Result, stage: _Stage) -> None:
    given = {name: mx.sym.Variable(name, stype=spec.stype) for name, spec in case.inputs.items()}
    with mx.name.NameManager():  # automatic names count from 0
        symbol = _call(mx, mx.sym, case, given, **({} if case.build else {"name": "op"}))
    symbol = mx.sym.Group(symbol) if isinstance(symbol, (list, tuple)) else symbol
    arguments, auxiliary = symbol.list_arguments(), symbol.list_auxiliary_states()
    result.facts["names"] = {"arguments": arguments, "outputs": symbol.list_outputs(), "aux": auxiliary}
    known = {n: a for n, a in case.inputs.items() if n in arguments or n in auxiliary}
    shapes = {n: a.shape for n, a in known.items()}
    stage.name = "infer"
    result.facts["shapes"] = [_shapes(s) for s in symbol.infer_shape(**shapes)]
    types = {n: np.dtype(a.dtype).type for n, a in known.items()}
    result.facts["types"] = [None if t is None else [_name(d) for d in t] for t in symbol.infer_type(**types)]
    if len(known) > 1 and case.build is None and not case.error:
        for left_out in known:
            with contextlib.suppress(mx.base.MXNetError):
                found = symbol.infer_shape_partial(**{n: s for n, s in shapes.items() if n != left_out})
                result.facts[f"partial.{left_out}"] = [_shapes(s) for s in found]
    stage.name = "bind"
    wanted = [n for n in case.grad_names(auxiliary) if n in arguments]
    requests = {n: case.req if n in wanted else "null" for n in arguments}
    executor = symbol.simple_bind(mx.cpu(), grad_req=requests or "null", type_dict=types, **shapes)
    buffers = {**executor.arg_dict, **executor.aux_dict}

    def load() -> dict[str, np.ndarray]:
        loaded = {n: case.array(n) for n in known}
        for n, value in loaded.items():
            _fill(mx, buffers[n], value)
        return loaded

    if False in case.train:
        load()
        stage.name = "forward"
        executor.forward(is_train=False)
        mx.nd.waitall()
        for i, array in enumerate(executor.outputs):
            result.arrays[f"sym.eval.{i}"] = _read(array)
    if True not in case.train:
        return
    loaded = load()
    stage.name = "forward_train"
    executor.forward(is_train=True)
    mx.nd.waitall()
    for i, array in enumerate(executor.outputs):
        result.arrays[f"sym.train.{i}"] = _read(array)
    if wanted:
        stage.name = "backward"
        for n in wanted:
            before = case.seeded(f"before:{n}", shapes[n], known[n].dtype) if case.req == "add" else np.zeros(shapes[n], known[n].dtype)
            _fill(mx, executor.grad_dict[n], before)
        executor.backward(None if case.head == "none" else _heads(mx, case, executor.outputs))
        mx.nd.waitall()
        for n in wanted:
            result.arrays[f"sym.grad.{n}"] = _read(executor.grad_dict[n])
    for n, value in loaded.items():
        after = _read(buffers[n])
        if n in auxiliary or not np.array_equal(after, value, equal_nan=value.dtype.kind == "f"):
            result.arrays[f"sym.after.{n}"] = after


def _heads(mx: Any, case: Case, outputs: Any) -> list[Any]:
    heads = [case.seeded(f"head:{i}", o.shape, o.dtype) for i, o in enumerate(outputs)]
    return [mx.nd.array(h, dtype=h.dtype) for h in heads]


def _arrays(mx: Any, case: Case) -> dict[str, Any]:
    made = {}
    for name, spec in case.inputs.items():
        value = case.array(name)
        made[name] = mx.nd.array(value, dtype=value.dtype)
        if spec.stype != "default":
            made[name] = made[name].tostype(spec.stype)
    return made


def _listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (list, tuple)) else [found]


def _imperative(mx: Any, case: Case, result: Result, stage: _Stage) -> None:
    given = _arrays(mx, case)
    extra: dict[str, Any] = {}
    if case.out:
        targets = [given[n] for n in case.out]
        extra["out"] = targets[0] if len(targets) == 1 else targets
    stage.name = "call"
    found = _listed(_call(mx, mx.nd, case, given, **extra))
    mx.nd.waitall()
    for i, array in enumerate(found):
        result.arrays[f"nd.eval.{i}"] = _read(array)
    for n in case.inputs:
        value, after = case.array(n), _read(given[n])
        if not np.array_equal(after, value, equal_nan=value.dtype.kind == "f"):
            result.arrays[f"nd.after.{n}"] = after
    auxiliary = result.facts.get("names", {}).get("aux", ())
    wanted = case.grad_names(auxiliary)
    if not wanted or case.out:
        return
    given = _arrays(mx, case)
    for n in wanted:
        given[n].attach_grad(case.req)
        if case.req == "add":
            _fill(mx, given[n].grad, case.seeded(f"before:{n}", given[n].shape, case.inputs[n].dtype))
    stage.name = "record"
    with mx.autograd.record():
        found = _listed(_call(mx, mx.nd, case, given))
    stage.name = "backward"
    mx.autograd.backward(found, None if case.head == "none" else _heads(mx, case, found))
    mx.nd.waitall()
    for i, array in enumerate(found):
        result.arrays[f"nd.train.{i}"] = _read(array)
    for n in wanted:
        result.arrays[f"nd.grad.{n}"] = _read(given[n].grad)


def _moments(draws: list[np.ndarray]) -> Iterator[tuple[str, Any]]:
    for i, draw in enumerate(draws):
        exact = draw.astype("float64")
        yield f"shape.{i}", [list(draw.shape), draw.dtype.name]
        if draw.size:
            yield f"moments.{i}", [float(exact.mean()), float(exact.std()), float(exact.min()), float(exact.max()), int(draw.size)]
            yield f"whole.{i}", bool((exact == np.floor(exact)).all())


def _record_sample(result: Result, path: str, mode: str, first: list[np.ndarray], again: list[np.ndarray]) -> None:
    for name, value in _moments(first):
        result.facts[f"{path}.{mode}.{name}"] = value
    result.facts[f"{path}.{mode}.repeatable"] = all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(first, again))


def _symbol_sample(mx: Any, case: Case, result: Result, stage: _Stage) -> None:
    given = {name: mx.sym.Variable(name) for name in case.inputs}
    with mx.name.NameManager():  # automatic names count from 0
        symbol = _call(mx, mx.sym, case, given, **({} if case.build else {"name": "op"}))
    result.facts["names"] = {"arguments": symbol.list_arguments(), "outputs": symbol.list_outputs(), "aux": symbol.list_auxiliary_states()}
    shapes = {n: a.shape for n, a in case.inputs.items()}
    stage.name = "infer"
    result.facts["shapes"] = [_shapes(s) for s in symbol.infer_shape(**shapes)]
    stage.name = "bind"
    types = {n: np.dtype(a.dtype).type for n, a in case.inputs.items()}
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", type_dict=types, **shapes)
    for n in case.inputs:
        _fill(mx, executor.arg_dict[n], case.array(n))
    for mode in case.train:
        stage.name = "forward"
        draws = []
        for _ in range(2):
            mx.random.seed(SEED)
            executor.forward(is_train=mode)
            mx.nd.waitall()
            draws.append([_read(o) for o in executor.outputs])
        _record_sample(result, "sym", "train" if mode else "eval", *draws)


def _imperative_sample(mx: Any, case: Case, result: Result, stage: _Stage) -> None:
    for mode in case.train:
        draws = []
        for _ in range(2):
            given = _arrays(mx, case)
            mx.random.seed(SEED)
            stage.name = "call"
            with mx.autograd.train_mode() if mode else mx.autograd.predict_mode():
                found = _listed(_call(mx, mx.nd, case, given))
            mx.nd.waitall()
            draws.append([_read(o) for o in found])
        _record_sample(result, "nd", "train" if mode else "eval", *draws)
