"""Operators written in Python: CustomOp and CustomOpProp, and the older NumpyOp and NDArrayOp.

The user's classes run unchanged: attributes reach the property object as text, arrays arrive as NDArrays, `assign` honours the request.
"""

from __future__ import annotations

import ctypes
import itertools
import traceback
import warnings
from collections import namedtuple
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from . import ranges, registry, symbol
from .autograd import pause
from .base import NDArrayHandle, check_call, py_str
from .context import Context
from .dtypes import NAME_TO_CODE, name_of, numpy_type, torch_dtype
from .errors import MXNetError
from .ndarray import NDArray
from .ndarray import register as _functions
from .ndarray.core import wrap
from .ops import custom as _custom
from .symbol import compose as _compose

__all__ = [
    "CustomOp", "CustomOpProp", "NDArray", "NDArrayHandle", "NDArrayOp", "NumpyOp", "OperatorArguments", "PythonOp", "check_call", "ctypes",
    "get_all_registered_operators", "get_operator_arguments", "py_str", "register", "symbol", "traceback", "warnings",
]  # fmt: skip - with the further names that files take from here by `from mxnet.operator import *`


class CustomOp:
    """Base of the user's operators: override `forward` and `backward`."""

    def forward(self, is_train: bool, req: list[str], in_data: list[NDArray], out_data: list[NDArray], aux: list[NDArray]) -> None:
        """Fills `out_data` from `in_data`, honouring req ('null', 'write', 'inplace' or 'add') of each output."""

    def backward(
        self, req: list[str], out_grad: list[NDArray], in_data: list[NDArray], out_data: list[NDArray], in_grad: list[NDArray], aux: list[NDArray]
    ) -> None:
        """Fills `in_grad`, honouring req of each input."""

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Writes src to dst as req says: replaces, adds, or does nothing."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src


class CustomOpProp:
    """Base of the user's operator properties: names, inference and the operator object.

    need_top_grad: whether backward needs the gradient of the outputs (False makes a loss head).
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape: list[list[int]]) -> Any:
        """(input shapes, output shapes, auxiliary shapes); by default every output has the shape of the first input."""
        return in_shape, (in_shape[0],) * len(self.list_outputs()), ()

    def infer_type(self, in_type: list[Any]) -> Any:
        """(input types, output types, auxiliary types); by default all outputs and states have the type of the first input."""
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(self.list_auxiliary_states())

    def infer_storage_type(self, in_stype: list[str]) -> Any:
        """(input, output, auxiliary storage types); by default all dense. Errors: AssertionError for other inputs."""
        for i, stype in enumerate(in_stype):
            assert stype == "default", f"the default infer_storage_type knows dense arrays only, input {i} is {stype!r}"
        return in_stype, ["default"] * len(self.list_outputs()), ["default"] * len(self.list_auxiliary_states())

    def infer_storage_type_backward(
        self, ograd_stype: list[str], in_stype: list[str], out_stype: list[str], igrad_stype: list[str], aux_stype: list[str]
    ) -> Any:
        """The five lists of storage types that backward works with; by default all dense. Errors: AssertionError for others."""
        lists = [list(s) for s in (ograd_stype, in_stype, out_stype, igrad_stype, aux_stype)]
        for stypes in lists:
            for i, stype in enumerate(stypes):
                assert stype in ("default", "undefined"), f"the default infer_storage_type_backward knows dense arrays only, got {stype!r}"
                stypes[i] = "default"
        return tuple(lists)

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the auxiliary states."""
        return []

    def declare_backward_dependency(self, out_grad: list[int], in_data: list[int], out_data: list[int]) -> list[int]:
        """The numbers, out of the given ones, of the arrays that backward reads."""
        return [*(out_grad if self.need_top_grad_ else []), *in_data, *out_data]

    def create_operator(self, ctx: Context, in_shapes: list[list[int]], in_dtypes: list[int]) -> CustomOp:
        """The operator object for these input shapes and types (MXNet's type codes)."""
        return CustomOp()


_classes: dict[str, type[Any]] = {}


