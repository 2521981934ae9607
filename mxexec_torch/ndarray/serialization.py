"""`.params` files: reading and writing what MXNet 1.9.1 reads and writes, byte for byte.

A file is a header (0x112, 0), the number of arrays, their records, the number of names, the names (src/ndarray/ndarray.cc, NDArray::Save).
A record starts with its version: V2 (storage types), V3 (NumPy shape semantics), V1 (64-bit dimensions), or, before versions existed (V0),
with the number of dimensions itself. All numbers are little endian.

Sizes are checked against what is left of the file before memory is reserved for them, and data is read straight into the memory of the
tensor, so a file of 2 GB needs 2 GB. Nothing in a file is ever executed.
"""

from __future__ import annotations

import contextlib
import errno
import io
import math
import os
import shutil
import stat
import struct
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import torch

from ..dtypes import CODE_TO_NAME, NAME_TO_CODE, NAME_TO_TORCH, TORCH_TO_NAME
from ..errors import MXNetError
from ..semantics import is_np_shape, is_np_shape_global

__all__ = ["Record", "load", "load_frombuffer", "load_raw", "read_file", "save", "save_raw", "write_file"]

LIST_MAGIC = 0x112
V1_MAGIC, V2_MAGIC, V3_MAGIC = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
DENSE, ROW_SPARSE, CSR = 0, 1, 2
STYPE_NAMES = {DENSE: "default", ROW_SPARSE: "row_sparse", CSR: "csr"}
STYPE_CODES = {name: code for code, name in STYPE_NAMES.items()}

MAX_NDIM = 64  # what torch and NumPy can hold
MAX_ABSENT = 1 << 16  # records without an array: four zero bytes each, so a block of zeros would otherwise give millions of them
_CPU, _GPU = 1, 2


@dataclass(frozen=True, slots=True)
class Record:
    """One array of a file.

    data: the elements (the stored ones of a sparse array), or None where the file says that there is no array.
    aux: indices of row_sparse; indptr, indices of csr. device_type, device_id: the context the array was saved from.
    """

    data: torch.Tensor | None
    shape: tuple[int, ...] = ()
    stype: str = "default"
    aux: tuple[torch.Tensor, ...] = ()
    device_type: int = _CPU
    device_id: int = 0


_ABSENT = Record(None)


# ---------------------------------------------------------------------------------------------------------------- reading
class _Source:
    """A binary stream of known size; every read names what it is for and is checked against what is left."""

    def __init__(self, stream: BinaryIO, size: int, where: str) -> None:
        self.stream, self.size, self.where = stream, size, where
        self.offset = 0
        self.part = "header"

    @property
    def left(self) -> int:
        return self.size - self.offset

    def bad(self, text: str) -> MXNetError:
        return MXNetError(f"Invalid NDArray file format: {self.where}, {self.part}, at byte {self.offset} of {self.size}: {text}")

    def need(self, count: int, what: str) -> None:
        if count > self.left:
            raise self.bad(f"{what} needs {count} bytes, {self.left} are left (truncated or corrupt file)")

    def take(self, count: int, what: str) -> bytes:
        self.need(count, what)
        data = self.stream.read(count)
        if len(data) != count:
            raise self.bad(f"{what}: the file ended early, it shrank while being read")
        self.offset += count
        return data

    def number(self, form: str, what: str) -> int:
        return int(struct.unpack("<" + form, self.take(struct.calcsize("<" + form), what))[0])

    def tensor(self, shape: tuple[int, ...], dtype: torch.dtype, what: str) -> torch.Tensor:
        """Reads an array straight into the memory of a new tensor."""
        count = math.prod(shape) * dtype.itemsize
        self.need(count, f"{what} of shape {shape} and type {TORCH_TO_NAME[dtype]}")
        raw = torch.empty(count, dtype=torch.uint8)
        view = raw.numpy().data
        while view:
            read = self.stream.readinto(view)  # type: ignore[attr-defined]
            if not read:
                raise self.bad(f"{what}: the file ended early, it shrank while being read")
            view = view[read:]
        self.offset += count
        if dtype is torch.bool:
            raw = (raw != 0).view(torch.uint8)  # torch has no meaning for a bool byte other than 0 and 1
        try:
            return raw.view(dtype).view(shape)
        except RuntimeError as error:  # an empty array whose other dimensions overflow
            raise self.bad(f"{what}: impossible shape {shape} ({error})") from None


