"""Gradients of operator bodies against finite differences in float64, for every case that asks for gradients.

Left out: loss layers and operators whose gradient MXNet defines otherwise (zero, or not the derivative: `Case.gradcheck` says why).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mxexec_torch  # noqa: F401 - registers the operators
from mxexec_torch import registry
from mxexec_torch.registry import Grad, OpDef

from .opdb import store
from .opdb.case import Case

FEW = 24  # up to this many input values every partial derivative is checked; above it one random direction


def _applies(case: Case) -> bool:
    operator = registry.lookup(case.op)
    if operator is None or case.error or case.sample or case.build or case.out or case.np_shape or case.gradcheck is not True:
        return False
    if operator.grad is not Grad.AUTO or operator.random or operator.eager_only or case.head == "none" or not _wanted(case, operator):
        return False
    return all(spec.stype == "default" for spec in case.inputs.values())


def _wanted(case: Case, operator: OpDef) -> list[str]:
    auxiliary = [i.name for i in operator.inputs if i.kind == "aux"]
    names = case.grad_names(auxiliary)
    return [n for n in names if operator.differentiable is None or n in operator.differentiable]


CASES = [(family, case) for family in store.families() for case in store.load(family)[0] if _applies(case)]


def _function(case: Case, operator: OpDef, wanted: list[str], train: bool) -> tuple[Any, list[torch.Tensor]]:
    given = dict(case.attrs)
    if operator.key_var_num_args and operator.key_var_num_args not in given:
        given[operator.key_var_num_args] = len(case.inputs)
    attrs = operator.parse(given)
    arrays = {}
    for name, spec in case.inputs.items():
        value = torch.from_numpy(np.array(case.array(name)))
        arrays[name] = value.double() if spec.dtype.startswith(("float", "bfloat")) else value
    leaves = [arrays[n].clone().requires_grad_() for n in wanted]

    def function(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        inputs = {**arrays, **dict(zip(wanted, tensors))}
        outputs = operator.run(attrs, list(inputs.values()), train, torch.device("cpu")).outputs
        return tuple(o for o in outputs[: operator.num_visible(attrs)] if o.is_floating_point())

    return function, leaves


@pytest.mark.parametrize(("family", "case"), CASES, ids=[f"{family}-{case.id}" for family, case in CASES])
def test_gradcheck(family: str, case: Case) -> None:
    """The body's gradient is the derivative of its output."""
    operator = registry.get(case.op)
    function, leaves = _function(case, operator, _wanted(case, operator), train=True)
    fast = sum(leaf.numel() for leaf in leaves) > FEW
    assert torch.autograd.gradcheck(function, leaves, eps=1e-6, atol=1e-5, rtol=1e-4, fast_mode=fast, nondet_tol=0.0)
