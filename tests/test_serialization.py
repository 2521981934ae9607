"""`.params` files. The bytes below were written by MXNet 1.9.1 (`mx.nd.save` of the arrays that each entry makes)."""

from __future__ import annotations

import os
import pathlib
import pickle
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mxexec_torch import MXNetError, semantics
from mxexec_torch import ndarray as nd
from mxexec_torch.context import Context, cpu
from mxexec_torch.ndarray import serialization
from mxexec_torch.ndarray.core import wrap

HEADER = struct.pack("<QQ", 0x112, 0)

# after the 16 bytes of the header
WRITTEN_BY_MXNET: dict[str, tuple[Callable[[], Any], str]] = {
    "no array": (list, "00000000000000000000000000000000"),
    "empty": (
        lambda: [nd.array([])],
        "0100000000000000c9fa93f9000000000100000000000000000000000100000000000000000000000000000000000000",
    ),
    "zero dimension": (
        lambda: [nd.array(np.zeros((2, 0)))],
        "0100000000000000c9fa93f90000000002000000020000000000000000000000000000000100000000000000000000000000000000000000",
    ),
    "no row": (
        lambda: [nd.zeros((3, 2), stype="row_sparse")],
        ("0100000000000000c9fa93f90100000002000000000000000000000002000000000000000200000003000000000000000200000000000000"
        "010000000000000000000000060000000100000000000000000000000000000000000000"),
    ),
    "csr of nothing": (
        lambda: [nd.zeros((3, 2)).tostype("csr")],
        ("0100000000000000c9fa93f9020000000100000000000000000000000200000003000000000000000200000000000000"
        "0100000000000000000000000600000001000000040000000000000006000000010000000000000000000000"
        "00000000000000000000000000000000000000000000000000000000000000000000000000000000"),
    ),
    "shared memory context": (
        lambda: [nd.ones((1,), ctx=Context("cpu_shared", 0))],
        "0100000000000000c9fa93f9000000000100000001000000000000000500000000000000000000000000803f0000000000000000",
    ),
    "no name": (
        lambda: {"": nd.ones(1)},
        "0100000000000000c9fa93f9000000000100000001000000000000000100000000000000000000000000803f01000000000000000000000000000000",
    ),
    "row_sparse": (
        lambda: [nd.sparse.row_sparse_array((np.array([[1, 2]], dtype="int32"), [1]), shape=(3, 2))],
        "0100000000000000c9fa93f901000000020000000100000000000000020000000000000002000000030000000000000002000000000000000100000000000000"
        "04000000060000000100000001000000000000000100000002000000010000000000000000000000" + "00000000",
    ),
    "csr": (
        lambda: [nd.array(np.eye(2), dtype="float64").tostype("csr")],
        "0100000000000000c9fa93f902000000010000000200000000000000020000000200000000000000020000000000000001000000000000000100000006000000"
        "01000000030000000000000006000000010000000200000000000000000000000000f03f000000000000f03f"
        "0000000000000000010000000000000002000000000000000000000000000000010000000000000000000000" + "00000000",
    ),
    "two names": (
        lambda: {"b": nd.ones(1), "a": nd.ones(1)},
        ("0200000000000000c9fa93f9000000000100000001000000000000000100000000000000000000000000803f"
        "c9fa93f9000000000100000001000000000000000100000000000000000000000000803f0200000000000000010000000000000062010000000000000061"),
    ),
}


def saved(path: pathlib.Path, data: Any) -> bytes:
    nd.save(str(path), data)
    return path.read_bytes()


@pytest.mark.parametrize("name", WRITTEN_BY_MXNET)
def test_bytes_are_those_of_mxnet(name: str, tmp_path: pathlib.Path) -> None:
    make, expected = WRITTEN_BY_MXNET[name]
    content = saved(tmp_path / "x.params", make())
    assert content.hex() == (HEADER + bytes.fromhex(expected)).hex()
    loaded = nd.load(str(tmp_path / "x.params"))
    made = make()
    assert type(loaded) is type(made) or not made
    for got, want in zip(loaded.values() if isinstance(loaded, dict) else loaded, made.values() if isinstance(made, dict) else made, strict=True):
        assert (got.stype, got.shape, got.dtype) == (want.stype, want.shape, want.dtype)
        np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())


