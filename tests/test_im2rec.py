"""`mxexec-torch im2rec`: lists from folders, records from lists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mxexec_torch as mx
from mxexec_torch.cli import main

from . import image_cases as cases

pytest.importorskip("PIL", reason="the image extra is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six pictures in the folders a and b."""
    for i in range(6):
        (tmp_path / "images" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        (tmp_path / "images" / "ab"[i % 2] / f"{i}.png").write_bytes(cases.png(cases.picture(i, 20 + i, 30)))
    return tmp_path


def test_list_and_records(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prefix, root = str(folder / "set"), str(folder / "images")
    assert main(["im2rec", prefix, root, "--list", "--recursive", "--no-shuffle"]) == 0
    lines = (folder / "set.lst").read_text().splitlines()
    assert lines[0] == "0\t0.000000\ta/0.png" and lines[5] == "5\t1.000000\tb/5.png"
    assert main(["im2rec", prefix, root, "--resize", "16", "--center-crop", "--num-thread", "2", "--encoding", ".png", "--quality", "3"]) == 0
    assert "6 of 6 images" in capsys.readouterr().err
    files = {"path_imgrec": prefix + ".rec", "path_imgidx": prefix + ".idx"}
    batch = mx.io.ImageRecordIter(**files, data_shape=(3, 16, 16), batch_size=6, verbose=False).next()
    assert batch.label[0].asnumpy().tolist() == [0, 0, 0, 1, 1, 1]
    square = cases.picture(0, 20, 30)[:, 5:25]
    expected = mx.image.imresize(mx.nd.array(square, dtype="uint8"), 16, 16).asnumpy()
    np.testing.assert_allclose(batch.data[0].asnumpy()[0].transpose(1, 2, 0), expected, atol=1)


def test_shares_chunks_and_order(folder: Path) -> None:
    prefix, root = str(folder / "part"), str(folder / "images")
    assert main(["im2rec", prefix, root, "--list", "--recursive", "--train-ratio", "0.5", "--test-ratio", "0.2"]) == 0
    counts = {name: len((folder / f"part_{name}.lst").read_text().splitlines()) for name in ("train", "test", "val")}
    assert counts == {"train": 3, "test": 1, "val": 2}
    assert main(["im2rec", str(folder / "chunk"), root, "--list", "--recursive", "--chunks", "2"]) == 0
    numbers = [line.split("\t")[0] for i in range(2) for line in (folder / f"chunk_{i}.lst").read_text().splitlines()]
    assert sorted(numbers) == list("012345") and numbers != list("012345")


def test_files_as_they_are_with_all_labels(folder: Path) -> None:
    (folder / "x.lst").write_text("7\t1\t2\t3\ta/0.png\n")
    assert main(["im2rec", str(folder / "x"), str(folder / "images"), "--pass-through", "--pack-label"]) == 0
    header, content = mx.recordio.unpack(mx.recordio.MXIndexedRecordIO(str(folder / "x.idx"), str(folder / "x.rec"), "r").read_idx(7))
    assert header.label.tolist() == [1, 2, 3] and content == (folder / "images/a/0.png").read_bytes()


def test_broken_images_and_lists(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "images/a/0.png").write_bytes(b"broken")
    (folder / "x.lst").write_text("0\t0\ta/0.png\n1\t0\tb/1.png\n")
    assert main(["im2rec", str(folder / "x"), str(folder / "images")]) == 1
    assert "a/0.png is left out" in capsys.readouterr().err
    assert mx.recordio.MXIndexedRecordIO(str(folder / "x.idx"), str(folder / "x.rec"), "r").keys == [1]
    (folder / "x.lst").write_text("0\ta/0.png\n")
    assert main(["im2rec", str(folder / "x"), str(folder / "images")]) == 1
    assert "line 1" in capsys.readouterr().err
    assert main(["im2rec", str(folder / "none"), str(folder / "images")]) == 1
    assert "--list" in capsys.readouterr().err
