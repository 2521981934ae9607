"""Convolution, transposed convolution, pooling and padding layers."""

from __future__ import annotations

from typing import Any

from ... import symbol
from ...base import numeric_types
from ..block import HybridBlock
from .activations import Activation

__all__ = [
    "AvgPool1D", "AvgPool2D", "AvgPool3D", "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose",
    "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D", "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPool3D", "MaxPool1D", "MaxPool2D",
    "MaxPool3D", "ReflectionPad2D",
]  # fmt: skip

_CONV_LAYOUTS = {1: ("NCW",), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
_POOL_LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def _spread(value: Any, ndim: int, what: str | None = None) -> Any:
    """A number for every axis; sequences stay as they are and must have that length where `what` names them."""
    values = (value,) * ndim if isinstance(value, numeric_types) else value
    assert what is None or len(values) == ndim, f"{what} must be a number or a list of {ndim} ints, got {value}"
    return values


def _infer_weight_shape(op_name: str, data_shape: Any, kwargs: dict[str, Any]) -> Any:
    """The shapes of data, weight and bias of an operator, 0 where open."""
    return getattr(symbol, op_name)(symbol.var("data", shape=data_shape), **kwargs).infer_shape_partial()[0]


class _Conv(HybridBlock):
    """A convolution of any kind and number of axes."""

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any, padding: Any, dilation: Any, groups: int, layout: str, in_channels: int = 0,
        activation: str | None = None, use_bias: bool = True, weight_initializer: Any = None, bias_initializer: Any = "zeros",
        op_name: str = "Convolution", adj: Any = None, prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        ndim = len(kernel_size)
        self._channels, self._in_channels, self._op_name = channels, in_channels, op_name
        self._kwargs = {
            "kernel": kernel_size, "stride": _spread(strides, ndim), "dilate": _spread(dilation, ndim), "pad": _spread(padding, ndim),
            "num_filter": channels, "num_group": groups, "no_bias": not use_bias, "layout": layout,
        }  # fmt: skip
        if adj is not None:
            self._kwargs["adj"] = adj
        data = [0] * (ndim + 2)
        data[layout.find("N")], data[layout.find("C")] = 1, in_channels
        shapes = _infer_weight_shape(op_name, tuple(data), self._kwargs)
        self.bias = self.act = None
        with self.name_scope():
            self.weight = self.params.get("weight", shape=shapes[1], init=weight_initializer, allow_deferred_init=True)
            if use_bias:
                self.bias = self.params.get("bias", shape=shapes[2], init=bias_initializer, allow_deferred_init=True)
            if activation is not None:
                self.act = Activation(activation, prefix=activation + "_")

    def _alias(self) -> str:
        return "conv"

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        inputs = (x, weight) if bias is None else (x, weight, bias)
        out = getattr(F, self._op_name)(*inputs, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        known, shape = self._kwargs, self.weight.shape
        ndim = len(known["kernel"])
        parts = [f"{shape[1] or None} -> {shape[0]}", f"kernel_size={known['kernel']}", f"stride={known['stride']}"]
        for text, key, usual in (("padding", "pad", 0), ("dilation", "dilate", 1)):
            if known[key] != (usual,) * ndim:
                parts.append(f"{text}={known[key]}")
        if known["num_group"] != 1:
            parts.append(f"groups={known['num_group']}")
        if self.bias is None:
            parts.append("bias=False")
        if self.act:
            parts.append(str(self.act))
        return f"{type(self).__name__}({', '.join(parts)})"


class _Forward(_Conv):
    """The convolutions; subclasses say how many axes."""

    _ndim: int

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any, padding: Any, dilation: Any, groups: int, layout: str, activation: str | None,
        use_bias: bool, weight_initializer: Any, bias_initializer: Any, in_channels: int, op_name: str = "Convolution", **kwargs: Any,
    ) -> None:  # fmt: skip
        layouts = _CONV_LAYOUTS[self._ndim]
        assert layout in layouts, f"Only supports {' and '.join(map(repr, layouts))} layout for now, not {layout!r}"
        super().__init__(
            channels, _spread(kernel_size, self._ndim, "kernel_size"), strides, padding, dilation, groups, layout, in_channels, activation,
            use_bias, weight_initializer, bias_initializer, op_name, **kwargs,
        )  # fmt: skip


class _Transposed(_Forward):
    """The transposed convolutions."""

    def __init__(self, output_padding: Any, *args: Any, op_name: str = "Deconvolution", **kwargs: Any) -> None:
        self.outpad = _spread(output_padding, self._ndim, "output_padding")
        super().__init__(*args, op_name=op_name, adj=self.outpad, **kwargs)


class Conv1D(_Forward):
    """Convolution over 1 axis."""

    _ndim = 1

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
        layout: str = "NCW", activation: str | None = None, use_bias: bool = True, weight_initializer: Any = None,
        bias_initializer: Any = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout, activation, use_bias, weight_initializer, bias_initializer,
            in_channels, **kwargs,
        )  # fmt: skip


