"""Sparse behaviour as data, run by MXNet 1.9.1 (to record data/storage.json) and by this package (tests/test_sparse.py).

Recording: `python -m tests.storage_cases` in an environment with mxnet 1.9.1, from the top of the repository.
"""

from __future__ import annotations

import itertools
import json
import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

RECORDED = pathlib.Path(__file__).parent / "data" / "storage.json"
STYPES = ("default", "row_sparse", "csr")

UNARY = [
    "abs", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "degrees", "expm1", "fix", "floor", "log1p", "negative", "radians",
    "relu", "rint", "round", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "zeros_like", "BlockGrad", "make_loss",
    "identity", "cos", "exp", "log", "rsqrt", "gamma", "sum", "mean", "norm", "ones_like", "sigmoid", "softmax", "Flatten", "transpose",
]  # fmt: skip
SCALAR = [
    "_plus", "_minus", "_mul", "_div", "_rminus", "_rdiv", "_power", "_maximum", "_scatter_plus", "_scatter_minus", "_equal", "_not_equal",
    "_greater", "_greater_equal", "_lesser", "_lesser_equal",
]  # fmt: skip
BINARY = [
    "elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div", "_maximum", "_minimum", "_hypot", "_scatter_elemwise_div",
    "broadcast_add", "broadcast_mul",
]  # fmt: skip


def symbols(mx: Any) -> Iterator[tuple[str, Any, dict[str, str], dict[str, tuple[int, ...]]]]:
    """(name, symbol, storage types, shapes) of graphs whose inferred storage types are compared."""
    sym, internal = mx.sym, mx.sym._internal
    a, b, i = sym.Variable("a"), sym.Variable("b"), sym.Variable("i")

    def named(name: str) -> Any:
        return getattr(internal, name) if name.startswith("_") else getattr(sym, name)

    one, two = {"a": (4, 3)}, {"a": (3, 3), "b": (3, 3)}
    for s in STYPES:
        for name in UNARY:
            yield f"{name} {s}", named(name)(a), {"a": s}, one
        for name in ("round_ste", "sign_ste", "gradientmultiplier"):
            yield f"{name} {s}", getattr(sym.contrib, name)(a), {"a": s}, one
        for name, scalar in itertools.product(SCALAR, (-1.0, 0.0, 2.0)):
            yield f"{name}_scalar {scalar} {s}", named(f"{name}_scalar")(a, scalar=scalar), {"a": s}, one
        yield f"clip {s}", sym.clip(a, -1, 1), {"a": s}, one
        yield f"slice {s}", sym.slice(a, begin=(0,), end=(2,)), {"a": s}, one
        yield f"slice step {s}", sym.slice(a, begin=(0,), end=(4,), step=(2,)), {"a": s}, one
        yield f"take {s}", sym.take(a, i), {"a": s}, {"a": (4, 3), "i": (2,)}
        yield f"FullyConnected {s}", sym.FullyConnected(a, num_hidden=2, name="fc"), {"a": s}, one
        yield f"Embedding {s}", sym.Embedding(i, a, input_dim=4, output_dim=3, sparse_grad=True), {"a": s}, {"i": (2,), "a": (4, 3)}
        for t in STYPES:
            yield f"cast {s} {t}", sym.cast_storage(a, stype=t), {"a": s}, one
            yield f"square of cast {s} {t}", sym.square(sym.cast_storage(a, stype=t)), {"a": s}, one
            for name in BINARY:
                yield f"{name} {s} {t}", named(name)(a, b), {"a": s, "b": t}, two
            yield f"add_n {s} {t}", sym.add_n(a, b), {"a": s, "b": t}, two
            yield f"concat {s} {t}", sym.concat(a, b, dim=0), {"a": s, "b": t}, two
            for ta, tb in itertools.product((False, True), repeat=2):
                yield f"dot {ta} {tb} {s} {t}", sym.dot(a, b, transpose_a=ta, transpose_b=tb), {"a": s, "b": t}, two


def inferred(mx: Any) -> dict[str, Any]:
    """Storage types of gradients and outputs by case; 'error' where binding raises."""
    found: dict[str, Any] = {}
    for name, symbol, stypes, shapes in symbols(mx):
        try:
            executor = symbol.simple_bind(mx.cpu(), grad_req="write", stype_dict={**dict.fromkeys(symbol.list_arguments(), "default"), **stypes}, **shapes)
            found[name] = [{k: v.stype for k, v in sorted(executor.grad_dict.items())}, [o.stype for o in executor.outputs]]
        except (RuntimeError, mx.base.MXNetError):
            found[name] = "error"
    return found


def _parts(mx: Any, x: Any) -> list[Any]:
    mx.nd.waitall()
    if x.stype == "default":
        return [x.stype, x.asnumpy().tolist()]
    if x.stype == "row_sparse":
        return [x.stype, x.data.asnumpy().tolist(), x.indices.asnumpy().tolist()]
    indptr = x.indptr.asnumpy()
    stored = int(indptr[-1])  # MXNet reserves more than it uses
    return [x.stype, x.data.asnumpy()[:stored].tolist(), x.indices.asnumpy()[:stored].tolist(), indptr.tolist()]


