"""The state of torch's random generators, kept to run a random graph again with the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

__all__ = ["replayed", "rng_state"]


def rng_state(devices: Mapping[int, torch.device]) -> Any:
    """The state of the generators that nodes on these devices draw from."""
    cuda = sorted({d.index or 0 for d in devices.values() if d.type == "cuda"})
    return torch.get_rng_state(), [(i, torch.cuda.get_rng_state(i)) for i in cuda]


class replayed:  # noqa: N801 - a context manager, named like a function
    """Runs a block with a saved state of the random generators, then restores the current one."""

    def __init__(self, state: Any, devices: Mapping[int, torch.device]) -> None:
        self._state, self._devices, self._current = state, devices, None

    def __enter__(self) -> None:
        if self._state is not None:
            self._current = rng_state(self._devices)
            _set(self._state)

    def __exit__(self, *exc: object) -> None:
        if self._current is not None:
            _set(self._current)


def _set(state: Any) -> None:
    cpu, cuda = state
    torch.set_rng_state(cpu)
    for index, value in cuda:
        torch.cuda.set_rng_state(value, index)
