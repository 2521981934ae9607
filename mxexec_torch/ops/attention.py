"""The interleaved attention products of the contrib transformer operators, khatri_rao, Fourier transforms and count sketch."""

from __future__ import annotations

import torch

from ..errors import MXNetError
from ..infer.state import Shapes, complete, show
from ..registry import Attrs, Grad, Tensor, op
from ..values import Int

__all__: list[str] = []


# -- interleaved attention ----------------------------------------------------------------------------------------------------
def _heads(x: Tensor, heads: int, parts: int) -> list[Tensor]:
    """(length, batch, heads * parts * d) -> `parts` tensors (batch * heads, length, d)."""
    if x.ndim != 3 or x.shape[2] % (heads * parts):
        raise MXNetError(f"interleaved_matmul needs an input (length, batch, k * {heads * parts}), got {show(tuple(x.shape))}")
    length, batch, width = x.shape
    split = x.reshape(length, batch * heads, parts, width // (heads * parts))
    return [split[:, :, i].transpose(0, 1) for i in range(parts)]


def _joined(x: Tensor, heads: int) -> Tensor:
    """(batch * heads, length, d) -> (length, batch, heads * d)."""
    return x.transpose(0, 1).reshape(x.shape[1], x.shape[0] // heads, heads * x.shape[2])


def _scores(queries: Tensor, keys: Tensor) -> Tensor:
    return torch.bmm(queries * queries.shape[2] ** -0.5, keys.transpose(1, 2))


@op("_contrib_interleaved_matmul_selfatt_qk")
def selfatt_qk(queries_keys_values: Tensor, /, *, heads: Int) -> Tensor:
    """Attention scores q k^T / sqrt(d); per head the last axis holds query, key and value one after the other.

    (length, batch, heads * 3 * d) -> (batch * heads, length, length). Source: src/operator/contrib/transformer.cc
    """
    queries, keys, _ = _heads(queries_keys_values, heads, 3)
    return _scores(queries, keys)


@op("_contrib_interleaved_matmul_selfatt_valatt", floats_only=True)
def selfatt_valatt(queries_keys_values: Tensor, attention: Tensor, /, *, heads: Int) -> Tensor:
    """Values weighted by attention. (length, batch, heads * 3 * d), (batch * heads, length, length) -> (length, batch, heads * d).

    Source: src/operator/contrib/transformer.cc
    """
    return _joined(torch.bmm(attention, _heads(queries_keys_values, heads, 3)[2]), heads)


@op("_contrib_interleaved_matmul_encdec_qk")
def encdec_qk(queries: Tensor, keys_values: Tensor, /, *, heads: Int) -> Tensor:
    """Attention scores of a decoder's queries on an encoder's keys, divided by sqrt(d).

    queries (m, batch, heads * d), keys_values (n, batch, heads * 2 * d) -> (batch * heads, m, n).
    Source: src/operator/contrib/transformer.cc
    """
    if keys_values.ndim == 3 and keys_values.shape[1] != queries.shape[1]:
        raise MXNetError(f"queries {show(tuple(queries.shape))} and keys_values {show(tuple(keys_values.shape))} differ in batch size")
    return _scores(_heads(queries, heads, 1)[0], _heads(keys_values, heads, 2)[0])


@op("_contrib_interleaved_matmul_encdec_valatt", floats_only=True)
def encdec_valatt(keys_values: Tensor, attention: Tensor, /, *, heads: Int) -> Tensor:
    """Values weighted by attention. (n, batch, heads * 2 * d), (batch * heads, m, n) -> (m, batch, heads * d).

    Source: src/operator/contrib/transformer.cc
    """
    return _joined(torch.bmm(attention, _heads(keys_values, heads, 2)[1]), heads)


# -- khatri_rao ---------------------------------------------------------------------------------------------------------------
@op("khatri_rao", floats_only=True, key_var_num_args="num_args", table=("args",), grad=Grad.MISSING)
def khatri_rao(*args: Tensor, num_args: Int) -> Tensor:
    """The column-wise Kronecker product. Matrices (m_i, n) -> (prod m_i, n). Source: src/operator/contrib/krprod.cc"""
    if any(x.ndim != 2 or x.shape[1] != args[0].shape[1] for x in args):
        raise MXNetError(f"khatri_rao needs matrices with one number of columns, got {', '.join(show(tuple(x.shape)) for x in args)}")
    product = args[0]
    for factor in args[1:]:
        product = (product.unsqueeze(1) * factor.unsqueeze(0)).flatten(0, 1)
    return product


# -- Fourier transforms, count sketch (MXNet has them for the GPU only) -----------------------------------------------------------
def _last_axis(numerator: int, denominator: int) -> object:
    def rule(a: Attrs, s: Shapes) -> None:
        data = s.get()
        if not complete(data):
            return
        if len(data) not in (2, 4):
            raise s.fail(f"{s.op.name} needs 2 or 4 dimensions, got {show(data)}")
        s.unify_out((*data[:-1], data[-1] * numerator // denominator))

    return rule


@op("_contrib_fft", shape=_last_axis(2, 1))
def fft(data: Tensor, /, *, compute_size: Int = 128) -> Tensor:
    """The Fourier transform of the last axis; real and imaginary parts alternate in the result. Not normalised.

    data (*k, d) real, of 2 or 4 dimensions -> (*k, 2 d). Source: src/operator/contrib/fft-inl.h
    """
    return torch.view_as_real(torch.fft.fft(data)).flatten(-2)


@op("_contrib_ifft", shape=_last_axis(1, 2))
def ifft(data: Tensor, /, *, compute_size: Int = 128) -> Tensor:
    """The real part of the inverse Fourier transform, not divided by the length: ifft(fft(x)) = d x.

    data (*k, 2 d) with alternating real and imaginary parts, of 2 or 4 dimensions -> (*k, d). Source: src/operator/contrib/ifft-inl.h
    """
    values = torch.view_as_complex(data.reshape(*data.shape[:-1], data.shape[-1] // 2, 2).contiguous())
    return torch.real(torch.fft.ifft(values, norm="forward"))


@op("_contrib_count_sketch", differentiable=("data",))
def count_sketch(data: Tensor, h: Tensor, s: Tensor, /, *, out_dim: Int, processing_batch_size: Int = 32) -> Tensor:
    """Adds s[i] data[..., i] into column h[i]: a random projection that keeps inner products in expectation.

    data (n, d) or (n, a, b, d), h, s (1, d) -> the last axis becomes out_dim. Source: src/operator/contrib/count_sketch-inl.h
    """
    d = data.shape[-1]
    if data.ndim not in (2, 4) or h.numel() != d or s.numel() != d:
        raise MXNetError(f"count_sketch: data {show(tuple(data.shape))} does not fit h {show(tuple(h.shape))} and s {show(tuple(s.shape))}")
    signed = data * s.reshape(-1)
    return data.new_zeros(*data.shape[:-1], out_dim).index_add(-1, h.reshape(-1).to(torch.int64), signed)
