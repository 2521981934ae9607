"""Loops, branches and operators written in Python, built through their public functions."""

from typing import Any

from ..case import Case, normal, ones, values, zeros


def _cumulate(mx: Any, f: Any, given: dict[str, Any]) -> Any:
    outputs, states = f.contrib.foreach(lambda x, s: (f.tanh(x * given["weight"]) + s, s * 0.5 + x), given["data"], given["state"])
    return [outputs, states]


def _pairs(mx: Any, f: Any, given: dict[str, Any]) -> Any:
    def step(xs: Any, states: Any) -> Any:
        return [xs[0] + states[0], xs[1] * states[1]], [states[0] + xs[0], f.sigmoid(states[1])]

    outputs, states = f.contrib.foreach(step, [given["a"], given["b"]], [given["s"], given["t"]])
    return [*outputs, *states]


def _nested(mx: Any, f: Any, given: dict[str, Any]) -> Any:
    def outer(row: Any, state: Any) -> Any:
        inner, last = f.contrib.foreach(lambda x, s: (x * s, s + x), row, state)
        return f.sum(inner, axis=0), last

    outputs, states = f.contrib.foreach(outer, given["data"], given["state"])
    return [outputs, states]


def _double(mx: Any, f: Any, given: dict[str, Any]) -> Any:
    outputs, states = f.contrib.while_loop(
        cond=lambda i, x: i < given["count"], func=lambda i, x: (x * given["weight"], (i + 1, x * given["weight"])),
        loop_vars=(given["i"], given["x"]), max_iterations=5)  # fmt: skip
    return [f.slice_axis(outputs if not isinstance(outputs, list) else outputs[0], axis=0, begin=0, end=3), states[1]]


def _branch(mx: Any, f: Any, given: dict[str, Any]) -> Any:
    return f.contrib.cond(given["which"] > 0, lambda: given["a"] * given["b"], lambda: given["a"] + given["b"] * 2)


def _scale(mx: Any, f: Any, given: dict[str, Any]) -> Any:
    class Scale(mx.operator.CustomOp):  # type: ignore[misc]
        def __init__(self, factor: float) -> None:
            super().__init__()
            self.factor = factor

        def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            aux[0][:] = aux[0] + 1
            self.assign(out_data[0], req[0], in_data[0] * self.factor + is_train)
            self.assign(out_data[1], req[1], in_data[1] * in_data[1])

        def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
            self.assign(in_grad[0], req[0], out_grad[0] * self.factor)
            self.assign(in_grad[1], req[1], 2 * out_grad[1] * in_data[1])

    class ScaleProp(mx.operator.CustomOpProp):  # type: ignore[misc]
        def __init__(self, factor: str) -> None:
            super().__init__(need_top_grad=True)
            self.factor = float(factor)

        def list_arguments(self) -> list[str]:
            return ["data", "side"]

        def list_outputs(self) -> list[str]:
            return ["scaled", "square"]

        def list_auxiliary_states(self) -> list[str]:
            return ["calls"]

        def infer_shape(self, in_shape: Any) -> Any:
            return in_shape, [in_shape[0], in_shape[1]], [(1,)]

        def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
            return Scale(self.factor)

    mx.operator.register("opdb_scale")(ScaleProp)
    return f.Custom(given["data"], given["side"], given["calls"], op_type="opdb_scale", factor=2.5)


def _case(op: str, label: str, build: Any, **inputs: Any) -> Case:
    return Case(op, label, inputs=inputs, build=build)


CASES = [
    _case("_foreach", "one", _cumulate, data=normal(4, 2, 3), weight=normal(2, 3), state=normal(2, 3)),
    _case("_foreach", "two", _pairs, a=normal(3, 2), b=normal(3, 2), s=normal(2), t=normal(2)),
    _case("_foreach", "nested", _nested, data=normal(2, 3, 4), state=normal(4)),
    Case("_while_loop", inputs=dict(i=zeros(1), count=values([3.0]), x=normal(2, 3), weight=normal(2, 3)), build=_double, grad=("x", "weight"), paths=("nd",)),
    # MXNet cannot infer the shape of a bound `_cond` or `_while_loop`: the imperative forms are compared.
    *[Case("_cond", label, inputs=dict(which=which, a=normal(2, 3), b=normal(2, 3)), build=_branch, grad=("a", "b"), paths=("nd",)) for label, which in (
        ("then", ones(1)), ("otherwise", zeros(1)))],
    Case("Custom", inputs=dict(data=normal(2, 3), side=normal(4), calls=zeros(1)), build=_scale, grad=("data", "side")),
    Case("Custom", "add", inputs=dict(data=normal(2, 3), side=normal(4), calls=zeros(1)), build=_scale, grad=("data", "side"), req="add"),
]  # fmt: skip
