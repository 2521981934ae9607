"""Checking that a Gluon block computes the same hybridized and not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import autograd
from ..initializer import Initializer
from ..util import use_np
from .compare import assert_almost_equal

__all__ = ["check_gluon_hybridize_consistency"]


class _Given(Initializer):
    """Initializes parameters with NumPy arrays by name."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__()
        self._values = values

    def _init_weight(self, name: str, arr: Any) -> None:
        arr[()] = self._values[name]


def _run(net: Any, data: Sequence[Any], with_gradients: bool) -> tuple[Any, list[Any]]:
    """The output and the gradients of the inputs, as NumPy arrays."""
    inputs = [x.copy() for x in data]
    if not with_gradients:
        return net(*inputs).asnumpy(), []
    for x in inputs:
        x.attach_grad()
    with autograd.record():
        out = net(*inputs)
    out.backward(out)
    return out.asnumpy(), [x.grad.asnumpy() for x in inputs]


@use_np
def check_gluon_hybridize_consistency(
    net_builder: Callable[..., Any], data_l: Sequence[Any], numpy_func: Callable[..., Any] | None = None, test_grad: bool = True,
    rtol: float = 1e-4, atol: float = 1e-4,
) -> None:  # fmt: skip
    """AssertionError unless a block gives the same output, and gradients, hybridized and not, and the output of `numpy_func`.

    net_builder: makes the block, given `prefix`; the same parameters are put into each. data_l: the inputs.
    """
    first: Any = None
    gradients: list[Any] | None = None
    values: dict[str, Any] | None = None
    for hybridize in (False, True):
        for with_gradients in (False, True) if test_grad else (False,):
            net = net_builder(prefix="net_")
            net.initialize() if values is None else net.initialize(_Given(values))
            if hybridize:
                net.hybridize()
            out, found = _run(net, data_l, with_gradients)
            if values is None:
                values = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
                first = out
            assert_almost_equal(out, first, rtol=rtol, atol=atol)
            if with_gradients:
                gradients = found if gradients is None else gradients
                for got, want in zip(found, gradients, strict=True):
                    assert_almost_equal(got, want, rtol=rtol, atol=atol)
    if numpy_func is not None:
        assert_almost_equal(first, numpy_func(*[x.asnumpy() for x in data_l]), rtol=rtol, atol=atol)
