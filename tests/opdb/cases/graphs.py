"""Graph operators on csr matrices of edge ids, where nothing is left to chance: every neighbour fits into the sample."""

from typing import Any

from ..case import Array, Case, values

_IDS = [[0, 1, 2, 3, 4], [5, 0, 6, 7, 8], [9, 10, 0, 11, 12], [13, 14, 15, 0, 16], [17, 18, 19, 20, 0]]
_CHAIN = [[0, 1, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0], [0, 0, 0, 3, 0, 0], [4, 0, 0, 0, 5, 0], [0, 0, 0, 0, 0, 6], [7, 0, 0, 0, 0, 0]]
_REST = "what follows the vertices is memory that MXNet never wrote"


def _graph(rows: Any = _IDS, dtype: str = "int64", stype: str = "csr") -> Array:
    return values(rows, dtype).stored(stype)


def _list(*vertices: int, dtype: str = "int64") -> Array:
    return values(list(vertices), dtype)


def _sample(label: str, *seeds: Array, graph: Array | None = None, hops: int = 1, limit: int = 5, error: bool = False, rest: bool = True) -> list[Case]:
    """rest: whether some of the room for vertices stays free."""
    attrs = dict(num_args=len(seeds) + 1, num_hops=hops, num_neighbor=10, max_num_vertices=limit)
    given = {f"seed{i}": s for i, s in enumerate(seeds)}
    made = []
    for name, weights in (("uniform", {}), ("non_uniform", dict(probability=values([0.9, 0.8, 0.2, 0.4, 0.1, 0.5][: len(graph.parameters[0]) if graph else 5])))):
        outputs, n = (4 if weights else 3), len(seeds)
        open_ones = [*range(n), *range(2 * n, outputs * n)] if rest and not error else []
        unjudged = {f"{path}.{mode}.{i}": _REST for path in ("sym", "nd") for mode in ("eval", "train") for i in open_ones}
        made.append(Case(f"_contrib_dgl_csr_neighbor_{name}_sample", label, dict(graph=graph or _graph(), **weights, **given),
                         dict(attrs, num_args=n + 1 + len(weights)), grad=(), error=error, unjudged=unjudged))  # fmt: skip
    return made


def _sub(label: str, *lists: Array, graph: Array | None = None, mapping: bool = True, error: bool = False, **more: Any) -> Case:
    inputs = dict(graph=graph or _graph(), **{f"varray{i}": v for i, v in enumerate(lists)})
    return Case("_contrib_dgl_subgraph", label, inputs, dict(num_args=len(lists) + 1, return_mapping=mapping, **more), grad=(), error=error)


def _compact(label: str, vertices: Array, size: int, error: bool = False, **more: Any) -> Case:
    rows = [[0, 0, 0, 0, 0], [0, 0, 6, 0, 8], [0, 10, 0, 0, 12], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    attrs = dict(num_args=2, return_mapping=False, graph_sizes=(size,), **more)
    return Case("_contrib_dgl_graph_compact", label, dict(graph0=_graph(rows), varray0=vertices), attrs, grad=(), error=error)


_U, _V = values([0, 0, 1, 4, 2]), values([0, 1, 3, 4, 2])

CASES = [
    *_sample("filled", _list(1, 3), rest=False),
    *_sample("room", _list(0, 3), limit=7),
    *_sample("two_hops", _list(2), graph=_graph(_CHAIN), hops=2, limit=6),
    *_sample("truncated", _list(2), graph=_graph(_CHAIN), hops=3, limit=2, rest=False),
    *_sample("seed_twice", _list(4, 4, 0), graph=_graph(_CHAIN), limit=6),
    *_sample("no_hop", _list(3, 0), hops=0, limit=5),
    *_sample("two_lists", _list(2), _list(1, 4), limit=6),
    *_sample("too_many_seeds", _list(0, 1, 2), limit=2, error=True),
    *_sample("seeds_of_int32", _list(0, dtype="int32"), error=True),
    *_sample("ids_of_float32", _list(0), graph=_graph(dtype="float32"), error=True),
    *_sample("not_square", _list(0), graph=_graph(_IDS[:3]), error=True)[:1],
    _sub("one", _list(0, 1, 2)), _sub("unmapped", _list(0, 1, 2), mapping=False), _sub("two", _list(0, 2), _list(1, 3, 4)), _sub("whole", _list(0, 1, 2, 3, 4)),
    _sub("twice", _list(0, 0, 3)), _sub("unsorted", _list(2, 0), error=True), _sub("outside", _list(0, 9), error=True),
    _sub("int32", _list(0, dtype="int32"), error=True), _sub("unknown", _list(0, 1), error=True, axis=1),
    Case("_contrib_dgl_subgraph", "no_mapping", dict(graph=_graph(), varray0=_list(0)), dict(num_args=2), grad=(), error=True),
    _compact("sampled", _list(0, 1, 2, 3, 4, 5), 5), _compact("wrong_size", _list(0, 1, 2, 3, 4, 5), 4, error=True),
    _compact("too_large", _list(0, 1, 2, 3, 4, 5), 7, error=True),
    Case("_contrib_dgl_adjacency", "square", dict(data=_graph()), grad=()), Case("_contrib_dgl_adjacency", "wide", dict(data=_graph(_IDS[:3])), grad=()),
    Case("_contrib_dgl_adjacency", "empty", dict(data=_graph([[0, 0], [0, 0]])), grad=()),
    Case("_contrib_dgl_adjacency", "float32", dict(data=_graph(dtype="float32")), grad=(), error=True),
    *[Case("_contrib_edge_id", dtype, dict(data=_graph(dtype=dtype), u=_U, v=_V), grad=()) for dtype in ("float32", "float64", "int32", "int64")],
    Case("_contrib_edge_id", "whole", dict(data=_graph(), u=_U.typed("int64"), v=_V.typed("int64")), grad=()),
    Case("_contrib_edge_id", "empty", dict(data=_graph([[0.0] * 5] * 5, "float32"), u=_U, v=_V), grad=()),
    Case("_contrib_edge_id", "lengths", dict(data=_graph(), u=_U, v=values([1.0])), grad=(), error=True),
    Case("_contrib_edge_id", "matrices", dict(data=_graph(), u=values([[0.0]]), v=values([[1.0]])), grad=(), error=True),
]  # fmt: skip
