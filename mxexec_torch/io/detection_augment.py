"""The default augmenter of ImageDetRecordIter: an image together with the boxes of its objects.

Images are uint8 (h, w, channels), red first. A label is: its header's length, the columns of an object, the rest of the header, the objects
(class, left, top, right, bottom as shares of the image, more). Random numbers as MXNet draws them (src/io/image_det_aug_default.cc).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from ..errors import MXNetError
from .image_augment import Image, _scaled, interpolation, resize_shorter, resized, shift_hls
from .parameters import DetAugmentParameters
from .random_engine import Engine

__all__ = ["DetectionAugmenter"]

Label = np.ndarray[Any, Any]
_F32 = np.float32
_EACH = [f"{end}_crop_{of}" for end in ("min", "max") for of in ("scales", "aspect_ratios", "overlaps", "sample_coverages", "object_coverages")]


class _Objects:
    """The label taken apart; objects of no size are left out."""

    def __init__(self, raw: Label) -> None:
        if raw.size < 7:
            raise MXNetError(f"a detection label has 7 numbers or more (2 of header, 5 of an object), got {raw.size}")
        header, columns = int(raw[0]), int(raw[1])
        if header < 2 or columns < 5 or (raw.size - header) % columns:
            raise MXNetError(f"a detection label of {raw.size} numbers does not fit its header of {header} and objects of {columns}")
        self.header = raw[:header]
        rows = raw[header:].reshape(-1, columns).copy()
        self.rows = rows[(rows[:, 3] > rows[:, 1]) & (rows[:, 4] > rows[:, 2])]

    def joined(self) -> Label:
        """The label as it was."""
        return np.concatenate([self.header, self.rows.ravel()])

    def mirror(self) -> None:
        """Left and right exchanged."""
        self.rows[:, [1, 3]] = 1 - self.rows[:, [3, 1]]

    def projected(self, rows: Label, box: Label) -> Label:
        """Rows relative to a box (x, y, w, h), cut off at its edges."""
        out = rows.copy()
        out[:, 1:3] = np.maximum(0, (rows[:, 1:3] - box[:2]) / box[2:])
        out[:, 3:5] = np.minimum(1, (rows[:, 3:5] - box[:2]) / box[2:])
        return out


class DetectionAugmenter:
    """Resize, change colours, mirror, pad, crop with conditions on the objects, fit to `data_shape`. Errors: MXNetError for bad parameters."""

    def __init__(self, parameters: DetAugmentParameters) -> None:
        p = parameters
        interpolation(p.inter_method if p.inter_method != 10 else 1, (1, 1), (1, 1), Engine(0))
        count = p.num_crop_sampler
        if p.crop_emit_mode not in ("center", "overlap") or p.resize_mode not in ("force", "shrink", "fit"):
            raise MXNetError(f"crop_emit_mode is center or overlap, resize_mode force, shrink or fit; got {p.crop_emit_mode}, {p.resize_mode}")
        for name in [*_EACH, "max_crop_trials"]:
            values = getattr(p, name)
            if len(values) not in (1, max(count, 1)):
                raise MXNetError(f"# of parameters/crop_samplers mismatch: {name} has {len(values)} values for {count} crop samplers")
            p = dataclasses.replace(p, **{name: values * count if len(values) == 1 else values})
        for of in ("scales", "aspect_ratios", "overlaps", "sample_coverages", "object_coverages"):
            lows, highs = getattr(p, f"min_crop_{of}"), getattr(p, f"max_crop_{of}")
            if any(low > high for low, high in zip(lows, highs, strict=True)):
                raise MXNetError(f"min_crop_{of} {lows} must not be above max_crop_{of} {highs}")
        self._p = p
        self._height, self._width = p.data_shape[1:]
        probabilities = (
            p.random_hue_prob, p.random_saturation_prob, p.random_illumination_prob, p.random_contrast_prob, p.rand_mirror_prob,
            p.rand_pad_prob, p.rand_crop_prob,
        )  # fmt: skip
        self._colours = max(probabilities[:4]) > 0
        self.draws = max(probabilities) > 0 or p.inter_method == 10

    def __call__(self, image: Image, label: Label, engine: Engine) -> tuple[Image, Label]:
        """Image and label augmented."""
        p = self._p
        if p.resize != -1:
            image = resize_shorter(image, p.resize, p.inter_method, engine)
        objects = _Objects(label)
        if self._colours:
            image = self._coloured(image, engine)
        if p.rand_mirror_prob > 0 and engine.share() < p.rand_mirror_prob:
            objects.mirror()
            image = image[:, ::-1]
        if p.rand_pad_prob > 0 and p.max_pad_scale > 1 and engine.share() < p.rand_pad_prob:
            image = self._padded(image, objects, engine)
        if p.rand_crop_prob > 0 and p.num_crop_sampler > 0 and engine.share() < p.rand_crop_prob:
            image = self._cropped(image, objects, engine)
        return self._fitted(np.ascontiguousarray(image), engine), objects.joined()

    def _coloured(self, image: Image, engine: Engine) -> Image:
        p = self._p
        h, s, lightness = (
            int(_F32(engine.real(-1, 1)) * _F32(limit)) for limit in (p.max_random_hue, p.max_random_saturation, p.max_random_illumination)
        )
        contrast = float(_F32(engine.real(-1, 1)) * _F32(p.max_random_contrast))
        h = h if engine.share() < p.random_hue_prob else 0
        s = s if engine.share() < p.random_saturation_prob else 0
        lightness = lightness if engine.share() < p.random_illumination_prob else 0
        contrast = contrast if engine.share() < p.random_contrast_prob else 0.0
        if h or s or lightness:
            image = shift_hls(image, h, s, lightness)
        return _scaled(image, contrast + 1, 0) if abs(contrast) > 1e-3 else image

    def _padded(self, image: Image, objects: _Objects, engine: Engine) -> Image:
        """The image at a random place of a larger one, when that is 5 % larger or more."""
        scale = _F32(engine.real(1, self._p.max_pad_scale))
        if scale < _F32(1.05):
            return image
        x, y = _F32(engine.real(0, float(scale - 1))), _F32(engine.real(0, float(scale - 1)))
        objects.rows = objects.projected(objects.rows, np.array([-x, -y, scale, scale], np.float32))
        rows, columns = (_F32(side) for side in image.shape[:2])
        left, top = int(x * columns), int(y * rows)
        right, bottom = int((scale - x - 1) * columns), int((scale - y - 1) * rows)
        return np.pad(image, ((top, bottom), (left, right), (0, 0)), constant_values=self._p.fill_value)

    def _cropped(self, image: Image, objects: _Objects, engine: Engine) -> Image:
        """A part that a sampler, tried in random order, finds within its trials; else the image as it is."""
        order = list(range(self._p.num_crop_sampler))
        engine.shuffle(order)
        h, w = image.shape[:2]
        for sampler in order:
            for _trial in range(self._p.max_crop_trials[sampler]):
                box = self._proposal(sampler, _F32(w) / _F32(h), engine)
                if self._accepts(sampler, objects, box):
                    left, top, wide, high = (int(share * _F32(side)) for share, side in zip(box, (w, h, w, h), strict=True))
                    return image[top : top + high, left : left + wide]
        return image

    def _proposal(self, i: int, aspect: Any, engine: Engine) -> Label:
        """A random box (x, y, w, h)."""
        p = self._p
        scale = _F32(engine.real(p.min_crop_scales[i], p.max_crop_scales[i])) + _F32(1e-12)
        least = max(_F32(p.min_crop_aspect_ratios[i]) / aspect, scale * scale)
        most = min(_F32(p.max_crop_aspect_ratios[i]) / aspect, _F32(1.0 / float(scale * scale)))
        ratio = np.sqrt(_F32(engine.real(float(least), float(most))))
        w, h = min(_F32(1), scale * ratio), min(_F32(1), scale / ratio)
        x = engine.real(0, float(1 - w))
        return np.array([x, engine.real(0, float(1 - h)), w, h], np.float32)

    def _accepts(self, i: int, objects: _Objects, box: Label) -> bool:
        """Whether an object meets the sampler's conditions and one stays; then the objects become relative to the box."""
        p = self._p
        rows = objects.rows
        if not len(rows):
            return True
        low, high = np.maximum(rows[:, 1:3], box[:2]), np.minimum(rows[:, 3:5], box[:2] + box[2:])
        common = np.where((high > low).all(1), (high - low).prod(1), 0)
        own, whole = (rows[:, 3:5] - rows[:, 1:3]).prod(1), box[2] * box[3]
        conditions = (
            (common / (own + whole - common), p.min_crop_overlaps[i], p.max_crop_overlaps[i]),
            (common / whole, p.min_crop_sample_coverages[i], p.max_crop_sample_coverages[i]),
            (common / own, p.min_crop_object_coverages[i], p.max_crop_object_coverages[i]),
        )
        met = np.ones(len(rows), bool)
        for share, least, most in conditions:
            if least > 0 or most < 1:
                met &= (share >= _F32(least)) & (share <= _F32(most))
        if not met.any():
            return False
        if p.crop_emit_mode == "center":
            centre = (rows[:, 1:3] + rows[:, 3:5]) * _F32(0.5)
            kept = ((box[:2] <= centre) & (centre < box[:2] + box[2:])).all(1)
        else:
            kept = common / own > _F32(p.emit_overlap_thresh)
        if not kept.any():
            return False
        objects.rows = objects.projected(rows[kept], box)
        return True

    def _fitted(self, image: Image, engine: Engine) -> Image:
        """Resized to `data_shape`, or with its aspect ratio kept into it."""
        h, w = image.shape[:2]
        new_h, new_w = self._height, self._width
        if self._p.resize_mode != "force":
            ratio = min(_F32(new_h) / _F32(h), _F32(new_w) / _F32(w))
            if self._p.resize_mode == "shrink" and h <= new_h and w <= new_w:
                return image
            new_h, new_w = math.floor(ratio * _F32(h)), math.floor(ratio * _F32(w))
        return resized(image, new_w, new_h, interpolation(self._p.inter_method, (w, h), (new_w, new_h), engine))
