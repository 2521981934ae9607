"""The default augmenter of the record iterators, on uint8 images (h, w, channels), red first, that OpenCV decoded.

Every random number is drawn as MXNet draws it (src/io/image_aug_default.cc). MXNet works blue first: where a step treats the channels
differently, its quirks are kept by naming the colour orders the other way round.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from ..errors import MXNetError
from ..ops.runtime.resize import resize_image
from .image_codec import opencv
from .parameters import AugmentParameters
from .random_engine import Engine

__all__ = ["DefaultAugmenter", "interpolation", "resize_shorter", "resized", "shift_hls"]

Image = np.ndarray[Any, Any]
_F32 = np.float32
_PCA = np.array(
    [
        [55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009],
        [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
        [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203],
    ],
    np.float32,
)


def with_channels(image: Any) -> Image:
    """OpenCV drops the axis of a single channel: back with it."""
    return np.asarray(image[:, :, None] if image.ndim == 2 else image)


def resized(image: Image, width: int, height: int, method: int) -> Image:
    """The image at another size, by OpenCV, or by this package's own resizing where it is missing."""
    cv2 = opencv()
    if cv2 is None:
        return resize_image(torch.from_numpy(np.require(image, requirements=["C", "W"])), height, width, method).numpy()
    return with_channels(cv2.resize(image, (width, height), interpolation=method))


def interpolation(code: int, old: tuple[int, int], new: tuple[float, float], engine: Engine) -> int:
    """The method 0-4 for a code: 9 chooses by the sizes (w, h), 10 at random. Errors: MXNetError for other codes."""
    if code == 9:
        if new[0] > old[0] and new[1] > old[1]:
            return 2
        return 3 if new[0] < old[0] and new[1] < old[1] else 1
    if code == 10:
        return engine.integer(0, 4)
    if not 0 <= code <= 4:
        raise MXNetError(f"invalid inter_method {code}: valid value 0,1,2,3,4,9,10")
    return code


