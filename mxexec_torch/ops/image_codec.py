"""Image files and OpenCV-style borders (`_cvimdecode`, `_cvimread`, `_cvimresize`, `_cvcopyMakeBorder`, `_imdecode`).

Decoding uses Pillow, the `image` extra, imported when first needed.
"""

from __future__ import annotations

import io
from typing import Annotated, Any

import numpy as np
import torch
import torch.nn.functional as F

from ..errors import MXNetError
from ..infer.rules import any_dtype, fixed_dtype
from ..infer.state import Shapes, show
from ..registry import Attrs, Device, Grad, Tensor, op
from ..values import Bool, Double, DoubleTuple, Int, Range, Str
from .image import check_resizable
from .runtime.resize import border_positions, resize_image

__all__ = ["decode_image"]

Positive = Annotated[Int, Range(1)]
NonNegative = Annotated[Int, Range(0)]


def decode_image(buffer: bytes, color: bool, rgb: bool = True) -> np.ndarray[Any, Any]:
    """The picture in a file's bytes as uint8 (h, w, 3), or (h, w, 1) when grey is asked for. A rotation noted in the file is not applied.

    Errors: MXNetError when Pillow is missing or the bytes are no picture.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise MXNetError("decoding images needs Pillow: pip install mxexec_torch[image]") from None
    try:
        image = Image.open(io.BytesIO(buffer))
        if image.format == "GIF":  # the reference's OpenCV does not read it
            raise MXNetError("Decoding failed. Invalid image file.")
        if image.format == "JPEG" and not color:
            image.draft("L", image.size)  # the grey channel as stored, not computed from colours
        image.load()
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise MXNetError(f"Decoding failed. Invalid image file. ({error})") from None
    if image.mode.startswith("I;16") or image.mode == "I":
        pixels = (np.asarray(image).astype(np.int64) >> 8).astype(np.uint8)
    elif image.mode == "L":
        pixels = np.asarray(image)
    else:
        pixels = np.asarray(image.convert("RGB"))
    if not color:
        return (_grey(pixels, image.format == "PNG") if pixels.ndim == 3 else pixels)[:, :, None]
    if pixels.ndim == 2:
        pixels = np.repeat(pixels[:, :, None], 3, 2)
    return pixels if rgb else pixels[:, :, ::-1]


def _grey(pixels: np.ndarray[Any, Any], png: bool) -> np.ndarray[Any, Any]:
    """Grey in OpenCV's 14-bit fixed point; its PNG reader cuts, the others round."""
    weighted = pixels.astype(np.int32) @ np.array([4899, 9617, 1868], np.int32)
    return ((weighted + (0 if png else 1 << 13)) >> 14).astype(np.uint8)


def _decoded(buffer: bytes, flag: int, to_rgb: bool) -> Tensor:
    pixels = np.ascontiguousarray(decode_image(buffer, flag != 0, to_rgb))
    return torch.from_numpy(pixels if pixels.flags.writeable else pixels.copy())


@op(
    "_cvimdecode", aliases=("_npi_cvimdecode",), input_texts={"buf": "NDArray"}, dtype=fixed_dtype(torch.uint8), grad=Grad.MISSING,
    eager_only=True, lists_inputs=False,
)  # fmt: skip
def cvimdecode(buf: Tensor, /, *, flag: NonNegative = 1, to_rgb: Bool = True) -> Tensor:
    """A picture from the bytes of an image file.

    buf (n,) uint8 -> (h, w, 3) uint8, red first (blue first with to_rgb=False); flag=0: (h, w, 1) grey. Needs Pillow.
    Source: src/io/image_io.cc
    """
    if buf.dtype != torch.uint8:
        raise MXNetError(f"Input needs to be uint8 buffer, got {show(buf.dtype)}")
    if buf.numel() == 0:
        raise MXNetError("Input cannot be an empty buffer")
    return _decoded(buf.cpu().numpy().tobytes(), flag, to_rgb)


@op("_cvimread", aliases=("_npi_cvimread",), dtype=fixed_dtype(torch.uint8), grad=Grad.MISSING, eager_only=True)
def cvimread(*, filename: Str, flag: NonNegative = 1, to_rgb: Bool = True) -> Tensor:
    """A picture from an image file; see _cvimdecode.

    -> (h, w, 3) or (h, w, 1) uint8. Errors: the file cannot be read. Source: src/io/image_io.cc
    """
    try:
        with open(filename, "rb") as file:
            buffer = file.read()
    except OSError as error:
        raise MXNetError(f"Imread: '{filename}' couldn't open file: {error.strerror}") from None
    return _decoded(buffer, flag, to_rgb)


