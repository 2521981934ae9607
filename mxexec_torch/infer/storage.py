"""Storage types: what an operator returns for dense ('default'), 'row_sparse' and 'csr' inputs.

An operator without a rule is dense only: its sparse inputs are made dense first, its outputs are dense (MXNet's storage fallback).
Each rule follows the operator's FInferStorageType function in the reference and was compared with its answers for every combination.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..errors import MXNetError
from ..graph import Entry, Node
from ..registry import Attrs, Grad, OpDef

__all__ = [
    "STORED_ONLY", "ZERO_PRESERVING", "can_be_sparse", "forward_stypes", "gradient_stypes", "has_rule", "output_stypes",
]  # fmt: skip

D, R, C = "default", "row_sparse", "csr"
Rule = Callable[[Attrs, Sequence[str]], str | list[str]]  # one type: of the first output, the others are dense

# f(0) = 0 and computed on the stored values alone (src/operator/tensor/elemwise_unary_op*.cc, the *_WITH_RSP_CSR registrations).
ZERO_PRESERVING = (
    "abs", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "degrees", "expm1", "fix", "floor", "log1p", "negative", "radians",
    "relu", "rint", "round", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "_contrib_round_ste", "_contrib_sign_ste",
    "_copy", "BlockGrad", "make_loss", "zeros_like", "_contrib_gradientmultiplier",
)  # fmt: skip


def _same(a: Attrs, s: Sequence[str]) -> str:
    return s[0]


def _both(a: Attrs, s: Sequence[str]) -> str:
    """Sparse only when all inputs are, and in the same way."""
    return s[0] if len(set(s)) == 1 else D


def _either(a: Attrs, s: Sequence[str]) -> str:
    """Products: one sparse factor is enough."""
    kinds = set(s) - {D}
    return kinds.pop() if len(kinds) == 1 else D


def _kept(kind: str) -> Rule:
    return lambda a, s: s[0] if s[0] == kind and len(set(s)) == 1 else D


def _zero_scalar(a: Attrs, s: Sequence[str]) -> str:
    return s[0] if a.scalar == 0 else D


def _compared(holds_at_zero: Callable[[float], bool]) -> Rule:
    return lambda a, s: D if holds_at_zero(a.scalar) else s[0]


def _cast_storage(a: Attrs, s: Sequence[str]) -> str:
    target = a.stype if isinstance(a.stype, str) else D
    if {s[0], target} == {R, C}:
        raise MXNetError(f"cast_storage from {s[0]} to {target} is not supported")
    return target


def _dot(a: Attrs, s: Sequence[str]) -> str:
    wanted = a.get("forward_stype")
    if wanted is not None:
        return str(wanted)
    left, right = s
    if left == C and a.transpose_a and not a.transpose_b and right in (D, R):
        return R
    if left == D and right == C and not a.transpose_a:
        return C
    return D


def _clip(a: Attrs, s: Sequence[str]) -> str:
    if s[0] != D and not a.a_min <= 0.0 <= a.a_max:
        raise MXNetError(f"clip of a {s[0]} array needs a_min <= 0 <= a_max, got a_min={a.a_min}, a_max={a.a_max}: make the array dense first")
    return s[0]


def _slice(a: Attrs, s: Sequence[str]) -> str:
    return C if s[0] == C and all(step is None or step == 1 for step in a.step or ()) else D


def _csr_with_dense(a: Attrs, s: Sequence[str]) -> str:
    return C if tuple(s) == (C, D) else D


def _only(kind: str, operator: str, result: Rule) -> Rule:
    def rule(a: Attrs, s: Sequence[str]) -> str | list[str]:
        if s[0] != kind:
            raise MXNetError(f"{operator} is defined for {kind} arrays only, got {s[0]}")
        return result(a, s)

    return rule


def _batch_norm(a: Attrs, s: Sequence[str]) -> str:
    if a.fix_gamma and set(s) != {D}:
        raise MXNetError("BatchNorm with fix_gamma=True is not supported for sparse arrays: pass fix_gamma=False, or dense arrays")
    return D


def _embedding(a: Attrs, s: Sequence[str]) -> str:
    if C in s:
        raise MXNetError(f"Embedding takes dense or row_sparse arrays, got {', '.join(s)}")
    return D


def _graphs_first(count: Callable[[int], int], outputs: Callable[[Attrs, int], list[str]]) -> Rule:
    """csr matrices (`count` of so many inputs), then dense lists of vertices."""

    def rule(a: Attrs, s: Sequence[str]) -> list[str]:
        wanted = [C] * count(len(s)) + [D] * (len(s) - count(len(s)))
        if list(s) != wanted:
            raise MXNetError(f"graph operators take csr matrices and dense lists of vertices, here {', '.join(wanted)}: got {', '.join(s)}")
        return outputs(a, len(s))

    return rule


def _square_sum(a: Attrs, s: Sequence[str]) -> str:
    return R if a.axis in ((1,), 1) and a.keepdims else D


_RULES: dict[str, Rule] = {
    **dict.fromkeys(ZERO_PRESERVING, _same),
    **dict.fromkeys(("_mul_scalar", "_div_scalar", "_scatter_plus_scalar", "_scatter_minus_scalar"), _same),
    **dict.fromkeys(("_plus_scalar", "_minus_scalar"), _zero_scalar),
    "_equal_scalar": _compared(lambda x: x == 0),
    "_not_equal_scalar": _compared(lambda x: x != 0),
    "_greater_scalar": _compared(lambda x: x < 0),
    "_greater_equal_scalar": _compared(lambda x: x <= 0),
    "_lesser_scalar": _compared(lambda x: x > 0),
    "_lesser_equal_scalar": _compared(lambda x: x >= 0),
    **dict.fromkeys(("elemwise_add", "elemwise_sub", "_maximum", "_minimum", "_hypot", "_grad_add"), _both),
    "elemwise_mul": _either,
    "_scatter_elemwise_div": lambda a, s: R if s[0] == R else D,
    "broadcast_mul": _csr_with_dense,
    "broadcast_div": _csr_with_dense,
    "add_n": _kept(R),
    "Concat": lambda a, s: C if set(s) == {C} and a.dim == 0 else D,
    "dot": _dot,
    "cast_storage": _cast_storage,
    "clip": _clip,
    "slice": _slice,
    "take": lambda a, s: C if s[0] == C and s[1] == D and a.axis == 0 else D,
    "_identity_with_attr_like_rhs": lambda a, s: s[1],
    "_sparse_retain": _only(R, "retain", lambda a, s: R),
    "_square_sum": _only(R, "_square_sum", _square_sum),
    "_contrib_getnnz": _only(C, "getnnz", lambda a, s: D),
    "_contrib_edge_id": _only(C, "edge_id", lambda a, s: D),
    "_contrib_dgl_adjacency": _only(C, "dgl_adjacency", lambda a, s: C),
    "_contrib_dgl_csr_neighbor_uniform_sample": _graphs_first(lambda n: 1, lambda a, n: [D] * (n - 1) + [C] * (n - 1) + [D] * (n - 1)),
    "_contrib_dgl_csr_neighbor_non_uniform_sample": _graphs_first(lambda n: 1, lambda a, n: [D] * (n - 2) + [C] * (n - 2) + [D] * 2 * (n - 2)),
    "_contrib_dgl_subgraph": _graphs_first(lambda n: 1, lambda a, n: [C] * (n - 1) * (2 if a.return_mapping else 1)),
    "_contrib_dgl_graph_compact": _graphs_first(lambda n: n // 2, lambda a, n: [C] * (n // 2) * (2 if a.return_mapping else 1)),
    "_contrib_quadratic": lambda a, s: C if s[0] == C and a.c == 0 else D,
    "BatchNorm": _batch_norm,
    **dict.fromkeys(("Embedding", "_contrib_SparseEmbedding"), _embedding),
    "_random_normal_like": lambda a, s: s[0] if s[0] == R else D,
    "_random_uniform_like": lambda a, s: s[0] if s[0] == R else D,
}

# Decided by what is stored, whatever its value: the dense form of the inputs does not tell.
_EXACT_ONLY = frozenset({"_contrib_getnnz", "_contrib_edge_id", *(name for name in _RULES if name.startswith("_contrib_dgl_"))})
# Dense inputs are refused, or (cast_storage) become sparse.
STORED_ONLY = _EXACT_ONLY | {"cast_storage", "_sparse_retain", "_square_sum"}


def has_rule(op: OpDef) -> bool:
    """Whether the operator can return anything but dense arrays."""
    return op.name in _RULES


def output_stypes(op: OpDef, a: Attrs, inputs: Sequence[str]) -> list[str]:
    """The storage types of all outputs. Errors: MXNetError where MXNet refuses the combination."""
    count = op.num_outputs(a)
    rule = _RULES.get(op.name)
    if rule is None or not inputs:
        return [D] * count
    if all(s == D for s in inputs) and op.name not in STORED_ONLY and op.name != "dot":
        return [D] * count
    found = rule(a, inputs)
    return found if isinstance(found, list) else [found] + [D] * (count - 1)


def forward_stypes(nodes: Iterable[Node], variables: Mapping[int, str]) -> dict[int, list[str]]:
    """Storage types by id(node), for nodes in topological order. variables: storage types by id(variable), dense where not named."""
    known: dict[int, list[str]] = {}
    for node in nodes:
        if node.op is None:
            known[id(node)] = [variables.get(id(node), D)]
        else:
            known[id(node)] = output_stypes(node.op, node.params, [known[id(e.node)][e.index] for e in node.inputs])
    return known


def can_be_sparse(nodes: Iterable[Node]) -> bool:
    """Whether something sparse can arise from dense variables (gradients of embeddings, cast_storage, dot with a chosen result), or must not be dense."""
    return any(
        node.op is not None
        and (node.op.name in STORED_ONLY or node.op.name == "_contrib_SparseEmbedding" or node.params.get("sparse_grad") or node.params.get("forward_stype"))
        for node in nodes
    )


def gradient_stypes(heads: Sequence[Entry], nodes: Sequence[Node], forward: Mapping[int, list[str]]) -> dict[int, str]:
    """The storage types of the variables' gradients by id(variable), taking head gradients to be stored as the heads are."""
    parts: dict[tuple[int, int], list[str]] = {}
    for head in heads:
        parts.setdefault((id(head.node), head.index), []).append(forward[id(head.node)][head.index])
    found: dict[int, str] = {}
    for node in reversed(nodes):
        grads = [_summed(parts.get((id(node), i), [])) for i in range(node.num_outputs())]
        if node.op is None:
            found[id(node)] = grads[0]
            continue
        inputs = [forward[id(e.node)][e.index] for e in node.inputs]
        for position, entry in enumerate(node.inputs):
            part = _backward_stype(node, position, inputs, forward[id(node)], grads)
            parts.setdefault((id(entry.node), entry.index), []).append(part)
    return found


