"""Iterators: what the last batch holds, files, prefetching."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx


def _epoch(source: Any) -> list[tuple[list[int], int]]:
    """(samples, pad) of each batch of an epoch; the data's first column numbers the samples."""
    return [(batch.data[0].asnumpy().reshape(len(batch.label[0]), -1)[:, 0].astype(int).tolist(), batch.pad) for batch in source]


def _numbered(count: int, **kwargs: Any) -> Any:
    data = np.arange(count, dtype="float32").reshape(count, 1)
    return mx.io.NDArrayIter(data, np.arange(count), **kwargs)


def test_pad_fills_from_the_beginning() -> None:
    source = _numbered(5, batch_size=3)
    assert _epoch(source) == [([0, 1, 2], 0), ([3, 4, 0], 1)]
    source.reset()
    assert _epoch(source) == [([0, 1, 2], 0), ([3, 4, 0], 1)]
    assert _epoch(_numbered(2, batch_size=5)) == [([0, 1, 0, 1, 0], 3)]


def test_discard_drops_the_rest() -> None:
    assert _epoch(_numbered(5, batch_size=3, last_batch_handle="discard")) == [([0, 1, 2], 0)]


def test_roll_over_keeps_the_rest_for_the_next_epoch() -> None:
    source = _numbered(5, batch_size=3, last_batch_handle="roll_over")
    assert _epoch(source) == [([0, 1, 2], 0)]
    source.reset()
    assert _epoch(source) == [([3, 4, 0], 2), ([1, 2, 3], 0)]
    source.hard_reset()
    assert _epoch(source) == [([0, 1, 2], 0)]


def test_shuffle_moves_data_and_labels_together() -> None:
    np.random.seed(1)
    source = mx.io.NDArrayIter({"b": np.arange(10.0), "a": np.arange(10.0) * 2}, np.arange(10.0), 5, shuffle=True)
    assert [entry.name for entry in source.provide_data] == ["a", "b"]
    seen = []
    for batch in source:
        np.testing.assert_array_equal(batch.data[0].asnumpy(), batch.label[0].asnumpy() * 2)
        seen += batch.label[0].asnumpy().tolist()
    assert sorted(seen) == list(range(10)) and seen != list(range(10))


def test_batches_are_copies() -> None:
    source = _numbered(4, batch_size=2)
    next(source).data[0][:] = -1
    source.reset()
    assert _epoch(source)[0] == ([0, 1], 0)


def test_time_major_layout() -> None:
    source = mx.io.NDArrayIter(np.zeros((3, 4, 2)), np.zeros((3, 4)), 2, layout="TNC")
    assert source.provide_data[0].shape == (3, 2, 2) and next(source).data[0].shape == (3, 2, 2)


def test_csr_batches() -> None:
    dense = np.eye(6, dtype="float32")
    source = mx.io.NDArrayIter(mx.nd.array(dense).tostype("csr"), None, 4, last_batch_handle="discard")
    batch = next(source).data[0]
    assert batch.stype == "default"  # slices along an axis are dense, in MXNet too
    np.testing.assert_array_equal(batch.asnumpy(), dense[:4])
    with pytest.raises(NotImplementedError):
        mx.io.NDArrayIter(mx.nd.array(dense).tostype("csr"), None, 4)


def test_resized_epochs() -> None:
    source = mx.io.ResizeIter(_numbered(4, batch_size=2), 3)
    assert [samples for samples, _ in _epoch(source)] == [[0, 1], [2, 3], [0, 1]]


def test_prefetching_joins_iterators() -> None:
    source = mx.io.PrefetchingIter([_numbered(4, batch_size=2), _numbered(4, batch_size=2)], rename_data=[{"data": "a"}, {"data": "b"}])
    assert [entry.name for entry in source.provide_data] == ["a", "b"]
    for _ in range(2):
        batches = list(source)
        assert len(batches) == 2 and len(batches[0].data) == 2
        source.reset()


