"""Gluon against what MXNet 1.9.1 gave (data/gluon.npz, recorded by tests/record_gluon.py)."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import mxexec_torch as mx

from . import gluon_cases as cases
from .oracle import ROOT

BOTH = pytest.mark.parametrize("hybridize", [False, True], ids=["imperative", "hybridized"])


@functools.cache
def recorded(kind: str, name: str) -> dict[str, np.ndarray]:
    with np.load(ROOT / "tests" / "data" / "gluon.npz") as stored:
        return {key.split("|")[2]: stored[key] for key in stored.files if key.split("|")[:2] == [kind, name]}


def close(here: dict[str, np.ndarray], there: dict[str, np.ndarray]) -> None:
    assert set(here) == set(there)
    for key, value in there.items():
        np.testing.assert_allclose(here[key], value, rtol=1e-4, atol=2e-5, err_msg=key)  # float32 sums in another order


@BOTH
@pytest.mark.parametrize("name", cases.NETWORKS)
def test_network(name: str, hybridize: bool) -> None:
    """Outputs, all gradients and running statistics agree."""
    close(cases.run(mx, name, hybridize), recorded("run", name))


@BOTH
@pytest.mark.parametrize("kind", cases.TRAINERS)
def test_twenty_steps(kind: str, hybridize: bool) -> None:
    """The losses of all steps and the parameters after them agree."""
    close(cases.train(mx, kind, hybridize), recorded("train", kind))


def files() -> dict[str, bytes]:
    return {name: recorded("file", name)["bytes"].tobytes() for name in cases.FILES}


def test_files_of_mxnet() -> None:
    """Parameters, dictionaries, exports and trainer states that MXNet wrote are read."""
    close(cases.read_back(mx, files()), recorded("read", "files"))


def test_files_are_mxnets() -> None:
    """The same network writes the same symbol and parameter files of the same size and names."""
    here, there = cases.save(mx), files()
    assert here["export-symbol.json"] == there["export-symbol.json"]
    for name in ("parameters", "dictionary", "export-0000.params"):
        ours, theirs = mx.nd.load_frombuffer(here[name]), mx.nd.load_frombuffer(there[name])
        assert len(here[name]) == len(there[name]) and list(ours) == list(theirs)
        for key, array in theirs.items():
            np.testing.assert_allclose(ours[key].asnumpy(), array.asnumpy(), rtol=1e-4, atol=2e-5, err_msg=key)
