"""Record iterators against MXNet 1.9.1's recorded batches: the same images in the same order, cropped at the same places."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mxexec_torch as mx

from . import image_cases as cases

GOLDEN = np.load(cases.GOLDEN)
opencv = pytest.importorskip("cv2", reason="the image extra is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("records")
    cases.write_records(mx, path)
    return path


def close(found: Any, expected: Any, levels: float) -> None:
    """Equal but for `levels` at some pixels, and a tenth of that on average."""
    assert found.shape == expected.shape and found.dtype == expected.dtype
    difference = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    assert difference.max() <= levels + 1e-3, difference.max()
    assert difference.mean() <= levels / 10 + 1e-4, difference.mean()


@pytest.mark.parametrize("name", cases.ITERS)
def test_image_record_iter(folder: Path, name: str) -> None:
    data, labels, pads = cases.iterate(mx, folder, name, False)
    np.testing.assert_array_equal(labels, GOLDEN[f"iter.{name}.label"])
    np.testing.assert_array_equal(pads, GOLDEN[f"iter.{name}.pad"])
    close(data, GOLDEN[f"iter.{name}.data"], cases.ITERS[name][0])


@pytest.mark.parametrize("name", cases.DETECTION)
def test_image_det_record_iter(folder: Path, name: str) -> None:
    data, labels, pads = cases.iterate(mx, folder, name, True)
    np.testing.assert_allclose(labels, GOLDEN[f"det.{name}.label"], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(pads, GOLDEN[f"det.{name}.pad"])
    close(data, GOLDEN[f"det.{name}.data"], cases.DETECTION[name][0])


def make(folder: Path, **settings: Any) -> Any:
    given = {"path_imgrec": str(folder / "images.rec"), "batch_size": 4, "data_shape": (3, 16, 16), "verbose": False}
    return mx.io.ImageRecordIter(**{**given, **settings})


def test_the_number_of_threads_changes_nothing_without_random_choices(folder: Path) -> None:
    one, two = (np.stack([b.data[0].asnumpy() for b in make(folder, preprocess_threads=n)]) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_several_threads_repeat_their_random_choices(folder: Path) -> None:
    runs = [np.stack([b.data[0].asnumpy() for b in make(folder, preprocess_threads=2, rand_crop=True, rand_mirror=True)]) for _ in range(2)]
    np.testing.assert_array_equal(*runs)


def test_a_last_batch_that_is_not_filled_counts_its_padding(folder: Path) -> None:
    batches = list(make(folder, round_batch=False))
    assert [b.pad for b in batches] == [0, 0, 1]
    assert batches[-1].label[0].asnumpy().tolist() == [8, 9, 10, 0]
    assert not batches[-1].data[0].asnumpy()[3].any()


def test_reset_in_the_middle_starts_over(folder: Path) -> None:
    iterator = make(folder, prefetch_buffer=2)
    iterator.next()
    iterator.reset()
    assert [b.label[0].asnumpy().tolist() for b in iterator][0] == [0, 1, 2, 3]


def test_mean_image_is_made_once_and_used(folder: Path, tmp_path: Path) -> None:
    mean = tmp_path / "mean.bin"
    plain = [b.data[0].asnumpy() for b in make(folder, round_batch=False)]
    first = [b.data[0].asnumpy() for b in make(folder, round_batch=False, mean_img=str(mean))]
    expected = np.concatenate(plain)[:11].mean(0)
    np.testing.assert_allclose(mx.nd.load(str(mean))["mean_img"].asnumpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(first[0], plain[0] - expected, atol=1e-3)
    again = make(folder, round_batch=False, mean_img=str(mean))
    np.testing.assert_array_equal(first[0], again.next().data[0].asnumpy())


def test_labels_from_a_list(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.lst").write_text("".join(f"{i}\t{i * 2}\t{i * 3}\tx.png\n" for i in range(11)))
    iterator = make(folder, path_imglist=str(tmp_path / "a.lst"), label_width=2)
    assert iterator.provide_label[0].shape == (4, 2)
    assert iterator.next().label[0].asnumpy().tolist() == [[0, 0], [2, 3], [4, 6], [6, 9]]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"data_shape": (3, 16)}, "data_shape"),
        ({"data_shape": (2, 16, 16)}, "channels"),
        ({"path_imgrec": "nowhere.rec"}, "nowhere.rec"),
        ({"label_width": 2}, "label_width"),
        ({"preprocess_threads": 0}, "preprocess_threads"),
        ({"resize": "x"}, "resize"),
        ({"batch_size": 50}, "batch size"),
        ({"dtype": "float16"}, "float16"),
        ({"max_crop_size": 70, "min_crop_size": 5}, "max_crop_size"),
        ({"random_resized_crop": True, "rand_crop": True}, "conflicts"),
        ({"part_index": 3, "num_parts": 2}, "part_index"),
    ],
)
def test_errors_name_what_is_wrong(folder: Path, settings: dict[str, Any], text: str) -> None:
    with pytest.raises(mx.MXNetError, match=text):
        list(make(folder, **settings))


def test_parameters_without_effect_are_named(folder: Path) -> None:
    with pytest.warns(UserWarning, match="random_colour"):
        make(folder, random_colour=3)


def test_a_broken_image_is_named(folder: Path, tmp_path: Path) -> None:
    writer = mx.recordio.MXRecordIO(str(tmp_path / "bad.rec"), "w")
    writer.write(mx.recordio.pack((0, 1.0, 77, 0), b"no image"))
    writer.close()
    with pytest.raises(mx.MXNetError, match="index 77"):
        make(folder, path_imgrec=str(tmp_path / "bad.rec"), batch_size=1)


def test_threads_end_with_the_iterator(folder: Path) -> None:
    before = set(threading.enumerate())
    iterator = make(folder, preprocess_threads=2)
    iterator.next()
    workers = set(threading.enumerate()) - before
    assert workers
    del iterator
    gc.collect()
    for worker in workers:
        worker.join(10)
    assert not any(worker.is_alive() for worker in workers)
