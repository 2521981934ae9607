"""Pictures: conversion, normalization, colour, flips, crops, resizing and borders."""

import functools
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ..case import Array, Case, integers, normal, uniform, values


def _picture(*shape: int, dtype: str = "uint8") -> Array:
    return integers(*shape, high=127 if dtype == "int8" else 255, dtype=dtype)


def _case(op: str, label: str, data: Array, **attrs: Any) -> Case:
    return Case(op, label, inputs=dict(data=data), attrs=attrs, grad=())


def bitmap() -> bytes:
    """An uncompressed picture file of 4 x 3 pixels, blue first and the last row first."""
    pixels = np.random.RandomState(7).randint(0, 256, (3, 4, 3)).astype("uint8").tobytes()
    return b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54 + len(pixels), 0, 0, 54, 40, 4, 3, 1, 24, 0, len(pixels), 0, 0, 0, 0) + pixels


def _from_file(mx: Any, F: Any, given: dict[str, Any], **attrs: Any) -> Any:  # noqa: N803 - as in Case.build
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.bmp"
        path.write_bytes(bitmap())
        return mx.nd._internal._cvimread(filename=str(path), **attrs).copy()


def _host(op: str, label: str, data: Array, **attrs: Any) -> Case:
    """Operators with a CPU body and no symbol form."""
    return Case(op, label, inputs=dict(src=data), attrs=attrs, grad=(), paths=("nd",))


_SMALL = _picture(6, 8, 3)
_MIRRORED = values(np.array([[[9, 1, 4], [9, 1, 4]], [[2, 0, 7], [2, 0, 7]], [[2, 0, 7], [2, 0, 7]], [[9, 1, 4], [9, 1, 4]]]).tolist())
_FILE = values(list(bitmap()), "uint8")
_READ: dict[str, dict[str, Any]] = {"colour": {}, "blue_first": dict(to_rgb=False), "grey": dict(flag=0)}
_COLOURS = [(f, n) for f in (0.0, 0.4, 1.7) for n in ("brightness", "contrast", "saturation", "hue")]

CASES = [
    *[_case("_image_to_tensor", dtype, _picture(5, 4, 3, dtype=dtype)) for dtype in ("uint8", "float32", "float64", "int32", "int8")],
    _case("_image_to_tensor", "batch", _picture(2, 5, 4, 3)), _case("_image_to_tensor", "grey", _picture(5, 4, 1)),
    Case("_image_normalize", "channels", inputs=dict(data=normal(3, 4, 5)), attrs=dict(mean=(1, 2, 3), std=(2, 3, 4))),
    Case("_image_normalize", "batch", inputs=dict(data=normal(2, 3, 4, 5)), attrs=dict(mean=1, std=(0.3, 0.4, 0.5))),
    Case("_image_normalize", "grey", inputs=dict(data=normal(1, 4, 5)), attrs=dict(mean=0.5, std=0.2)),
    Case("_image_normalize", "four_channels", inputs=dict(data=normal(4, 4, 5)), attrs=dict(mean=0.5, std=0.2), error=True),
    *[_case(f"_image_flip_{way}", "default", _SMALL) for way in ("left_right", "top_bottom")],
    _case("_image_crop", "default", _SMALL, x=1, y=2, width=3, height=4), _case("_image_crop", "batch", _picture(2, 6, 8, 3), x=1, y=2, width=3, height=4),
    Case("_image_crop", "outside", inputs=dict(data=_SMALL), attrs=dict(x=6, y=2, width=3, height=4), error=True),
    Case("_image_crop", "gradient", inputs=dict(data=uniform(6, 8, 3)), attrs=dict(x=1, y=2, width=3, height=4)),
    *[_case(f"_image_random_{n}", f"{f:g}_{d}", _picture(6, 8, 3, dtype=d), min_factor=f, max_factor=f) for f, n in _COLOURS for d in ("uint8", "float32")],
    _case("_image_adjust_lighting", "uint8", _SMALL, alpha=(0.3, -0.2, 0.5)),
    _case("_image_adjust_lighting", "float32", _picture(6, 8, 3, dtype="float32"), alpha=(3.0, -20.0, 5.0)),
    *[
        _case("_image_resize", f"{w}x{h}_{interp}_{dtype}", _picture(12, 9, 3, dtype=dtype), size=(w, h), interp=interp)
        for w, h in ((5, 4), (14, 18), (3, 12)) for interp in (0, 1, 2, 3) for dtype in ("uint8", "float32")
    ],
    _case("_image_resize", "batch", _picture(2, 6, 8, 3), size=4), _case("_image_resize", "ratio", _SMALL, size=4, keep_ratio=True),
    _host("_cvimresize", "linear", _SMALL, w=3, h=4), _host("_cvimresize", "area", _picture(12, 9, 3), w=3, h=4, interp=3),
    *[_host("_cvcopyMakeBorder", f"type_{t}", _SMALL, top=1, bot=9, left=10, right=2, type=t, value=3) for t in range(5)],
    _host("_cvcopyMakeBorder", "values", _SMALL, top=1, bot=1, left=0, right=2, values=(1.0, 2.0, 3.0)),
    # what chance decides, decided: mirrored pictures, noise of no strength
    *[_case(f"_image_random_flip_{way}", dtype, _MIRRORED.typed(dtype)) for way in ("left_right", "top_bottom") for dtype in ("uint8", "float32")],
    *[_case("_image_random_lighting", dtype, _picture(6, 8, 3, dtype=dtype), alpha_std=0.0) for dtype in ("uint8", "float32")],
    _case("_image_random_color_jitter", "slight", _picture(6, 8, 3, dtype="float32"), brightness=1e-7, contrast=1e-7, saturation=1e-7, hue=0.0),
    Case("_image_random_color_jitter", "missing", dict(data=_SMALL), dict(brightness=0.1), grad=(), error=True),
    *[Case("_cvimdecode", label, dict(buf=_FILE), attrs, grad=(), paths=("nd",)) for label, attrs in _READ.items()],
    Case("_cvimdecode", "floats", dict(buf=values([1.0, 2.0])), grad=(), paths=("nd",), error=True),
    Case("_cvimdecode", "no_picture", dict(buf=values([1, 2, 3], "uint8")), grad=(), paths=("nd",), error=True),
    *[Case("_cvimread", label, build=functools.partial(_from_file, **attrs), paths=("nd",)) for label, attrs in _READ.items()],
    Case("_cvimread", "no_file", attrs=dict(filename="/no/such/file.png"), paths=("nd",), error=True),
]  # fmt: skip
