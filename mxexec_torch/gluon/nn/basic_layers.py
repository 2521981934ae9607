"""Containers, dense layers, dropout, embeddings and functions as layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import ndarray, symbol
from ..block import Block, HybridBlock
from ..utils import _indent
from .activations import Activation
from .normalization import (
    BatchNorm,
    BatchNormReLU,
    GroupNorm,
    InstanceNorm,
    LayerNorm,
    _BatchNorm,
)
from .sequential import HybridSequential, Sequential

__all__ = [
    "BatchNorm", "BatchNormReLU", "Dense", "Dropout", "Embedding", "Flatten", "GroupNorm", "HybridLambda", "HybridSequential", "InstanceNorm",
    "Lambda", "LayerNorm", "Sequential",
]  # fmt: skip

__reexported__ = (_BatchNorm, _indent)


class Dense(HybridBlock):
    """y = act(x W^T + b). x: (N, ...), flattened to (N, in_units), or with flatten=False any shape of which the last axis is in_units."""

    def __init__(
        self, units: int, activation: str | None = None, use_bias: bool = True, flatten: bool = True, dtype: Any = "float32",
        weight_initializer: Any = None, bias_initializer: Any = "zeros", in_units: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._flatten, self._units, self._in_units = flatten, units, in_units
        self.bias = self.act = None
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(units, in_units), init=weight_initializer, dtype=dtype, allow_deferred_init=True)
            if use_bias:
                self.bias = self.params.get("bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True)
            if activation is not None:
                self.act = Activation(activation, prefix=activation + "_")

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        out = F.FullyConnected(x, weight, bias, no_bias=bias is None, num_hidden=self._units, flatten=self._flatten, name="fwd")
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        units, in_units = self.weight.shape[0], self.weight.shape[1] or None
        return f"{type(self).__name__}({in_units} -> {units}, {self.act if self.act else 'linear'})"


class Dropout(HybridBlock):
    """Sets elements to 0 with probability `rate` in training; along `axes` all together."""

    def __init__(self, rate: float, axes: Any = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._rate, self._axes = rate, axes

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Rows of a table by index. sparse_grad: the gradient is row_sparse."""

    def __init__(
        self, input_dim: int, output_dim: int, dtype: Any = "float32", weight_initializer: Any = None, sparse_grad: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype, "sparse_grad": sparse_grad}
        stype = "row_sparse" if sparse_grad else "default"
        shape = (input_dim, output_dim)
        self.weight = self.params.get("weight", shape=shape, init=weight_initializer, dtype=dtype, allow_deferred_init=True, grad_stype=stype)

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return "{}({input_dim} -> {output_dim}, {dtype})".format(type(self).__name__, **self._kwargs)


class Flatten(HybridBlock):
    """All axes but the first as one."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


def _not_a_function(function: Any) -> ValueError:
    return ValueError(f"Unrecognized function in lambda: {function} of type {type(function)}")


class Lambda(Block):
    """A function of arrays, or the name of one in mx.nd, as a block."""

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            assert hasattr(ndarray, function), f"Function name {function} is not found in ndarray."
            function = getattr(ndarray, function)
        if not callable(function):
            raise _not_a_function(function)
        self._func_impl: Any = function

    def forward(self, *args: Any) -> Any:
        """The function's result."""
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_impl.__name__})"


class HybridLambda(HybridBlock):
    """A function `f(F, x, ...)`, or the name of one in mx.nd and mx.sym, as a block."""

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            name = function
            assert hasattr(ndarray, name) and hasattr(symbol, name), f"Function name {name} is not found in symbol/ndarray."
            self._func: Any = lambda F, *args: getattr(F, name)(*args)
            self._func_name = name
        elif callable(function):
            self._func, self._func_name = function, function.__name__
        else:
            raise _not_a_function(function)

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"