@pytest.mark.parametrize("path", sorted(pathlib.Path(__file__).parent.glob("models/*.params")), ids=lambda p: p.name)
def test_files_of_published_models_keep_their_content(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    records, names = serialization.read_file(str(path))
    serialization.write_file(str(tmp_path / "again"), records, names)
    again, same_names = serialization.read_file(str(tmp_path / "again"))
    assert names == same_names and len(records) == len(again)
    for one, two in zip(records, again, strict=True):
        assert one.data is not None and two.data is not None
        assert one.shape == two.shape and torch.equal(one.data, two.data)


TYPES = ["float32", "float64", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool", "uint16", "uint32", "uint64"]


def test_every_element_type_comes_back(tmp_path: pathlib.Path) -> None:
    tensors = [torch.tensor([[1, 0, 3]]).to(getattr(torch, t)) for t in TYPES]
    nd.save(str(tmp_path / "x"), [wrap(t) for t in tensors])
    loaded = nd.load(str(tmp_path / "x"))
    for got, want in zip(loaded, tensors, strict=True):
        assert got._t.dtype is want.dtype
        assert torch.equal(got._t.view(torch.uint8), want.view(torch.uint8))


def test_type_codes(tmp_path: pathlib.Path) -> None:
    codes = [struct.unpack("<i", saved(tmp_path / "x", [wrap(torch.zeros(1).to(getattr(torch, t)))])[52:56])[0] for t in TYPES]
    assert codes == [0, 1, 2, 12, 3, 5, 8, 4, 6, 7, 9, 10, 11]


def test_a_transposed_array_is_written_in_order(tmp_path: pathlib.Path) -> None:
    array = wrap(torch.arange(6.0).reshape(2, 3).T)
    nd.save(str(tmp_path / "x"), array)
    np.testing.assert_array_equal(nd.load(str(tmp_path / "x"))[0].asnumpy(), array.asnumpy())


def test_context_is_written_and_not_restored(tmp_path: pathlib.Path) -> None:
    content = saved(tmp_path / "x", [nd.ones(1, ctx=cpu(3))])
    assert struct.unpack("<ii", content[44:52]) == (1, 3)
    assert nd.load(str(tmp_path / "x"))[0].context == cpu(0)


def old_file(*records: bytes, names: tuple[str, ...] = ()) -> bytes:
    content = HEADER + struct.pack("<Q", len(records)) + b"".join(records) + struct.pack("<Q", len(names))
    return content + b"".join(struct.pack("<Q", len(n)) + n.encode() for n in names)


V0 = struct.pack("<I2I", 2, 1, 2) + struct.pack("<iii", 1, 0, 0) + struct.pack("<2f", 5, 6)
V1 = struct.pack("<Ii2q", 0xF993FAC8, 2, 1, 2) + struct.pack("<iii", 1, 0, 0) + struct.pack("<2f", 5, 6)
GPU = struct.pack("<Iii2q", 0xF993FAC9, 0, 2, 1, 2) + struct.pack("<iii", 2, 7, 0) + struct.pack("<2f", 5, 6)
V3_SCALAR = struct.pack("<Iii", 0xF993FACA, 0, 0) + struct.pack("<iii", 1, 0, 0) + struct.pack("<f", 5)


@pytest.mark.parametrize("record", [V0, V1, GPU], ids=["V0", "V1", "saved from a GPU that is not here"])
def test_older_records(record: bytes) -> None:
    for array in nd.load_frombuffer(old_file(record, record)):
        np.testing.assert_array_equal(array.asnumpy(), [[5, 6]])
        assert array.context.device_type == "cpu"


def test_records_without_an_array() -> None:
    absent_v0, absent_v2 = struct.pack("<I", 0), struct.pack("<Iii", 0xF993FAC9, 0, 0)
    loaded = nd.load_frombuffer(old_file(absent_v0, V1, absent_v2, names=("a", "b", "c")))
    assert list(loaded) == ["a", "b", "c"] and loaded["a"].size == 0 and loaded["c"].size == 0
    np.testing.assert_array_equal(loaded["b"].asnumpy(), [[5, 6]])


def test_numpy_shapes_need_their_scope(tmp_path: pathlib.Path) -> None:
    with pytest.raises(MXNetError, match="np_shape"):
        nd.load_frombuffer(old_file(V3_SCALAR))
    before = semantics.set_np_shape(True)
    try:
        assert nd.load_frombuffer(old_file(V3_SCALAR))[0].shape == ()
        with pytest.raises(MXNetError, match=r"np_shape\(False\)"):
            nd.load_frombuffer(old_file(V1))
        semantics.set_np_shape(2)  # on everywhere: MXNet reads both kinds then
        assert nd.load_frombuffer(old_file(V1))[0].shape == (1, 2)
        assert saved(tmp_path / "x", [wrap(torch.tensor(5.0))]) == old_file(V3_SCALAR)
        with pytest.raises(MXNetError, match="row_sparse"):
            nd.save(str(tmp_path / "y"), [nd.zeros((1, 1), stype="row_sparse")])
    finally:
        semantics.set_np_shape(before)
    with pytest.raises(MXNetError, match=r"shape \(\)"):
        nd.save(str(tmp_path / "y"), [wrap(torch.tensor(5.0))])
    assert not (tmp_path / "y").exists()


# ------------------------------------------------------------------------------------------------------------------ errors
def test_every_truncation_is_an_error(tmp_path: pathlib.Path) -> None:
    arrays = {"dense": nd.array([[1, 2]]), "rows": nd.ones((2, 2)).tostype("row_sparse"), "csr": nd.ones((2, 2)).tostype("csr")}
    content = saved(tmp_path / "x", arrays)
    for end in range(len(content)):
        with pytest.raises(MXNetError, match="Invalid NDArray file format"):
            nd.load_frombuffer(content[:end])


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "git lfs pull"),
        (pickle.dumps({"a": 1}), "pickle"),
        (b"PK\x03\x04" + bytes(40), "zip"),
        (b"<!DOCTYPE html><html></html>" + bytes(9), "download"),
        (b'{"nodes": []}' + bytes(20), "JSON"),
        (b"", "nothing"),
        (b"hello world, this is no parameter file", "0x112"),
    ],
)  # fmt: skip
def test_other_files_are_named(content: bytes, hint: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.params").write_bytes(content)
    with pytest.raises(MXNetError, match="Invalid NDArray file format") as caught:
        nd.load(str(tmp_path / "x.params"))
    assert hint in str(caught.value) and "x.params" in str(caught.value)


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (struct.pack("<Iii2q", 0xF993FAC9, 0, 2, -1, 2), "negative dimension"),
        (struct.pack("<Iii", 0xF993FAC9, 0, 2**31 - 1), "dimensions"),
        (struct.pack("<Iii", 0xF993FAC9, 0, -7), "dimensions"),
        (struct.pack("<Iii2q3i", 0xF993FAC9, 0, 2, 2**40, 2**40, 1, 0, 0), "truncated or corrupt"),
        (struct.pack("<Iii2q3i", 0xF993FAC9, 0, 2, 0, 2**62, 1, 0, 0), None),
        (struct.pack("<Iii1q3i", 0xF993FAC9, 0, 1, 1, 1, 0, 99), "type code 99"),
        (struct.pack("<Ii", 0xF993FAC9, 5), "storage type 5"),
        (struct.pack("<I", 0x1234), "record version 0x1234"),
        (struct.pack("<Iii1qi2q3i", 0xF993FAC9, 2, 1, 0, 2, 2**40, 1, 1, 0, 0) + struct.pack("<iiqiiq", 6, 1, 0, 6, 1, 0), "row offsets"),
        (struct.pack("<Iii2qi2q3i", 0xF993FAC9, 1, 2, 1, 1, 2, 1, 1, 1, 0, 0) + struct.pack("<iiq", 6, 1, 1) + struct.pack("<fq", 1, 5), "index"),
    ],
)  # fmt: skip
def test_impossible_records(record: bytes, text: str | None) -> None:
    content = old_file(record)
    if text is None:
        assert nd.load_frombuffer(content)[0].size == 0
        return
    with pytest.raises(MXNetError, match=text):
        nd.load_frombuffer(content + bytes(64))


