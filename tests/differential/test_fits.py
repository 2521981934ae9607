"""Training against MXNet 1.9.1 at the same moment: fifty steps of five networks with every optimizer, checkpoints in both directions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx

from .. import fits
from ..oracle import Oracle

here: Callable[..., Any] = partial(fits.run_here, mx)
RESUMED = [
    *(("mlp", kind) for kind in fits.OPTIMIZERS if kind not in ("dcasgd", "lbsgd", "nadam")),  # these keep more than their states
    *(("lenet", kind) for kind in ("sgd", "adam", "rmsprop_centered")), *(("lstm", kind) for kind in ("sgd", "adam", "ftrl")),
    *(("factors", kind) for kind in ("sgd", "adam")),
]  # fmt: skip


@pytest.mark.parametrize("kind", fits.OPTIMIZERS)
@pytest.mark.parametrize("net", fits.NETS)
def test_fifty_steps(oracle: Oracle, net: str, kind: str) -> None:
    found = fits.deviation(here(fits.trained, net, kind), oracle.call(fits.trained, net, kind))
    assert fits.agree(found) or fits.parting(net, kind, here, oracle.call), found


@pytest.mark.parametrize("mxnet_first", [True, False])
@pytest.mark.parametrize("net, kind", RESUMED)
def test_checkpoints_go_on_in_the_other(oracle: Oracle, tmp_path: Path, net: str, kind: str, mxnet_first: bool) -> None:
    """One engine trains two epochs and saves; both go on from its files to the same numbers."""
    prefix = str(tmp_path / "half")
    (oracle.call if mxnet_first else here)(fits.trained, net, kind, 1, 0, 2, prefix)
    ours, theirs = (engine(fits.trained, net, kind, 1, 2, fits.EPOCHS, prefix) for engine in (here, oracle.call))
    found = fits.deviation(ours, theirs)
    assert fits.agree(found), found


@pytest.mark.filterwarnings("ignore:.*FeedForward:DeprecationWarning")
@pytest.mark.parametrize("mxnet_first", [True, False])
def test_feed_forward_goes_on_in_the_other(oracle: Oracle, tmp_path: Path, mxnet_first: bool) -> None:
    prefix = str(tmp_path / "half")
    first, second = (oracle.call, here) if mxnet_first else (here, oracle.call)
    began = [first(fits.feed_forward, prefix, 0, 2), second(fits.feed_forward, str(tmp_path / "other"), 0, 2)]
    went_on = [engine(fits.feed_forward, prefix, 2, 4) for engine in (first, second)]
    for ours, theirs in (began, went_on):
        for key, value in theirs.items():
            np.testing.assert_allclose(ours[key], value, rtol=0, atol=1e-3 * np.abs(value).max(), err_msg=key)
