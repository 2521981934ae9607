"""Convolutions that learn where to look: offsets of the kernel's points come from a convolution of the same input."""

from __future__ import annotations

from typing import Any

from ...block import HybridBlock
from ...nn.activations import Activation
from ...nn.conv_layers import _infer_weight_shape, _spread

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


class _Deformable(HybridBlock):
    """Both kinds; `_per_point` numbers are predicted for each point of the kernel."""

    _per_point: int

    def __init__(
        self, channels: int, kernel_size: Any = (1, 1), strides: Any = (1, 1), padding: Any = (0, 0), dilation: Any = (1, 1), groups: int = 1,
        num_deformable_group: int = 1, layout: str = "NCHW", use_bias: bool = True, in_channels: int = 0, activation: str | None = None,
        weight_initializer: Any = None, bias_initializer: Any = "zeros", offset_weight_initializer: Any = "zeros",
        offset_bias_initializer: Any = "zeros", offset_use_bias: bool = True, op_name: str | None = None, adj: Any = None,
        prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        assert layout in ("NCHW", "NHWC"), f"Only supports 'NCHW' and 'NHWC' layout for now, not {layout!r}"
        kernel = _spread(kernel_size, 2)
        self._channels, self._in_channels, self._op_name = channels, in_channels, op_name or type(self).__name__
        points = kernel[0] * kernel[1] * num_deformable_group
        self.offset_split_index = 2 * points
        shared: dict[str, Any] = {"kernel": kernel, "stride": _spread(strides, 2), "dilate": _spread(dilation, 2), "pad": _spread(padding, 2)}
        shared.update(num_group=groups, layout=layout, **({"adj": adj} if adj else {}))
        self._kwargs_offset = {**shared, "num_filter": self._per_point * points, "no_bias": not offset_use_bias}
        self._kwargs_deformable_conv = {
            **shared, "num_filter": channels, "num_deformable_group": num_deformable_group, "no_bias": not use_bias
        }  # fmt: skip
        data = [0] * 4
        data[layout.find("N")], data[layout.find("C")] = 1, in_channels
        offsets = _infer_weight_shape("Convolution", tuple(data), self._kwargs_offset)
        self.offset_bias = self.deformable_conv_bias = self.act = None
        with self.name_scope():
            self._parameter("offset_weight", offsets[1], offset_weight_initializer)
            if offset_use_bias:
                self._parameter("offset_bias", offsets[2], offset_bias_initializer)
            self._parameter("deformable_conv_weight", (channels, 0, *kernel), weight_initializer)
            if use_bias:
                self._parameter("deformable_conv_bias", (channels,), bias_initializer)
            if activation:
                self.act = Activation(activation, prefix=activation + "_")

    def _parameter(self, name: str, shape: Any, init: Any) -> None:
        setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def _where(self, F: Any, offsets: Any) -> dict[str, Any]:
        """What the predicted numbers are to the operator."""
        raise NotImplementedError

    def hybrid_forward(self, F: Any, x: Any, **params: Any) -> Any:  # type: ignore[override]
        predicted = [params[name] for name in ("offset_weight", "offset_bias") if name in params]
        offsets = F.Convolution(x, *predicted, cudnn_off=True, **self._kwargs_offset)
        inputs = {"data": x, **self._where(F, offsets), "weight": params["deformable_conv_weight"]}
        if "deformable_conv_bias" in params:
            inputs["bias"] = params["deformable_conv_bias"]
        out = getattr(F.contrib, self._op_name)(**inputs, name="fwd", **self._kwargs_deformable_conv)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        known, shape = self._kwargs_deformable_conv, self.deformable_conv_weight.shape  # type: ignore[attr-defined]
        return f"{type(self).__name__}({shape[1] or None} -> {shape[0]}, kernel_size={known['kernel']}, stride={known['stride']})"


class DeformableConvolution(_Deformable):
    """Deformable convolution: two offsets a point."""

    _per_point = 2

    def _alias(self) -> str:
        return "deformable_conv"

    def _where(self, F: Any, offsets: Any) -> dict[str, Any]:
        return {"offset": offsets}


class ModulatedDeformableConvolution(_Deformable):
    """Deformable convolution v2: two offsets and a weight between 0 and 2 a point."""

    _per_point = 3

    def _alias(self) -> str:
        return "modulated_deformable_conv"

    def _where(self, F: Any, offsets: Any) -> dict[str, Any]:
        end = self.offset_split_index
        weights = F.sigmoid(F.slice_axis(offsets, axis=1, begin=end, end=None)) * 2
        return {"offset": F.slice_axis(offsets, axis=1, begin=0, end=end), "mask": weights}