def _read_shape(source: _Source, what: str, word: str = "q", ndim: int | None = None) -> tuple[int, ...] | None:
    """The dimensions of a shape; None for a shape without dimensions that MXNet calls unknown (ndim -1)."""
    if ndim is None:
        ndim = source.number("i", f"number of dimensions of {what}")
    if ndim == -1:
        return None
    if not 0 <= ndim <= MAX_NDIM:
        raise source.bad(f"{what} has {ndim} dimensions, possible are 0 to {MAX_NDIM}")
    width = struct.calcsize(word)
    shape = struct.unpack(f"<{ndim}{word}", source.take(ndim * width, f"{ndim} dimensions of {what}"))
    if any(dim < 0 for dim in shape):
        raise source.bad(f"{what} has a negative dimension: {shape}")
    return shape


def _read_dtype(source: _Source, what: str) -> torch.dtype:
    code = source.number("i", f"type code of {what}")
    name = CODE_TO_NAME.get(code)
    if name is None:
        raise source.bad(f"{what} has type code {code}, known are 0 to {max(CODE_TO_NAME)}")
    if name not in NAME_TO_TORCH:
        raise source.bad(f"{what} is of type {name}, which torch {torch.__version__} does not have")
    return NAME_TO_TORCH[name]


def _read_record(source: _Source) -> Record:
    magic = source.number("I", "record version")
    if magic != V3_MAGIC and is_np_shape() and not is_np_shape_global():
        raise MXNetError(
            f"{source.where}, {source.part}: the array was not saved in np shape semantics and cannot be loaded in them: "
            "turn them off with `with np_shape(False)` around the call that loads."
        )
    if magic not in (V2_MAGIC, V3_MAGIC):
        if magic == V1_MAGIC:
            shape = _read_shape(source, "the array")
        elif magic > MAX_NDIM:
            raise source.bad(f"unknown record version {magic:#x}")
        else:
            shape = _read_shape(source, "the array", "I", magic)
        return _read_dense(source, shape) if shape else _ABSENT
    if magic == V3_MAGIC and not is_np_shape():
        raise MXNetError(
            f"{source.where}, {source.part}: the array was saved in np shape semantics and must be loaded in the same semantics: "
            "turn them on with `with np_shape(True)` or the decorator `use_np_shape` around the call that loads."
        )
    code = source.number("i", "storage type")
    if code not in STYPE_NAMES:
        raise source.bad(f"storage type {code}, known are 0 (default), 1 (row_sparse), 2 (csr)")
    if code != DENSE:
        return _read_sparse(source, code)
    shape = _read_shape(source, "the array")
    if shape is None or (shape == () and magic == V2_MAGIC):
        return _ABSENT
    return _read_dense(source, shape)


def _read_dense(source: _Source, shape: tuple[int, ...]) -> Record:
    device_type, device_id = source.number("i", "device type"), source.number("i", "device id")
    dtype = _read_dtype(source, "the array")
    return Record(source.tensor(shape, dtype, "the array"), shape, device_type=device_type, device_id=device_id)


def _read_sparse(source: _Source, code: int) -> Record:
    stored = _read_shape(source, "the stored part")
    shape = _read_shape(source, "the array")
    if not shape:
        return _ABSENT
    if stored is None:
        raise source.bad("the stored part has no shape")
    device_type, device_id = source.number("i", "device type"), source.number("i", "device id")
    dtype = _read_dtype(source, "the array")
    kinds = []
    for name in ("indices",) if code == ROW_SPARSE else ("indptr", "indices"):
        kind = _read_dtype(source, name)
        size = _read_shape(source, name)
        if kind not in (torch.int64, torch.int32):
            raise source.bad(f"{name} is of type {TORCH_TO_NAME[kind]}, expected int64")
        if size is None or len(size) != 1:
            raise source.bad(f"{name} has shape {size}, expected one dimension")
        kinds.append((name, size, kind))
    _check_layout(source, code, stored, shape, [size[0] for _, size, _ in kinds])
    data = source.tensor(stored, dtype, "the stored part")
    aux = [source.tensor(size, kind, name).to(torch.int64) for name, size, kind in kinds]
    if code == CSR and aux[0].numel() == 0:
        aux[0] = torch.zeros(shape[0] + 1, dtype=torch.int64)
    problem = _index_problem(code, shape, aux)
    if problem:
        raise source.bad(problem)
    return Record(data, shape, STYPE_NAMES[code], tuple(aux), device_type, device_id)