def resize_shorter(image: Image, size: int, code: int, engine: Engine) -> Image:
    """The image with its shorter side at `size`."""
    h, w = image.shape[:2]
    new_w, new_h = (size, size * h // w) if h > w else (size * w // h, size)
    return resized(image, new_w, new_h, interpolation(code, (w, h), (new_w, new_h), engine))


def shift_hls(image: Image, h: int, s: int, lightness: int) -> Image:
    """Hue, saturation and lightness shifted by whole numbers and cut off at their ends."""
    cv2 = opencv("changing hue, saturation and lightness")
    hls = cv2.cvtColor(image, cv2.COLOR_RGB2HLS).astype(np.int32)
    shifted = np.clip(hls + np.array([h, lightness, s]), 0, [180, 255, 255]).astype(np.uint8)
    return np.asarray(cv2.cvtColor(shifted, cv2.COLOR_HLS2RGB))


class DefaultAugmenter:
    """Resize, rotate and shear, pad, crop to `data_shape`, change colours: what the parameters ask for, in this order."""

    def __init__(self, parameters: AugmentParameters) -> None:
        self._p = p = parameters
        self._height, self._width = p.data_shape[1:]
        if p.min_aspect_ratio is not None:
            self._aspect = (p.min_aspect_ratio, p.max_aspect_ratio)
        else:
            self._aspect = (1 - p.max_aspect_ratio, 1 + p.max_aspect_ratio)
        self._warps = (
            p.max_rotate_angle > 0 or p.max_shear_ratio > 0 or p.rotate > 0 or bool(p.rotate_list)
            or (p.max_random_scale, p.min_random_scale) != (1, 1) or (not p.random_resized_crop and self._aspect != (1, 1))
            or p.max_img_size != 1e10 or p.min_img_size != 0
        )  # fmt: skip
        crop_sizes = (p.min_random_scale, p.max_random_scale, p.min_crop_size, p.max_crop_size)
        if p.random_resized_crop and (crop_sizes != (1, 1, -1, -1) or p.rand_crop):
            names = "min_random_scale, max_random_scale, min_crop_size, max_crop_size, and rand_crop"
            raise MXNetError(f"Setting random_resized_crop to true conflicts with {names}.")
        areas = (p.min_random_area, p.max_random_area)
        self._crops_area = p.random_resized_crop and (areas != (1, 1) or self._aspect != (1, 1))
        self.draws = (
            self._warps or self._crops_area or p.rand_crop or p.max_crop_size != -1 or p.min_crop_size != -1 or p.inter_method == 10
            or p.brightness > 0 or p.contrast > 0 or p.saturation > 0 or p.pca_noise > 0 or (p.random_h, p.random_s, p.random_l) != (0, 0, 0)
        )  # fmt: skip

    def __call__(self, image: Image, label: Any, engine: Engine) -> tuple[Image, Any]:
        """The image augmented and cropped; the label stays. Errors: MXNetError when a crop does not fit."""
        p = self._p
        if p.resize != -1:
            image = resize_shorter(image, p.resize, p.inter_method, engine)
        if self._warps:
            image = self._warped(image, engine)
        if p.pad > 0:
            image = self._padded(image)
        image = self._cropped(image, engine)
        if p.brightness > 0 or p.contrast > 0 or p.saturation > 0:
            image = self._jittered(image, engine)
        if p.random_h or p.random_s or p.random_l:
            h, s, lightness = (self._triangular(engine, limit) for limit in (p.random_h, p.random_s, p.random_l))
            image = shift_hls(image, h, s, lightness)
        if p.pca_noise > 0:
            image = self._lit(image, engine)
        return image, label

    @staticmethod
    def _triangular(engine: Engine, limit: int) -> int:
        first, second = engine.share(), engine.share()
        return int((first + 4 * second) / 5 * limit * 2 - limit)

    def _warped(self, image: Image, engine: Engine) -> Image:
        """Rotated, sheared, scaled and stretched about its centre."""
        p = self._p
        cv2 = opencv("rotating, shearing and scaling")
        h, w = image.shape[:2]
        shear = _F32(engine.share()) * _F32(p.max_shear_ratio) * 2 - _F32(p.max_shear_ratio)
        angle = engine.integer(-p.max_rotate_angle, p.max_rotate_angle)
        if p.rotate > 0:
            angle = p.rotate
        if p.rotate_list:
            angle = p.rotate_list[engine.integer(0, len(p.rotate_list) - 1)]
        a, b = _F32(math.cos(angle / 180 * math.pi)), _F32(math.sin(angle / 180 * math.pi))
        scale = ratio = _F32(1)
        if not p.random_resized_crop:
            scale = _F32(engine.real(p.min_random_scale, p.max_random_scale))
            ratio = _F32(engine.real(*self._aspect))
        hs = 2 * scale / (1 + ratio)
        ws = ratio * hs
        new_w, new_h = (float(np.clip(scale * _F32(side), p.min_img_size, p.max_img_size)) for side in (w, h))
        matrix = np.array([[hs * a - shear * b * ws, hs * b + shear * a * ws, 0], [-b * ws, a * ws, 0]], np.float32)
        centre = matrix[:, 0] * _F32(w) + matrix[:, 1] * _F32(h)
        matrix[:, 2] = (np.array([new_w, new_h], np.float32) - centre) / 2
        method = interpolation(p.inter_method, (w, h), (int(new_w), int(new_h)), engine)
        return with_channels(
            cv2.warpAffine(
                image, matrix, (int(new_w), int(new_h)), flags=method, borderMode=cv2.BORDER_CONSTANT, borderValue=(p.fill_value,) * 3
            )
        )

    def _padded(self, image: Image) -> Image:
        pad = self._p.pad
        padded = np.pad(image, ((pad, pad), (pad, pad), (0, 0)), constant_values=np.clip(self._p.fill_value, 0, 255))
        if image.shape[2] == 4:  # the border is transparent black in the fourth channel
            padded[:, :, 3] = np.pad(image[:, :, 3], pad)
        return padded

    def _cropped(self, image: Image, engine: Engine) -> Image:
        p = self._p
        if p.random_resized_crop:
            found = self._area_crop(image, engine) if self._crops_area else None
            if found is not None:
                return found
        elif p.max_crop_size != -1 or p.min_crop_size != -1:
            return self._square_crop(image, engine)
        return self._plain_crop(image, engine)

    def _place(self, free_y: int, free_x: int, engine: Engine) -> tuple[int, int]:
        if self._p.rand_crop:
            y = engine.integer(0, free_y)
            return y, engine.integer(0, free_x)
        return free_y // 2, free_x // 2

    def _area_crop(self, image: Image, engine: Engine) -> Image | None:
        """A part of random area and aspect ratio, resized; None after ten proposals that do not fit."""
        p = self._p
        h, w = image.shape[:2]
        for _attempt in range(10):
            wanted = _F32(h * w) * _F32(engine.real(p.min_random_area, p.max_random_area))
            ratio = _F32(engine.real(*self._aspect))
            part_h, part_w = (math.floor(float(np.sqrt(_F32(area))) + 0.5) for area in (wanted / ratio, wanted * ratio))
            if engine.share() > 0.5:
                part_h, part_w = part_w, part_h
            if part_h <= h and part_w <= w:
                y, x = engine.integer(0, h - part_h), engine.integer(0, w - part_w)
                method = interpolation(p.inter_method, (part_w, part_h), (self._width, self._height), engine)
                return resized(image[y : y + part_h, x : x + part_w], self._width, self._height, method)
        return None

    def _square_crop(self, image: Image, engine: Engine) -> Image:
        p = self._p
        h, w = image.shape[:2]
        if min(h, w) < p.max_crop_size or p.max_crop_size < p.min_crop_size:
            raise MXNetError(f"input image size ({h}, {w}) smaller than max_crop_size {p.max_crop_size}, or that than min_crop_size")
        side = engine.integer(p.min_crop_size, p.max_crop_size)
        y, x = self._place(h - side, w - side, engine)
        method = interpolation(p.inter_method, (side, side), (self._width, self._height), engine)
        return resized(image[y : y + side, x : x + side], self._width, self._height, method)

    def _plain_crop(self, image: Image, engine: Engine) -> Image:
        """The part of the wanted size; smaller images are enlarged first."""
        h, w = image.shape[:2]
        method = interpolation(self._p.inter_method, (w, h), (self._width, self._height), engine)
        if h < self._height:
            image = resized(image, int(_F32(self._height) / _F32(h) * _F32(w)), self._height, method)
            h, w = image.shape[:2]
        if w < self._width:
            image = resized(image, self._width, int(_F32(self._width) / _F32(w) * _F32(h)), method)
            h, w = image.shape[:2]
        if h < self._height or w < self._width:
            raise MXNetError(f"input image size ({h}, {w}) smaller than input shape ({self._height}, {self._width})")
        y, x = self._place(h - self._height, w - self._width, engine)
        return image[y : y + self._height, x : x + self._width]

    def _jittered(self, image: Image, engine: Engine) -> Image:
        """Brightness, contrast and saturation in random order."""
        p = self._p
        cv2 = opencv("changing brightness, contrast and saturation")
        amounts = [1.0 + engine.real(-amount, amount) for amount in (p.brightness, p.contrast, p.saturation)]
        order = [0, 1, 2]
        engine.shuffle(order)
        for step in order:
            alpha = amounts[step]
            if step == 0:
                image = _scaled(image, alpha, 0)
                continue
            grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)  # MXNet weighs its blue-first image as if it were red first
            if step == 1:
                image = _scaled(image, alpha, (1 - alpha) * float(_F32(cv2.mean(grey)[0])))
            else:
                image = cv2.addWeighted(image, alpha, cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), 1 - alpha, 0.0)
        return image

    def _lit(self, image: Image, engine: Engine) -> Image:
        """Noise along the principal components of natural colours."""
        alpha = np.array(engine.normals(self._p.pca_noise, 3), np.float32)
        noise = (_PCA * alpha).sum(1, dtype=np.float32)
        return np.asarray(np.clip((image.astype(np.float32) + noise).astype(np.int32), 0, 255).astype(np.uint8))


def _scaled(image: Image, alpha: float, beta: float) -> Image:
    """alpha * image + beta, rounded to even and cut off as OpenCV converts."""
    return np.asarray(np.clip(np.rint(image.astype(np.float32) * _F32(alpha) + _F32(beta)), 0, 255).astype(np.uint8))