def _resize_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("src")
    if data is not None:
        if len(data) != 3:
            raise s.fail(f"an image has three dimensions (height, width, channels), got {show(data)}")
        s.unify_out((a.h, a.w, data[2]))


@op("_cvimresize", aliases=("_npi_cvimresize",), input_texts={"src": "NDArray"}, shape=_resize_shape, grad=Grad.MISSING, lists_inputs=False)
def cvimresize(src: Tensor, /, *, w: Positive, h: Positive, interp: Int = 1) -> Tensor:
    """The image at another size, with OpenCV's rules.

    src (h0, w0, c) -> (h, w, c). interp: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos. Source: src/io/image_io.cc
    """
    check_resizable(src, interp)
    return resize_image(src, h, w, interp)


def _border_shape(a: Attrs, s: Shapes) -> None:
    data = s.get("src")
    if data is not None:
        if len(data) != 3:
            raise s.fail(f"an image has three dimensions (height, width, channels), got {show(data)}")
        rows = data[0] + a.top + a.bot if data[0] != -1 else -1
        s.unify_out((rows, data[1] + a.left + a.right if data[1] != -1 else -1, data[2]))


@op("_cvcopyMakeBorder", input_texts={"src": "NDArray"}, shape=_border_shape, grad=Grad.MISSING)
def cv_copy_make_border(
    src: Tensor, /, *, top: Int, bot: Int, left: Int, right: Int, type: Int = 0, value: Double = 0.0, values: DoubleTuple = (),
    device: Device,
) -> Tensor:  # fmt: skip
    """The image with a border.

    src (h, w, c) -> (top + h + bot, left + w + right, c). type: 0 filled with value or, for each channel, values; 1 the edge repeated;
    2 mirrored with the edge; 3 wrapped around; 4 mirrored without the edge. Source: src/io/image_io.cc
    """
    if min(top, bot, left, right) < 0 or not 0 <= type <= 4:
        raise MXNetError(f"borders must not be negative and type one of 0 to 4, got {(top, bot, left, right)} and {type}")
    if type == 0:
        fill = [*values, 0.0, 0.0, 0.0, 0.0][:4] if values else [value] * 3 + [0.0]
        inside = F.pad(torch.ones_like(src[:, :, :1], dtype=torch.bool), (0, 0, left, right, top, bot))
        colour = torch.tensor(fill[: src.shape[2]], dtype=torch.float64, device=device)
        if src.dtype == torch.uint8:
            colour = colour.round().clamp(0, 255)
        return torch.where(inside, F.pad(src, (0, 0, left, right, top, bot)), colour.to(src.dtype))
    rows = torch.tensor(border_positions(src.shape[0], top, bot, type), device=device)
    columns = torch.tensor(border_positions(src.shape[1], left, right, type), device=device)
    return src.index_select(0, rows).index_select(1, columns)


@op(
    "_imdecode", dtype=any_dtype, grad=Grad.MISSING, eager_only=True, any_attrs=True,
    described=dict.fromkeys(("index", "x0", "y0", "x1", "y1", "c", "size"), "int"),
)  # fmt: skip
def imdecode(
    mean: Tensor, /, *, index: Int, x0: Int, y0: Int, x1: Int, y1: Int, c: Int, size: Int, **more: Any
) -> Tensor:  # fmt: skip
    """A picture from bytes, clipped to (x0, y0, x1, y1) and less a mean image: the decoder of MXNet 0.x.

    mean (c, h, w) or empty, str_img: the bytes -> (c, h, w) in the type of mean, blue first. Source: src/ndarray/ndarray.cc
    Deviations: MXNet 1.9.1 itself cannot take the bytes from Python 3; `index` (a place in a batch given as out) is the caller's to apply.
    """
    str_img = more.get("str_img", b"")
    buffer = str_img if isinstance(str_img, (bytes, bytearray)) else str(str_img).encode("latin-1")
    pixels = _decoded(bytes(buffer), 0 if c == 1 else 1, False)
    if y1 > y0:
        pixels = pixels[y0:y1, x0:x1]
    planes = pixels[:, :, :c].permute(2, 0, 1).to(torch.float32 if mean.numel() == 0 else mean.dtype)
    return planes if mean.numel() == 0 else planes - mean
