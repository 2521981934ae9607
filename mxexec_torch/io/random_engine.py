"""The random numbers of MXNet's C++ iterators: std::mt19937 and the distributions of GNU's C++ library 4.8, draw for draw.

With them a seed gives the order of images, the crops and the colours here that it gives in MXNet (with one decoding thread; with more,
MXNet's own are not reproducible).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["Engine"]

_WORDS = 1 << 32
_F32 = np.float32


class Engine:
    """A 32-bit Mersenne Twister."""

    def __init__(self, seed: int) -> None:
        self._source = np.random.RandomState(seed % _WORDS)
        self._words: list[int] = []

    def word(self) -> int:
        """The next 32 bits."""
        if not self._words:
            self._words = self._source.randint(0, _WORDS, size=32, dtype=np.uint32).tolist()[::-1]
        return self._words.pop()

    def integer(self, least: int, most: int) -> int:
        """uniform_int_distribution: least to most, both included. Equal ends draw a word too."""
        count = most - least + 1
        scaling = (_WORDS - 1) // count
        while True:
            drawn = self.word()
            if drawn < count * scaling:
                return least + drawn // scaling

    def share(self) -> float:
        """A float32 in [0, 1]."""
        return float(_F32(self.word())) / _WORDS

    def real(self, least: float, most: float) -> float:
        """uniform_real_distribution<float>."""
        low = _F32(least)
        return float(_F32(self.share()) * (_F32(most) - low) + low)

    def coin(self) -> bool:
        """bernoulli_distribution with one half."""
        low, high = self.word(), self.word()
        return (low + high * _WORDS) / (_WORDS * _WORDS) < 0.5

    def normals(self, deviation: float, count: int) -> list[float]:
        """`count` draws of one normal_distribution<float> around 0."""
        drawn: list[float] = []
        while len(drawn) < count:
            x = 2 * self.share() - 1
            y = 2 * self.share() - 1
            square = x * x + y * y
            if 0 < square <= 1:
                factor = math.sqrt(-2 * math.log(square) / square)
                drawn += [y * factor * deviation, x * factor * deviation]
        return drawn[:count]

    def shuffle(self, items: list[Any]) -> None:
        """std::shuffle, in place."""
        for i in range(1, len(items)):
            j = self.integer(0, i)
            items[i], items[j] = items[j], items[i]
