"""Tensors made from attributes or from another tensor's shape, copies, mixed precision, and checks over whole arrays."""

from typing import Any

from ..case import Case, integers, normal, positive, values

_RANGES: dict[str, dict[str, Any]] = {
    "steps": dict(start=1, stop=6, step=2), "down": dict(start=5, stop=0, step=-1.5), "one": dict(start=4), "repeated": dict(start=0, stop=3, repeat=2),
    "fractions": dict(start=0, stop=1, step=0.3), "whole": dict(start=0.5, stop=7, step=1.5, dtype="int32"), "half": dict(start=0, stop=5, dtype="float16"),
}  # fmt: skip
_LIKE: dict[str, dict[str, Any]] = {
    "all": {}, "steps": dict(start=1, step=2), "axis": dict(axis=1), "last": dict(axis=-1, step=0.5), "repeated": dict(repeat=2, axis=1),
}  # fmt: skip
_EYES: dict[str, dict[str, Any]] = {"square": dict(N=3), "wide": dict(N=2, M=4, k=1), "below": dict(N=3, k=-1), "outside": dict(N=3, k=5, dtype="int32")}
_CLOSE = dict(a=values([1.0, 2.0, float("nan")]), b=values([1.0, 2.00001, float("nan")]))


def _decided(mx: Any, space: Any, given: dict[str, Any]) -> Any:
    return given["data"] + space._internal._zeros(shape=(0, 3))


def _untyped(mx: Any, space: Any, given: dict[str, Any]) -> Any:
    return space.elemwise_add(given["data"], space._internal._zeros_without_dtype(shape=(2, 3)))


def _inferred_range(mx: Any, space: Any, given: dict[str, Any]) -> Any:
    return space.elemwise_add(given["data"], space._internal._arange(start=2, step=0.5, infer_range=True))


def _filled(mx: Any, space: Any, given: dict[str, Any]) -> Any:
    target = mx.nd.zeros((2, 3))
    return mx.nd._internal._set_value(2.5, out=target)


def _copied(mx: Any, space: Any, given: dict[str, Any]) -> Any:
    target = mx.nd.zeros((2, 3), dtype="float64")
    return mx.nd._internal._copyto(given["data"], out=target)


CASES = [
    *[Case(f"_{name}", dtype, attrs=dict(shape=(2, 3), dtype=dtype)) for name in ("zeros", "ones") for dtype in ("float32", "float16", "int64", "bool")],
    Case("_zeros", "decided_by_use", inputs=dict(data=normal(2, 3)), build=_decided, paths=("sym",)),
    *[Case("_zeros_without_dtype", f"decided_by_use_{t}", inputs=dict(data=normal(2, 3, dtype=t)), build=_untyped, paths=("sym",)) for t in ("float32", "float64")],
    Case("_arange", "decided_by_use", inputs=dict(data=normal(4)), build=_inferred_range, paths=("sym",)),
    *[Case("_arange", label, attrs=attrs) for label, attrs in _RANGES.items()],
    Case("_arange", "empty", attrs=dict(start=5, stop=0), error=True),
    Case("_arange", "no_step", attrs=dict(start=0, stop=5, step=0), error=True),
    *[Case("_linspace", label, attrs=attrs) for label, attrs in {"ends": dict(start=0, stop=1, num=5), "open": dict(start=2, stop=-2, num=4, endpoint=False)}.items()],
    *[Case("_eye", label, attrs=attrs) for label, attrs in _EYES.items()],
    *[Case("_contrib_arange_like", label, inputs=dict(data=normal(2, 6)), attrs=attrs, grad=()) for label, attrs in _LIKE.items()],
    Case("_contrib_arange_like", "wrong_axis", inputs=dict(data=normal(2, 6)), attrs=dict(axis=2), error=True),
    *[Case(name, t, inputs=dict(data=normal(2, 3, dtype=t)), grad=()) for name in ("zeros_like", "ones_like", "shape_array", "size_array") for t in ("float16", "float64")],
    Case("_set_value", build=_filled, paths=("nd",)),
    Case("_copyto", "converts", inputs=dict(data=normal(2, 3)), build=_copied, paths=("nd",), grad=()),
    Case("_identity_with_attr_like_rhs", inputs=dict(lhs=normal(2, 3), rhs=normal(2, 3))),
    Case("_scatter_elemwise_div", inputs=dict(lhs=normal(2, 3), rhs=positive(2, 3))),
    *[Case(f"_scatter_{name}_scalar", inputs=dict(data=normal(2, 3)), attrs=dict(scalar=1.5)) for name in ("plus", "minus")],
    *[Case("amp_cast", f"{a}_to_{b}", inputs=dict(data=normal(2, 3, dtype=a)), attrs=dict(dtype=b), gradcheck="another type") for a, b in (("float32", "float16"), ("float16", "float32"))],
    Case("amp_cast", "integers_stay", inputs=dict(data=integers(2, 3, dtype="int32")), attrs=dict(dtype="float16")),
    *[
        Case("amp_multicast", f"narrow_{narrow}", inputs=dict(a=normal(2, 3, dtype="float16"), b=normal(3)), attrs=dict(num_outputs=2, cast_narrow=narrow), gradcheck="another type")
        for narrow in (False, True)
    ],
    *[Case("_contrib_allclose", f"nan_equal_{equal}", inputs=_CLOSE, attrs=dict(rtol=1e-3, equal_nan=equal), grad=()) for equal in (True, False)],
    Case("multi_lars", inputs=dict(lrs=positive(3), weights_sum_sq=values([1.0, 0.0, 2.0]), grads_sum_sq=values([0.5, 1.0, 0.0]), wds=positive(3)), attrs=dict(eta=0.1, eps=1e-3), grad=()),
    *[Case("broadcast_to", "wrong", inputs=dict(data=normal(2, 3)), attrs=dict(shape=(4, 3)), error=True)],
    Case("broadcast_to", "ranks_differ", inputs=dict(data=normal(3)), attrs=dict(shape=(2, 3)), error=True),
    Case("broadcast_axis", "negative_axis", inputs=dict(data=normal(1, 3)), attrs=dict(axis=-2, size=2), error=True),
    Case("broadcast_like", "some_axes", inputs=dict(lhs=normal(1, 2, 1), rhs=normal(3, 2)), attrs=dict(lhs_axes=(0, -1), rhs_axes=(-1, 0))),
    Case("log_softmax", "no_length", inputs=dict(data=normal(2, 3)), attrs=dict(use_length=True), error=True),
    Case("norm", "order_3", inputs=dict(data=normal(2, 3)), attrs=dict(ord=3), error=True),
    Case("moments", "no_axes", inputs=dict(data=normal(2, 3)), error=True),
]
