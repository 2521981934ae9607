"""Iterators over images in .rec files for classification: ImageRecordIter and its relatives.

With one thread, or with `seed_aug`, random augmentation draws what MXNet draws with one thread; with more threads every image has a
generator of its own, so that results do not depend on which thread was faster. Source: src/io/iter_image_recordio_2.cc
"""

from __future__ import annotations

import logging
import math
import os
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..errors import MXNetError
from ..recordio import unpack
from .image_augment import DefaultAugmenter, Image
from .image_codec import decode_pixels, opencv
from .image_labels import LabelList, stored_label
from .io import MXDataIter
from .parameters import AugmentParameters, RecordParameters, read, warn_of_unknown
from .random_engine import Engine
from .record_loader import Array, Decoder, Entry, Feed, RecordLoader, Source, engines
from .record_source import ChunkSource, IndexedSource, RecordFile, ShuffledSource

__all__ = ["ImageRecordInt8Iter", "ImageRecordIter", "ImageRecordIter_v1", "ImageRecordUInt8Iter", "ImageRecordUInt8Iter_v1"]

_MAGIC = 111
_CHUNK = 64 << 20
_MIB = 20
_F32 = np.float32


def record_source(p: RecordParameters, chunk: int) -> Source:
    """The records of the part that the parameters name."""
    file = RecordFile(p.path_imgrec)
    if p.path_imgidx:
        return IndexedSource(file, p.path_imgidx, p.part_index, p.num_parts, p.shuffle, p.seed)
    if p.shuffle_chunk_size > 0:
        pieces = math.ceil(file.size * 1.1 / (p.num_parts * (p.shuffle_chunk_size << _MIB)))
        chunk = max(p.shuffle_chunk_size << 17, 8 << _MIB)
        if pieces > 1:
            return ShuffledSource(file, p.part_index, p.num_parts, pieces, p.shuffle_chunk_seed, chunk)
    return ChunkSource(file, p.part_index, p.num_parts, chunk)


def planes(image: Image) -> list[Array]:
    """The channels of an image, each in one piece."""
    cv2 = opencv()
    return list(cv2.split(image)) if cv2 is not None else list(np.ascontiguousarray(image.transpose(2, 0, 1)))


class ImageDecoder:
    """Record -> image (channels, height, width), augmented, mirrored and normalised, and its labels."""

    def __init__(self, p: RecordParameters, augmenter: DefaultAugmenter, data_type: str) -> None:
        self._p, self._augment = p, augmenter
        self.data_shape, self.label_shape, self.data_type = p.data_shape, (p.label_width,), np.dtype(data_type)
        self._labels = LabelList(p.path_imglist, p.label_width) if p.path_imglist else None
        self._means = [_F32(m) for m in (p.mean_r, p.mean_g, p.mean_b, p.mean_a)]
        self._deviations = [_F32(s) for s in (p.std_r, p.std_g, p.std_b, p.std_a)]
        self.mean_image: Array | None = None
        self.draws = augmenter.draws or p.rand_mirror or p.max_random_contrast != 0 or p.max_random_illumination != 0

    def __call__(self, entry: Entry, engine: Engine | None, data: Array, label: Array) -> int:
        p = self._p
        header, encoded = unpack(entry.record)  # type: ignore[arg-type]
        try:
            image = decode_pixels(encoded, self.data_shape[0], rgb=True)
        except MXNetError as error:
            raise MXNetError(f"{p.path_imgrec}: Invalid image with index {header.id}: {error}") from error
        label[:] = self._labels.find(header.id) if self._labels is not None else stored_label(header, p.label_width)
        image, _ = self._augment(image, label, engine)  # type: ignore[arg-type]
        mirrored = (p.rand_mirror and engine is not None and engine.coin()) or p.mirror
        contrast, shift = _F32(p.scale), _F32(0)
        if engine is not None and self.data_type != np.uint8:
            contrast = (_F32(engine.share()) * _F32(p.max_random_contrast) * 2 - _F32(p.max_random_contrast) + 1) * _F32(p.scale)
            shift = (_F32(engine.share()) * _F32(p.max_random_illumination) * 2 - _F32(p.max_random_illumination)) * _F32(p.scale)
        if image.shape != (*self.data_shape[1:], self.data_shape[0]):
            raise MXNetError(f"Invalid image with index {header.id}: expected {self.data_shape}, got {image.shape} (height, width, channels)")
        if mirrored:
            image = image[:, ::-1]
        self._write(image, data, contrast, shift)
        return int(header.id)

    def _write(self, image: Image, data: Array, contrast: Any, shift: Any) -> None:
        for k, plane in enumerate(planes(image)):
            out = data[k]
            if self.data_type == np.uint8:
                out[:] = plane
                continue
            mean = self._means[k] if self.mean_image is None else self.mean_image[k]
            if self.data_type == np.int8:
                rounded = np.trunc(mean + np.copysign(_F32(0.5), mean)).astype(np.int16)
                out[:] = np.clip(plane.astype(np.int16) - rounded, -128, 127)
                continue
            np.copyto(out, plane)
            if self.mean_image is not None or mean != 0:
                out -= mean
            factor = contrast / self._deviations[k]
            if factor != 1:
                out *= factor
            if shift != 0:
                out += shift / self._deviations[k]


