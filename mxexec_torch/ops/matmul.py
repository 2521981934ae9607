"""Matrix products: dot, batch_dot."""

from __future__ import annotations

from math import prod
from typing import Annotated

import torch

from ..errors import MXNetError
from ..infer.state import Shape as KnownShape
from ..infer.state import Shapes, show
from ..registry import Attrs, Tensor, op
from ..values import Bool, OneOf

__all__: list[str] = []

Stype = Annotated[str | None, OneOf(None, "csr", "default", "row_sparse")]


def _sides(lhs: KnownShape, rhs: KnownShape, ta: bool, tb: bool) -> tuple[KnownShape, KnownShape, KnownShape, KnownShape]:
    """(kept dimensions of lhs, its summed ones, summed ones of rhs, its kept ones).

    dot sums over the last axis of lhs and the first of rhs; transpose_a swaps lhs's first axis with *all* others, transpose_b likewise.
    """
    kept_l, sum_l = (lhs[1:], lhs[:1]) if ta else (lhs[:-1], lhs[-1:])
    kept_r, sum_r = (rhs[:-1], rhs[-1:]) if tb else (rhs[1:], rhs[:1])
    return kept_l, sum_l, sum_r, kept_r


def _dot_shape(a: Attrs, s: Shapes) -> None:
    lhs, rhs = s.get(0), s.get(1)
    if lhs is None or rhs is None:
        return
    ta, tb = a.transpose_a, a.transpose_b
    if len(lhs) == len(rhs) == 1 and (ta or tb):
        raise s.fail("dot: vectors cannot be transposed")
    kept_l, sum_l, sum_r, kept_r = _sides(lhs, rhs, ta and len(lhs) > 1, tb and len(rhs) > 1)
    if -1 not in sum_l + sum_r and prod(sum_l) != prod(sum_r):
        raise s.fail(f"dot shape error: {show(lhs)} X {show(rhs)}")
    s.unify_out(kept_l + kept_r or (1,))


@op("dot", floats_only=True, aliases=("_sparse_dot",), shape=_dot_shape)
def dot(lhs: Tensor, rhs: Tensor, /, *, transpose_a: Bool = False, transpose_b: Bool = False, forward_stype: Stype = None) -> Tensor:
    """Product over the last axis of lhs and the first of rhs; of two vectors the inner product, with shape (1,).

    lhs (*m, k), rhs (k, *n) -> (*m, *n); transpose_a reads lhs as (k, *m), transpose_b rhs as (*n, k).
    Source: src/operator/tensor/dot.cc
    """
    if lhs.ndim == rhs.ndim == 1:
        return (lhs * rhs).sum(0, keepdim=True, dtype=lhs.dtype) if not lhs.is_floating_point() else torch.dot(lhs, rhs).reshape(1)
    ta, tb = transpose_a and lhs.ndim > 1, transpose_b and rhs.ndim > 1
    if lhs.ndim == rhs.ndim == 2:
        return torch.mm(lhs.t() if ta else lhs, rhs.t() if tb else rhs)
    kept_l, sum_l, sum_r, kept_r = _sides(tuple(lhs.shape), tuple(rhs.shape), ta, tb)
    if sum_l != sum_r:
        raise MXNetError(f"dot shape error: {show(tuple(lhs.shape))} X {show(tuple(rhs.shape))}")
    left = lhs.reshape(sum_l[0], prod(kept_l)).t() if ta else lhs.reshape(prod(kept_l), sum_l[0])
    right = rhs.reshape(prod(kept_r), sum_r[0]).t() if tb else rhs.reshape(sum_r[0], prod(kept_r))
    return torch.mm(left, right).reshape(kept_l + kept_r)


def _batch_dot_shape(a: Attrs, s: Shapes) -> None:
    lhs, rhs = s.get(0), s.get(1)
    if lhs is None or rhs is None:
        return
    if len(lhs) != len(rhs) or len(lhs) < 3:
        raise s.fail(f"batch_dot needs two inputs of one number of dimensions, at least 3, got {show(lhs)} and {show(rhs)}")
    if -1 in (lhs[-1], rhs[-2]):
        return  # MXNet infers nothing then
    m, k = (lhs[-1], lhs[-2]) if a.transpose_a else (lhs[-2], lhs[-1])
    n, j = (rhs[-2], rhs[-1]) if a.transpose_b else (rhs[-1], rhs[-2])
    batch = []
    for x, y in zip(lhs[:-2], rhs[:-2], strict=True):
        if x != y and -1 not in (x, y):
            raise s.fail(f"batch_dot: the leading (batch) dimensions must be equal: {show(lhs)} X {show(rhs)}")
        batch.append(max(x, y))
    if k != j and -1 not in (k, j):
        raise s.fail(f"batch_dot shape mismatch: {show(lhs)} X {show(rhs)} trans_a={int(a.transpose_a)} trans_b={int(a.transpose_b)}")
    s.unify_out((*batch, m, n))


@op("batch_dot", floats_only=True, aliases=("_npx_batch_dot",), shape=_batch_dot_shape)
def batch_dot(lhs: Tensor, rhs: Tensor, /, *, transpose_a: Bool = False, transpose_b: Bool = False, forward_stype: Stype = None) -> Tensor:
    """Matrix products over leading batch axes, which must be equal.

    lhs (*b, m, k), rhs (*b, k, n) -> (*b, m, n). Source: src/operator/tensor/dot.cc
    """
    return torch.matmul(lhs.mT if transpose_a else lhs, rhs.mT if transpose_b else rhs)
