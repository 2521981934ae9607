"""Methods of NDArray that are operators called with the array as first input: `x.exp()` is `mx.nd.exp(x)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .slots import Slots

__all__ = ["FLUENT", "Fluent"]

# MXNet's fluent methods whose name is the operator's.
FLUENT = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax", "argmax_channel", "argmin", "argsort", "broadcast_axes",
    "cbrt", "ceil", "clip", "cos", "cosh", "degrees", "depth_to_space", "diag", "exp", "expm1", "fix", "flip", "floor", "log", "log10", "log1p",
    "log2", "log_softmax", "max", "mean", "min", "nanprod", "nansum", "norm", "one_hot", "ones_like", "pad", "pick", "prod", "radians", "rcbrt",
    "reciprocal", "relu", "repeat", "reshape_like", "rint", "round", "rsqrt", "shape_array", "sigmoid", "sign", "sin", "sinh", "size_array",
    "slice", "slice_axis", "slice_like", "softmax", "softmin", "sort", "space_to_depth", "split", "split_v2", "sqrt", "square", "sum", "swapaxes",
    "take", "tan", "tanh", "tile", "topk", "transpose", "trunc", "zeros_like",
)  # fmt: skip


class Fluent(Slots):
    """Carries the methods of `FLUENT`."""

    __slots__ = ()


def _method(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] | None = None

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal function
        if function is None:
            from . import published_function

            function = published_function(name)
        return function(self, *args, **kwargs)

    call.__name__, call.__qualname__ = name, f"NDArray.{name}"
    call.__doc__ = f"`mx.nd.{name}` of this array."
    return call


for _name in FLUENT:
    setattr(Fluent, _name, _method(_name))