def _check_layout(source: _Source, code: int, stored: tuple[int, ...], shape: tuple[int, ...], aux: list[int]) -> None:
    """The shapes of the parts of a sparse array must fit before any of them is read."""
    if code == ROW_SPARSE:
        fits = len(stored) == len(shape) and stored[1:] == shape[1:] and stored[0] == aux[0]
        expected = f"rows of shape {shape[1:]}, one an index ({aux[0]})"
    else:
        fits = len(shape) == 2 and len(stored) == 1 and stored[0] == aux[1] and (aux[0] == shape[0] + 1 or (aux[0] == 0 and stored[0] == 0))
        expected = f"one value an index ({aux[1]}), a matrix, and one more row offset ({aux[0]}) than rows"
    if not fits:
        raise source.bad(f"the stored part has shape {stored} in a {STYPE_NAMES[code]} array of shape {shape}, expected {expected}")
    if code == CSR and aux[0] == 0 and shape[0] > max(source.size, 1 << 20):
        raise source.bad(f"{shape[0]} rows without row offsets")


def _index_problem(code: int, shape: tuple[int, ...], aux: Sequence[torch.Tensor]) -> str | None:
    """What is wrong with the indices of a sparse array, or None."""
    indices, limit = aux[-1], shape[0] if code == ROW_SPARSE else shape[1]
    if code == CSR:
        indptr = aux[0]
        if int(indptr[0]) != 0 or int(indptr[-1]) != indices.numel() or bool((indptr[1:] < indptr[:-1]).any()):
            return f"row offsets must rise from 0 to {indices.numel()}"
    if indices.numel() and (int(indices.min()) < 0 or int(indices.max()) >= limit):
        return f"an index is outside 0 to {limit - 1}"
    return None


def _looks_like(start: bytes) -> str:
    """What a file that is no NDArray file is, as far as its first bytes tell."""
    signs = (
        (b"version https://git-lfs", "a git-lfs pointer: the real file is fetched with `git lfs pull`"),
        (b"PK\x03\x04", "a zip archive (NumPy .npz or a torch file)"),
        (b"\x93NUMPY", "a NumPy .npy file"),
        (b"\x89HDF", "an HDF5 file"),
        (b"\x1f\x8b", "a gzip file"),
        (b"\x80", "a pickle (optimizer states? a torch file?); it is not unpickled here"),
        (b"{", "JSON (a symbol file?)"),
        (b"<", "HTML or XML (a failed download?)"),
    )
    return next((f" It looks like {text}." for sign, text in signs if start.startswith(sign)), "")


def _read_list(source: _Source) -> tuple[list[Record], list[str]]:
    start = source.take(min(24, source.left), "header")
    if len(start) < 24 or struct.unpack("<Q", start[:8])[0] != LIST_MAGIC:
        source.offset = 0
        raise source.bad(f"expected a header that starts with 0x112 and has 24 bytes, found {start[:8].hex() or 'nothing'}.{_looks_like(start)}")
    count = struct.unpack("<Q", start[16:])[0]
    source.part = "number of arrays"
    source.need(4 * count, f"{count} arrays")
    records = []
    absent = 0
    for index in range(count):
        source.part = f"array {index} of {count}"
        records.append(_read_record(source))
        absent += records[-1] is _ABSENT
        if absent > MAX_ABSENT:
            raise source.bad(f"more than {MAX_ABSENT} records without an array")
    source.part = "number of names"
    named = source.number("Q", "number of names")
    if named not in (0, count):
        raise source.bad(f"{named} names for {count} arrays")
    source.need(8 * named, f"{named} names")
    names = []
    for index in range(named):
        source.part = f"name {index} of {named}"
        raw = source.take(source.number("Q", "length of the name"), "the name")
        try:
            names.append(raw.decode("utf-8"))
        except UnicodeDecodeError:
            raise source.bad(f"the name {raw[:40]!r} is not UTF-8") from None
    if source.left:
        warnings.warn(f"{source.where}: {source.left} bytes after the last name are ignored", stacklevel=4)
    return records, names


def _local_path(name: str) -> str:
    """The path of a file name; MXNet also takes URIs."""
    if name.startswith("file://"):
        return name[len("file://") :]
    scheme = name.partition("://")[0]
    if scheme in ("s3", "hdfs", "http", "https", "viewfs", "azure"):
        raise MXNetError(f"{name}: {scheme} addresses are not supported, copy the file to this machine first")
    return name


