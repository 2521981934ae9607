"""Graph operators made for DGL: sampling neighbourhoods, induced subgraphs, edge numbers. A graph is a square csr matrix of edge ids.

What is stored decides (an edge may have the id 0), so the work is done on the parts of csr matrices: ndarray/sparse_graphs.py calls the
functions below with them. The operator bodies see dense tensors, as every body does, and take every element but 0 for an edge.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

import torch

from ..errors import MXNetError
from ..infer.rules import elementwise
from ..infer.state import Dtypes, Shapes, show
from ..registry import Attrs, Grad, Tensor, op
from ..values import Bool, Int, Long, LongTuple, Range

__all__ = ["Csr", "adjacency", "compact", "edge_ids", "induced_subgraph", "sample"]

_log = logging.getLogger(__name__)


class Csr(NamedTuple):
    """The parts of a csr matrix: row i holds values[indptr[i]:indptr[i+1]] in the columns indices[indptr[i]:indptr[i+1]]."""

    values: Tensor
    indices: Tensor
    indptr: Tensor
    shape: tuple[int, int]

    @classmethod
    def of(cls, dense: Tensor) -> Csr:
        """The elements of a matrix that are not zero."""
        stored = dense != 0
        counts = torch.cat([stored.new_zeros(1, dtype=torch.int64), stored.sum(1).cumsum(0)])
        return cls(dense[stored], stored.nonzero()[:, 1], counts, (dense.shape[0], dense.shape[1]))

    def rows(self) -> Tensor:
        """The row of each stored element."""
        return torch.repeat_interleave(self.indptr.diff())

    def dense(self) -> Tensor:
        """The whole matrix."""
        return self.values.new_zeros(self.shape).index_put((self.rows(), self.indices), self.values)

    def with_values(self, values: Tensor) -> Csr:
        """The same structure with other elements."""
        return self._replace(values=values)


def _need(tensor: Tensor, dtype: torch.dtype, what: str) -> None:
    if tensor.dtype is not dtype:
        raise MXNetError(f"{what} must be {show(dtype)}, got {show(tensor.dtype)}")


# -- sampling -----------------------------------------------------------------------------------------------------------------
class Sampled(NamedTuple):
    """A sampled neighbourhood: vertices (padded, the last entry counts them), its edges, the hop at which each vertex was met."""

    vertices: Tensor
    edges: Csr
    layers: Tensor
    probability: Tensor | None


def _choose(neighbours: Tensor, number: int, probability: Tensor | None) -> Tensor | None:
    """Positions of `number` neighbours drawn without replacement, rising; None: all of them."""
    size = neighbours.shape[0]
    if size <= number:
        return None
    if probability is None:
        return torch.randperm(size, device=neighbours.device)[:number].sort().values
    # exponential clocks at the rates of the probabilities: the order in which they ring is a weighted draw without replacement
    clocks = -torch.rand(size, device=neighbours.device).log() / probability[neighbours]
    return clocks.topk(number, largest=False).indices.sort().values


def sample(graph: Csr, seeds: Tensor, probability: Tensor | None, a: Attrs) -> Sampled:
    """The neighbourhood of the seeds: hop by hop, at most `num_neighbor` neighbours of each vertex, at most `max_num_vertices` in all.

    Vertices come in rising order. Errors: MXNetError for more seeds than vertices may be, other types than int64 and float32 (probability).
    """
    _need(graph.values, torch.int64, "the edge ids of a graph")
    _need(seeds, torch.int64, "seed vertices")
    if probability is not None:
        _need(probability, torch.float32, "the probability of vertices")
    limit = a.max_num_vertices
    if seeds.numel() > limit:
        raise MXNetError(f"max_num_vertices is {limit}, too few for {seeds.numel()} seed vertices")
    layers = dict.fromkeys(seeds.tolist(), 0)  # vertex -> hop; a queue too, for new vertices go to the end
    queue, met = list(layers), 0
    parts: dict[int, tuple[Tensor, Tensor]] = {}
    while met < len(queue) and len(layers) < limit:
        vertex = queue[met]
        met += 1
        if layers[vertex] >= a.num_hops:
            continue
        start, end = graph.indptr[vertex : vertex + 2].tolist()
        columns, ids = graph.indices[start:end], graph.values[start:end]
        kept = _choose(columns, a.num_neighbor, probability)
        parts[vertex] = (columns, ids) if kept is None else (columns[kept], ids[kept])
        for neighbour in parts[vertex][0].tolist():
            if len(layers) >= limit:
                break
            if neighbour not in layers:
                layers[neighbour] = layers[vertex] + 1
                queue.append(neighbour)
    if any(layers[vertex] < a.num_hops for vertex in queue[met:]):
        _log.warning("sampling stopped at max_num_vertices=%d: take fewer seeds or a smaller neighbourhood", limit)
    return _assemble(graph, layers, parts, probability, limit)


def _assemble(graph: Csr, layers: dict[int, int], parts: dict[int, tuple[Tensor, Tensor]], probability: Tensor | None, limit: int) -> Sampled:
    known = sorted(layers)
    number = len(known)
    vertices, hops = graph.indices.new_zeros(limit + 1), graph.indices.new_zeros(limit)
    vertices[:number] = torch.tensor(known, dtype=torch.int64)
    vertices[-1] = number
    hops[:number] = torch.tensor([layers[v] for v in known], dtype=torch.int64)
    chosen = [parts[v] for v in known if v in parts]
    counts = graph.indptr.new_zeros(limit)
    counts[:number] = torch.tensor([parts[v][0].shape[0] if v in parts else 0 for v in known], dtype=torch.int64)
    values = torch.cat([graph.values[:0], *(ids for _, ids in chosen)])
    columns = torch.cat([graph.indices[:0], *(c for c, _ in chosen)])
    edges = Csr(values, columns, torch.cat([counts[:1] * 0, counts.cumsum(0)]), (limit, graph.shape[1]))
    weights = None
    if probability is not None:
        weights = probability.new_zeros(limit)
        weights[:number] = probability[vertices[:number]]
    return Sampled(vertices, edges, hops, weights)


def _sample_shape(first_seed: int, a: Attrs, s: Shapes) -> None:
    graph = _dimensions(s, 0, 2, "the graph")
    if graph[0] != graph[1]:
        raise s.fail(f"the graph must be a square matrix, got {show(graph)}")
    for position in range(1, len(s.inputs)):
        _dimensions(s, position, 1, "a list of vertices" if position >= first_seed else "the probability")
    number = len(s.inputs) - first_seed
    for index in range(len(s.outputs)):
        kind, limit = index // max(number, 1), a.max_num_vertices
        s.unify_out((limit + 1,) if kind == 0 else (limit, graph[1]) if kind == 1 else (limit,), index)


def _dimensions(s: Shapes, position: int, ndim: int, what: str) -> tuple[int, ...]:
    """An input's shape. Errors: MXNetError when it is unknown or has other dimensions: these operators infer nothing about inputs."""
    shape: tuple[int, ...] | None = s.get(position)
    if shape is None or len(shape) != ndim:
        raise s.fail(f"{what} must have {ndim} dimensions, got {show(shape)}")
    return shape


