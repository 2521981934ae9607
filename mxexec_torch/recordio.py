"""RecordIO files: sequential (`MXRecordIO`), indexed (`MXIndexedRecordIO`), and the header that image records start with.

A record is stored as a magic word, a word holding a 3-bit part number and the length, the bytes, and zeros up to a multiple of four. Where
the magic word itself stands at a multiple of four inside a record, the record is cut there, so that a reader can find a start anywhere.
Format: dmlc-core's recordio.h; header: src/io/image_recordio.h. Image bytes are packed with OpenCV, or Pillow where it is missing.
"""

from __future__ import annotations

import numbers
import os
import struct
from collections.abc import Callable
from typing import IO, Any, NamedTuple

import numpy as np

from .base import c_str, check_call
from .errors import FileFormatError, MXNetError

__all__ = ["IRHeader", "MXIndexedRecordIO", "MXRecordIO", "pack", "pack_img", "unpack", "unpack_img"]

MAGIC = 0xCED7230A
_MAGIC_BYTES = struct.pack("<I", MAGIC)
_HEAD = struct.Struct("<II")
_LENGTH_BITS = 29
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)  # the part number of a record in one piece, and of its pieces


def local_path(uri: str) -> str:
    """The path behind a `file://` address or a plain path. Errors: MXNetError for other file systems."""
    if uri.startswith("file://"):
        return uri[len("file://") :]
    if "://" in uri:
        raise MXNetError(f"{uri}: only local files can be opened; copy it to this machine first")
    return uri


def _pieces(buf: bytes) -> list[bytes]:
    """The record cut at each magic word that stands at a multiple of four."""
    pieces, start, found = [], 0, buf.find(_MAGIC_BYTES)
    while found >= 0:
        if found % 4 == 0:
            pieces.append(buf[start:found])
            start = found + 4
            found = buf.find(_MAGIC_BYTES, start)
        else:
            found = buf.find(_MAGIC_BYTES, found + 1)
    return [*pieces, buf[start:]]


def encode_record(buf: bytes) -> bytes:
    """A record as it stands in a file. Errors: MXNetError for 512 MiB and more."""
    if len(buf) >= 1 << _LENGTH_BITS:
        raise MXNetError(f"RecordIO only accept record less than 2^29 bytes, got {len(buf)}")
    pieces = _pieces(buf)
    out = []
    for i, piece in enumerate(pieces):
        part = _WHOLE if len(pieces) == 1 else _FIRST if i == 0 else _LAST if i == len(pieces) - 1 else _MIDDLE
        out += [_HEAD.pack(MAGIC, part << _LENGTH_BITS | len(piece)), piece, bytes(-len(piece) % 4)]
    return b"".join(out)


def decode_head(head: bytes | memoryview, where: Callable[[], str]) -> tuple[int, int]:
    """The part number and length in the eight bytes before a record's bytes. Errors: FileFormatError."""
    if len(head) < _HEAD.size:
        raise FileFormatError(f"Invalid RecordIO File: {where()}: the file ends inside a record's header")
    magic, word = _HEAD.unpack(head)
    if magic != MAGIC:
        raise FileFormatError(f"Invalid RecordIO File: {where()}: expected the magic word {MAGIC:#010x}, got {magic:#010x}")
    return word >> _LENGTH_BITS, word & (1 << _LENGTH_BITS) - 1


class MXRecordIO:
    """A file of records, read ("r") or written ("w", which empties the file) from start to end.

    Pickling keeps the path, not the position; a process forked from the one that opened the file may not use it.
    """

    def __init__(self, uri: str, flag: str) -> None:
        self.uri = uri
        self.flag = flag
        self.handle: IO[Any] | None = None
        self.pid: int | None = None
        self.is_open = False
        self.open()

    def open(self) -> None:
        """Opens the file. Errors: ValueError for another flag, MXNetError when it cannot be opened."""
        if self.flag not in ("r", "w"):
            raise ValueError(f"Invalid flag {self.flag}")
        self.writable = self.flag == "w"
        try:
            self.handle = open(local_path(self.uri), self.flag + "b")  # noqa: SIM115  close() is the user's call
        except OSError as error:
            raise MXNetError(f"cannot open the record file {self.uri}: {error.strerror}") from None
        self.pid = os.getpid()
        self.is_open = True

    def __del__(self) -> None:
        if getattr(self, "is_open", False):
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        was_open = self.is_open
        self.close()
        state = {**self.__dict__, "is_open": was_open}
        del state["handle"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, is_open=False, handle=None)
        if state["is_open"]:
            self.open()

    def _check_pid(self, allow_reset: bool = False) -> None:
        """Errors: RuntimeError in a forked process, whose position in the file the parent's reads would move; or opens it anew."""
        if self.pid != os.getpid():
            if not allow_reset:
                raise RuntimeError("Forbidden operation in multiple processes")
            self.reset()

    def _file(self) -> IO[Any]:
        if self.handle is None:
            raise MXNetError(f"the record file {self.uri} is closed")
        return self.handle

    def close(self) -> None:
        """Closes the file; again is no error."""
        if self.is_open:
            if self.handle is not None:
                self.handle.close()
            self.handle = None
            self.is_open = False
            self.pid = None

    def reset(self) -> None:
        """Back to the first record; a file being written is emptied."""
        self.close()
        self.open()

    def write(self, buf: bytes) -> None:
        """Appends a record."""
        assert self.writable
        self._check_pid(allow_reset=False)
        if not isinstance(buf, (bytes, bytearray)):
            raise TypeError(f"bytes or integer address expected instead of {type(buf).__name__} instance")
        self._file().write(encode_record(bytes(buf)))

    def read(self) -> bytes | None:
        """The next record; None at the end. Errors: FileFormatError (an MXNetError) in a damaged file."""
        assert not self.writable
        self._check_pid(allow_reset=False)
        file = self._file()
        start = 0

        def where() -> str:
            return f"{self.uri} at byte {start}"

        pieces: list[bytes] = []
        while True:
            head = file.read(_HEAD.size)
            if not head and not pieces:
                return None
            start = file.tell() - len(head)
            part, length = decode_head(head, where)
            if (part in (_WHOLE, _FIRST)) == bool(pieces) or part > _LAST:
                raise FileFormatError(f"Invalid RecordIO File: {where()}: part {part} of a record does not belong here")
            padded = length + -length % 4
            body = file.read(padded)
            if len(body) < padded:
                raise FileFormatError(f"Invalid RecordIO File: {where()}: a record of {length} bytes, but the file ends after {len(body)}")
            pieces.append(body[:length])
            if part in (_WHOLE, _LAST):
                return _MAGIC_BYTES.join(pieces)