@contextlib.contextmanager
def _opened(name: str) -> Iterator[_Source]:
    path = _local_path(name)
    try:
        with open(path, "rb") as stream:
            status = os.fstat(stream.fileno())
            if stat.S_ISREG(status.st_mode):
                yield _Source(stream, status.st_size, f'file "{path}"')
            elif stat.S_ISFIFO(status.st_mode):
                content = stream.read()
                yield _Source(io.BytesIO(content), len(content), f'file "{path}"')
            else:
                raise MXNetError(f'Invalid NDArray file format: "{path}" is a device, not a file')
    except OSError as error:
        raise MXNetError(f'Open "{path}": {error.strerror or error}') from error


def read_file(name: str) -> tuple[list[Record], list[str]]:
    """The records and names (none, or one an array) of a file. Errors: MXNetError."""
    with _opened(name) as source:
        return _read_list(source)


def _from_buffer(buffer: bytes | bytearray | memoryview) -> _Source:
    return _Source(io.BytesIO(buffer), memoryview(buffer).nbytes, "buffer")


# ---------------------------------------------------------------------------------------------------------------- writing
def _shape_bytes(shape: Sequence[int]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)


def _write_tensor(stream: BinaryIO, tensor: torch.Tensor) -> None:
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    if flat.numel():
        stream.write(flat.view(torch.uint8).numpy().data)


def _write_record(stream: BinaryIO, record: Record) -> None:
    numpy_shapes = is_np_shape()
    code = STYPE_CODES[record.stype]
    if numpy_shapes and code != DENSE:
        raise MXNetError(f"only arrays of default storage type can be saved in np shape semantics, this one is {record.stype}")
    stream.write(struct.pack("<Ii", V3_MAGIC if numpy_shapes else V2_MAGIC, code))
    data = record.data
    if data is None:
        stream.write(_shape_bytes(()))
        return
    if record.shape == () and not numpy_shapes:
        raise MXNetError(
            "an array of shape () cannot be saved: MXNet reads no data after such a shape and the file would be unreadable. "
            "Reshape it to (1,), or save and load inside `with np_shape(True)`."
        )
    if code != DENSE:
        stream.write(_shape_bytes(tuple(data.shape)))
    stream.write(_shape_bytes(record.shape))
    stream.write(struct.pack("<iii", record.device_type, record.device_id, NAME_TO_CODE[TORCH_TO_NAME[data.dtype]]))
    stream.writelines(struct.pack("<i", NAME_TO_CODE[TORCH_TO_NAME[part.dtype]]) + _shape_bytes(tuple(part.shape)) for part in record.aux)
    for part in (data, *record.aux):
        _write_tensor(stream, part)


