"""Gradients of operator bodies against finite differences in float64, for every case that asks for gradients.

Left out: loss layers and operators whose gradient MXNet defines otherwise (zero, or not the derivative: `Case.gradcheck` and
`NOT_THE_DERIVATIVE` say why); a test sees to it that no operator is missing from both.
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
from .opdb.case import Case, distinct, integers, normal, positive, values

NOT_THE_DERIVATIVE = {
    **dict.fromkeys(("SoftmaxOutput", "MakeLoss", "make_loss", "SVMOutput"), "the gradient is a loss's, by definition"),
    "_contrib_gradientmultiplier": "the gradient is multiplied, by definition",
    **dict.fromkeys(("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"), "the gradient is a loss's, by definition"),
    **dict.fromkeys(
        ("_image_to_tensor", "_image_flip_left_right", "_image_flip_top_bottom", "_image_adjust_lighting"), "the gradient is passed on as it is"
    ),
    "IdentityAttachKLSparseReg": "the gradient carries a penalty",
    "GridGenerator": "float32 only, as in MXNet: its cases compare the gradient with the recorded one",
    **dict.fromkeys(("_contrib_round_ste", "_contrib_sign_ste"), "the gradient of the identity, by definition"),
}
_MOVING = dict(gamma=positive(2), beta=normal(2), moving_mean=normal(2), moving_var=positive(2))
# Operators whose cases ask for no gradient, or not in a form that can be checked.
MORE = [
    Case("_contrib_ModulatedDeformableConvolution", "derivative", dict(
        data=normal(1, 2, 4, 4), offset=distinct(1, 8, 3, 3, low=-0.4, high=0.4), mask=positive(1, 4, 3, 3), weight=normal(2, 2, 2, 2), bias=normal(2)),
        dict(kernel=(2, 2), num_filter=2)),
    *[Case(name, "derivative", dict(data=normal(2, 3))) for name in ("_CrossDeviceCopy", "_copyto")],
    *[Case(name, "derivative", dict(data=normal(2, 3)), dict(dtype="float64")) for name in ("Cast", "amp_cast")],
    Case("amp_multicast", "derivative", dict(a=normal(2, 3), b=normal(3)), dict(num_outputs=2)),
    Case("_image_resize", "derivative", dict(data=distinct(2, 3, 2, low=0.1, high=0.9)), dict(size=(3, 4))),
    Case("_contrib_box_nms", "derivative", dict(data=values([[0, 0.9, 0, 0, 1, 1], [0, 0.8, 0.1, 0, 1, 1], [1, 0.7, 2, 2, 3, 3]])), dict(id_index=0)),
    *[Case(name, "derivative", dict(data=normal(4, 2, 3), **_MOVING), dict(fix_gamma=False), grad=("data", "gamma", "beta"))
      for name in ("BatchNorm_v1", "_contrib_BatchNormWithReLU")],
    Case("_contrib_SyncBatchNorm", "derivative", dict(data=normal(4, 2, 3), **_MOVING), dict(fix_gamma=False, key="k"), grad=("data", "gamma", "beta")),
    Case("_sparse_retain", "derivative", dict(data=normal(4, 2), indices=integers(2, high=3))),
    Case("_square_sum", "derivative", dict(data=normal(3, 4)), dict(axis=1)),
]  # fmt: skip

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
CASES += [("more", case) for case in MORE]


class _Dense(torch.autograd.Function):
    """The same tensor; its gradient, sparse for some operators, becomes dense: gradcheck asks for the layout of the input."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        return grads[0].to_dense()


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
        inputs = {**arrays, **dict(zip(wanted, map(_Dense.apply, tensors)))}
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


def _run(name: str, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    operator = registry.get(name)
    return operator.run(operator.parse({}), inputs, True, torch.device("cpu")).outputs


def _symmetric(x: torch.Tensor) -> torch.Tensor:
    return x @ x.mT + 3 * torch.eye(x.shape[-1], dtype=x.dtype)


COMPOSED = {
    "_linalg_potrf": lambda x: _run("_linalg_potrf", _symmetric(x))[0],  # MXNet's gradient is that of a symmetric input
    "_linalg_syevd": lambda x: [u.mT @ (v.sqrt().unsqueeze(-1) * u) for u, v in [_run("_linalg_syevd", _symmetric(x))]][0],  # whatever the signs
}


@pytest.mark.parametrize("name", COMPOSED)
def test_gradcheck_composed(name: str) -> None:
    """Operators whose gradient is a derivative only on symmetric matrices, or only of what does not depend on signs."""
    x = torch.from_numpy(np.random.RandomState(0).normal(size=(2, 3, 3))).requires_grad_()
    assert torch.autograd.gradcheck(COMPOSED[name], (x,), eps=1e-6, atol=1e-5, rtol=1e-4)


def test_every_differentiable_operator_is_checked() -> None:
    """What has inputs and a gradient of its own is checked above, or is named with the reason why it cannot be."""
    checked = {registry.get(case.op).name for _, case in CASES} | COMPOSED.keys()
    wanted = {n for n, o in registry.ops().items() if o.grad is Grad.AUTO and o.inputs and not o.random and not o.eager_only}
    assert wanted - checked == NOT_THE_DERIVATIVE.keys(), (wanted - checked) ^ NOT_THE_DERIVATIVE.keys()
