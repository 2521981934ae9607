"""Where the record iterators get their records from: a part of a .rec file in chunks, or records named by an index.

Parts, chunks and orders are dmlc-core's (input_split_base.cc, indexed_recordio_split.cc, input_split_shuffle.h), so that a seed and a part
number mean the same images here. Files are mapped into memory: a record is read when it is decoded, in the thread that does.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

from ..errors import FileFormatError, MXNetError
from ..recordio import _MAGIC_BYTES, decode_head, local_path
from .random_engine import Engine

__all__ = ["ChunkSource", "IndexedSource", "Record", "RecordFile", "ShuffledSource"]

Record = memoryview | bytes
_CHUNK = 64 << 20
_ALIGN = 4
_INDEXED_SEED, _SHUFFLE_SEED = 111, 666


class RecordFile:
    """A mapped .rec file."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with open(local_path(path), "rb") as file:
                self.size = os.fstat(file.fileno()).st_size
                self._map: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self.size else b""
        except OSError as error:
            raise MXNetError(f"cannot open the record file {path}: {error.strerror}") from None
        self.bytes = memoryview(self._map)

    def _head(self, at: int) -> tuple[int, int]:
        return decode_head(self.bytes[at : at + 8], lambda: f"{self.path} at byte {at}")

    def read(self, at: int) -> tuple[Record, int]:
        """The record at a byte, and where the next one starts. Errors: FileFormatError."""
        pieces: list[memoryview] = []
        while True:
            part, length = self._head(at)
            end = at + 8 + length
            if end > self.size:
                raise FileFormatError(f"Invalid RecordIO File: {self.path} at byte {at}: a record of {length} bytes, but the file ends before")
            if (part in (0, 1)) == bool(pieces):
                raise FileFormatError(f"Invalid RecordIO File: {self.path} at byte {at}: part {part} of a record does not belong here")
            pieces.append(self.bytes[at + 8 : end])
            at = end + -length % _ALIGN
            if part in (0, 3):
                return (pieces[0] if len(pieces) == 1 else _MAGIC_BYTES.join(pieces)), at

    def start_at_or_after(self, at: int) -> int:
        """The first byte from there on at which a record starts; the file's size when there is none."""
        while at + 8 <= self.size:
            found: int = self._map.find(_MAGIC_BYTES, at)
            if found < 0:
                break
            if found % _ALIGN == 0 and found + 8 <= self.size and self.bytes[found + 7] >> 5 in (0, 1):
                return found
            at = found + 1
        return self.size


class ChunkSource:
    """The part of a file between two bytes, in chunks of up to 64 MiB. Parts are equal in bytes."""

    def __init__(self, file: RecordFile, part: int, parts: int, chunk: int = _CHUNK) -> None:
        self._file, self._chunk = file, chunk
        step = -(-file.size // parts)
        step += -step % _ALIGN
        begin, end = (min(step * i, file.size) for i in (part, part + 1))
        self.begin, self.end = (self._file.start_at_or_after(at) if begin < end else begin for at in (begin, end))
        self._at = self.begin

    def before_first(self) -> None:
        """Back to the first chunk."""
        self._at = self.begin

    def next_chunk(self, count: int) -> list[Record] | None:
        """The next records, None at the end; `count` is of no meaning here."""
        if self._at >= self.end:
            return None
        start = self._at
        records: list[Record] = []
        whole = self.end - start < self._chunk
        while self._at < self.end:
            record, following = self._file.read(self._at)
            if not whole and records and following > start + self._chunk - 8:
                break  # the chunk ends before the last record that starts in its 64 MiB
            records.append(record)
            self._at = following
        return records


class IndexedSource:
    """The records that an index names, `count` at a time, shuffled anew for each pass when asked. Parts are equal in records."""

    def __init__(self, file: RecordFile, index_path: str, part: int, parts: int, shuffle: bool, seed: int) -> None:
        self._file, self._shuffle = file, shuffle
        starts = sorted(_index(index_path))
        step = -(-len(starts) // parts)
        self._starts = starts[step * part : step * (part + 1)]
        self._engine = Engine(_INDEXED_SEED + seed)
        self._order: list[int] = []
        self._next = 0
        self._owed = 0  # what a short chunk at the end of a pass lacked: the next pass starts with a chunk of so many
        self.before_first()

    def before_first(self) -> None:
        """Starts a pass, in a new order when shuffling."""
        self._order = list(range(len(self._starts)))
        if self._shuffle:
            self._engine.shuffle(self._order)
        self._next = 0

    def next_chunk(self, count: int) -> list[Record] | None:
        """The next `count` records, fewer at the end, then None."""
        wanted = self._owed or count
        chosen = self._order[self._next : self._next + wanted]
        self._next += len(chosen)
        self._owed = wanted - len(chosen)
        return [self._file.read(self._starts[i])[0] for i in chosen] or None


def _index(path: str) -> list[int]:
    try:
        with open(local_path(path), encoding="utf-8") as file:
            return [int(line.split()[1]) for line in file if line.strip()]
    except OSError as error:
        raise MXNetError(f"cannot open the index file {path}: {error.strerror}") from None
    except (IndexError, ValueError):
        raise FileFormatError(f"{path}: expected a key and a position in each line") from None


class ShuffledSource:
    """A part of a file cut into smaller parts that are read in a new random order in each pass."""

    def __init__(self, file: RecordFile, part: int, parts: int, pieces: int, seed: int, chunk: int) -> None:
        self._engine = Engine(_SHUFFLE_SEED + part + parts + pieces + seed)
        self._sources = [ChunkSource(file, part * pieces + i, parts * pieces, chunk) for i in range(pieces)]
        self._order = list(range(pieces))
        self._engine.shuffle(self._order)
        self._current = 0

    def before_first(self) -> None:
        """Starts a pass, in a new order."""
        self._engine.shuffle(self._order)
        self._current = 0
        for source in self._sources:
            source.before_first()

    def next_chunk(self, count: int) -> list[Record] | None:
        """The next records, None at the end."""
        while self._current < len(self._order):
            records = self._sources[self._order[self._current]].next_chunk(count)
            if records is not None:
                return records
            self._current += 1
        return None