def _write_list(stream: BinaryIO, records: Sequence[Record], names: Sequence[str]) -> None:
    stream.write(struct.pack("<QQQ", LIST_MAGIC, 0, len(records)))
    for record in records:
        _write_record(stream, record)
    stream.write(struct.pack("<Q", len(names)))
    for name in names:
        raw = name.encode("utf-8")
        if b"\0" in raw:
            raise MXNetError(f"the name {name!r} contains a zero byte, MXNet would cut it off there")
        stream.write(struct.pack("<Q", len(raw)) + raw)


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A stream whose content replaces the file in one step when the block ends well; a failure leaves the old file as it was."""
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):  # a device or pipe is written to, a directory refused by open
        with open(path, "wb") as stream:
            yield stream
        return
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)[:100]}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        stream = open(temporary, "xb")  # noqa: SIM115 - closed by the with below
    except PermissionError:  # a writable file in a directory that is not
        with open(path, "wb") as stream:
            yield stream
        return
    try:
        with stream:
            yield stream
        if os.path.exists(path):
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _reserve(stream: BinaryIO, size: int) -> None:
    """Asks for room on the disk before writing that much: faster than block by block, and a full disk shows at once."""
    if size < 1 << 20 or not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(stream.fileno(), 0, size)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        # pipes, devices and some file systems cannot: they are written to as they are


def write_file(name: str, records: Sequence[Record], names: Sequence[str]) -> None:
    """Writes a file of records; `names` is empty or has one name an array. Errors: MXNetError."""
    path = _local_path(name)
    try:
        with replacing(path) as stream:
            _reserve(stream, sum(part.nbytes for record in records if record.data is not None for part in (record.data, *record.aux)))
            _write_list(stream, records, names)
    except OSError as error:
        raise MXNetError(f'Open "{path}": {error.strerror or error}') from error


# ---------------------------------------------------------------------------------------------------- NDArray <-> records
def _record_of(array: Any) -> Record:
    from .sparse import CSRNDArray, RowSparseNDArray

    context = array.context
    where = {"device_type": context.device_typeid, "device_id": context.device_id}
    if isinstance(array, RowSparseNDArray):
        return Record(array._values, array.shape, "row_sparse", (array._indices,), **where)
    if isinstance(array, CSRNDArray):
        return Record(array._values, array.shape, "csr", (array._indptr, array._indices), **where)
    return Record(array._t, tuple(array._t.shape), **where)


def _array_of(record: Record) -> Any:
    from ..context import cpu, gpu
    from .core import wrap
    from .sparse import CSRNDArray, RowSparseNDArray

    context = cpu()
    if record.device_type == _GPU and torch.cuda.is_available() and 0 <= record.device_id < torch.cuda.device_count():
        context = gpu(record.device_id)  # as a GPU build does; a build without GPUs loads such records on the CPU
    data = torch.empty(0) if record.data is None else record.data
    if context.device_type == "gpu":
        device = torch.device("cuda", record.device_id)
        data = data.to(device)
        aux = [part.to(device) for part in record.aux]
    else:
        aux = list(record.aux)
    if record.stype == "row_sparse":
        return RowSparseNDArray._new(data, aux[0], record.shape, context)
    if record.stype == "csr":
        return CSRNDArray._new(data, aux[1], aux[0], record.shape, context)
    return wrap(data, context)


def _result(records: list[Record], names: list[str]) -> Any:
    arrays = [_array_of(record) for record in records]
    return dict(zip(names, arrays, strict=True)) if names else arrays


def load(fname: Any) -> Any:
    """The arrays of a file: a dict where they have names, else a list.

    fname: path (text or os.PathLike). Arrays come back on the CPU; those saved from a GPU on that GPU where there is one.
    Errors: TypeError (no path), MXNetError (cannot be opened, or no valid NDArray file).
    """
    if isinstance(fname, os.PathLike):
        fname = os.fspath(fname)
    if not isinstance(fname, str):
        raise TypeError("fname required to be a string")
    return _result(*read_file(fname))


def load_frombuffer(buf: Any) -> Any:
    """The arrays of a file's content. Errors: TypeError (no bytes), MXNetError."""
    if isinstance(buf, str):
        buf = buf.encode("latin-1", errors="replace")
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise TypeError("buf required to be a string or bytes")
    return _result(*_read_list(_from_buffer(buf)))


def save(fname: Any, data: Any) -> None:
    """Writes one array, a list of arrays or a dict of arrays by name. An existing file is replaced when the new one is complete.

    Errors: TypeError (elements or names), ValueError (other containers), AttributeError (no path), MXNetError (cannot be written).
    """
    from .core import NDArray

    if isinstance(data, NDArray):
        data = [data]
    if isinstance(data, Mapping):
        names, arrays = list(data.keys()), list(data.values())
    elif isinstance(data, list):
        names, arrays = [], data
    else:
        raise ValueError(f"data must be an NDArray, a dict of str to NDArray or a list of NDArrays, not {type(data).__name__}")  # noqa: TRY004 - MXNet's class
    if not all(isinstance(n, str) for n in names) or not all(isinstance(a, NDArray) for a in arrays):
        raise TypeError("save accepts only a dict of str to NDArray or a list of NDArrays")
    for array in arrays:
        if type(array).__module__.rpartition(".")[2] == "multiarray" or hasattr(array, "_is_np_array"):
            raise TypeError("cannot save mxnet.numpy.ndarray with mxnet.ndarray.save; use mxnet.numpy.save instead.")
    path = os.fspath(fname) if isinstance(fname, os.PathLike) else fname
    if not isinstance(path, str):
        raise AttributeError(f"'{type(fname).__name__}' object is no file name")  # noqa: TRY004 - MXNet's class
    write_file(path, [_record_of(a) for a in arrays], names)


def save_raw(array: Any) -> bytes:
    """The record of one array, without a file header: what a pickled NDArray holds."""
    stream = io.BytesIO()
    _write_record(stream, _record_of(array))
    return stream.getvalue()


def load_raw(buffer: bytes | bytearray | memoryview) -> Any:
    """The array of such a record. Errors: MXNetError."""
    source = _from_buffer(buffer)
    source.part = "array"
    return _array_of(_read_record(source))
