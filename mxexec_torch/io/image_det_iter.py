"""The iterator over images with object boxes in .rec files: ImageDetRecordIter. Source: src/io/iter_image_det_recordio.cc"""

from __future__ import annotations

import logging
import os
from typing import Any

import numpy as np

from ..errors import MXNetError
from ..recordio import unpack
from .detection_augment import DetectionAugmenter
from .image_codec import decode_pixels
from .image_iters import keywords_only, load_or_make_mean, planes, record_source
from .image_labels import LabelList
from .io import MXDataIter
from .parameters import DetAugmentParameters, RecordParameters, read, warn_of_unknown
from .random_engine import Engine
from .record_loader import Array, Entry, Feed, RecordLoader, engines

__all__ = ["ImageDetRecordIter"]

_KIND = "ImageDetRecordIter"
_MAGIC = 233
_CHUNK = 8 << 20
_SIZES = 4  # channels, height, width and the number of labels stand before each label
_F32 = np.float32


class DetDecoder:
    """Record -> image (channels, height, width), augmented and normalised, and its sizes and label, filled up with `label_pad_value`."""

    def __init__(self, p: RecordParameters, augmenter: DetectionAugmenter) -> None:
        self._p, self._augment = p, augmenter
        width = p.label_width if p.label_width > 0 else None
        self._labels = LabelList(p.path_imglist, width) if p.path_imglist else None
        longest = self._labels.most() if self._labels is not None else _longest_label(p)
        if 0 < p.label_pad_width < longest:
            raise MXNetError(f"{_KIND}: label_pad_width: {p.label_pad_width} smaller than estimated width: {longest}")
        self.data_shape, self.label_shape = p.data_shape, (max(longest, p.label_pad_width) + _SIZES,)
        self.data_type = np.dtype("float32")
        self.mean_image: Array | None = None
        self.draws = augmenter.draws

    def __call__(self, entry: Entry, engine: Engine | None, data: Array, label: Array) -> int:
        p = self._p
        header, encoded = unpack(entry.record)  # type: ignore[arg-type]
        try:
            image = decode_pixels(encoded, self.data_shape[0], rgb=True)
        except MXNetError as error:
            raise MXNetError(f"{p.path_imgrec}: Invalid image with index {header.id}: {error}") from error
        stored = self._labels.find(header.id) if self._labels is not None else np.asarray(header.label, np.float32)
        image, found = self._augment(image, stored, engine or Engine(_MAGIC))
        h, w, channels = image.shape
        label[:] = p.label_pad_value
        label[: _SIZES + len(found)] = [channels, h, w, len(found), *found]
        data[:] = 0
        for k, plane in enumerate(planes(image)):
            data[k, :h, :w] = plane
        self._normalize(data)
        return int(header.id)

    def _normalize(self, data: Array) -> None:
        p = self._p
        means, deviations = (p.mean_r, p.mean_g, p.mean_b, p.mean_a), (p.std_r, p.std_g, p.std_b, p.std_a)
        if max(means) > 0:
            for plane, mean in zip(data, means, strict=False):
                plane -= _F32(mean)
        elif self.mean_image is not None:
            data -= self.mean_image
        for plane, deviation in zip(data, deviations, strict=False):
            if deviation > 0:
                plane /= _F32(deviation)
        if p.scale != 1:
            data *= _F32(p.scale)


def _longest_label(p: RecordParameters) -> int:
    """The most numbers that a label in the part has: reads all headers once. Errors: MXNetError for records without such labels."""
    source, longest = record_source(p, _CHUNK), 0
    while (chunk := source.next_chunk(1)) is not None:
        for record in chunk:
            header, _ = unpack(record)  # type: ignore[arg-type]
            if header.flag == 0:
                raise MXNetError(f"{_KIND}: Not enough label packed in img_list or rec file.")
            if 0 < p.label_width != header.flag:
                raise MXNetError(f"{_KIND}: rec file provide {header.flag}-dimensional label but label_width is set to {p.label_width}")
            longest = max(longest, header.flag)
    return longest


def ImageDetRecordIter(*args: Any, **kwargs: Any) -> MXDataIter:
    """Batches of images and object labels from a .rec file: data (batch_size, *data_shape) float32, red first; labels (batch_size, width).

    A row of labels: channels, height and width of the image in its place, the number of numbers that follow, these, then
    label_pad_value. Needed: path_imgrec, data_shape, batch_size. label_width (-1: any), label_pad_width; shuffle, seed (within 8 MiB),
    num_parts, part_index, round_batch; `DetAugmentParameters`; mean_r, std_r, ... (0: none), mean_img, scale.
    Deviations: where resize_mode leaves a part of data_shape free, MXNet leaves old values, here it holds 0 before normalisation.
    """
    keywords_only(_KIND, args)
    p = read(_KIND, RecordParameters, kwargs, label_width=-1, std_r=0.0, std_g=0.0, std_b=0.0, std_a=0.0)
    warn_of_unknown(_KIND, kwargs, RecordParameters, DetAugmentParameters)
    p.check(_KIND)
    if p.aug_seq not in ("", "det_aug_default"):
        raise MXNetError(f"{_KIND}: unknown augmenters {p.aug_seq!r}: det_aug_default is there")
    decoder = DetDecoder(p, DetectionAugmenter(read(_KIND, DetAugmentParameters, kwargs)))
    threads = min(p.preprocess_threads, os.cpu_count() or 1)
    engine_of = engines(threads, _MAGIC, None, not p.shuffle) if decoder.draws else None
    if p.mean_img:
        decoder.mean_image = load_or_make_mean(_KIND, p, Feed(record_source(p, _CHUNK), p.batch_size, False, None), decoder, engine_of)
    if p.verbose:
        logging.info("%s: %s, use %d threads for decoding.., label padding width: %d", _KIND, p.path_imgrec, threads, decoder.label_shape[0] - _SIZES)
    feed = Feed(record_source(p, _CHUNK), p.batch_size, p.round_batch, Engine(_MAGIC + p.seed) if p.shuffle else None)
    loader = RecordLoader(feed, decoder, p.batch_size, threads, p.prefetch_buffer, engine_of)
    return MXDataIter(loader, kwargs.get("data_name", "data"), kwargs.get("label_name", "softmax_label"))
