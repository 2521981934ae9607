"""Normalization layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..block import HybridBlock

__all__ = ["BatchNorm", "BatchNormReLU", "GroupNorm", "InstanceNorm", "LayerNorm", "_BatchNorm"]


class _Normalized(HybridBlock):
    """A layer with `gamma` and `beta`, of which scale and center say whether they are learned."""

    gamma: Any
    _kwargs: dict[str, Any]

    def _affine(self, size: int, scale: bool, center: bool, gamma: Any, beta: Any, fixed: bool = False) -> None:
        for name, learned, init in (("gamma", scale, gamma), ("beta", center, beta)):
            request = "write" if learned else "null"
            options = {"differentiable": learned} if fixed else {}  # fixed: setting grad_req later does not make it learned
            parameter = self.params.get(name, grad_req=request, shape=(size,), init=init, allow_deferred_init=True, **options)
            setattr(self, name, parameter)

    def _shown(self, *more: str) -> str:
        return f"{type(self).__name__}({', '.join([*(f'{k}={v!r}' for k, v in self._kwargs.items()), *more])})"


class _BatchNorm(_Normalized):
    """Normalizes over all axes but `axis`, by the batch's statistics in training and by running ones otherwise."""

    def __init__(
        self, axis: int = 1, momentum: float = 0.9, epsilon: float = 1e-5, center: bool = True, scale: bool = True,
        use_global_stats: bool = False, fuse_relu: bool = False, beta_initializer: Any = "zeros", gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros", running_variance_initializer: Any = "ones", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._kwargs = {"axis": axis, "eps": epsilon, "momentum": momentum, "fix_gamma": not scale, "use_global_stats": use_global_stats}
        self.fuse_relu = fuse_relu
        if in_channels != 0:
            self.in_channels = in_channels
        self._affine(in_channels, scale, center, gamma_initializer, beta_initializer, fixed=True)
        for name, init in (("running_mean", running_mean_initializer), ("running_var", running_variance_initializer)):
            state = self.params.get(name, grad_req="null", shape=(in_channels,), init=init, allow_deferred_init=True, differentiable=False)
            setattr(self, name, state)

    def cast(self, dtype: Any) -> None:
        """Changes the element type; float16 leaves the statistics and factors at float32."""
        super().cast("float32" if np.dtype(dtype).name == "float16" else dtype)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any) -> Any:
        function = F.contrib.BatchNormWithReLU if self.fuse_relu else F.BatchNorm
        return function(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return self._shown(f"in_channels={self.gamma.shape[0] or None}")


class BatchNorm(_BatchNorm):
    """Batch normalization."""

    def __init__(
        self, axis: int = 1, momentum: float = 0.9, epsilon: float = 1e-5, center: bool = True, scale: bool = True,
        use_global_stats: bool = False, beta_initializer: Any = "zeros", gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros", running_variance_initializer: Any = "ones", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            axis, momentum, epsilon, center, scale, use_global_stats, False, beta_initializer, gamma_initializer, running_mean_initializer,
            running_variance_initializer, in_channels, **kwargs,
        )  # fmt: skip


class BatchNormReLU(_BatchNorm):
    """Batch normalization followed by ReLU, one operator."""

    def __init__(
        self, axis: int = 1, momentum: float = 0.9, epsilon: float = 1e-5, center: bool = True, scale: bool = True,
        use_global_stats: bool = False, beta_initializer: Any = "zeros", gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros", running_variance_initializer: Any = "ones", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            axis, momentum, epsilon, center, scale, use_global_stats, True, beta_initializer, gamma_initializer, running_mean_initializer,
            running_variance_initializer, in_channels, **kwargs,
        )  # fmt: skip


class InstanceNorm(_Normalized):
    """Normalizes each sample and channel over the other axes."""

    def __init__(
        self, axis: int = 1, epsilon: float = 1e-5, center: bool = True, scale: bool = False, beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self._affine(in_channels, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        out = F.InstanceNorm(x.swapaxes(1, self._axis), gamma, beta, name="fwd", eps=self._epsilon)
        return out.swapaxes(1, self._axis)

    def __repr__(self) -> str:
        return self._shown(f"in_channels={self.gamma.shape[0]}")


class LayerNorm(_Normalized):
    """Normalizes each sample over `axis`."""

    def __init__(
        self, axis: int = -1, epsilon: float = 1e-5, center: bool = True, scale: bool = True, beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones", in_channels: int = 0, prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon, self._center, self._scale = axis, epsilon, center, scale
        self._affine(in_channels, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        return F.LayerNorm(data, gamma=gamma, beta=beta, axis=self._axis, eps=self._epsilon)

    def __repr__(self) -> str:
        return self._shown(f"in_channels={self.gamma.shape[0]}")


class GroupNorm(_Normalized):
    """Normalizes each sample over groups of channels; gamma and beta have one element a group."""

    def __init__(
        self, num_groups: int = 1, epsilon: float = 1e-5, center: bool = True, scale: bool = True, beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones", prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale}
        self._num_groups, self._epsilon, self._center, self._scale = num_groups, epsilon, center, scale
        self._affine(num_groups, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        return F.GroupNorm(data, gamma=gamma, beta=beta, num_groups=self._num_groups, eps=self._epsilon)

    def __repr__(self) -> str:
        return self._shown()
