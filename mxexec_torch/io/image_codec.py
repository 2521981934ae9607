"""Image files to arrays and back, on OpenCV where it is installed and Pillow otherwise (either comes with the `image` extra)."""

from __future__ import annotations

import importlib
import io
import threading
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import MXNetError
from ..ops.image_codec import decode_image

__all__ = ["decode_pixels", "decode_stored", "encode_image", "opencv"]

Pixels = np.ndarray[Any, Any]
_INSTALL = "pip install mxexec_torch[image]"
_found: dict[str, ModuleType | None] = {}
_finding = threading.Lock()  # an import half-way done in another thread must not be seen


def _optional(name: str) -> ModuleType | None:
    with _finding:
        if name not in _found:
            try:
                _found[name] = importlib.import_module(name)
            except ImportError:
                _found[name] = None
        return _found[name]


def opencv(purpose: str | None = None) -> Any:
    """The module cv2, or None where it is missing. Errors: with a purpose given, MXNetError that names it instead of None."""
    found = _optional("cv2")
    if found is None and purpose is not None:
        raise MXNetError(f"{purpose} needs OpenCV: {_INSTALL}")
    return found


def decode_pixels(encoded: Any, channels: int, rgb: bool = False) -> Pixels:
    """An image file's bytes as uint8 (h, w, channels), blue or red first: 1 grey, 3 colours, 4 with the alpha channel the file must have.

    A rotation noted in the file is not applied. Errors: MXNetError when the bytes are no image.
    """
    cv2 = opencv("decoding images with 4 channels" if channels == 4 else None)
    if cv2 is None:
        return np.ascontiguousarray(decode_image(bytes(encoded), channels != 1, rgb))
    flag = {1: cv2.IMREAD_GRAYSCALE, 3: cv2.IMREAD_COLOR, 4: cv2.IMREAD_UNCHANGED}[channels]
    buffer = np.frombuffer(encoded, np.uint8)
    pixels = cv2.imdecode(buffer, flag | cv2.IMREAD_IGNORE_ORIENTATION if channels != 4 else flag) if buffer.size else None
    if pixels is None:
        raise MXNetError("Decoding failed. Invalid image file.")
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if channels == 4 and pixels.shape[2] != 4:
        raise MXNetError(f"Expected 4 channels, got {pixels.shape[2]}")
    if rgb and channels > 1:
        cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB if channels == 3 else cv2.COLOR_BGRA2RGBA, pixels)
    return np.asarray(pixels)


def decode_stored(encoded: bytes, iscolor: int) -> Pixels:
    """An image file's bytes as cv2.imdecode gives them: blue first, (h, w) when grey. iscolor: 1 colour, 0 grey, -1 as stored."""
    cv2 = opencv()
    if cv2 is not None:
        pixels = cv2.imdecode(np.frombuffer(encoded, np.uint8), iscolor)
        if pixels is None:
            raise MXNetError("Decoding failed. Invalid image file.")
        return np.asarray(pixels)
    if iscolor >= 0:
        decoded = decode_image(encoded, iscolor != 0, rgb=False)
        return np.ascontiguousarray(decoded if iscolor else decoded[:, :, 0])
    image = _pillow("decoding images").open(io.BytesIO(encoded))
    if image.mode in ("L", "1"):
        return np.asarray(image.convert("L"))
    if image.mode in ("RGBA", "LA", "PA"):
        return np.ascontiguousarray(np.asarray(image.convert("RGBA"))[:, :, [2, 1, 0, 3]])
    return np.ascontiguousarray(np.asarray(image.convert("RGB"))[:, :, ::-1])


def _pillow(purpose: str) -> Any:
    found = _optional("PIL.Image")
    if found is None:
        raise MXNetError(f"{purpose} needs Pillow or OpenCV: {_INSTALL}")
    return found


def encode_image(image: Pixels, quality: int, image_format: str) -> bytes:
    """uint8 (h, w), (h, w, 1 or 3 or 4), blue first, as an image file. quality: 1-100 for .jpg, the compression 0-9 for .png."""
    kind = image_format.upper()
    jpeg, png = kind in (".JPG", ".JPEG"), kind == ".PNG"
    cv2 = opencv()
    if cv2 is not None:
        parameters = [cv2.IMWRITE_JPEG_QUALITY, quality] if jpeg else [cv2.IMWRITE_PNG_COMPRESSION, quality] if png else []
        done, buffer = cv2.imencode(image_format, image, parameters)
        assert done, "failed to encode image"
        return bytes(buffer.tobytes())
    if image.ndim == 3:
        image = image[:, :, 0] if image.shape[2] == 1 else image[:, :, [2, 1, 0, 3][: image.shape[2]]]
    file = io.BytesIO()
    picture = _pillow("encoding images").fromarray(np.ascontiguousarray(image))
    if jpeg:
        picture.save(file, "JPEG", quality=quality)
    elif png:
        picture.save(file, "PNG", compress_level=min(quality, 9))
    else:
        picture.save(file, kind[1:])
    return file.getvalue()
