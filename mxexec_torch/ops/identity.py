"""Operators that copy, convert or stop: identity, Cast, BlockGrad, make_loss and their kin."""

from __future__ import annotations

from typing import Annotated

import torch

from ..dtypes import torch_dtype
from ..infer.rules import any_dtype, attr_dtype, elementwise, fixed_dtype
from ..infer.state import Dtypes, Shapes
from ..registry import Attrs, Grad, Tensor, op
from ..values import Bool, Int, OneOf
from .runtime import elementwise as rt

__all__: list[str] = []

_NARROW = (torch.float32, torch.float16, torch.bfloat16)  # the types that amp casts; float64 and integers stay
_TYPES = ("bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8")


@op("_copy", aliases=("identity",), shape=elementwise)
def copy(data: Tensor, /) -> Tensor:
    """A copy of data.

    data any shape -> same shape. Source: src/operator/tensor/elemwise_unary_op_basic.cc
    """
    return data


@op("_copyto", aliases=("_npi_copyto",), shape=elementwise, dtype=any_dtype, input_texts={"data": "NDArray"}, fills_out=True)
def copyto(data: Tensor, /) -> Tensor:
    """A copy of data, converted to the type of the array it is written into.

    data any shape -> same shape. Source: src/ndarray/ndarray.cc
    """
    return data


@op("_CrossDeviceCopy", shape=elementwise, table=())
def cross_device_copy(data: Tensor, /) -> Tensor:
    """What MXNet inserts between devices; the executor moves tensors itself, so this copies.

    data any shape -> same shape. Source: src/operator/cross_device_copy.cc
    """
    return data


@op("BlockGrad", aliases=("stop_gradient", "_sparse_stop_gradient"), shape=elementwise, grad=Grad.ZERO, head_grad=False)
def block_grad(data: Tensor, /) -> Tensor:
    """A copy of data whose gradient is zero.

    data any shape -> same shape. Source: src/operator/tensor/elemwise_unary_op_basic.cc
    """
    return data.detach()


@op("make_loss", aliases=("_sparse_make_loss",), outputs=("loss",), shape=elementwise, head_grad=False)
def make_loss(data: Tensor, /) -> Tensor:
    """A copy of data that counts as a loss: its gradient is 1, whatever the head gradient.

    data any shape -> same shape. Source: src/operator/tensor/elemwise_unary_op_basic.cc
    """
    return rt.ones_gradient(data)


def _cast(data: Tensor, dtype: torch.dtype) -> Tensor:
    return data if data.dtype is dtype else data.to(dtype)


@op("Cast", aliases=("cast", "_npi_cast", "_npx_cast"), shape=elementwise, dtype=attr_dtype())
def cast(data: Tensor, /, *, dtype: Annotated[str, OneOf("bool", *_TYPES)]) -> Tensor:
    """data converted to another element type; the gradient is converted back.

    data any shape -> same shape. Floats are truncated towards zero, narrow integers wrap.
    Source: src/operator/tensor/elemwise_unary_op_basic.cc
    """
    return _cast(data, torch_dtype(dtype))


def _amp_cast_dtype(a: Attrs, t: Dtypes) -> None:
    data = t.get(0)
    if data is not None:
        t.unify_out(torch_dtype(a.dtype) if data in _NARROW else data)


@op("amp_cast", shape=elementwise, dtype=_amp_cast_dtype)
def amp_cast(data: Tensor, /, *, dtype: Annotated[str, OneOf(*_TYPES)]) -> Tensor:
    """Cast of float16, bfloat16 and float32 for mixed precision; other types stay as they are.

    data any shape -> same shape. Source: src/operator/tensor/amp_cast.cc
    """
    return _cast(data, torch_dtype(dtype)) if data.dtype in _NARROW else data


def _each_elementwise(a: Attrs, s: Shapes) -> None:
    for index in range(len(s.outputs)):
        s.unify(index, s.out(index))
        s.unify_out(s.get(index), index)


def _common(dtypes: list[torch.dtype], narrow: bool) -> torch.dtype:
    """The type that amp_multicast casts to."""
    if not narrow:
        return torch.float32 if torch.float32 in dtypes else dtypes[0]
    return next((d for d in reversed(dtypes) if d in (torch.float16, torch.bfloat16)), torch.float32)


def _amp_multicast_dtype(a: Attrs, t: Dtypes) -> None:
    if any(d is None for d in t.inputs):
        return
    target = _common(t.inputs, a.cast_narrow)
    for index, dtype in enumerate(t.inputs):
        t.unify_out(target if dtype in _NARROW else dtype, index)


@op(
    "amp_multicast", count=lambda a: a.num_outputs, key_var_num_args="", variadic_names=lambda a, n: [f"data_{i}" for i in range(n)],
    outputs=lambda a: [f"output{i}" for i in range(a.num_outputs)], shape=_each_elementwise, dtype=_amp_multicast_dtype,
)  # fmt: skip
def amp_multicast(*data: Tensor, num_outputs: Int, cast_narrow: Bool = False) -> tuple[Tensor, ...]:
    """Casts several tensors to the widest type among float16, bfloat16 and float32 (cast_narrow: the narrowest); others stay.

    data any shapes -> same shapes. Source: src/operator/tensor/amp_cast.cc
    """
    target = _common([d.dtype for d in data], cast_narrow)
    return tuple(_cast(d, target) if d.dtype in _NARROW else d for d in data)


@op("shape_array", aliases=("_npx_shape_array",), dtype=fixed_dtype(torch.int64), grad=Grad.ZERO, head_grad=False)
def shape_array(data: Tensor, /) -> Tensor:
    """The shape of data as a tensor.

    data of n dimensions -> (n,) int64. Source: src/operator/tensor/elemwise_unary_op_basic.cc
    """
    return data.new_tensor(tuple(data.shape), dtype=torch.int64)


@op("size_array", dtype=fixed_dtype(torch.int64), grad=Grad.ZERO, head_grad=False)
def size_array(data: Tensor, /) -> Tensor:
    """The number of elements of data as a tensor.

    data any shape -> (1,) int64. Source: src/operator/tensor/elemwise_unary_op_basic.cc
    """
    return data.new_tensor((data.numel(),), dtype=torch.int64)


@op("zeros_like", aliases=("_sparse_zeros_like",), shape=elementwise, grad=Grad.ZERO, head_grad=False)
def zeros_like(data: Tensor, /) -> Tensor:
    """Zeros of data's shape and type.

    data any shape -> same shape. Source: src/operator/tensor/init_op.cc
    """
    return torch.zeros_like(data)


@op("ones_like", shape=elementwise, grad=Grad.ZERO, head_grad=False)
def ones_like(data: Tensor, /) -> Tensor:
    """Ones of data's shape and type.

    data any shape -> same shape. Source: src/operator/tensor/init_op.cc
    """
    return torch.ones_like(data)
