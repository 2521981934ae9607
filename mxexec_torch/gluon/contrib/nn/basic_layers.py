"""Layers side by side, sparse embeddings, batch normalization over devices, pixel shuffling."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

from .... import context
from .... import ndarray as nd
from ...block import Block, HybridBlock
from ...nn.normalization import BatchNorm
from ...nn.sequential import HybridSequential, Sequential

__all__ = ["Concurrent", "HybridConcurrent", "Identity", "PixelShuffle1D", "PixelShuffle2D", "PixelShuffle3D", "SparseEmbedding", "SyncBatchNorm"]


class Concurrent(Sequential):
    """Blocks that all get the same input; their outputs are concatenated along `axis`."""

    def __init__(self, axis: int = -1, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any) -> Any:
        """The outputs together."""
        return nd.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class HybridConcurrent(HybridSequential):
    """HybridBlocks that all get the same input; their outputs are concatenated along `axis`."""

    def __init__(self, axis: int = -1, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # type: ignore[override]
        return F.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class Identity(HybridBlock):
    """The input."""

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # type: ignore[override]
        return x


class SparseEmbedding(Block):
    """Rows of a row_sparse table, of which only those in use travel; needs a Trainer with a key-value store."""

    def __init__(self, input_dim: int, output_dim: int, dtype: Any = "float32", weight_initializer: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype, "sparse_grad": True}
        stypes = {"grad_stype": "row_sparse", "stype": "row_sparse"}
        self.weight = self.params.get("weight", shape=(input_dim, output_dim), init=weight_initializer, dtype=dtype, **stypes)

    def forward(self, x: Any) -> Any:
        """The rows."""
        return nd.Embedding(x, self.weight.row_sparse_data(x), name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return "{}({input_dim} -> {output_dim}, {dtype})".format(type(self).__name__, **self._kwargs)


class SyncBatchNorm(BatchNorm):
    """Batch normalization with the statistics of all devices together."""

    def __init__(
        self, in_channels: int = 0, num_devices: int | None = None, momentum: float = 0.9, epsilon: float = 1e-5, center: bool = True,
        scale: bool = True, use_global_stats: bool = False, beta_initializer: Any = "zeros", gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros", running_variance_initializer: Any = "ones", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            1, momentum, epsilon, center, scale, use_global_stats, beta_initializer, gamma_initializer, running_mean_initializer,
            running_variance_initializer, in_channels, **kwargs,
        )  # fmt: skip
        del self._kwargs["axis"]
        self._kwargs.update(ndev=self._get_num_devices() if num_devices is None else num_devices, key=self.prefix)

    def _get_num_devices(self) -> int:
        warnings.warn("SyncBatchNorm counts all GPUs of this machine: set num_devices where fewer are used", UserWarning, stacklevel=4)
        return max(context.num_gpus(), 1)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any) -> Any:  # type: ignore[override]
        return F.contrib.SyncBatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)


class _PixelShuffle(HybridBlock):
    """Moves blocks of channels into the image: (N, f1 f2 ... C, W1, W2, ...) becomes (N, C, f1 W1, f2 W2, ...)."""

    _ndim: int

    def __init__(self, factor: Any) -> None:
        super().__init__()
        self._factors = (int(factor),) * self._ndim if not isinstance(factor, (list, tuple)) else tuple(int(f) for f in factor)
        assert len(self._factors) == self._ndim, f"{self._ndim} factors are needed, got {factor}"

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # type: ignore[override]
        rest, last = prod(self._factors), self._ndim - 1
        x = F.reshape(x, (0, -4, -1, rest, *(0,) * self._ndim))  # (N, C, f1 f2 ..., W1, W2, ...)
        for i, factor in enumerate(self._factors):  # axis after axis: `transpose` takes 6 dimensions at most
            before, after = (0,) * (2 + i), (0,) * (last - i)
            x = F.swapaxes(x, 2 + i, 3 + i)
            if i < last:
                rest //= factor
                x = F.reshape(x, (*before, 0, -4, factor, rest, *after))
            x = F.reshape(x, (*before, -3, *((0,) if i < last else ()), *after))
        return x

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors if self._ndim > 1 else self._factors[0]})"


class PixelShuffle1D(_PixelShuffle):
    """Channels into one axis."""

    _ndim = 1


class PixelShuffle2D(_PixelShuffle):
    """Channels into two axes."""

    _ndim = 2


class PixelShuffle3D(_PixelShuffle):
    """Channels into three axes."""

    _ndim = 3
