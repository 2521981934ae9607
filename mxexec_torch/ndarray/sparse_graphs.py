"""Graph operators on csr matrices: the functions of ops/dgl.py on what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ops import dgl
from .core import NDArray, wrap
from .sparse import CSRNDArray
from .sparse_kernels import handles

__all__: list[str] = []


def _parts(x: CSRNDArray) -> dgl.Csr:
    return dgl.Csr(x._values, x._indices, x._indptr, (x.shape[0], x.shape[1]))


def _array(found: dgl.Csr, like: Any) -> CSRNDArray:
    return CSRNDArray._new(found.values, found.indices, found.indptr, found.shape, like._ctx)


def _check(plan: Any, inputs: Sequence[Any]) -> None:
    """The shape and type rules, for which no matrix need be made dense."""
    plan.check([x._values.new_empty(x.shape, device="meta") if isinstance(x, CSRNDArray) else x._t for x in inputs])


def _sampled(plan: Any, graph: Any, seeds: Sequence[Any], probability: Any) -> list[NDArray]:
    found = [dgl.sample(_parts(graph), x._t, None if probability is None else probability._t, plan.attrs) for x in seeds]
    sets: list[list[NDArray]] = [[wrap(f.vertices, graph._ctx) for f in found], [_array(f.edges, graph) for f in found]]
    if probability is not None:
        sets.append([wrap(f.probability, graph._ctx) for f in found if f.probability is not None])
    return [array for part in (*sets, [wrap(f.layers, graph._ctx) for f in found]) for array in part]


@handles("_contrib_dgl_csr_neighbor_uniform_sample")
def _uniform(plan: Any, inputs: Sequence[Any]) -> list[NDArray]:
    _check(plan, inputs)
    return _sampled(plan, inputs[0], inputs[1:], None)


@handles("_contrib_dgl_csr_neighbor_non_uniform_sample")
def _weighted(plan: Any, inputs: Sequence[Any]) -> list[NDArray]:
    _check(plan, inputs)
    return _sampled(plan, inputs[0], inputs[2:], inputs[1])


def _shown(plan: Any, pairs: Sequence[tuple[dgl.Csr, dgl.Csr]], like: Any) -> list[NDArray]:
    """New ids first, then the old ones where they are asked for."""
    return [_array(pair[part], like) for part in range(2 if plan.attrs.return_mapping else 1) for pair in pairs]


@handles("_contrib_dgl_subgraph")
def _subgraph(plan: Any, inputs: Sequence[Any]) -> list[NDArray]:
    _check(plan, inputs)
    graph, *lists = inputs
    return _shown(plan, [dgl.induced_subgraph(_parts(graph), x._t) for x in lists], graph)


@handles("_contrib_dgl_graph_compact")
def _compact(plan: Any, inputs: Sequence[Any]) -> list[NDArray]:
    _check(plan, inputs)
    number = len(inputs) // 2
    graphs, lists = inputs[:number], inputs[number:]
    found = [dgl.compact(_parts(g), x._t, size) for g, x, size in zip(graphs, lists, plan.attrs.graph_sizes, strict=False)]
    return _shown(plan, found, graphs[0])


@handles("_contrib_dgl_adjacency")
def _adjacency(plan: Any, inputs: Sequence[Any]) -> NDArray:
    _check(plan, inputs)
    (graph,) = inputs
    return _array(dgl.adjacency(_parts(graph)), graph)


@handles("_contrib_edge_id")
def _edge_id(plan: Any, inputs: Sequence[Any]) -> NDArray:
    _check(plan, inputs)
    graph, u, v = inputs
    return wrap(dgl.edge_ids(_parts(graph), u._t, v._t), graph._ctx)
