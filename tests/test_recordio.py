"""RecordIO files: bytes as MXNet writes them, damaged files, pickling, forks."""

from __future__ import annotations

import multiprocessing
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mxexec_torch as mx
from mxexec_torch.recordio import MAGIC, encode_record

from . import image_cases as cases

GOLDEN = np.load(cases.GOLDEN)
MAGIC_BYTES = struct.pack("<I", MAGIC)


def test_bytes_are_mxnets(tmp_path: Path) -> None:
    cases.write_records(mx, tmp_path)
    assert (tmp_path / "images.rec").read_bytes() == GOLDEN["file.images"].tobytes()
    assert (tmp_path / "images.idx").read_bytes() == GOLDEN["file.index"].tobytes()


@given(st.lists(st.lists(st.sampled_from([MAGIC_BYTES, b"\x00", b"ab", b"cdefg"]), max_size=8).map(b"".join), max_size=5))
def test_records_come_back(tmp_path_factory: pytest.TempPathFactory, records: list[bytes]) -> None:
    path = str(tmp_path_factory.mktemp("rec") / "a.rec")
    writer = mx.recordio.MXRecordIO(path, "w")
    for record in records:
        writer.write(record)
    writer.close()
    reader = mx.recordio.MXRecordIO(path, "r")
    assert [reader.read() for _ in records] == records
    assert reader.read() is None
    reader.close()


def test_a_magic_word_inside_cuts_the_record() -> None:
    encoded = encode_record(b"abcd" + MAGIC_BYTES + b"ef")
    assert encoded == struct.pack("<II", MAGIC, 1 << 29 | 4) + b"abcd" + struct.pack("<II", MAGIC, 3 << 29 | 2) + b"ef\0\0"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    index, record = str(tmp_path / "a.idx"), str(tmp_path / "a.rec")
    writer = mx.recordio.MXIndexedRecordIO(index, record, "w")
    for i in range(5):
        writer.write_idx(i, b"record %d" % i)
    assert writer.tell() == 5 * 16
    writer.close()
    return index, record


def test_indexed_reading_and_pickling(files: tuple[str, str]) -> None:
    reader = mx.recordio.MXIndexedRecordIO(*files, "r")
    assert reader.keys == [0, 1, 2, 3, 4]
    assert [reader.read_idx(i) for i in (3, 0, 4)] == [b"record 3", b"record 0", b"record 4"]
    copy = pickle.loads(pickle.dumps(reader))
    assert copy.read_idx(2) == b"record 2"
    assert not reader.is_open
    reader.reset()
    assert reader.read() == b"record 0"
    with pytest.raises(KeyError):
        reader.read_idx(9)


def _in_a_fork(reader: Any, indexed: bool, queue: Any) -> None:
    try:
        queue.put(reader.read_idx(1) if indexed else reader.read())
    except RuntimeError as error:
        queue.put(str(error))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_opens_its_own_file_or_is_refused(files: tuple[str, str]) -> None:
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    for reader, expected in (
        (mx.recordio.MXIndexedRecordIO(*files, "r"), b"record 1"),
        (mx.recordio.MXRecordIO(files[1], "r"), "Forbidden operation in multiple processes"),
    ):
        process = context.Process(target=_in_a_fork, args=(reader, isinstance(expected, bytes), queue))
        process.start()
        assert queue.get() == expected
        process.join()


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda b: b[:-3], "the file ends after"),
        (lambda b: b[: 4 * 16 + 5], "inside a record's header"),
        (lambda b: b"\0" + b[1:], "magic word"),
        (lambda b: b[:7] + b"\x60" + b[8:], "does not belong here"),
    ],
)
def test_damaged_files(files: tuple[str, str], damage: Any, text: str) -> None:
    path = Path(files[1])
    path.write_bytes(damage(path.read_bytes()))
    reader = mx.recordio.MXRecordIO(files[1], "r")
    with pytest.raises(mx.MXNetError, match=text):
        while reader.read() is not None:
            pass


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(mx.MXNetError, match=r"none\.rec"):
        mx.recordio.MXRecordIO(str(tmp_path / "none.rec"), "r")
    with pytest.raises(ValueError, match="flag"):
        mx.recordio.MXRecordIO(str(tmp_path / "a.rec"), "a")


def test_pack_and_unpack() -> None:
    header, body = mx.recordio.unpack(mx.recordio.pack((0, 4, 2574, 1), b"xyz"))
    assert header == (0, 4.0, 2574, 1) and body == b"xyz"
    header, body = mx.recordio.unpack(mx.recordio.pack(mx.recordio.IRHeader(0, [1, 2, 3], 7, 0), b"xyz"))
    assert header.flag == 3 and header.label.tolist() == [1, 2, 3] and body == b"xyz"
    with pytest.raises(mx.MXNetError, match="labels"):
        mx.recordio.unpack(struct.pack("IfQQ", 9, 0, 0, 0) + b"abc")


def test_pack_img_and_unpack_img() -> None:
    pytest.importorskip("PIL", reason="the image extra is not installed")
    picture = cases.picture(0)
    header, image = mx.recordio.unpack_img(mx.recordio.pack_img((0, 3, 1, 0), picture, quality=9, img_fmt=".png"))
    assert header.label == 3
    np.testing.assert_array_equal(image, picture)
    _, lossy = mx.recordio.unpack_img(mx.recordio.pack_img((0, 3, 1, 0), picture), iscolor=1)
    assert np.abs(lossy.astype(int) - picture).mean() < 12
