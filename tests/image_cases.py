"""Image files and cases that run in MXNet 1.9.1 and here: augmenters and record iterators, with seeds. `python -m tests.image_cases` records."""

from __future__ import annotations

import json
import random
import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).resolve().parent / "goldens" / "images.npz"

# Differences allowed between this machine's OpenCV and the one in MXNet, in levels of 255; 0: the same numbers.
_COLOURS, _RESAMPLED = 2.0, 6.0

ITERS: dict[str, tuple[float, dict[str, Any]]] = {
    "plain": (0, {}),
    "mean_std_scale": (0, {"mean_r": 10, "mean_g": 20, "mean_b": 30.5, "std_r": 2, "std_g": 3, "std_b": 4, "scale": 0.5}),
    "crop_mirror": (0, {"rand_crop": True, "rand_mirror": True}),
    "mirror": (0, {"mirror": True}),
    "seed_aug": (0, {"rand_crop": True, "rand_mirror": True, "seed_aug": 3}),
    "seed_aug_index": (0, {"rand_crop": True, "seed_aug": 4, "index": True}),
    "shuffle": (0, {"shuffle": True}),
    "shuffle_seed": (0, {"shuffle": True, "seed": 5, "rand_mirror": True, "seed_aug": 1}),
    "shuffle_index": (0, {"shuffle": True, "seed": 7, "rand_crop": True, "index": True}),
    "part": (0, {"num_parts": 3, "part_index": 1}),
    "part_index": (0, {"num_parts": 3, "part_index": 2, "index": True}),
    "uint8": (0, {"dtype": "uint8", "rand_crop": True}),
    "int8": (0, {"dtype": "int8", "mean_r": 100, "mean_g": 110.4, "mean_b": 90}),
    "illumination": (0, {"max_random_contrast": 0.3, "max_random_illumination": 20, "mean_r": 3}),
    "pad": (0, {"pad": 4, "fill_value": 9, "rand_crop": True}),
    "pca": (0, {"pca_noise": 0.2}),
    "text": (0, {"data_shape": "(3, 12, 14)", "rand_crop": "True", "mean_r": "3"}),
    "resize": (1, {"resize": 18}),
    "area_crop": (1, {
        "random_resized_crop": True, "min_random_area": 0.2, "max_random_area": 0.9, "min_aspect_ratio": 0.75, "max_aspect_ratio": 1.33,
    }),
    "square_crop": (1, {"max_crop_size": 19, "min_crop_size": 12, "rand_crop": True}),
    "jitter": (_COLOURS, {"brightness": 0.3, "contrast": 0.4, "saturation": 0.5}),
    "hls": (_COLOURS, {"random_h": 20, "random_s": 30, "random_l": 40}),
    "rotate": (_RESAMPLED, {"max_rotate_angle": 30, "max_shear_ratio": 0.2, "rand_crop": True}),
    "scale": (_RESAMPLED, {"max_random_scale": 1.5, "min_random_scale": 0.8, "max_aspect_ratio": 0.2, "rand_crop": True, "inter_method": 10}),
}  # fmt: skip

DETECTION: dict[str, tuple[float, dict[str, Any]]] = {
    "plain": (1, {}),
    "normalized": (1, {"mean_r": 10, "std_g": 3, "scale": 0.5}),
    "mirror": (1, {"rand_mirror_prob": 0.5}),
    "pad": (1, {"rand_pad_prob": 0.7, "max_pad_scale": 3}),
    "crop": (1, {
        "rand_crop_prob": 0.9, "min_crop_scales": "(0.2, 0.3)", "max_crop_scales": "(1.0, 0.9)", "min_crop_aspect_ratios": 0.5,
        "max_crop_aspect_ratios": 2.0, "num_crop_sampler": 2, "min_crop_overlaps": "(0.1, 0.3)",
    }),
    "crop_overlap": (1, {
        "rand_crop_prob": 0.9, "min_crop_scales": 0.3, "min_crop_sample_coverages": 0.1, "min_crop_object_coverages": 0.3,
        "crop_emit_mode": "overlap", "max_crop_trials": 50,
    }),
    "label_pad_shuffle": (1, {"label_pad_width": 30, "label_pad_value": -5, "shuffle": True}),
}  # fmt: skip

AUGMENT: dict[str, dict[str, Any]] = {
    "all": {
        "resize": 22, "rand_crop": True, "rand_mirror": True, "mean": True, "std": True, "brightness": 0.1, "contrast": 0.2, "saturation": 0.3,
        "hue": 0.1, "pca_noise": 0.1, "rand_gray": 0.3,
    },
    "sized": {"rand_crop": True, "rand_resize": True, "inter_method": 10},
    "small": {"resize": 14, "inter_method": 9},
}  # fmt: skip
DET_AUGMENT = {
    "resize": 22, "rand_crop": 0.7, "rand_pad": 0.7, "rand_mirror": True, "rand_gray": 0.2, "mean": True, "std": True, "brightness": 0.1,
    "min_object_covered": [0.1, 0.5, 0.9],
}  # fmt: skip


