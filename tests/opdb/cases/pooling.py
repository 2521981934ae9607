"""Pooling in one to three spatial dimensions, its older form, adaptive pooling."""

from ..case import Case, distinct, normal, positive, values

_SIZES = {1: (7,), 2: (7, 6), 3: (5, 4, 4)}
_WINDOWS = {"k2s2": (2, 2, 0), "k3s2p1": (3, 2, 1), "k2s3p1": (2, 3, 1), "k3s3p2": (3, 3, 2)}


def _pool(kind: str, convention: str, window: str, n: int, label: str = "", **attrs: object) -> Case:
    kernel, stride, pad = _WINDOWS[window]
    given = dict(kernel=(kernel,) * n, stride=(stride,) * n, pad=(pad,) * n, pool_type=kind, pooling_convention=convention, **attrs)
    data = positive(2, 2, *_SIZES[n]) if kind == "lp" else distinct(2, 2, *_SIZES[n])
    return Case("Pooling", f"{kind}_{convention}_{window}_{n}d{label}", inputs=dict(data=data), attrs=given)


CASES = [
    *[_pool(kind, convention, window, n) for kind in ("max", "avg", "sum") for convention in ("valid", "full") for window in _WINDOWS for n in (1, 2)],
    *[_pool(kind, convention, "k3s2p1", 3) for kind in ("max", "avg", "sum") for convention in ("valid", "full")],
    *[_pool("avg", convention, window, 2, "_inside", count_include_pad=False) for convention in ("valid", "full") for window in _WINDOWS],
    *[_pool("lp", "valid", "k3s2p1", n, f"_p{p}", p_value=p) for n in (1, 2, 3) for p in (1, 2, 3)],
    *[
        Case("Pooling", f"{kind}_global_{n}d", inputs=dict(data=distinct(2, 3, *_SIZES[n])), attrs=dict(pool_type=kind, global_pool=True, kernel=(2,) * n))
        for kind in ("max", "avg", "sum") for n in (1, 2, 3)
    ],
    Case("Pooling", "global_no_kernel", inputs=dict(data=distinct(2, 3, 4, 5)), attrs=dict(pool_type="avg", global_pool=True)),
    *[
        Case("Pooling", f"{kind}_{layout}", inputs=dict(data=distinct(2, *_SIZES[n], 3)), attrs=dict(pool_type=kind, kernel=(2,) * n, layout=layout))
        for kind in ("max", "avg") for n, layout in ((1, "NWC"), (2, "NHWC"), (3, "NDHWC"))
    ],
    Case("Pooling", "same", inputs=dict(data=distinct(2, 2, 7)), attrs=dict(kernel=(2,), stride=(2,), pad=(0, 0, 0), pooling_convention="same")),
    Case("Pooling", "ties", inputs=dict(data=values([[[[1.0, 1, 0, 2], [1, 1, 2, 2]]]])), attrs=dict(kernel=(2, 2), stride=(2, 2)), gradcheck="ties"),
    Case(
        "Pooling", "special", inputs=dict(data=values([[[[float("nan"), 1, float("-inf"), 3], [2, float("nan"), 4, float("inf")]]]])),
        attrs=dict(kernel=(2, 2), stride=(2, 2)), grad=(),
    ),
    Case("Pooling", "add", inputs=dict(data=distinct(2, 2, 6, 6)), attrs=dict(kernel=(2, 2), stride=(2, 2)), req="add"),
    Case("Pooling", "float64", inputs=dict(data=distinct(2, 2, 6, 6, dtype="float64")), attrs=dict(kernel=(3, 3), pad=(1, 1))),
    Case("Pooling", "float16", inputs=dict(data=distinct(2, 2, 6, 6, dtype="float16")), attrs=dict(kernel=(2, 2), pool_type="avg")),
    Case("Pooling", "kernel_too_big", inputs=dict(data=normal(1, 1, 3, 3)), attrs=dict(kernel=(4, 4)), error=True),
    Case("Pooling", "zero_stride", inputs=dict(data=normal(1, 1, 3, 3)), attrs=dict(kernel=(2, 2), stride=(0, 1)), error=True),
    Case("Pooling", "rank", inputs=dict(data=normal(3, 3)), attrs=dict(kernel=(2, 2)), error=True),
    Case("Pooling", "lp_without_p", inputs=dict(data=normal(1, 1, 3, 3)), attrs=dict(kernel=(2, 2), pool_type="lp"), error=True),
    *[
        Case("Pooling_v1", f"{kind}_{convention}", inputs=dict(data=distinct(2, 2, 7, 6)), attrs=dict(
            kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type=kind, pooling_convention=convention))
        for kind in ("max", "avg", "sum") for convention in ("valid", "full")
    ],
    Case("Pooling_v1", "global", inputs=dict(data=distinct(2, 2, 4, 5)), attrs=dict(kernel=(2, 2), global_pool=True, pool_type="avg")),
    *[
        Case("_contrib_AdaptiveAvgPooling2D", f"size_{len(size)}_{sum(size)}", inputs=dict(data=normal(2, 3, 5, 7)), attrs=dict(output_size=size))
        for size in ((), (3,), (2, 3), (7, 9))
    ],
]  # fmt: skip