class Conv2D(_Forward):
    """Convolution over 2 axes."""

    _ndim = 2

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any = (1, 1), padding: Any = (0, 0), dilation: Any = (1, 1), groups: int = 1,
        layout: str = "NCHW", activation: str | None = None, use_bias: bool = True, weight_initializer: Any = None,
        bias_initializer: Any = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout, activation, use_bias, weight_initializer, bias_initializer,
            in_channels, **kwargs,
        )  # fmt: skip


class Conv3D(_Forward):
    """Convolution over 3 axes."""

    _ndim = 3

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any = (1, 1, 1), padding: Any = (0, 0, 0), dilation: Any = (1, 1, 1), groups: int = 1,
        layout: str = "NCDHW", activation: str | None = None, use_bias: bool = True, weight_initializer: Any = None,
        bias_initializer: Any = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout, activation, use_bias, weight_initializer, bias_initializer,
            in_channels, **kwargs,
        )  # fmt: skip


class Conv1DTranspose(_Transposed):
    """Transposed convolution over 1 axis. output_padding: added to one side of the output."""

    _ndim = 1

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any = 1, padding: Any = 0, output_padding: Any = 0,
        dilation: Any = 1, groups: int = 1, layout: str = "NCW", activation: str | None = None, use_bias: bool = True,
        weight_initializer: Any = None, bias_initializer: Any = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            output_padding, channels, kernel_size, strides, padding, dilation, groups, layout, activation, use_bias, weight_initializer,
            bias_initializer, in_channels, **kwargs,
        )  # fmt: skip


class Conv2DTranspose(_Transposed):
    """Transposed convolution over 2 axes. output_padding: added to one side of the output."""

    _ndim = 2

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any = (1, 1), padding: Any = (0, 0), output_padding: Any = (0, 0),
        dilation: Any = (1, 1), groups: int = 1, layout: str = "NCHW", activation: str | None = None, use_bias: bool = True,
        weight_initializer: Any = None, bias_initializer: Any = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            output_padding, channels, kernel_size, strides, padding, dilation, groups, layout, activation, use_bias, weight_initializer,
            bias_initializer, in_channels, **kwargs,
        )  # fmt: skip


class Conv3DTranspose(_Transposed):
    """Transposed convolution over 3 axes. output_padding: added to one side of the output."""

    _ndim = 3

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any = (1, 1, 1), padding: Any = (0, 0, 0), output_padding: Any = (0, 0, 0),
        dilation: Any = (1, 1, 1), groups: int = 1, layout: str = "NCDHW", activation: str | None = None, use_bias: bool = True,
        weight_initializer: Any = None, bias_initializer: Any = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            output_padding, channels, kernel_size, strides, padding, dilation, groups, layout, activation, use_bias, weight_initializer,
            bias_initializer, in_channels, **kwargs,
        )  # fmt: skip