@pytest.mark.parametrize("count", [1, 5, 2**32, 2**63])
def test_more_arrays_than_the_file_can_hold(count: int) -> None:
    with pytest.raises(MXNetError):
        nd.load_frombuffer(HEADER + struct.pack("<Q", count))


def test_a_block_of_zeros_is_not_millions_of_arrays() -> None:
    with pytest.raises(MXNetError, match="without an array"):
        nd.load_frombuffer(HEADER + struct.pack("<Q", 2**20) + bytes(4 * 2**20))


def test_wrong_number_of_names_and_names_that_are_no_text() -> None:
    with pytest.raises(MXNetError, match="2 names for 1 arrays"):
        nd.load_frombuffer(old_file(V1, names=("a", "b")))
    bad = old_file(V1)[:-8] + struct.pack("<QQ", 1, 2) + b"\xff\xfe"
    with pytest.raises(MXNetError, match="UTF-8"):
        nd.load_frombuffer(bad)


def test_bytes_after_the_end_are_ignored_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="7 bytes after the last name"):
        assert len(nd.load_frombuffer(old_file(V1) + b"garbage")) == 1


def test_python_types(tmp_path: pathlib.Path) -> None:
    one = nd.ones(1)
    for data, error in [((one,), ValueError), ([np.ones(1)], TypeError), ({1: one}, TypeError), ({"a": np.ones(1)}, TypeError), (3, ValueError)]:
        with pytest.raises(error):
            nd.save(str(tmp_path / "x"), data)
    with pytest.raises(AttributeError):
        nd.save(3, [one])
    with pytest.raises(TypeError, match="fname required to be a string"):
        nd.load(3)
    with pytest.raises(TypeError, match="buf required to be a string or bytes"):
        nd.load_frombuffer(3)
    assert not list(tmp_path.iterdir())


