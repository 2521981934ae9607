"""Parameters of the record iterators, as frozen dataclasses read from keyword arguments; values may be text, as in MXNet.

Defaults: src/io/image_iter_common.h, image_aug_default.cc, iter_image_det_recordio.cc, image_det_aug_default.cc.
"""

from __future__ import annotations

import dataclasses
import warnings
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..errors import MXNetError

__all__ = ["AugmentParameters", "DetAugmentParameters", "RecordParameters", "read", "warn_of_unknown"]

P = TypeVar("P")
_REQUIRED = ("data_shape", "batch_size")


@dataclass(frozen=True, kw_only=True)
class RecordParameters:
    """Source, batches, order, threads and normalisation."""

    path_imgrec: str = ""
    path_imglist: str = ""
    path_imgidx: str = ""
    aug_seq: str = ""
    data_shape: tuple[int, ...] = ()
    batch_size: int = 0
    label_width: int = 1
    round_batch: bool = True
    shuffle: bool = False
    seed: int = 0
    seed_aug: int | None = None
    shuffle_chunk_size: int = 0
    shuffle_chunk_seed: int = 0
    num_parts: int = 1
    part_index: int = 0
    preprocess_threads: int = 4
    prefetch_buffer: int = 4
    device_id: int = 0
    ctx: str = "gpu"
    dtype: str | None = None
    verbose: bool = True
    mirror: bool = False
    rand_mirror: bool = False
    mean_img: str = ""
    mean_r: float = 0.0
    mean_g: float = 0.0
    mean_b: float = 0.0
    mean_a: float = 0.0
    std_r: float = 1.0
    std_g: float = 1.0
    std_b: float = 1.0
    std_a: float = 1.0
    scale: float = 1.0
    max_random_contrast: float = 0.0
    max_random_illumination: float = 0.0
    label_pad_width: int = 0
    label_pad_value: float = -1.0

    def check(self, kind: str) -> None:
        """Errors: MXNetError for values that no iterator can work with."""
        if len(self.data_shape) != 3:
            raise MXNetError(f"{kind}: value {self.data_shape} for Parameter data_shape has wrong dimensions, expected dimension=3")
        if self.data_shape[0] not in (1, 3, 4) or min(self.data_shape) < 1:
            raise MXNetError(f"{kind}: Invalid output shape {self.data_shape}: 1, 3 or 4 channels are possible")
        for name in ("preprocess_threads", "batch_size", "num_parts", "prefetch_buffer"):
            if getattr(self, name) < 1:
                raise MXNetError(f"{kind}: value {getattr(self, name)} for Parameter {name} should be greater equal to 1")
        if not 0 <= self.part_index < self.num_parts:
            raise MXNetError(f"{kind}: part_index {self.part_index} is not one of the {self.num_parts} parts")
        if not self.path_imgrec:
            raise MXNetError(f"{kind}: must specify path_imgrec")


@dataclass(frozen=True, kw_only=True)
class AugmentParameters:
    """What `DefaultAugmenter` does."""

    data_shape: tuple[int, ...] = ()
    resize: int = -1
    rand_crop: bool = False
    random_resized_crop: bool = False
    max_rotate_angle: int = 0
    rotate: int = -1
    rotate_list: tuple[int, ...] = ()
    max_aspect_ratio: float = 0.0
    min_aspect_ratio: float | None = None
    max_shear_ratio: float = 0.0
    max_crop_size: int = -1
    min_crop_size: int = -1
    max_random_scale: float = 1.0
    min_random_scale: float = 1.0
    max_random_area: float = 1.0
    min_random_area: float = 1.0
    max_img_size: float = 1e10
    min_img_size: float = 0.0
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    pca_noise: float = 0.0
    random_h: int = 0
    random_s: int = 0
    random_l: int = 0
    fill_value: int = 255
    inter_method: int = 1
    pad: int = 0