class _Pooling(HybridBlock):
    """A pooling of any kind and number of axes."""

    def __init__(
        self, pool_size: Any, strides: Any, padding: Any, ceil_mode: bool, global_pool: bool, pool_type: str, layout: str,
        count_include_pad: bool | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        ndim = len(pool_size)
        layouts = _POOL_LAYOUTS[ndim]
        assert layout in layouts, f"Only {' and '.join(layouts)} layouts are valid for {ndim}D Pooling, not {layout}"
        self._kwargs = {
            "kernel": pool_size, "stride": _spread(pool_size if strides is None else strides, ndim), "pad": _spread(padding, ndim),
            "global_pool": global_pool, "pool_type": pool_type, "layout": layout, "pooling_convention": "full" if ceil_mode else "valid",
        }  # fmt: skip
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        known = self._kwargs
        return (
            f"{type(self).__name__}(size={known['kernel']}, stride={known['stride']}, padding={known['pad']}, "
            f"ceil_mode={known['pooling_convention'] == 'full'}, global_pool={known['global_pool']}, pool_type={known['pool_type']}, "
            f"layout={known['layout']})"
        )


class MaxPool1D(_Pooling):
    """The maximum over windows of 1 axis. strides: the window's size unless given."""

    def __init__(
        self, pool_size: Any = 2, strides: Any = None, padding: Any = 0, layout: str = "NCW", ceil_mode: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(_spread(pool_size, 1, "pool_size"), strides, padding, ceil_mode, False, "max", layout, **kwargs)


class MaxPool2D(_Pooling):
    """The maximum over windows of 2 axes. strides: the window's size unless given."""

    def __init__(
        self, pool_size: Any = (2, 2), strides: Any = None, padding: Any = 0, layout: str = "NCHW", ceil_mode: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(_spread(pool_size, 2, "pool_size"), strides, padding, ceil_mode, False, "max", layout, **kwargs)


class MaxPool3D(_Pooling):
    """The maximum over windows of 3 axes. strides: the window's size unless given."""

    def __init__(
        self, pool_size: Any = (2, 2, 2), strides: Any = None, padding: Any = 0, ceil_mode: bool = False, layout: str = "NCDHW", **kwargs: Any
    ) -> None:
        super().__init__(_spread(pool_size, 3, "pool_size"), strides, padding, ceil_mode, False, "max", layout, **kwargs)


class AvgPool1D(_Pooling):
    """The mean over windows of 1 axis. strides: the window's size unless given."""

    def __init__(
        self, pool_size: Any = 2, strides: Any = None, padding: Any = 0, layout: str = "NCW", ceil_mode: bool = False,
        count_include_pad: bool = True, **kwargs: Any,
    ) -> None:
        super().__init__(_spread(pool_size, 1, "pool_size"), strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs)


class AvgPool2D(_Pooling):
    """The mean over windows of 2 axes. strides: the window's size unless given."""

    def __init__(
        self, pool_size: Any = (2, 2), strides: Any = None, padding: Any = 0, ceil_mode: bool = False, layout: str = "NCHW",
        count_include_pad: bool = True, **kwargs: Any,
    ) -> None:
        super().__init__(_spread(pool_size, 2, "pool_size"), strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs)


class AvgPool3D(_Pooling):
    """The mean over windows of 3 axes. strides: the window's size unless given."""

    def __init__(
        self, pool_size: Any = (2, 2, 2), strides: Any = None, padding: Any = 0, ceil_mode: bool = False, layout: str = "NCDHW",
        count_include_pad: bool = True, **kwargs: Any,
    ) -> None:
        super().__init__(_spread(pool_size, 3, "pool_size"), strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs)


class GlobalMaxPool1D(_Pooling):
    """The maximum over all of 1 axis."""

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__((1,), None, 0, True, True, "max", layout, **kwargs)


class GlobalMaxPool2D(_Pooling):
    """The maximum over all of 2 axes."""

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__((1, 1), None, 0, True, True, "max", layout, **kwargs)


class GlobalMaxPool3D(_Pooling):
    """The maximum over all of 3 axes."""

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__((1, 1, 1), None, 0, True, True, "max", layout, **kwargs)


class GlobalAvgPool1D(_Pooling):
    """The mean over all of 1 axis."""

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__((1,), None, 0, True, True, "avg", layout, **kwargs)


class GlobalAvgPool2D(_Pooling):
    """The mean over all of 2 axes."""

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__((1, 1), None, 0, True, True, "avg", layout, **kwargs)


class GlobalAvgPool3D(_Pooling):
    """The mean over all of 3 axes."""

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__((1, 1, 1), None, 0, True, True, "avg", layout, **kwargs)


class ReflectionPad2D(HybridBlock):
    """Pads two axes with their mirror image. padding: a number, or 8 numbers (before and after each of four axes)."""

    def __init__(self, padding: Any = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._padding = (0, 0, 0, 0, *(padding,) * 4) if isinstance(padding, numeric_types) else padding
        assert len(self._padding) == 8, f"padding needs a number or 8 numbers, got {padding}"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.pad(x, mode="reflect", pad_width=self._padding)
