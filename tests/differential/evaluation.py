"""What is observable of a planned graph. NumPy only: the interpreter that has MXNet 1.9.1 reads this too."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Plan", "evaluate"]

Plan = list[tuple[str, dict[str, Any], list[int]]]  # operator, attributes, the earlier values it reads; 0 to 2 are variables
SHAPE = (2, 3)


def evaluate(mx: Any, plan: Plan) -> dict[str, Any]:
    """Everything observable of the graph: names, JSON and its round trip, shapes, outputs and gradients."""
    with mx.name.NameManager():
        values = [mx.sym.Variable(f"v{i}") for i in range(3)]
        for name, attrs, reads in plan:
            space = mx.sym if hasattr(mx.sym, name) else mx.sym._internal
            values.append(getattr(space, name)(*[values[i] for i in reads], **attrs))
    used = {i for _, _, reads in plan for i in reads}
    heads = [v for i, v in enumerate(values) if i >= 3 and i not in used]
    net = mx.sym.Group(heads)
    text = net.tojson()
    shapes = {n: SHAPE for n in ("v0", "v1", "v2") if n in net.list_arguments()}
    found: dict[str, Any] = {
        "json": text, "again": mx.sym.load_json(text).tojson(), "arguments": net.list_arguments(), "outputs": net.list_outputs(),
        "internals": net.get_internals().list_outputs(), "shapes": [[list(s) for s in part] for part in net.infer_shape(**shapes)],
    }  # fmt: skip
    exe = net.simple_bind(mx.cpu(), grad_req="write", **shapes)
    rng = np.random.RandomState(len(plan))
    for name in found["arguments"]:
        array = exe.arg_dict[name]
        array[:] = mx.nd.array(rng.uniform(-1, 1, array.shape))
    exe.forward(is_train=True)
    mx.nd.waitall()
    found["values"] = [o.asnumpy() for o in exe.outputs]
    exe.backward([mx.nd.array(rng.uniform(-1, 1, o.shape)) for o in exe.outputs])
    mx.nd.waitall()
    found["gradients"] = {n: exe.grad_dict[n].asnumpy() for n in found["arguments"]}
    return found