@dataclass(frozen=True, kw_only=True)
class DetAugmentParameters:
    """What `DetAugmenter` does. Of the crop parameters there is one value for all samplers or one for each."""

    data_shape: tuple[int, ...] = ()
    resize: int = -1
    rand_crop_prob: float = 0.0
    min_crop_scales: tuple[float, ...] = (0.0,)
    max_crop_scales: tuple[float, ...] = (1.0,)
    min_crop_aspect_ratios: tuple[float, ...] = (1.0,)
    max_crop_aspect_ratios: tuple[float, ...] = (1.0,)
    min_crop_overlaps: tuple[float, ...] = (0.0,)
    max_crop_overlaps: tuple[float, ...] = (1.0,)
    min_crop_sample_coverages: tuple[float, ...] = (0.0,)
    max_crop_sample_coverages: tuple[float, ...] = (1.0,)
    min_crop_object_coverages: tuple[float, ...] = (0.0,)
    max_crop_object_coverages: tuple[float, ...] = (1.0,)
    num_crop_sampler: int = 1
    crop_emit_mode: str = "center"
    emit_overlap_thresh: float = 0.3
    max_crop_trials: tuple[int, ...] = (25,)
    rand_pad_prob: float = 0.0
    max_pad_scale: float = 1.0
    max_random_hue: int = 0
    random_hue_prob: float = 0.0
    max_random_saturation: int = 0
    random_saturation_prob: float = 0.0
    max_random_illumination: int = 0
    random_illumination_prob: float = 0.0
    max_random_contrast: float = 0.0
    random_contrast_prob: float = 0.0
    rand_mirror_prob: float = 0.0
    fill_value: int = 127
    inter_method: int = 1
    resize_mode: str = "force"


def _value(kind: str, value: Any) -> Any:
    """`value` as the type that a field's annotation names. Errors: ValueError, TypeError, SyntaxError."""
    optional = kind.endswith(" | None")
    kind = kind.removesuffix(" | None")
    if optional and (value is None or value == "None"):
        return None
    if kind == "str":
        return np.dtype(value).name if isinstance(value, type) else str(value)
    if kind == "bool":
        text = str(value).lower()
        if text not in ("true", "false", "1", "0"):
            raise ValueError(text)
        return text in ("true", "1")
    if isinstance(value, str):
        value = literal_eval(value.strip())
    if kind.startswith("tuple"):
        element = float if "float" in kind else int
        return tuple(element(v) for v in (value if isinstance(value, (tuple, list)) else (value,)))
    if kind == "int":
        whole = int(value)
        if whole != value or isinstance(value, bool):
            raise ValueError(value)
        return whole
    return float(value)


def read(kind: str, parameters: type[P], given: Mapping[str, Any], **defaults: Any) -> P:
    """The parameters among the keyword arguments of the iterator `kind`; `defaults` replace the class's own.

    Errors: MXNetError for a missing or unreadable value.
    """
    values = dict(defaults)
    for field in dataclasses.fields(parameters):  # type: ignore[arg-type]
        if field.name in given:
            expected = str(field.type)
            try:
                values[field.name] = _value(expected, given[field.name])
            except (ValueError, TypeError, SyntaxError):
                text = f"Invalid Parameter format for {field.name} expect {expected} but value='{given[field.name]}'"
                raise MXNetError(f"{kind}: {text}") from None
        elif field.name in _REQUIRED:
            raise MXNetError(f"{kind}: Required parameter {field.name} is not presented")
    return parameters(**values)


def warn_of_unknown(kind: str, given: Mapping[str, Any], *classes: type) -> None:
    """Warns of keyword arguments that are none of these classes' fields; MXNet takes no notice of them."""
    known = {field.name for parameters in classes for field in dataclasses.fields(parameters)} | {"data_name", "label_name", "name"}
    unknown = sorted(set(given) - known)
    if unknown:
        warnings.warn(f"{kind}: parameters without effect: {', '.join(unknown)}", stacklevel=4)