class MXIndexedRecordIO(MXRecordIO):
    """A file of records with an index file of `key<tab>position` lines, for reading in any order; keys are made with `key_type`."""

    def __init__(self, idx_path: str, uri: str, flag: str, key_type: Callable[[Any], Any] = int) -> None:
        self.idx_path = idx_path
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: Any = None
        super().__init__(uri, flag)

    def open(self) -> None:
        """Opens both files and reads the index. Errors: FileFormatError for an index line that is none."""
        super().open()
        self.idx = {}
        self.keys = []
        self.fidx = open(self.idx_path, self.flag)  # noqa: SIM115  close() is the user's call
        if self.writable:
            return
        for number, line in enumerate(self.fidx, 1):
            try:
                fields = line.strip().split("\t")
                key, position = self.key_type(fields[0]), int(fields[1])
            except (IndexError, ValueError) as error:
                raise FileFormatError(f"{self.idx_path}, line {number}: expected a key, a tab and a position, got {line!r}") from error
            self.idx[key] = position
            self.keys.append(key)

    def close(self) -> None:
        """Closes both files."""
        if self.is_open:
            super().close()
            if self.fidx is not None:
                self.fidx.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "fidx": None}

    def seek(self, idx: Any) -> None:
        """The next read gives the record with this key. Errors: KeyError for an unknown one."""
        assert not self.writable
        self._check_pid(allow_reset=True)
        self._file().seek(self.idx[idx])

    def tell(self) -> int:
        """Where the next record will be written, in bytes."""
        assert self.writable
        return self._file().tell()

    def read_idx(self, idx: Any) -> bytes | None:
        """The record with this key."""
        self.seek(idx)
        return self.read()

    def write_idx(self, idx: Any, buf: bytes) -> None:
        """Appends a record under a key."""
        key = self.key_type(idx)
        position = self.tell()
        self.write(buf)
        self.fidx.write(f"{key}\t{position}\n")
        self.idx[key] = position
        self.keys.append(key)


class IRHeader(NamedTuple):
    """What stands before an image in a record: flag (the number of labels when there are several), label (a number or an array), id, id2."""

    flag: int
    label: Any
    id: int
    id2: int


_IR_FORMAT = "IfQQ"
_IR_SIZE = struct.calcsize(_IR_FORMAT)


def pack(header: IRHeader | tuple[Any, ...], s: bytes) -> bytes:
    """Header and bytes as one record. A label that is an array is stored between them, its length in `flag`."""
    flag, label, *ids = header
    if isinstance(label, numbers.Number):
        return struct.pack(_IR_FORMAT, 0, label, *ids) + s
    labels = np.asarray(label, dtype=np.float32)
    return struct.pack(_IR_FORMAT, labels.size, 0, *ids) + labels.tobytes() + s


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """The header and the bytes of a record. Errors: FileFormatError when it is shorter than its header says."""
    if len(s) < _IR_SIZE:
        raise FileFormatError(f"a record with a header has {_IR_SIZE} bytes or more, got {len(s)}")
    header = IRHeader(*struct.unpack(_IR_FORMAT, s[:_IR_SIZE]))
    s = s[_IR_SIZE:]
    if header.flag > 0:
        if len(s) < header.flag * 4:
            raise FileFormatError(f"the header announces {header.flag} labels, but {len(s)} bytes follow it")
        header = header._replace(label=np.frombuffer(s, np.float32, header.flag))
        s = s[header.flag * 4 :]
    return header, s


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, Any]:
    """The header and the image of a record: uint8, blue first. iscolor: 1 colour, 0 grey, -1 as stored (OpenCV's flags)."""
    header, encoded = unpack(s)
    from .io.image_codec import decode_stored

    return header, decode_stored(encoded, iscolor)


def pack_img(header: IRHeader | tuple[Any, ...], img: Any, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """Header and image (uint8, blue first) as a record. quality: 1-100 for JPEG, the compression 1-9 for PNG."""
    from .io.image_codec import encode_image

    return pack(header, encode_image(np.asarray(img), quality, img_fmt))


__reexported__ = (c_str, check_call)
