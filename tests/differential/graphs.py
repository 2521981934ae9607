"""Random graphs of classic operators that keep a shape: elementwise, scalar, broadcasting, layers, reductions with kept axes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .evaluation import Plan

__all__ = ["plans"]

SMOOTH = ("sigmoid", "tanh", "softsign", "relu", "sin", "cos", "arctan", "erf", "square", "negative", "abs", "identity", "_copy", "BlockGrad")
PAIRS = ("elemwise_add", "elemwise_sub", "elemwise_mul", "_maximum", "_minimum", "broadcast_add", "broadcast_mul", "broadcast_maximum")
# Without clip, reverse and make_loss: MXNet loses the other contributions where their gradient is added to one (they ignore kAddTo).
SHAPED: list[tuple[str, dict[str, Any]]] = [
    ("FullyConnected", {"num_hidden": 3}), ("softmax", {"axis": -1}), ("Activation", {"act_type": "softrelu"}),
    ("LeakyReLU", {"act_type": "elu", "slope": 0.3}), ("_plus_scalar", {"scalar": 0.5}), ("_mul_scalar", {"scalar": -0.7}), ("LayerNorm", {}),
    ("smooth_l1", {"scalar": 1.0}), ("Flatten", {}), ("Reshape", {"shape": (0, -1)}), ("log_softmax", {}),
]  # fmt: skip


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A graph of 5 to 40 nodes as a plan both engines can follow."""
    size = draw(st.integers(5, 40))
    plan: Plan = []
    for _ in range(size):
        past = st.integers(0, len(plan) + 2)
        kind = draw(st.integers(0, 2))
        if kind == 0:
            plan.append((draw(st.sampled_from(SMOOTH)), {}, [draw(past)]))
        elif kind == 1:
            plan.append((draw(st.sampled_from(PAIRS)), {}, [draw(past), draw(past)]))
        else:
            name, attrs = draw(st.sampled_from(SHAPED))
            plan.append((name, attrs, [draw(past)]))
    return plan
