"""Operators as methods of Symbol: `x.reshape(...)` is `mx.sym.reshape(x, ...)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import NotImplementedForSymbol
from . import op

__all__ = ["Fluent"]

# Methods named like the function they call.
_SAME = (
    "reshape reshape_like zeros_like ones_like broadcast_axes repeat pad swapaxes split slice slice_axis slice_like take one_hot pick sort topk "
    "argsort argmax argmax_channel argmin clip abs sign shape_array size_array broadcast_to broadcast_like tile transpose flip depth_to_space "
    "space_to_depth sum nansum prod nanprod mean max min norm round rint fix floor ceil trunc sin cos tan arcsin arccos arctan degrees radians "
    "sinh cosh tanh arcsinh arccosh arctanh exp expm1 log log10 log2 log1p sqrt rsqrt cbrt rcbrt square reciprocal relu sigmoid softmax "
    "log_softmax softmin"
).split()


class Fluent:
    """The methods; those named like their function are added below the class."""

    __slots__ = ()

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        """`mx.sym.cast` of this symbol."""
        return op.cast(self, *args, **kwargs)

    def flatten(self, inplace: bool = False, **kwargs: Any) -> Any:
        """`mx.sym.flatten` of this symbol; `inplace` has no meaning for symbols."""
        return op.flatten(self, **kwargs)

    def expand_dims(self, axis: int, inplace: bool = False, **kwargs: Any) -> Any:
        """`mx.sym.expand_dims` of this symbol; `inplace` has no meaning for symbols."""
        return op.expand_dims(self, axis=axis, **kwargs)

    def squeeze(self, axis: Any = None, inplace: bool = False, **kwargs: Any) -> Any:
        """`mx.sym.squeeze` of this symbol; `inplace` has no meaning for symbols."""
        return op.squeeze(self, axis=axis, **kwargs)

    def diag(self, k: int = 0, **kwargs: Any) -> Any:
        """`mx.sym.diag` of this symbol."""
        return op.diag(self, k, **kwargs)

    def split_v2(self, *args: Any, **kwargs: Any) -> Any:
        """`mx.sym.split_v2` of this symbol."""
        from .creation import split_v2

        return split_v2(self, *args, **kwargs)

    # -- NDArray methods that symbols refuse
    def wait_to_read(self) -> None:
        """Only NDArrays have this."""
        raise NotImplementedForSymbol(self.wait_to_read, None)

    def asnumpy(self) -> None:
        """Only NDArrays have this."""
        raise NotImplementedForSymbol(self.asnumpy, None)

    def asscalar(self) -> None:
        """Only NDArrays have this."""
        raise NotImplementedForSymbol(self.asscalar, None)

    def copy(self) -> None:
        """Only NDArrays have this; copy.copy copies a symbol."""
        raise NotImplementedForSymbol(self.copy, None)

    def as_in_context(self) -> None:
        """Only NDArrays have this."""
        raise NotImplementedForSymbol(self.as_in_context, None)

    def detach(self) -> None:
        """Only NDArrays have this."""
        raise NotImplementedForSymbol(self.detach, None)

    def backward(self) -> None:
        """Only NDArrays and executors have this."""
        raise NotImplementedForSymbol(self.backward, None)


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(op, name)(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Fluent.{name}"
    method.__doc__ = f"`mx.sym.{name}` of this symbol."
    return method


for _name in _SAME:
    setattr(Fluent, _name, _method(_name))
