"""Custom: an operator written in Python by the user (`mx.operator.CustomOp`).

Everything the operator is comes from the user's CustomOpProp: input and output names, auxiliary states, inference, the operator object.
`mxexec_torch.operator` installs the `host` that knows those classes and NDArrays; this module knows tensors.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from ..dtypes import numpy_type, torch_dtype
from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes, complete
from ..registry import Attrs, Device, IsTrain, Tensor, op
from ..values import Str
from .runtime.custom import CustomCall, as_leaf, run_custom

__all__ = ["Host", "forget", "install", "prop_of"]

_STATE = "__state__"


class Host(Protocol):
    """What `mxexec_torch.operator` provides."""

    def create_prop(self, op_type: str, parameters: dict[str, str]) -> Any:
        """The user's CustomOpProp. Errors: MXNetError when no operator of that type is registered."""

    def call(self, prop: Any, op_type: str, device: torch.device, requests: Sequence[str]) -> CustomCall:
        """A call object; its operator is made for the shapes it first sees."""


_host: Host | None = None
_props: dict[tuple[Any, ...], Any] = {}
_MAX_PROPS = 1024


def install(host: Host) -> None:
    """Sets the host."""
    global _host
    _host = host


def forget(op_type: str) -> None:
    """Drops what is known of an operator type that is registered anew."""
    for key in [k for k in _props if k[0] == op_type]:
        del _props[key]


def _parameters(a: Attrs) -> dict[str, str]:
    return {k: str(v) for k, v in a.items() if k not in ("op_type", _STATE) and not (k.startswith("__") and k.endswith("__"))}


def prop_of(a: Attrs) -> Any:
    """The user's CustomOpProp for these attributes, made once for equal ones.

    Errors: MXNetError for an unregistered type or when the user's constructor fails.
    """
    if not a.op_type:
        raise MXNetError("Required argument `op_type` is missing.")
    parameters = _parameters(a)
    key = (a.op_type, *sorted(parameters.items()))
    found = _props.get(key)
    if found is None:
        if _host is None:
            raise MXNetError(f"Cannot find custom operator {a.op_type}")
        found = _host.create_prop(a.op_type, parameters)
        if len(_props) >= _MAX_PROPS:
            _props.clear()
        _props[key] = found
    return found


def _check(a: Attrs) -> None:
    prop_of(a)


def _names(a: Attrs, n: int = 0) -> list[str]:
    prop = prop_of(a)
    return [*prop.list_arguments(), *prop.list_auxiliary_states()]


def _ask(a: Attrs, method: str, given: list[Any], known: bool, what: str) -> tuple[list[Any], list[Any], list[Any]] | None:
    """The three lists that infer_shape or infer_type returns; None when it cannot tell yet.

    Errors: MXNetError when the user's method fails though every input is known, or returns lists of the wrong length.
    """
    prop = prop_of(a)
    try:
        result = getattr(prop, method)(given)
    except Exception:  # noqa: BLE001 - the user's code may raise anything
        if not known:
            return None
        raise MXNetError(f"Error in {a.op_type}.{method}: {traceback.format_exc()}") from None
    if len(result) not in (2, 3):
        raise MXNetError(f"Error in {a.op_type}.{method}: {method} must return 2 or 3 lists")
    lists = [*map(list, result), *([[]] * (3 - len(result)))]
    wanted = (("input", prop.list_arguments()), ("output", prop.list_outputs()), ("aux state", prop.list_auxiliary_states()))
    for values, (kind, names) in zip(lists, wanted, strict=True):
        if len(values) != len(names):
            raise MXNetError(f"{a.op_type}.{method}: expecting {len(names)} entries in returned {kind} {what}, got {len(values)}.")
    return lists[0], lists[1], lists[2]


def _shape(a: Attrs, s: Shapes) -> None:
    count = len(prop_of(a).list_arguments())
    given = [[] if known is None else list(known) for known in s.inputs[:count]]
    found = _ask(a, "infer_shape", given, all(map(complete, s.inputs[:count])), "shapes")
    if found is None:
        return
    for position, shape in enumerate([*found[0], *found[2]]):
        if len(shape) or position >= count or s.inputs[position] is not None:
            s.unify(position, tuple(int(d) for d in shape))
    for index, shape in enumerate(found[1]):
        s.unify_out(tuple(int(d) for d in shape), index)


def _dtype(a: Attrs, t: Dtypes) -> None:
    count = len(prop_of(a).list_arguments())
    given = [None if known is None else numpy_type(known) for known in t.inputs[:count]]
    found = _ask(a, "infer_type", given, None not in given, "types")
    if found is None:
        return
    for position, kind in enumerate([*found[0], *found[2]]):
        t.unify(position, None if kind is None else torch_dtype(kind))
    for index, kind in enumerate(found[1]):
        t.unify_out(None if kind is None else torch_dtype(kind), index)
    known = next((d for d in t.inputs if d is not None), None)
    for position in range(count):  # inputs that the prop leaves open (labels) follow the known ones
        if t.inputs[position] is None:
            t.unify(position, known)


def _needs_head_grad(a: Attrs) -> bool:
    prop = prop_of(a)
    arguments, outputs = len(prop.list_arguments()), len(prop.list_outputs())
    numbers = list(range(2 * outputs + arguments))
    needed = prop.declare_backward_dependency(numbers[:outputs], numbers[outputs : outputs + arguments], numbers[outputs + arguments :])
    return any(number < outputs for number in needed)


def _bind(node: Any, inputs: Sequence[tuple[Any, Any]], device: torch.device, requests: Sequence[str]) -> Attrs:
    """The attributes with the operator object of this binding, which keeps its state from one pass to the next."""
    call = _new_call(node.params, device, requests)
    if all(complete(shape) for shape, _ in inputs):
        call.start([shape for shape, _ in inputs], [dtype for _, dtype in inputs])
    return Attrs(node.params, **{_STATE: as_leaf(call)})


def _new_call(a: Attrs, device: torch.device, requests: Sequence[str] = ()) -> CustomCall:
    assert _host is not None
    return _host.call(prop_of(a), a.op_type, device, requests)


@op(
    "Custom", aliases=("_npi_Custom",), any_attrs=True, check=_check, described={"op_type": "string"}, count=lambda a: len(_names(a)),
    variadic_names=_names, auxiliary=lambda a: prop_of(a).list_auxiliary_states(), outputs=lambda a: prop_of(a).list_outputs(),
    shape=_shape, dtype=_dtype, head_grad=_needs_head_grad, bind=_bind, random=True,
)  # fmt: skip
def custom(*data: Tensor, op_type: Str, train: IsTrain, device: Device, **parameters: Any) -> tuple[Tensor, ...]:
    """An operator of the user, registered with mx.operator.register(op_type); other attributes reach its CustomOpProp as text.

    data: its arguments, then its auxiliary states -> its outputs. What a forward pass of a bound graph leaves in the operator object is
    there in the next. Source: src/operator/custom/custom.cc
    Deviations: the operator runs where it is called, not in a thread of its own; arrays are dense.
    """
    run: Callable[..., tuple[Tensor, ...]] | None = parameters.pop(_STATE, None)
    if run is not None:
        return run(*data, train=train, device=device)
    return run_custom(_new_call(Attrs(op_type=op_type, **parameters), device), data, train, device)