def _summed(parts: Sequence[str]) -> str:
    """Several gradients of one array are added up: only row_sparse ones stay sparse."""
    if len(parts) == 1:
        return parts[0]
    return R if parts and all(p == R for p in parts) else D


# the gradient is the head gradient, times a constant
_THROUGH = {
    "_mul_scalar", "_div_scalar", "elemwise_add", "elemwise_sub", "add_n", "_grad_add", "cast_storage", "_plus_scalar", "_minus_scalar",
    "_scatter_plus_scalar", "_scatter_minus_scalar", "_copy", "negative", "_contrib_gradientmultiplier", "_contrib_round_ste",
    "_contrib_sign_ste",
}  # fmt: skip
# the gradient is a product with a function of the input that is sparse itself
_PRODUCT = {"abs", "relu", "sign", "square"}


def _backward_stype(node: Node, position: int, inputs: Sequence[str], outputs: Sequence[str], grads: Sequence[str]) -> str:
    """The storage type of the gradient that flows from a node into one of its inputs."""
    assert node.op is not None
    name, a = node.op.name, node.params
    if name in _THROUGH:
        return grads[0]
    if node.op.grad is Grad.ZERO:
        return inputs[position]
    if name in _PRODUCT:
        return grads[0] if grads[0] == inputs[0] else D
    if name in ("Embedding", "_contrib_SparseEmbedding"):
        return R if position == 1 and (a.get("sparse_grad") or name == "_contrib_SparseEmbedding") else D
    if name == "dot":
        from_csr = inputs[0] == C and grads[0] == D
        return R if position == 1 and from_csr and not a.transpose_a and not a.transpose_b else D
    if name in ("_square_sum", "_sparse_retain"):
        return R if position == 0 else D
    return inputs[1] if name == "_identity_with_attr_like_rhs" else D