def load_or_make_mean(kind: str, p: RecordParameters, feed: Feed, decoder: Decoder, engine_of: Any) -> Array:
    """The mean of the images, from the file `mean_img`, which is made first when it does not exist."""
    if os.path.exists(p.mean_img):
        loaded = nd.load(p.mean_img)
        arrays = list(loaded.values()) if isinstance(loaded, dict) else loaded
        if len(arrays) != 1 or arrays[0].shape != p.data_shape:
            raise MXNetError(f"{kind}: Invalid mean image file format: {p.mean_img} should hold one array of shape {p.data_shape}")
        return np.asarray(arrays[0].asnumpy(), np.float32)
    if p.verbose:
        logging.info("Cannot find %s: create mean image, this will take some time...", p.mean_img)
    total = np.zeros(p.data_shape, np.float32)
    image, label, count = np.empty(p.data_shape, decoder.data_type), np.zeros(decoder.label_shape, np.float32), 0
    while (batch := feed.next_batch()) is not None:
        for entry in batch:
            decoder(entry, engine_of(entry, count) if engine_of else None, image, label)
            total += image
            count += 1
            if count % 10000 == 0 and p.verbose:
                logging.info("%d images processed", count)
    if not count:
        raise MXNetError(f"{kind}: {p.path_imgrec} holds no images to make {p.mean_img} from")
    total *= _F32(1 / count)
    nd.save(p.mean_img, {"mean_img": nd.array(total)})
    return total


def _make(kind: str, given: dict[str, Any], data_type: str | None) -> MXDataIter:
    p = read(kind, RecordParameters, given)
    warn_of_unknown(kind, given, RecordParameters, AugmentParameters)
    p.check(kind)
    data_type = data_type or p.dtype or "float32"
    if data_type not in ("float32", "uint8", "int8"):
        raise MXNetError(f"{kind}: unknown dtype {data_type}: float32, uint8 and int8 are possible")
    if p.aug_seq not in ("", "aug_default"):
        raise MXNetError(f"{kind}: unknown augmenters {p.aug_seq!r}: aug_default is there")
    source = record_source(p, _CHUNK)
    by_chunk = p.shuffle and not p.path_imgidx
    decoder = ImageDecoder(p, DefaultAugmenter(read(kind, AugmentParameters, given)), data_type)
    threads = min(p.preprocess_threads, os.cpu_count() or 1)
    engine_of = engines(threads, _MAGIC, p.seed_aug, not by_chunk) if decoder.draws else None
    if p.mean_img and data_type != "uint8":
        whole = Feed(record_source(p, _CHUNK), p.batch_size, False, None)
        decoder.mean_image = load_or_make_mean(kind, p, whole, decoder, engine_of)
    if p.verbose:
        logging.info("%s: %s, use %d threads for decoding..", kind, p.path_imgrec, threads)
    feed = Feed(source, p.batch_size, p.round_batch, Engine(_MAGIC + p.seed) if by_chunk else None)
    loader = RecordLoader(feed, decoder, p.batch_size, threads, p.prefetch_buffer, engine_of)
    return MXDataIter(loader, given.get("data_name", "data"), given.get("label_name", "softmax_label"))


def keywords_only(kind: str, args: tuple[Any, ...]) -> None:
    """Errors: TypeError for positional arguments."""
    if args:
        raise TypeError(f"{kind} can only accept keyword arguments")


def ImageRecordIter(*args: Any, **kwargs: Any) -> MXDataIter:
    """Batches of images and labels from a .rec file: data (batch_size, *data_shape) float32, or dtype='uint8', 'int8'; red first.

    Needed: path_imgrec, data_shape (channels, height, width), batch_size. Order: shuffle and seed (all images with path_imgidx, else within
    64 MiB), num_parts and part_index, round_batch (the last batch is filled from the start, else it ends in zeros that `pad` counts).
    Labels: label_width, path_imglist. Images: resize, rand_crop, rand_mirror and the rest of `AugmentParameters`; then
    (x - mean) * scale / std with mean_r, std_r, ... or mean_img. Speed: preprocess_threads, prefetch_buffer.
    Deviations: without round_batch MXNet leaves old images in the last batch and `pad` at 0. Names without effect give a warning.
    """
    keywords_only("ImageRecordIter", args)
    return _make("ImageRecordIter", kwargs, None)


def ImageRecordUInt8Iter(*args: Any, **kwargs: Any) -> MXDataIter:
    """`ImageRecordIter` with dtype='uint8': no normalisation."""
    keywords_only("ImageRecordUInt8Iter", args)
    return _make("ImageRecordUInt8Iter", kwargs, "uint8")


def ImageRecordInt8Iter(*args: Any, **kwargs: Any) -> MXDataIter:
    """`ImageRecordIter` with dtype='int8': the rounded mean is taken off."""
    keywords_only("ImageRecordInt8Iter", args)
    return _make("ImageRecordInt8Iter", kwargs, "int8")


def ImageRecordIter_v1(*args: Any, **kwargs: Any) -> MXDataIter:
    """`ImageRecordIter` under its older name."""
    return ImageRecordIter(*args, **kwargs)


def ImageRecordUInt8Iter_v1(*args: Any, **kwargs: Any) -> MXDataIter:
    """`ImageRecordUInt8Iter` under its older name."""
    return ImageRecordUInt8Iter(*args, **kwargs)
