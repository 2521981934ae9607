"""Sentences: words as numbers, and batches of sentences of similar length."""

from __future__ import annotations

import bisect
import random
from typing import Any

import numpy as np

from .. import ndarray
from ..io import DataBatch, DataDesc, DataIter

__all__ = ["BucketSentenceIter", "encode_sentences"]


def encode_sentences(
    sentences: Any, vocab: dict[Any, int] | None = None, invalid_label: int = -1, invalid_key: str = "\n", start_label: int = 0,
    unknown_token: Any = None,
) -> tuple[list[list[int]], dict[Any, int]]:  # fmt: skip
    """(sentences as lists of numbers, vocabulary). Without a vocabulary a new one is made, from start_label on, without invalid_label.

    With a vocabulary, unknown words count as unknown_token. Errors: AssertionError for unknown words without it.
    """
    extend = vocab is None
    known: dict[Any, int] = {invalid_key: invalid_label} if vocab is None else vocab
    following = start_label
    result = []
    for sentence in sentences:
        codes = []
        for word in sentence:
            if word not in known:
                assert extend or unknown_token, f"Unknown token {word}"
                following += following == invalid_label
                word = unknown_token or word
                known[word] = following
                following += 1
            codes.append(known[word])
        result.append(codes)
    return result, known


class BucketSentenceIter(DataIter):
    """Batches of encoded sentences; each bucket is a length to which shorter sentences are filled with invalid_label.

    The label is the next word. buckets: default all lengths that fill a batch. layout: 'NT' or 'TN'. Longer sentences are dropped.
    """

    def __init__(
        self, sentences: Any, batch_size: int, buckets: list[int] | None = None, invalid_label: int = -1, data_name: str = "data",
        label_name: str = "softmax_label", dtype: Any = "float32", layout: str = "NT",
    ) -> None:  # fmt: skip
        super().__init__(batch_size)
        if not buckets:
            buckets = [length for length, count in enumerate(np.bincount([len(s) for s in sentences])) if count >= batch_size]
        buckets.sort()
        rows: list[list[Any]] = [[] for _ in buckets]
        dropped = 0
        for sentence in sentences:
            place = bisect.bisect_left(buckets, len(sentence))
            if place == len(buckets):
                dropped += 1
                continue
            row = np.full((buckets[place],), invalid_label, dtype=dtype)
            row[: len(sentence)] = sentence
            rows[place].append(row)
        print(f"WARNING: discarded {dropped} sentences longer than the largest bucket.")
        self.buckets = [length for length, own in zip(buckets, rows, strict=True) if own]
        self.data = [np.asarray(own, dtype=dtype) for own in rows if own]
        self.data_name = data_name
        self.label_name = label_name
        self.dtype = dtype
        self.invalid_label = invalid_label
        self.nddata: list[Any] = []
        self.ndlabel: list[Any] = []
        self.layout = layout
        self.major_axis = layout.find("N")
        if self.major_axis not in (0, 1):
            raise ValueError(f"Invalid layout {layout}: Must by NT (batch major) or TN (time major)")
        self.default_bucket_key = max(self.buckets)
        shape = (batch_size, self.default_bucket_key) if self.major_axis == 0 else (self.default_bucket_key, batch_size)
        self.provide_data = [DataDesc(name=data_name, shape=shape, layout=layout)]
        self.provide_label = [DataDesc(name=label_name, shape=shape, layout=layout)]
        self.idx = [(i, j) for i, own in enumerate(self.data) for j in range(0, len(own) - batch_size + 1, batch_size)]
        self.curr_idx = 0
        self.reset()

    def reset(self) -> None:
        """Shuffles batches (Python's generator) and sentences within buckets (NumPy's)."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata, self.ndlabel = [], []
        for own in self.data:
            np.random.shuffle(own)  # noqa: NPY002 - legacy scripts seed NumPy's global generator
            label = np.full_like(own, self.invalid_label)
            label[:, :-1] = own[:, 1:]
            self.nddata.append(ndarray.array(own, dtype=self.dtype))
            self.ndlabel.append(ndarray.array(label, dtype=self.dtype))

    def next(self) -> DataBatch:
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, begin = self.idx[self.curr_idx]
        self.curr_idx += 1
        data, label = (arrays[bucket][begin : begin + self.batch_size] for arrays in (self.nddata, self.ndlabel))
        if self.major_axis == 1:
            data, label = data.T, label.T
        return DataBatch(
            [data], [label], pad=0, bucket_key=self.buckets[bucket],
            provide_data=[DataDesc(name=self.data_name, shape=data.shape, layout=self.layout)],
            provide_label=[DataDesc(name=self.label_name, shape=label.shape, layout=self.layout)],
        )  # fmt: skip