def _uniform_shape(a: Attrs, s: Shapes) -> None:
    _sample_shape(1, a, s)


def _weighted_shape(a: Attrs, s: Shapes) -> None:
    _sample_shape(2, a, s)


def _sample_dtype(a: Attrs, d: Dtypes) -> None:
    """Vertices and hops have the type of the first seeds, edges that of the graph, probabilities that of the given ones."""
    first_seed = 2 if "probability" in d.names else 1
    sources = (first_seed, 0, 1, first_seed) if first_seed == 2 else (1, 0, 1)
    number = len(d.inputs) - first_seed
    for index in range(len(d.outputs)):
        d.unify_out(d.get(sources[index // max(number, 1)]), index)


def _in_sets(sampled: Sequence[Sampled]) -> tuple[Tensor, ...]:
    """All vertices, then all edges, and so on: the order of the outputs."""
    sets = [[x.vertices for x in sampled], [x.edges.dense() for x in sampled]]
    if sampled and sampled[0].probability is not None:
        sets.append([x.probability for x in sampled if x.probability is not None])
    return tuple(t for part in (*sets, [x.layers for x in sampled]) for t in part)


def _numbered(number: int) -> tuple[str, ...]:
    return tuple(f"output{i}" for i in range(number)) if number != 1 else ("output",)


@op(
    "_contrib_dgl_csr_neighbor_uniform_sample", key_var_num_args="num_args", count=lambda a: a.num_args - 1, lists_inputs=False, random=True,
    outputs=lambda a: _numbered(3 * (a.num_args - 1)), shape=_uniform_shape, dtype=_sample_dtype, grad=Grad.MISSING, eager_only=True,
)  # fmt: skip
def uniform_sample(
    csr_matrix: Tensor, /, *seed_arrays: Tensor, num_args: Annotated[Int, Range(2)], num_hops: Long = 1, num_neighbor: Long = 2,
    max_num_vertices: Long = 100,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Neighbourhoods of seed vertices, every neighbour equally likely.

    csr_matrix (n,n) csr of edge ids, seed_arrays (m,) each -> for each: vertices (max_num_vertices+1,) of which the last entry is their
    number, edges (max_num_vertices,n) csr, and the hop at which each vertex was met (max_num_vertices,). dtype: int64.
    Source: src/operator/contrib/dgl_graph.cc
    Deviations: draws other numbers than MXNet; what follows the vertices is 0, where MXNet leaves memory as it was.
    """
    a = Attrs(num_hops=num_hops, num_neighbor=num_neighbor, max_num_vertices=max_num_vertices)
    graph = Csr.of(csr_matrix)
    return _in_sets([sample(graph, seeds, None, a) for seeds in seed_arrays])


@op(
    "_contrib_dgl_csr_neighbor_non_uniform_sample", key_var_num_args="num_args", count=lambda a: a.num_args - 2, lists_inputs=False, random=True,
    outputs=lambda a: _numbered(4 * (a.num_args - 2)), shape=_weighted_shape, dtype=_sample_dtype, grad=Grad.MISSING, eager_only=True,
)  # fmt: skip
def weighted_sample(
    csr_matrix: Tensor, probability: Tensor, /, *seed_arrays: Tensor, num_args: Annotated[Int, Range(2)], num_hops: Long = 1,
    num_neighbor: Long = 2, max_num_vertices: Long = 100,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Neighbourhoods of seed vertices, neighbours as likely as their vertices' probability says.

    csr_matrix (n,n) csr of edge ids, probability (n,) float32, seed_arrays (m,) int64 each -> for each: vertices, edges, the probability of each
    vertex (max_num_vertices,) and its hop, as in dgl_csr_neighbor_uniform_sample. Source: src/operator/contrib/dgl_graph.cc
    Deviations: draws other numbers than MXNet; what follows the vertices is 0; an edge keeps its id where MXNet sorts a row's ids on their own.
    """
    a = Attrs(num_hops=num_hops, num_neighbor=num_neighbor, max_num_vertices=max_num_vertices)
    graph = Csr.of(csr_matrix)
    return _in_sets([sample(graph, seeds, probability, a) for seeds in seed_arrays])


# -- subgraphs ----------------------------------------------------------------------------------------------------------------
def _renumbered(graph: Csr, kept: Tensor, rows: Tensor, known: Tensor) -> Csr:
    """The chosen stored elements, their columns replaced by positions in `known` (rising). rows: new row of each, rising; values: edge ids."""
    size = known.shape[0]
    counts = torch.bincount(rows, minlength=size)
    columns = torch.searchsorted(known, graph.indices[kept], right=True) - 1  # of vertices listed twice the last
    return Csr(graph.values[kept], columns, torch.cat([counts[:0].new_zeros(1), counts.cumsum(0)]), (size, size))


def _count_edges(graph: Csr) -> Csr:
    return graph.with_values(torch.arange(graph.values.shape[0], dtype=graph.values.dtype, device=graph.values.device))


def induced_subgraph(graph: Csr, vertices: Tensor) -> tuple[Csr, Csr]:
    """The edges among some vertices, renumbered by their places in the list: with new edge ids from 0, and with the old ones.

    Errors: MXNetError when the vertices do not rise, are not in the graph, or the graph's ids are not int64.
    """
    _need(graph.values, torch.int64, "the edge ids of a graph")
    if bool((vertices[1:] < vertices[:-1]).any()):
        raise MXNetError("the vertices of a subgraph must be sorted")
    if vertices.numel() and (int(vertices[-1]) >= graph.shape[0] or int(vertices[0]) < 0):
        raise MXNetError(f"the vertices of a subgraph must be from 0 to {graph.shape[0] - 1}, got {int(vertices[0])} to {int(vertices[-1])}")
    counts = graph.indptr.diff()[vertices]
    rows = torch.repeat_interleave(counts)
    starts = graph.indptr[vertices] - (counts.cumsum(0) - counts)
    stored = torch.arange(rows.shape[0], device=rows.device) + starts[rows]
    among = torch.isin(graph.indices[stored], vertices)
    old = _renumbered(graph, stored[among], rows[among], vertices)
    return _count_edges(old), old


def compact(graph: Csr, vertices: Tensor, size: int) -> tuple[Csr, Csr]:
    """A sampled graph without its empty rows and columns: with new edge ids from 0, and with the old ones.

    vertices: as sampled, the last entry counts them. Errors: MXNetError when that is not `size`, or an edge leads elsewhere.
    """
    if vertices.shape[0] != graph.shape[0] + 1 or int(vertices[-1]) != size:
        raise MXNetError(f"the list of vertices must have {graph.shape[0] + 1} entries, the last of them {size}: got {vertices.shape[0]}, {int(vertices[-1])}")
    known, order = vertices[:size].sort()
    if bool((known == -1).any()) or not bool(torch.isin(graph.indices, known).all()):
        raise MXNetError("an edge of the graph leads to a vertex that is not in the list")
    places = order[torch.searchsorted(known, graph.indices)] if size else graph.indices
    old = Csr(graph.values, places, graph.indptr[: size + 1], (size, size))
    return _count_edges(old), old


def adjacency(graph: Csr) -> Csr:
    """The graph with ones for edge ids."""
    return graph.with_values(torch.ones_like(graph.values, dtype=torch.float32))


def _one_type(u: Tensor, v: Tensor) -> None:
    if u.dtype is not v.dtype:
        raise MXNetError(f"edge_id: u and v must have one type, got {show(u.dtype)} and {show(v.dtype)}")


def edge_ids(graph: Csr, u: Tensor, v: Tensor) -> Tensor:
    """The id of each edge (u, v), -1 where there is none. Errors: MXNetError when u and v differ in type."""
    _one_type(u, v)
    width = max(graph.shape[1], 1)
    keys, order = (graph.rows() * width + graph.indices).sort(stable=True)
    if not keys.numel():
        return graph.values.new_full(u.shape, -1)
    column = v.to(torch.int64)
    wanted = torch.where((column >= 0) & (column < width), u.to(torch.int64) * width + column, -1)
    places = torch.searchsorted(keys, wanted).clamp(max=keys.shape[0] - 1)
    return torch.where(keys[places] == wanted, graph.values[order[places]], -1)


def _int64(names: Callable[[str], bool]) -> Callable[[Attrs, Dtypes], None]:
    """The inputs so named must be int64; the outputs have the graph's type."""

    def rule(a: Attrs, d: Dtypes) -> None:
        for name, known in zip(d.names, d.inputs, strict=True):
            if names(name) and known is not torch.int64:
                raise d.fail(f"input {name!r} must be int64, got {show(known)}")
        for index in range(len(d.outputs)):
            d.unify_out(d.get(0), index)

    return rule


def _subgraph_shape(a: Attrs, s: Shapes) -> None:
    _dimensions(s, 0, 2, "the graph")
    sizes = [_dimensions(s, i, 1, "a list of vertices")[0] for i in range(1, len(s.inputs))]
    for index in range(len(s.outputs)):
        size = sizes[index % len(sizes)]
        s.unify_out((size, size), index)


@op(
    "_contrib_dgl_subgraph", key_var_num_args="num_args", count=lambda a: a.num_args - 1, variadic_names=lambda a, n: [f"varray{i}" for i in range(n)],
    outputs=lambda a: _numbered((a.num_args - 1) * (2 if a.return_mapping else 1)), shape=_subgraph_shape,
    dtype=_int64(lambda name: name != "graph"), grad=Grad.MISSING, eager_only=True,
)  # fmt: skip
def dgl_subgraph(
    graph: Tensor, /, *data: Tensor, num_args: Annotated[Int, Range(2)], return_mapping: Bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The subgraphs among given vertices, edges numbered from 0; with return_mapping the same graphs with the old edge ids follow.

    graph (n,n) csr of edge ids, data (m,) each, rising -> (m,m) csr each. dtype: int64. Source: src/operator/contrib/dgl_graph.cc
    """
    stored = Csr.of(graph)
    pairs = [induced_subgraph(stored, vertices) for vertices in data]
    return tuple(p[part].dense() for part in range(2 if return_mapping else 1) for p in pairs)


def _compact_shape(a: Attrs, s: Shapes) -> None:
    number = len(s.inputs) // 2
    if len(s.inputs) != 2 * number or len(a.graph_sizes) < number:
        raise s.fail(f"expected as many lists of vertices and graph_sizes as graphs, got {len(s.inputs)} inputs and {len(a.graph_sizes)} sizes")
    for i, size in zip(range(number), a.graph_sizes, strict=False):
        graph, vertices = _dimensions(s, i, 2, "a graph"), _dimensions(s, i + number, 1, "a list of vertices")
        if min(*graph, vertices[0]) < size:
            raise s.fail(f"a graph of shape {show(graph)} with {vertices[0]} vertices is smaller than its size {size} in graph_sizes")
    for index in range(len(s.outputs)):
        size = a.graph_sizes[index % number]
        s.unify_out((size, size), index)


@op(
    "_contrib_dgl_graph_compact", key_var_num_args="num_args",
    variadic_names=lambda a, n: [f"{kind}{i}" for kind in ("graph", "varray") for i in range(n // 2)],
    outputs=lambda a: _numbered(a.num_args // 2 * (2 if a.return_mapping else 1)), shape=_compact_shape, dtype=_int64(lambda name: True),
    grad=Grad.MISSING, eager_only=True,
)  # fmt: skip
def dgl_graph_compact(
    *graph_data: Tensor, num_args: Annotated[Int, Range(2)], return_mapping: Bool, graph_sizes: LongTuple,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Sampled graphs without their empty rows and columns, edges numbered from 0; with return_mapping those with the old edge ids follow.

    graph_data: graphs (k,n) csr, then their vertices (k+1,) as dgl_csr_neighbor_uniform_sample gives them -> (graph_size,graph_size) csr each.
    dtype: int64. Source: src/operator/contrib/dgl_graph.cc
    Deviations: MXNet leaves the graphs that return_mapping asks for empty.
    """
    number = num_args // 2
    pairs = [compact(Csr.of(g), v, size) for g, v, size in zip(graph_data[:number], graph_data[number:], graph_sizes, strict=False)]
    return tuple(p[part].dense() for part in range(2 if return_mapping else 1) for p in pairs)


# -- edges --------------------------------------------------------------------------------------------------------------------
def _adjacency_dtype(a: Attrs, d: Dtypes) -> None:
    if d.get() is not torch.int64:
        raise d.fail(f"the edge ids of a graph must be int64, got {show(d.get())}")
    d.unify_out(torch.float32)


@op("_contrib_dgl_adjacency", shape=elementwise, dtype=_adjacency_dtype, grad=Grad.MISSING)
def dgl_adjacency(data: Tensor, /) -> Tensor:
    """Ones at the edges of a graph. data (n,m) int64 csr -> (n,m) float32 csr. Source: src/operator/contrib/dgl_graph.cc"""
    return (data != 0).to(torch.float32)


def _edge_shape(a: Attrs, s: Shapes) -> None:
    u, v = (_dimensions(s, position, 1, name) for position, name in ((1, "u"), (2, "v")))
    if u != v:
        raise s.fail(f"u and v must have one length, got {show(u)} and {show(v)}")
    s.unify_out(u)


def _edge_dtype(a: Attrs, d: Dtypes) -> None:
    d.unify_out(d.get(0))
    d.unify(0, d.out())


@op("_contrib_edge_id", shape=_edge_shape, dtype=_edge_dtype, grad=Grad.MISSING)
def edge_id(data: Tensor, u: Tensor, v: Tensor, /) -> Tensor:
    """The id of each edge (u, v), -1 where there is none. data (n,m) csr, u, v (k,) -> (k,).

    Errors: MXNetError when u and v differ in shape or type. Source: src/operator/contrib/dgl_graph.cc
    """
    _one_type(u, v)
    value = data[u.to(torch.int64), v.to(torch.int64)]
    return torch.where(value == 0, -1, value)