def register(reg_name: str) -> Callable[[type[Any]], type[Any]]:
    """Class decorator: makes a CustomOpProp known as `op_type=reg_name`. A later class of the same name replaces an earlier one."""

    def do_register(prop_cls: type[Any]) -> type[Any]:
        known = _classes.get(reg_name)
        _classes[reg_name] = prop_cls
        if known is not None:
            _custom.forget(reg_name)
            _compose._CACHE.clear()
            for name in ("Custom", "_npi_Custom"):
                _functions._made.pop(name, None)
        return prop_cls

    return do_register


class _Call:
    """One operator object of a CustomOpProp, made for the shapes it first sees."""

    def __init__(self, prop: Any, op_type: str, device: torch.device, requests: Sequence[str]) -> None:
        self.requests = requests
        self.num_arguments = len(prop.list_arguments())
        self._num_aux = len(prop.list_auxiliary_states())
        self._prop, self._op_type = prop, op_type
        self._ctx = Context("gpu", device.index or 0) if device.type == "cuda" else Context("cpu", 0)
        self._operator: Any = None

    def start(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[torch.dtype]) -> None:
        codes = [NAME_TO_CODE[name_of(d)] for d in dtypes]
        self._operator = self._guard("create_operator", self._prop.create_operator, self._ctx, [list(s) for s in shapes], codes)

    def outputs(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[torch.dtype]) -> list[tuple[tuple[int, ...], torch.dtype]]:
        n = self.num_arguments
        out_shapes = self._guard("infer_shape", self._prop.infer_shape, [list(s) for s in shapes[:n]])[1]
        out_types = self._guard("infer_type", self._prop.infer_type, [numpy_type(d) for d in dtypes[:n]])[1]
        return [(tuple(int(d) for d in s), torch_dtype(t)) for s, t in zip(out_shapes, out_types, strict=True)]

    def forward(
        self, train: bool, arguments: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], aux: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        if self._operator is None:
            every = (*arguments, *aux)
            self.start([tuple(t.shape) for t in every], [t.dtype for t in every])
        out_data = self._arrays(outputs)
        with pause(train_mode=train), self._ctx, torch.no_grad():
            self._guard(
                "forward", self._operator.forward, is_train=train, req=["write"] * len(out_data), in_data=self._arrays(arguments),
                out_data=out_data, aux=self._arrays(aux),
            )  # fmt: skip
        return [array._t for array in out_data]

    def backward(
        self, requests: Sequence[str], grads: Sequence[torch.Tensor], arguments: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor],
        results: Sequence[torch.Tensor], aux: Sequence[torch.Tensor],
    ) -> list[torch.Tensor]:  # fmt: skip
        in_grad = self._arrays(results)
        with pause(train_mode=True), self._ctx, torch.no_grad():
            self._guard(
                "backward", self._operator.backward, req=list(requests), out_grad=self._arrays(grads), in_data=self._arrays(arguments),
                out_data=self._arrays(outputs), in_grad=in_grad, aux=self._arrays(aux),
            )  # fmt: skip
        return [array._t for array in in_grad]

    def _arrays(self, tensors: Sequence[torch.Tensor]) -> list[NDArray]:
        return [wrap(t.detach(), self._ctx) for t in tensors]

    def _guard(self, method: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        label = {"forward": self._op_type, "backward": f"_backward_{self._op_type}"}.get(method)
        try:
            with ranges.named(label, ranges.CUSTOM) if label else nullcontext():
                return function(*args, **kwargs)
        except Exception:  # noqa: BLE001 - the user's code may raise anything
            raise MXNetError(f"Error in {self._op_type}.{method}: {traceback.format_exc()}") from None


class _Host:
    def create_prop(self, op_type: str, parameters: dict[str, str]) -> Any:
        cls = _classes.get(op_type)
        if cls is None:
            raise MXNetError(f"Cannot find custom operator {op_type}: register its CustomOpProp with mx.operator.register({op_type!r})")
        try:
            return cls(**parameters)
        except Exception:  # noqa: BLE001 - the user's code may raise anything
            raise MXNetError(f"Error in the constructor of custom operator {op_type}: {traceback.format_exc()}") from None

    def call(self, prop: Any, op_type: str, device: torch.device, requests: Sequence[str]) -> _Call:
        return _Call(prop, op_type, device, requests)


_custom.install(_Host())
register("custom_op")(CustomOpProp)


# -- the operators of MXNet 0.x -------------------------------------------------------------------------------------------------
_numbers = itertools.count()


class PythonOp:
    """Base of NumpyOp and NDArrayOp. Deprecated in MXNet in favour of CustomOp."""

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad
        warnings.warn(f"{type(self).__name__} has been deprecated. Please use CustomOp", stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """The symbol of this operator applied to symbols."""
        raise NotImplementedError("Must override this")

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        """Fills out_data; by default the first input is copied to the first output."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad: list[Any], in_data: list[Any], out_data: list[Any], in_grad: list[Any]) -> None:
        """Fills in_grad; by default the first gradient is 1."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list[list[int]]) -> Any:
        """(input shapes, output shapes); by default the output has the shape of the first input."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """Whether backward needs the gradient of the outputs."""
        return self.need_top_grad_

    def _as_custom(self, exchange: Callable[..., None], *args: Any, **kwargs: Any) -> Any:
        """A Custom symbol whose operator calls this object through `exchange(method, readable groups, group to fill)`."""
        legacy = self

        class Operator(CustomOp):
            def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
                exchange(legacy.forward, [in_data], out_data)

            def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
                exchange(legacy.backward, [out_grad, in_data, out_data], in_grad)

        class Prop(CustomOpProp):
            def __init__(self) -> None:
                super().__init__(need_top_grad=legacy.need_top_grad())

            def list_arguments(self) -> list[str]:
                return legacy.list_arguments()

            def list_outputs(self) -> list[str]:
                return legacy.list_outputs()

            def infer_shape(self, in_shape: Any) -> Any:
                inputs, outputs = legacy.infer_shape(in_shape)
                return inputs, outputs, []

            def declare_backward_dependency(self, out_grad: Any, in_data: Any, out_data: Any) -> Any:
                declare = getattr(legacy, "declare_backward_dependency", super().declare_backward_dependency)
                return declare(out_grad, in_data, out_data)

            def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> CustomOp:
                return Operator()

        op_type = f"_{type(self).__name__.lower()}{next(_numbers)}"
        register(op_type)(Prop)
        from .symbol import op as functions

        return functions.Custom(*args, op_type=op_type, **kwargs)


class NumpyOp(PythonOp):
    """An operator over numpy arrays: forward and backward fill the arrays they are given."""

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """The symbol of this operator applied to symbols."""

        def exchange(method: Callable[..., None], readable: list[list[NDArray]], filled: list[NDArray]) -> None:
            results = [np.array(array.asnumpy()) for array in filled]
            groups = [[array.asnumpy() for array in group] for group in readable]
            if method.__name__ == "backward":
                method(out_grad=groups[0], in_data=groups[1], out_data=groups[2], in_grad=results)
            else:
                method(in_data=groups[0], out_data=results)
            for array, result in zip(filled, results, strict=True):
                array[:] = result

        return self._as_custom(exchange, *args, **kwargs)


class NDArrayOp(PythonOp):
    """An operator over NDArrays: forward and backward fill the arrays they are given."""

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """The symbol of this operator applied to symbols."""

        def exchange(method: Callable[..., None], readable: list[list[NDArray]], filled: list[NDArray]) -> None:
            if method.__name__ == "backward":
                method(out_grad=readable[0], in_data=readable[1], out_data=readable[2], in_grad=filled)
            else:
                method(in_data=readable[0], out_data=filled)

        return self._as_custom(exchange, *args, **kwargs)

    def declare_backward_dependency(self, out_grad: list[int], in_data: list[int], out_data: list[int]) -> list[int]:
        """The numbers, out of the given ones, of the arrays that backward reads."""
        return [*(out_grad if self.need_top_grad() else []), *in_data, *out_data]


# -- the registry -----------------------------------------------------------------------------------------------------------------
OperatorArguments = namedtuple("OperatorArguments", ["narg", "names", "types"])


def get_all_registered_operators() -> list[str]:
    """Names of all operators."""
    return list(registry.all_names())


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """Number, names and type texts of an operator's inputs and attributes. Errors: MXNetError for an unknown operator."""
    table = registry.get(op_name).argument_table()
    return OperatorArguments(len(table), [name for name, _ in table], [text for _, text in table])
