"""Batches of decoded records: which records a batch holds (`Feed`) and the threads that decode them ahead of time (`RecordLoader`)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from ..errors import MXNetError
from ..ndarray.core import wrap
from .random_engine import Engine
from .record_source import Record

__all__ = ["Decoder", "Entry", "Feed", "RecordLoader", "Source", "engines"]

Array = np.ndarray[Any, Any]


class Source(Protocol):
    """Records in chunks."""

    def before_first(self) -> None:
        """Starts a pass."""

    def next_chunk(self, count: int) -> list[Record] | None:
        """The next records, None at the end."""


class Entry(NamedTuple):
    """A record of a batch; `number` is its place in the chunk that it was read with, which `seed_aug` counts from."""

    record: Record
    number: int


class Feed:
    """Batches of entries. The last batch of a pass is filled from the next pass (round), which then goes on behind these, or stays short.

    order: shuffles the records of each chunk.
    """

    def __init__(self, source: Source, batch_size: int, fill: bool, order: Engine | None) -> None:
        self._source, self._size, self._fill, self._order = source, batch_size, fill, order
        self._waiting: deque[Entry] = deque()
        self._overflow = False

    def before_first(self, unfinished: bool = False) -> None:
        """Starts a pass, behind the records that filled the last batch when there were any; after an unfinished pass, from the start."""
        goes_on, self._overflow = self._overflow and not unfinished, False
        if not goes_on:
            self._waiting.clear()
            self._source.before_first()

    def next_batch(self) -> list[Entry] | None:
        """The next entries, fewer than a batch only in the last batch without filling; None at the end.

        Errors: MXNetError when there are fewer records than a batch needs.
        """
        if self._overflow:
            return None
        batch: list[Entry] = []
        self.pad = 0
        while len(batch) < self._size:
            if not self._waiting and not self._read(len(batch)):
                if self._overflow:
                    raise MXNetError("number of input images must be bigger than the batch size")
                if not batch:
                    return None
                self.pad = self._size - len(batch)
                if not self._fill:
                    break
                self._overflow = True
                self._source.before_first()
                continue
            while self._waiting and len(batch) < self._size:
                batch.append(self._waiting.popleft())
        return batch

    def _read(self, filled: int) -> bool:
        chunk = self._source.next_chunk(self._size)
        if chunk is None:
            return False
        first = filled if self._order is None else self._size
        entries = [Entry(record, first + i) for i, record in enumerate(chunk)]
        if self._order is not None:
            self._order.shuffle(entries)
        self._waiting.extend(entries)
        return True


class Decoder(Protocol):
    """Makes data and label of one record."""

    data_type: Any

    @property
    def data_shape(self) -> tuple[int, ...]:
        """The shape of an image."""

    @property
    def label_shape(self) -> tuple[int, ...]:
        """The shape of an image's labels."""

    def __call__(self, entry: Entry, engine: Engine | None, data: Array, label: Array) -> int:
        """Fills the arrays and returns the image's number."""


def engines(threads: int, magic: int, seed: int | None, ordered: bool) -> Callable[[Entry, int], Engine]:
    """A function that gives the generator for an entry, the `count`-th since the start.

    One for all where one thread decodes in order, as MXNet has; one for each entry with a seed; else one for each count.
    """
    if seed is not None:
        return lambda entry, count: Engine(entry.number + seed + magic)
    if threads == 1 and ordered:
        common = Engine(magic)
        return lambda entry, count: common
    return lambda entry, count: Engine(magic + 0x9E3779B1 * (count + 1))


class _Batch:
    """The arrays of a batch and the work that fills them."""

    def __init__(self, decoder: Decoder, size: int, pad: int) -> None:
        self.data = np.empty((size, *decoder.data_shape), decoder.data_type)
        self.label = np.zeros((size, *decoder.label_shape), np.float32)
        self.index = np.zeros(size, np.uint64)
        self.pad = pad
        self.work: list[Future[None]] = []


def _fill(decoder: Decoder, batch: _Batch, places: list[tuple[int, Entry, int]], engine_of: Callable[[Entry, int], Engine] | None) -> None:
    for place, entry, count in places:
        engine = None if engine_of is None else engine_of(entry, count)
        batch.index[place] = decoder(entry, engine, batch.data[place], batch.label[place])


class RecordLoader:
    """What `MXDataIter` reads from. Up to `ahead` batches are decoded by `threads` threads while the current one is in use."""

    def __init__(
        self, feed: Feed, decoder: Decoder, batch_size: int, threads: int, ahead: int, engine_of: Callable[[Entry, int], Engine] | None
    ) -> None:
        self._feed, self._decoder, self._size, self._ahead, self._engine_of = feed, decoder, batch_size, ahead, engine_of
        self._threads = min(threads, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="decode")
        self._queue: deque[_Batch] = deque()
        self._count = 0
        self.data: Any = None
        self.label: Any = None
        self.index: Any = None
        self.pad = 0

    def before_first(self) -> None:
        """Starts a pass; batches decoded ahead are thrown away."""
        unfinished = bool(self._queue)
        self._drop()
        self._feed.before_first(unfinished)

    def _drop(self) -> None:
        waiting = [future for batch in self._queue for future in batch.work if not future.cancel()]
        for future in waiting:
            future.exception()  # the records they read must not be closed under them
        self._queue.clear()

    def __del__(self) -> None:
        pool = getattr(self, "_pool", None)
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def _start(self) -> bool:
        entries = self._feed.next_batch()
        if entries is None:
            return False
        batch = _Batch(self._decoder, self._size, self._feed.pad)
        if len(entries) < self._size:
            batch.data[len(entries) :] = 0
        places = [(i, entry, self._count + i) for i, entry in enumerate(entries)]
        self._count += len(entries)
        shares = [places[i :: self._threads] for i in range(self._threads)]
        batch.work = [self._pool.submit(_fill, self._decoder, batch, share, self._engine_of) for share in shares if share]
        self._queue.append(batch)
        return True

    def advance(self) -> bool:
        """Waits for the next batch; False at the end. Errors: what decoding it raised."""
        while len(self._queue) <= self._ahead and self._start():
            pass
        if not self._queue:
            return False
        batch = self._queue.popleft()
        for future in batch.work:
            future.result()
        label = batch.label[:, 0] if self._decoder.label_shape == (1,) else batch.label
        self.data, self.label = wrap(torch.from_numpy(batch.data)), wrap(torch.from_numpy(label).contiguous())
        self.index, self.pad = batch.index, batch.pad
        return True
