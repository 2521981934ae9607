"""Broken `.params` files: whatever the bytes are, reading them ends soon, in arrays or in an MXNetError, and reserves no memory beyond their size."""

from __future__ import annotations

import io
import random
import struct
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mxexec_torch import MXNetError
from mxexec_torch import ndarray as nd
from mxexec_torch.ndarray import serialization

FILES_A_SEED = 40
EXTREMES = (0, 1, 2, 5, 63, 64, 65, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63, 2**64 - 1, 0xF993FAC8, 0xF993FAC9, 0xF993FACA, 0x112)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    path = tmp_path_factory.mktemp("params") / "x"
    matrix = np.array([[0, 1, 0], [2, 0, 3]], dtype="float32")
    contents: list[Any] = [
        {"arg:w": nd.array(matrix), "aux:m": nd.ones((4,), dtype="int64")},
        [nd.array(matrix).tostype("csr"), nd.array(matrix).tostype("row_sparse"), nd.array(matrix, dtype="float16")],
        [nd.zeros((3, 2), stype="csr"), nd.zeros((3, 2), stype="row_sparse"), nd.array([])],
    ]
    found = []
    for content in contents:
        nd.save(str(path), content)
        found.append(path.read_bytes())
    v1 = struct.pack("<Ii2q", 0xF993FAC8, 2, 1, 2) + struct.pack("<iii2f", 1, 0, 0, 5, 6)
    v0 = struct.pack("<I2I", 2, 1, 2) + struct.pack("<iii2f", 1, 0, 0, 5, 6)
    found.append(struct.pack("<QQQ", 0x112, 0, 2) + v1 + v0 + struct.pack("<Q", 0))
    return found


@pytest.fixture(autouse=True)
def limited_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuses tensors larger than any of the files could fill."""
    reserve = torch.empty

    def checked(*size: Any, **kwargs: Any) -> torch.Tensor:
        assert not size or not isinstance(size[0], int) or size[0] <= 1 << 16, f"{size} bytes reserved for a file of a few hundred"
        return reserve(*size, **kwargs)

    monkeypatch.setattr(serialization.torch, "empty", checked)
    yield


def read(content: bytes) -> None:
    started = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = nd.load_frombuffer(content)
    except MXNetError as error:
        assert str(error)
    else:
        for array in loaded.values() if isinstance(loaded, dict) else loaded:
            assert repr(array.shape) and array.dtype is not None
            if np.prod(array.shape, dtype=float) < 1e6:
                array.asnumpy()
    assert time.monotonic() - started < 5


def mutated(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        kind = rng.randrange(8)
        at = rng.randrange(len(data)) if data else 0
        if kind == 0 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at : at + 4] = struct.pack("<I", rng.choice(EXTREMES) & 0xFFFFFFFF)
        elif kind == 2:
            data[at : at + 8] = struct.pack("<Q", rng.choice(EXTREMES))
        elif kind == 3:
            del data[at:]
        elif kind == 4:
            data[at:at] = rng.randbytes(rng.randrange(1, 40))
        elif kind == 5:
            del data[at : at + rng.randrange(1, 16)]
        elif kind == 6:
            data[at : at + 16] = bytes(16)
        else:
            data[at:at] = data[: rng.randrange(len(data) + 1)]
    return bytes(data)


@pytest.mark.parametrize("seed", range(25))
def test_mutated_files(seed: int, originals: list[bytes]) -> None:
    rng = random.Random(seed)
    for _ in range(FILES_A_SEED):
        read(mutated(rng.choice(originals), rng))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 2**64 - 1))
def test_any_bytes_behind_a_valid_header(tail: bytes, count: int) -> None:
    read(struct.pack("<QQQ", 0x112, 0, count) + tail)
    read(struct.pack("<QQQ", 0x112, 0, 1) + struct.pack("<Ii", 0xF993FAC9, count % 3) + tail)
    read(tail)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=5),
    st.sampled_from(["float32", "float64", "float16", "bfloat16", "uint8", "int8", "int32", "int64", "bool"]),
    st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20),
)
def test_what_is_written_is_read(shape: list[int], dtype: str, name: str) -> None:
    tensor = torch.arange(int(np.prod(shape))).reshape(shape).to(getattr(torch, dtype))
    stream_names = [name, name + "2"]
    record = serialization.Record(tensor, tuple(shape))
    stream = io.BytesIO()
    serialization._write_list(stream, [record, record], stream_names)
    records, names = serialization._read_list(serialization._from_buffer(stream.getvalue()))
    assert names == stream_names
    for got in records:
        assert got.data is not None and got.shape == tuple(shape) and torch.equal(got.data, tensor)
