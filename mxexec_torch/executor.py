"""mx.executor: a symbol bound to arrays, as mxnet.executor.Executor. The work is done by `lower.bound.BoundGraph`."""

from __future__ import annotations

import copy
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from .context import Context
from .errors import MXNetError
from .executor_manager import _check_arguments, _load_data, _load_label, _split_input_slice  # noqa: F401 - old code reads them here
from .infer.state import show
from .lower.bound import BoundGraph
from .lower.debug import executor_debug_str
from .lower.monitor import Monitored
from .ndarray.core import NDArray, wrap
from .sparse_graph import SparseGraph

__all__ = ["Executor"]


class Executor:
    """Runs a bound symbol. Made by `Symbol.bind` and `Symbol.simple_bind`, never directly.

    arg_arrays, grad_arrays, aux_arrays: the arrays bound, in `list_arguments()` / `list_auxiliary_states()` order (grad entries may be
    None). outputs: the results of the newest forward; their memory stays the same from call to call.
    """

    def __init__(self, handle: Any, symbol: Any, ctx: Context, grad_req: Any, group2ctx: Any) -> None:
        if not isinstance(handle, BoundGraph):
            raise TypeError("Handle type error")
        self.handle = handle
        self.arg_arrays: list[NDArray] = []
        self.grad_arrays: list[NDArray | None] | None = []
        self.aux_arrays: list[NDArray] = []
        self._symbol = copy.deepcopy(symbol)
        self._optimized_symbol: Any = None
        self._arg_dict: dict[str, NDArray] | None = None
        self._grad_dict: dict[str, NDArray | None] | None = None
        self._aux_dict: dict[str, NDArray] | None = None
        self._output_dict: dict[str, NDArray] | None = None
        self._monitor_callback: Any = None
        self._monitor_all: bool | None = None
        self._monitored: Monitored | None = None
        self._ctx = copy.deepcopy(ctx)
        self._grad_req = copy.deepcopy(grad_req)
        self._group2ctx = copy.deepcopy(group2ctx)
        self._output_contexts: list[Context] = []
        self._outputs: list[NDArray] | None = None

    def __reduce__(self) -> Any:
        raise ValueError("an Executor cannot be copied or pickled: save its symbol and arrays, and bind again")

    # -- outputs ----------------------------------------------------------------------------------------------------------
    @property
    def outputs(self) -> list[NDArray]:
        """The output arrays, in the symbol's order."""
        if self._outputs is None:
            self._outputs = self._get_outputs()
        return self._outputs

    @outputs.setter
    def outputs(self, value: list[NDArray]) -> None:
        self._outputs = value

    def _get_outputs(self) -> list[NDArray]:
        if isinstance(self.handle, SparseGraph):
            return self.handle.results(self._output_contexts)
        tensors = [torch.empty(0) if t is None else t for t in self.handle.outputs]  # None: shape decided by the first forward
        return [wrap(t, c) for t, c in zip(tensors, self._output_contexts, strict=True)]

    @staticmethod
    def _get_dict(names: Sequence[str], ndarrays: Iterable[Any]) -> dict[str, Any]:
        if len(set(names)) != len(names):
            raise ValueError(f"Duplicate names detected, {names}")
        return dict(zip(names, ndarrays, strict=False))

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """Arguments by name. Errors: ValueError when two arguments share a name."""
        if self._arg_dict is None:
            self._arg_dict = Executor._get_dict(self._symbol.list_arguments(), self.arg_arrays)
        return self._arg_dict

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """Gradient arrays by argument name, None where there is none."""
        if self._grad_dict is None:
            if self.grad_arrays is None:
                raise TypeError("'NoneType' object is not iterable")  # what MXNet raises when bound without args_grad
            self._grad_dict = Executor._get_dict(self._symbol.list_arguments(), self.grad_arrays)
        return self._grad_dict

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """Auxiliary states by name."""
        if self._aux_dict is None:
            self._aux_dict = Executor._get_dict(self._symbol.list_auxiliary_states(), self.aux_arrays)
        return self._aux_dict

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """Outputs by name; built once, the arrays show the newest values."""
        if self._output_dict is None:
            self._output_dict = Executor._get_dict(self._symbol.list_outputs(), self.outputs)
        return self._output_dict

    # -- running ----------------------------------------------------------------------------------------------------------
    def forward(self, is_train: Any = False, **kwargs: Any) -> list[NDArray]:
        """Computes the outputs and returns them.

        is_train: whether layers behave as in training and a backward call may follow. kwargs: new contents of arguments, by name
        (NDArray or numpy.ndarray of exactly the bound shape; converted to its dtype).
        Errors: ValueError (kind or shape of a value), TypeError (unknown name), MXNetError (raised inside an operator).
        """
        if kwargs:
            self._feed(kwargs)
        self.handle.forward(bool(int(is_train)), self._monitored)
        self._outputs = None
        return self.outputs

    def _feed(self, values: Mapping[str, Any]) -> None:
        arguments = self.arg_dict
        for name, array in values.items():
            if not isinstance(array, (NDArray, np.ndarray)):
                raise ValueError("only accept keyword argument of NDArrays and numpy.ndarray")
            if name not in arguments:
                raise TypeError(f"Unknown argument {name}")
            if arguments[name].shape != array.shape:
                raise ValueError(f"Shape not match! Argument {name}, need: {arguments[name].shape}, received: {array.shape}")
            arguments[name][:] = array

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Computes the gradients of the arguments bound with 'write' or 'add'.

        out_grads: NDArray, list or tuple of NDArray, or dict by output name: gradients of the outputs, each of the output's shape.
        Not needed for loss layers (SoftmaxOutput, MakeLoss, ...), which ignore them.
        Errors: MXNetError when an output needs a head gradient and has none or one of another shape; TypeError for other kinds.
        """
        if out_grads is None:
            out_grads = []
        elif isinstance(out_grads, NDArray):
            out_grads = [out_grads]
        elif isinstance(out_grads, dict):
            out_grads = [out_grads[name] for name in self._symbol.list_outputs()]
        for grad in out_grads:
            if not isinstance(grad, NDArray):
                raise TypeError("inputs must be NDArray")
        is_train = bool(operator.index(is_train))
        len(out_grads)  # a TypeError for generators, as in MXNet
        heads: list[torch.Tensor | None] = []
        for i, grad in enumerate(list(out_grads)[: len(self.handle.heads)]):
            if not self.handle.needs_head_grad(i):
                heads.append(None)  # loss layers ignore it whatever its shape
                continue
            expected = self.handle.outputs[i]
            if expected is not None and tuple(expected.shape) != grad.shape:
                raise MXNetError(
                    f"Check failed: operands shape mismatch from.shape = {show(grad.shape)} to.shape={show(tuple(expected.shape))}: "
                    f"the head gradient of output {i} needs the output's shape"
                )
            heads.append(grad._t)
        self.handle.backward(heads, is_train, self._monitored)

    def set_monitor_callback(self, callback: Callable[[bytes, int], None], monitor_all: bool = False) -> None:
        """Calls `callback(name, handle)` for each operator output during forward and backward (inputs too with monitor_all).

        name: bytes such as b'fc1_output'; handle: an integer that `NDArray(ctypes.cast(handle, NDArrayHandle), writable=False)` wraps.
        An exception in the callback is reported on stderr and does not stop the pass.
        """
        self._monitor_callback = callback
        self._monitor_all = monitor_all
        self._monitored = Monitored(self.handle, _handle_callback(callback, self._ctx), bool(monitor_all))

    # -- parameters and shapes --------------------------------------------------------------------------------------------
    def copy_params_from(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray] | None = None, allow_extra_params: bool = False
    ) -> None:
        """Copies parameters into the bound arrays, converting their dtype.

        Errors: ValueError for a name the symbol does not have (unless allow_extra_params), MXNetError for another shape.
        """
        for name, array in arg_params.items():
            if name in self.arg_dict:
                array.astype(self.arg_dict[name].dtype).copyto(self.arg_dict[name])
            elif not allow_extra_params:
                raise ValueError(f'Find name "{name}" that is not in the arguments')
        for name, array in ({} if aux_params is None else aux_params).items():
            if name in self.aux_dict:
                array.astype(self.aux_dict[name].dtype).copyto(self.aux_dict[name])
            elif not allow_extra_params:
                raise ValueError(f"Find name {name} that is not in the auxiliary states")

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any) -> Executor:
        """A new executor of the same symbol for other input shapes, sharing memory with this one.

        kwargs: shapes (tuples) by argument name. Arrays that do not grow reuse the start of the old memory; the others need
        allow_up_sizing. partial_shaping: arguments that are not named may change their shape too.
        Errors: MXNetError otherwise, or when the shapes contradict each other.
        """
        from .binding import reshape  # binding makes executors: imported here to break the cycle

        return reshape(self, bool(partial_shaping), bool(allow_up_sizing), kwargs)

    # -- looking inside ---------------------------------------------------------------------------------------------------
    def debug_str(self) -> str:
        """A readable listing of the execution plan, as MXNet prints it."""
        return executor_debug_str(self.handle)

    def get_optimized_symbol(self) -> Any:
        """The symbol that is really run: equal subexpressions are computed once."""
        from .symbol.symbol import symbol_of

        return symbol_of(self.handle.heads)


def _handle_callback(callback: Callable[[bytes, int], None], ctx: Context) -> Callable[[str, Any], None]:
    """Adapts a user's monitor callback to tensors; reports what it raises instead of stopping the pass, as MXNet does."""

    def call(name: str, tensor: Any) -> None:
        array = wrap(tensor.detach(), ctx)
        handle = array.handle.value
        assert handle is not None
        try:
            callback(name.encode(), handle)
        except Exception as error:  # noqa: BLE001 - user code: MXNet swallows whatever a monitor raises
            print(f"monitor callback raised {type(error).__name__} at {name!r}, ignored: {error}", file=sys.stderr)

    return call
