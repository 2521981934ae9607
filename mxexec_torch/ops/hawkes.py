"""Likelihood of marked Hawkes processes."""

from __future__ import annotations

import torch

from ..errors import MXNetError
from ..infer.state import Dtypes, Shapes, complete
from ..registry import Attrs, Tensor, op
from .runtime.hawkes import hawkes_log_likelihood

__all__: list[str] = []

_NAMES = ("lda", "alpha", "beta", "state", "lags", "marks", "valid_length", "max_time")


def _expected(lda: tuple[int, ...], lags: tuple[int, ...]) -> list[tuple[int, ...]]:
    n, k = lda[0], lda[1]
    return [(n, k), (k,), (k,), (n, k), (n, lags[1]), (n, lags[1]), (n,), (n,)]


def _hawkes_shape(a: Attrs, s: Shapes) -> None:
    lda, lags = s.get("lda"), s.get("lags")
    if not complete(lda) or not complete(lags):
        return
    if len(lda) != 2 or len(lags) != 2:
        raise s.fail(f"hawkesll: lda and lags should be 2D, got {list(lda)} and {list(lags)}")
    for name, shape in zip(_NAMES, _expected(lda, lags), strict=True):
        given = s.get(name)
        if complete(given) and given != shape:
            raise s.fail(f"hawkesll: {name} should have shape {list(shape)}, got {list(given)}")
    s.unify_out((lda[0],), 0)
    s.unify_out(lda, 1)


def _hawkes_dtype(a: Attrs, t: Dtypes) -> None:
    t.unify("marks", torch.int32)
    known = next((d for i, d in enumerate(t.inputs) if d is not None and i != 5), None) or t.out()
    for position in range(len(t.inputs)):
        if position != 5:
            t.unify(position, known)
    for index in range(2):
        t.unify_out(known, index)


@op("_contrib_hawkesll", outputs=("output", "out_state"), shape=_hawkes_shape, dtype=_hawkes_dtype)
def hawkesll(
    lda: Tensor, alpha: Tensor, beta: Tensor, state: Tensor, lags: Tensor, marks: Tensor, valid_length: Tensor, max_time: Tensor, /
) -> tuple[Tensor, Tensor]:
    """Log likelihood of self-exciting point processes with exponential decay, and their states at max_time.

    lda (n, k), alpha and beta (k,), state (n, k), lags (n, t), marks (n, t) int32, valid_length and max_time (n,) -> (n,), (n, k).
    Gradients: lda, alpha and beta only. Source: src/operator/contrib/hawkes_ll-inl.h
    """
    given = [tuple(x.shape) for x in (lda, alpha, beta, state, lags, marks, valid_length, max_time)]
    if len(given[0]) != 2 or len(given[4]) != 2 or given != _expected(given[0], given[4]):
        raise MXNetError(f"hawkesll: inputs {dict(zip(_NAMES, map(list, given), strict=True))} do not fit together")
    out: tuple[torch.Tensor, torch.Tensor] = hawkes_log_likelihood(lda, alpha, beta, state, lags, marks, valid_length, max_time)
    return out