def test_paths(tmp_path: pathlib.Path) -> None:
    nd.save(tmp_path / "x", nd.ones(1))
    assert len(nd.load(tmp_path / "x")) == len(nd.load(f"file://{tmp_path}/x")) == 1
    with pytest.raises(MXNetError, match="No such file"):
        nd.load(str(tmp_path / "missing"))
    with pytest.raises(MXNetError):
        nd.load(str(tmp_path))
    for call in (lambda: nd.load("s3://bucket/x"), lambda: nd.save("s3://bucket/x", nd.ones(1))):
        with pytest.raises(MXNetError, match="s3"):
            call()
    with pytest.raises(MXNetError):
        nd.save(str(tmp_path / "no" / "x"), nd.ones(1))


def test_names_are_text_of_any_kind(tmp_path: pathlib.Path) -> None:
    nd.save(str(tmp_path / "x"), {"café": nd.ones(1), "arg:权重": nd.zeros(2)})
    assert list(nd.load(str(tmp_path / "x"))) == ["café", "arg:权重"]
    with pytest.raises(MXNetError, match="zero byte"):
        nd.save(str(tmp_path / "x"), {"a\0b": nd.ones(1)})
    assert list(nd.load(str(tmp_path / "x"))) == ["café", "arg:权重"], "a failed save must leave the old file"


def test_saving_replaces_the_file_in_one_step(tmp_path: pathlib.Path) -> None:
    target = tmp_path / "x"
    target.write_bytes(b"old")
    target.chmod(0o640)
    with pytest.raises(ZeroDivisionError), serialization.replacing(str(target)) as stream:
        stream.write(b"half")
        raise ZeroDivisionError
    assert target.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["x"]
    (tmp_path / "link").symlink_to(target)
    nd.save(str(tmp_path / "link"), nd.ones(1))
    assert (tmp_path / "link").is_symlink() and len(nd.load(str(target))) == 1
    assert target.stat().st_mode & 0o777 == 0o640


def test_pickled_arrays_hold_the_same_record() -> None:
    for array in (nd.array([[1, 2]]), nd.ones((2, 2)).tostype("csr"), nd.ones((2, 2)).tostype("row_sparse")):
        copy = serialization.load_raw(serialization.save_raw(array))
        assert copy.stype == array.stype
        np.testing.assert_array_equal(copy.asnumpy(), array.asnumpy())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc for the peak of memory")
def test_loading_needs_no_second_copy(tmp_path: pathlib.Path) -> None:
    megabytes = 256
    program = textwrap.dedent(f"""
        import sys
        from mxexec_torch import ndarray as nd
        def peak():
            return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) / 1024
        if sys.argv[1] == "save":
            nd.save("x.params", {{"w": nd.zeros(({megabytes}, 512, 512))}})
        else:
            before = peak()
            loaded = nd.load("x.params")
            assert float(loaded["w"]._t[-1, -1, -1]) == 0
            print(peak() - before)
    """)
    for step in ("save", "load"):
        env = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
        done = subprocess.run([sys.executable, "-c", program, step], cwd=tmp_path, capture_output=True, text=True, check=True, env=env)
    assert float(done.stdout) < megabytes * 1.1
