"""Language modelling data sets, read from local files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .... import base
from .... import ndarray as nd
from ...data import dataset
from ._constants import EOS_TOKEN

__all__ = ["WikiText2", "WikiText103"]


class _WikiText(dataset._DownloadedDataset):
    """Samples of seq_len word numbers and the numbers of the words one further on, from `wiki.<segment>.tokens` in `root`."""

    def __init__(self, root: str, segment: str, vocab: Any, seq_len: int) -> None:
        self._segment, self._vocab, self._seq_len = segment, vocab, seq_len
        self._counter: Any = None
        super().__init__(root, None)

    @property
    def vocabulary(self) -> Any:
        """The vocabulary: the given one, or that of the file."""
        return self._vocab

    @property
    def frequencies(self) -> Any:
        """How often each word occurs."""
        return self._counter

    def _get_data(self) -> None:
        from ....contrib import text

        name = {"train": "train", "validation": "valid", "test": "test"}[self._segment]
        with open(self._file(f"wiki.{name}.tokens"), encoding="utf-8") as file:
            content = file.read()
        self._counter = text.utils.count_tokens_from_str(content)
        if not self._vocab:
            self._vocab = text.vocab.Vocabulary(counter=self._counter, reserved_tokens=[EOS_TOKEN])
        words = [word for line in content.splitlines() if line.strip() for word in [*line.split(), EOS_TOKEN]]
        numbers = np.array(self._vocab.to_indices(words), dtype=np.int32)
        count = (len(numbers) - 1) // self._seq_len * self._seq_len
        self._data, self._label = (nd.array(part[:count], dtype=part.dtype).reshape((-1, self._seq_len)) for part in (numbers, numbers[1:]))


class WikiText2(_WikiText):
    """WikiText-2; segment 'train', 'validation' or 'test'."""

    _namespace = "wikitext-2"

    def __init__(
        self, root: str = os.path.join(base.data_dir(), "datasets", "wikitext-2"), segment: str = "train", vocab: Any = None, seq_len: int = 35
    ) -> None:
        super().__init__(root, segment, vocab, seq_len)


class WikiText103(_WikiText):
    """WikiText-103; segment 'train', 'validation' or 'test'."""

    _namespace = "wikitext-103"

    def __init__(
        self, root: str = os.path.join(base.data_dir(), "datasets", "wikitext-103"), segment: str = "train", vocab: Any = None, seq_len: int = 35
    ) -> None:
        super().__init__(root, segment, vocab, seq_len)