def picture(seed: int, height: int = 24, width: int = 28) -> Any:
    """A smooth random picture, uint8 (height, width, 3)."""
    coarse = np.random.RandomState(seed).randint(0, 256, (height // 4 + 1, width // 4 + 1, 3)).astype(np.float32)
    fine = np.repeat(np.repeat(coarse, 4, 0), 4, 1)
    fine[2:] = (fine[2:] + fine[:-2]) / 2
    fine[:, 2:] = (fine[:, 2:] + fine[:, :-2]) / 2
    return fine[:height, :width].astype(np.uint8)


def png(image: Any) -> bytes:
    """The picture as a PNG file; written here so that both engines read the same bytes."""
    height, width = image.shape[:2]
    rows = b"".join(b"\0" + image[y].tobytes() for y in range(height))
    chunks = [(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    body = b"".join(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)
    return b"\x89PNG\r\n\x1a\n" + body


def write_records(mx: Any, folder: Path) -> None:
    """`images` (a number as label) and `objects` (two boxes as label), .rec and .idx: 11 pictures of different sizes each."""
    for name in ("images", "objects"):
        writer = mx.recordio.MXIndexedRecordIO(str(folder / f"{name}.idx"), str(folder / f"{name}.rec"), "w")
        for i in range(11):
            boxes = np.array([2, 5, i % 3, 0.1, 0.2, 0.6 + 0.01 * i, 0.7, 1, 0.3, 0.3, 0.9, 0.8], np.float32)
            label = float(i) if name == "images" else boxes
            writer.write_idx(i, mx.recordio.pack((0, label, i, 0), png(picture(i, 24 + i % 4, 28 + i % 5))))
        writer.close()


def _batches(iterator: Any) -> Any:
    """Data (every third pixel), labels and pads of two passes."""
    data, labels, pads = [], [], []
    for _pass in range(2):
        for batch in iterator:
            data.append(batch.data[0].asnumpy()[:, :, ::3, ::3].copy())
            labels.append(batch.label[0].asnumpy().copy())
            pads.append(batch.pad)
        iterator.reset()
    return np.stack(data), np.stack(labels), np.array(pads)


def iterate(mx: Any, folder: Path, name: str, detection: bool) -> Any:
    """The batches of one case."""
    settings = dict((DETECTION if detection else ITERS)[name][1])
    stem = "objects" if detection else "images"
    given = {"batch_size": 4, "data_shape": (3, 16, 16), "preprocess_threads": 1, "verbose": False, "path_imgrec": str(folder / f"{stem}.rec")}
    if settings.pop("index", False):
        given["path_imgidx"] = str(folder / f"{stem}.idx")
    make = mx.io.ImageDetRecordIter if detection else mx.io.ImageRecordIter
    return _batches(make(**{**given, **settings}))


def augment(mx: Any, name: str) -> Any:
    """Four pictures through `CreateAugmenter`'s list."""
    random.seed(3)
    np.random.seed(3)
    augmenters = mx.image.CreateAugmenter((3, 16, 18), **AUGMENT[name])
    made = []
    for seed in range(4):
        image = mx.nd.array(picture(seed), dtype="uint8")
        for augmenter in augmenters:
            image = augmenter(image)
        made.append(image.asnumpy()[::2, ::2])
    return np.stack(made), np.array(json.dumps([a.dumps() for a in augmenters]))


def augment_objects(mx: Any) -> Any:
    """Eight pictures with boxes through `CreateDetAugmenter`'s list."""
    random.seed(4)
    np.random.seed(4)
    augmenters = mx.image.CreateDetAugmenter((3, 16, 18), **DET_AUGMENT)
    images, labels = [], []
    for seed in range(8):
        image, label = mx.nd.array(picture(seed), dtype="uint8"), np.array([[0, 0.1, 0.2, 0.5, 0.6], [1, 0.4, 0.4, 0.9, 0.95]], np.float32)
        for augmenter in augmenters:
            image, label = augmenter(image, label)
        images.append(image.asnumpy()[::2, ::2])
        labels.append(np.concatenate([label, np.full((2 - len(label), 5), -1, np.float32)]))
    return np.stack(images), np.stack(labels)


def rotations(mx: Any) -> Any:
    """A picture turned, plain and with both zooms."""
    image = mx.nd.array(picture(1).transpose(2, 0, 1), dtype="float32")
    return np.stack([mx.image.imrotate(image, 33, *zoom).asnumpy() for zoom in ((False, False), (True, False), (False, True))])


def record(mx: Any) -> dict[str, Any]:
    """All results; runs in the oracle."""
    found: dict[str, Any] = {"rotations": rotations(mx)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_records(mx, folder)
        for detection, cases in ((False, ITERS), (True, DETECTION)):
            for case in cases:
                for part, array in zip(("data", "label", "pad"), iterate(mx, folder, case, detection), strict=True):
                    found[f"{'det' if detection else 'iter'}.{case}.{part}"] = array
        found["file.images"] = np.frombuffer((folder / "images.rec").read_bytes(), np.uint8)
        found["file.index"] = np.frombuffer((folder / "images.idx").read_bytes(), np.uint8)
    for case in AUGMENT:
        found[f"augment.{case}.data"], found[f"augment.{case}.dumps"] = augment(mx, case)
    found["objects.data"], found["objects.label"] = augment_objects(mx)
    return found


if __name__ == "__main__":
    from .oracle import Oracle

    oracle = Oracle()
    np.savez_compressed(GOLDEN, **oracle.call(record))
    oracle.close()