def results(mx: Any) -> dict[str, Any]:
    """What imperative operators store: the parts of their results by case."""
    nd, internal, sparse = mx.nd, mx.nd._internal, mx.nd.sparse
    r = sparse.row_sparse_array(([[1.0, 2.0], [3.0, 4.0]], [1, 3]), shape=(5, 2))
    r2 = sparse.row_sparse_array(([[-1.0, -2.0], [5.0, 6.0]], [1, 4]), shape=(5, 2))
    c = sparse.csr_matrix(([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 3))
    c2 = sparse.csr_matrix(([-1.0, 5.0], [0, 0], [0, 1, 1, 2]), shape=(3, 3))
    d, eye = nd.array([[1, 2], [3, 4], [5, 6]]), nd.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    cases: dict[str, Callable[[], Any]] = {
        "retain": lambda: sparse.retain(r, nd.array([0, 1, 2])),
        "add rows": lambda: nd.elemwise_add(r, r2), "multiply rows": lambda: nd.elemwise_mul(r, r2), "maximum rows": lambda: internal._maximum(r, r2),
        "zeros like rows": lambda: nd.zeros_like(r), "rows times dense": lambda: nd.elemwise_mul(r, nd.ones((5, 2)) * 2), "rows times 0": lambda: r * 0,
        "add_n rows": lambda: nd.add_n(r, r2, r), "add csr": lambda: nd.elemwise_add(c, c2), "csr times dense": lambda: nd.elemwise_mul(c, eye),
        "csr times row": lambda: nd.broadcast_mul(c, nd.array([[0, 1, 2]])), "csr by row": lambda: nd.broadcast_div(c, nd.array([[1, 4, 2]])),
        "zeros like csr": lambda: nd.zeros_like(c), "slice csr": lambda: nd.slice(c, begin=(0, 1), end=(2, 3)),
        "take csr": lambda: nd.take(c, nd.array([2, 0, 5])), "take csr, wrapped": lambda: nd.take(c, nd.array([-1, 4]), mode="wrap"),
        "concat csr": lambda: nd.concat(c, c2, dim=0), "transposed csr dot dense": lambda: nd.dot(c, d, transpose_a=True),
        "csr dot dense": lambda: nd.dot(c, d),
        "transposed csr dot rows": lambda: nd.dot(c, sparse.row_sparse_array(([[1.0, 2.0]], [2]), shape=(3, 2)), transpose_a=True),
        "csr dot rows": lambda: nd.dot(c, sparse.row_sparse_array(([[1.0, 2.0]], [2]), shape=(3, 2))),
        "cast": lambda: nd.cast_storage(nd.array([[0, -0.0], [1, 5]]), stype="csr"), "cast rows": lambda: nd.array([[0, 0], [1, 0]]).tostype("row_sparse"),
        "like": lambda: internal._identity_with_attr_like_rhs(nd.ones((5, 2)), r),
        "scatter div": lambda: internal._scatter_elemwise_div(r, nd.ones((5, 2)) * 2),
        "square sum": lambda: internal._square_sum(r, axis=1, keepdims=True), "square sum of rows": lambda: internal._square_sum(r, axis=1),
        "square sum of columns": lambda: internal._square_sum(r, axis=0), "norm": lambda: nd.norm(c), "norm 1": lambda: nd.norm(c, ord=1),
        "sum": lambda: nd.sum(c), "sum 0": lambda: nd.sum(c, axis=0), "sum 1": lambda: nd.sum(c, axis=1, keepdims=True), "mean 1": lambda: nd.mean(c, axis=1),
        "getnnz": lambda: nd.contrib.getnnz(c), "getnnz of rows": lambda: nd.contrib.getnnz(c, axis=1), "row": lambda: c[2], "last rows": lambda: c[1:],
    }  # fmt: skip
    found = {name: _parts(mx, make()) for name, make in cases.items()}
    for lazy in (True, False):
        w, m = nd.ones((5, 2)), nd.ones((5, 2))
        nd.sgd_update(w, r, lr=0.5, wd=0.25, lazy_update=lazy, out=w)
        found[f"sgd {lazy}"] = _parts(mx, w)
        w = nd.ones((5, 2))
        nd.sgd_mom_update(w, r, m, lr=0.5, wd=0.25, momentum=0.5, lazy_update=lazy, out=w)
        found[f"momentum {lazy}"] = [_parts(mx, w), _parts(mx, m)]
    w, m, v = nd.ones((5, 2)), nd.zeros((5, 2)), nd.zeros((5, 2))
    nd.adam_update(w, r, m, v, lr=0.5, wd=0.25, out=w)
    found["adam"] = [_parts(mx, w), _parts(mx, m), _parts(mx, v)]
    return found


if __name__ == "__main__":
    import mxnet

    RECORDED.write_text(json.dumps({"inferred": inferred(mxnet), "results": results(mxnet)}, indent=0, sort_keys=True) + "\n")
    sys.stdout.write(f"{RECORDED}\n")
