"""mx.image against MXNet 1.9.1's recorded results: the same random choices from the same seeds, the same pixels but for rounding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx

from . import image_cases as cases

pytest.importorskip("PIL", reason="the image extra is not installed")
GOLDEN = np.load(cases.GOLDEN)


@pytest.mark.parametrize("name", cases.AUGMENT)
def test_create_augmenter(name: str) -> None:
    images, dumped = cases.augment(mx, name)
    assert str(dumped) == str(GOLDEN[f"augment.{name}.dumps"])
    difference = np.abs(images - GOLDEN[f"augment.{name}.data"])
    assert difference.max() <= 1.01  # OpenCV rounds a few pixels of a resized image the other way
    assert (difference > 1e-3).mean() < 0.02


def test_create_det_augmenter() -> None:
    images, labels = cases.augment_objects(mx)
    np.testing.assert_allclose(labels, GOLDEN["objects.label"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(images, GOLDEN["objects.data"], rtol=0, atol=0.03)


def test_imrotate() -> None:
    np.testing.assert_allclose(cases.rotations(mx), GOLDEN["rotations"], rtol=0, atol=0.01)


def test_imdecode_and_imread(tmp_path: Path) -> None:
    picture = cases.picture(0)
    path = tmp_path / "a.png"
    path.write_bytes(cases.png(picture))
    np.testing.assert_array_equal(mx.image.imread(str(path)).asnumpy(), picture)
    np.testing.assert_array_equal(mx.image.imdecode(path.read_bytes(), to_rgb=0).asnumpy(), picture[:, :, ::-1])
    assert mx.image.imdecode(bytearray(path.read_bytes()), flag=0).shape == (24, 28, 1)
    with pytest.raises(mx.MXNetError):
        mx.image.imdecode(b"no image")
    with pytest.raises(ValueError, match="str"):
        mx.image.imdecode("text")


def test_crops() -> None:
    picture = mx.nd.array(cases.picture(2), dtype="uint8")
    part, place = mx.image.center_crop(picture, (10, 8))
    assert place == (9, 8, 10, 8)
    np.testing.assert_array_equal(part.asnumpy(), cases.picture(2)[8:16, 9:19])
    assert mx.image.scale_down((640, 480), (720, 120)) == (640, 106)
    assert mx.image.resize_short(picture, 12).shape == (12, 14, 3)
    assert mx.image.fixed_crop(picture, 1, 2, 5, 6, (7, 8)).shape == (8, 7, 3)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    cases.write_records(mx, tmp_path)
    for i in range(5):
        (tmp_path / f"{i}.png").write_bytes(cases.png(cases.picture(i)))
    return tmp_path


def labels(iterator: Any) -> list[tuple[list[float], int]]:
    return [(batch.label[0].asnumpy().tolist(), batch.pad) for batch in iterator]


@pytest.mark.parametrize(
    ("handle", "passes"),
    [
        ("pad", [[([0, 1, 2, 3], 0), ([4, 0, 1, 2], 3)]] * 2),
        ("discard", [[([0, 1, 2, 3], 0)]] * 2),
        ("roll_over", [[([0, 1, 2, 3], 0)], [([4, 0, 1, 2], 3)]]),
    ],
)
def test_image_iter_last_batch(files: Path, handle: str, passes: Any) -> None:
    given = [[float(i), f"{i}.png"] for i in range(5)]
    iterator = mx.image.ImageIter(4, (3, 16, 16), imglist=given, path_root=str(files), last_batch_handle=handle)
    for expected in passes:
        assert labels(iterator) == expected
        iterator.reset()


def test_image_iter_from_records_and_lists(files: Path) -> None:
    record, index = str(files / "images.rec"), str(files / "images.idx")
    assert [len(labels(mx.image.ImageIter(4, (3, 16, 16), path_imgrec=record))), 3] == [3, 3]
    half = mx.image.ImageIter(2, (3, 16, 16), path_imgrec=record, path_imgidx=index, num_parts=2, part_index=1)
    assert labels(half)[0] == ([5, 6], 0)
    (files / "a.lst").write_text("".join(f"{i}\t{i}\t{i + 1}\t{i}.png\n" for i in range(5)))
    two = mx.image.ImageIter(5, (3, 16, 16), 2, path_imglist=str(files / "a.lst"), path_root=str(files), dtype="int64")
    assert two.next().label[0].asnumpy().tolist() == [[i, i + 1] for i in range(5)]
    (files / "4.png").write_bytes(b"broken")
    with pytest.raises(RuntimeError, match=r"4\.png"):
        labels(mx.image.ImageIter(5, (3, 16, 16), path_imglist=str(files / "a.lst"), path_root=str(files), label_width=2))


def test_image_det_iter(files: Path) -> None:
    iterator = mx.image.ImageDetIter(4, (3, 16, 16), path_imgrec=str(files / "objects.rec"), rand_mirror=True)
    assert iterator.label_shape == (2, 5)
    batches = list(iterator)
    assert [b.pad for b in batches] == [0, 0, 1]
    assert batches[0].label[0].shape == (4, 2, 5)
    other = mx.image.ImageDetIter(4, (3, 16, 16), path_imgrec=str(files / "objects.rec"))
    other.reshape(label_shape=(7, 5))
    assert iterator.sync_label_shape(other) is other
    assert iterator.label_shape == (7, 5)
    with pytest.raises(ValueError, match="reduce"):
        iterator.reshape(label_shape=(1, 5))


def test_without_the_image_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from mxexec_torch.io import image_codec

    monkeypatch.setattr(image_codec, "_found", {"cv2": None, "PIL.Image": None})
    with pytest.raises(mx.MXNetError, match=r"pip install mxexec_torch\[image\]"):
        mx.recordio.pack_img((0, 1.0, 0, 0), cases.picture(0))