def test_csv_goes_on_behind_the_fill(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("\n".join(f"{i},{i + 0.5}" for i in range(5)))
    (tmp_path / "label.csv").write_text("\n".join(str(i) for i in range(5)))
    source = mx.io.CSVIter(data_csv=str(tmp_path / "data.csv"), data_shape="(2,)", label_csv=str(tmp_path / "label.csv"), batch_size=3)
    assert source.provide_data[0].shape == (3, 2) and source.provide_label[0].shape == (3,)
    assert _epoch(source) == [([0, 1, 2], 0), ([3, 4, 0], 1)]
    source.reset()
    assert _epoch(source) == [([1, 2, 3], 0), ([4, 0, 1], 2)]
    with pytest.raises(TypeError, match="keyword"):
        mx.io.CSVIter("data.csv")
    with pytest.warns(UserWarning, match="no_such"):  # MXNet takes no notice
        mx.io.CSVIter(data_csv=str(tmp_path / "data.csv"), data_shape=(2,), batch_size=1, no_such=1)


def test_libsvm(tmp_path: Path) -> None:
    (tmp_path / "a.libsvm").write_text("1.0 0:0.5 2:1.2\n-2.0\n-3.0 0:0.6 1:2.4 2:1.2\n4 2:-1.2\n")
    source = mx.io.LibSVMIter(data_libsvm=str(tmp_path / "a.libsvm"), data_shape=(3,), batch_size=3)
    batch = next(source)
    assert batch.data[0].stype == "csr"
    np.testing.assert_allclose(batch.data[0].asnumpy(), [[0.5, 0, 1.2], [0, 0, 0], [0.6, 2.4, 1.2]], rtol=1e-6)
    assert batch.label[0].asnumpy().tolist() == [1, -2, -3]
    assert next(source).pad == 2


def test_mnist_files(tmp_path: Path) -> None:
    pixels = np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3)
    with gzip.open(tmp_path / "images.gz", "wb") as file:
        file.write(struct.pack(">4B3I", 0, 0, 8, 3, *pixels.shape) + pixels.tobytes())
    (tmp_path / "labels").write_bytes(struct.pack(">4BI", 0, 0, 8, 1, 5) + bytes(range(5)))
    source = mx.io.MNISTIter(image=str(tmp_path / "images.gz"), label=str(tmp_path / "labels"), batch_size=2, shuffle=False)
    batches = list(source)
    assert len(batches) == 2 and batches[0].data[0].shape == (2, 1, 4, 3)
    np.testing.assert_allclose(batches[1].data[0].asnumpy()[0, 0], pixels[2] / 256)
    assert batches[1].label[0].asnumpy().tolist() == [2, 3]


def test_csv_files_of_integers(tmp_path: Path) -> None:
    """Integer files are read as C's strtol reads them; without a label file labels are one zero each, whatever their declared shape."""
    path = tmp_path / "data.csv"
    path.write_text("3.7,-2\n 5,6e2\n")
    source = mx.io.CSVIter(data_csv=str(path), data_shape=(2,), label_shape=(4,), batch_size=2, dtype="int32")
    batch = next(source)
    assert batch.data[0].asnumpy().tolist() == [[3, -2], [5, 6]] and batch.data[0].dtype == np.int32
    assert batch.label[0].shape == (2,)
    for wrong in ({"dtype": "complex"}, {"batch_size": 0}, {"data_shape": (3,)}):
        with pytest.raises(mx.MXNetError):
            mx.io.CSVIter(**{"data_csv": str(path), "data_shape": (2,), "batch_size": 2, **wrong})
    path.write_text("1,x\n")
    with pytest.raises(mx.MXNetError, match="x"):
        mx.io.CSVIter(data_csv=str(path), data_shape=(2,), batch_size=1)


def test_labels_that_are_too_few() -> None:
    with pytest.raises(mx.MXNetError, match="differ in length"):
        list(mx.io.NDArrayIter(np.zeros((7, 2)), np.zeros(5), 3))
