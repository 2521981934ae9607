"""Samplers: orders in which samples of a dataset are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["BatchSampler", "FilterSampler", "RandomSampler", "Sampler", "SequentialSampler"]


class Sampler:
    """Base class: iterates over indices."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


class SequentialSampler(Sampler):
    """start, start + 1, ... : `length` indices."""

    def __init__(self, length: int, start: int = 0) -> None:
        self._length, self._start = length, start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """All indices below `length` in an order that NumPy's generator draws each time."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[Any]:
        indices = np.arange(self._length)
        np.random.shuffle(indices)
        return iter(indices)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The indices of samples for which `fn(sample)` holds."""

    def __init__(self, fn: Callable[[Any], Any], dataset: Any) -> None:
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Lists of `batch_size` indices. last_batch: a shorter rest is kept ('keep'), left out ('discard') or begins the next pass ('rollover')."""

    def __init__(self, sampler: Sampler, batch_size: int, last_batch: str = "keep") -> None:
        self._sampler, self._batch_size, self._last_batch = sampler, batch_size, last_batch
        self._prev: list[Any] = []

    def _unknown(self) -> ValueError:
        return ValueError(f"last_batch must be one of 'keep', 'discard', or 'rollover', but got {self._last_batch}")

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._prev = self._prev, []
        for index in self._sampler:
            batch.append(index)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if not batch:
            return
        if self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._prev = batch
        elif self._last_batch != "discard":
            raise self._unknown()

    def __len__(self) -> int:
        count, size = len(self._sampler), self._batch_size
        if self._last_batch == "keep":
            return -(-count // size)
        if self._last_batch == "discard":
            return count // size
        if self._last_batch == "rollover":
            return (count + len(self._prev)) // size
        raise self._unknown()
