"""Helpers of training loops (splitting batches over contexts, clipping gradients, fetching files) and of the other Gluon modules."""

from __future__ import annotations

import hashlib
import os
import uuid
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import ndarray
from ..downloads import fetch
from ..errors import UnsupportedError
from ..ndarray.core import NDArray
from ..semantics import is_np_array, is_np_shape

__all__ = ["check_sha1", "clip_global_norm", "download", "replace_file", "split_and_load", "split_data"]


def refuse_np() -> None:
    """Errors: UnsupportedError while NumPy array semantics are on, which would ask for layers on mx.np arrays."""
    if is_np_array():
        raise UnsupportedError("Gluon works on mx.nd arrays here: layers on mx.np arrays are not implemented; leave npx.set_np() out")


# -- batches ------------------------------------------------------------------------------------------------------------------
def split_data(data: Any, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[Any]:
    """Parts of an array along its batch axis; the first ones are longer by one where the size does not divide.

    Errors: ValueError for such a size with even_split.
    """
    size = data.shape[batch_axis]
    length, longer = divmod(size, num_slice)
    if even_split and longer:
        raise ValueError(
            f"shape {data.shape} does not divide into {num_slice} equal parts along axis {batch_axis}: "
            f"use a multiple of {num_slice} or even_split=False"
        )
    bounds = [i * length + min(i, longer) for i in range(num_slice + 1)]
    if batch_axis == 0:
        return [data[begin:end] for begin, end in zip(bounds, bounds[1:], strict=False)]
    return [ndarray.slice_axis(data, axis=batch_axis, begin=begin, end=end) for begin, end in zip(bounds, bounds[1:], strict=False)]


def split_and_load(data: Any, ctx_list: Sequence[Any], batch_axis: int = 0, even_split: bool = True) -> list[Any]:
    """`split_data` over contexts, each part on its context."""
    if not isinstance(data, NDArray):
        data = ndarray.array(data, ctx=ctx_list[0])
    parts = [data] if len(ctx_list) == 1 else split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list, strict=True)]


def clip_global_norm(arrays: Sequence[Any], max_norm: float, check_isfinite: bool = True) -> Any:
    """Scales arrays in place so that the 2-norm of all their elements is at most `max_norm`; returns the norm from before.

    The norm is a float, or an NDArray of shape (1,) without check_isfinite. A norm that is not finite warns.
    """
    assert len(arrays) > 0, "no arrays to clip"
    ctx = arrays[0].context
    squares = [(ndarray.dot(a.reshape((-1,)), a.reshape((-1,))) if a.stype == "default" else a.norm().square()).as_in_context(ctx) for a in arrays]
    norm = ndarray.sqrt(ndarray.add_n(*squares))
    if check_isfinite and not np.isfinite(norm.asscalar()):
        warnings.warn(UserWarning("nan or inf is detected. Clipping results will be undefined."), stacklevel=2)
    factor = ndarray.minimum(max_norm / (norm + 1e-8), 1.0)
    for array in arrays:
        array *= factor.as_in_context(array.context)
    return norm.asscalar() if check_isfinite else norm


# -- files --------------------------------------------------------------------------------------------------------------------
def check_sha1(filename: str, sha1_hash: str) -> bool:
    """Whether a file has that SHA-1."""
    with open(filename, "rb") as file:
        return hashlib.file_digest(file, "sha1").hexdigest() == sha1_hash


def replace_file(src: str, dst: str) -> None:
    """Moves a file in one step over another."""
    os.replace(src, dst)


def download(
    url: str, path: str | None = None, overwrite: bool = False, sha1_hash: str | None = None, retries: int = 5, verify_ssl: bool = True
) -> str:
    """Fetches a file unless it is there already with the right SHA-1; returns its name.

    path: a file or folder (default: the last part of the URL, in the current folder). verify_ssl: whether certificates are checked.
    Errors: OSError after `retries` more attempts,
    UserWarning (raised) for a wrong SHA-1.
    """
    last = url.split("/")[-1]
    if path is None:
        assert last, "Can't construct file-name from this URL: set `path`"
        target = last
    else:
        target = os.path.expanduser(path)
        if os.path.isdir(target):
            target = os.path.join(target, last)
    assert retries >= 0, f"retries must be at least 0, got {retries}"
    if not overwrite and os.path.exists(target) and (not sha1_hash or check_sha1(target, sha1_hash)):
        return target
    os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
    for left in range(retries, -1, -1):
        try:
            _fetch(url, target, sha1_hash, verify_ssl)
            return target
        except (OSError, UserWarning):
            if left == 0:
                raise
    return target


def _fetch(url: str, target: str, sha1_hash: str | None, verify_ssl: bool) -> None:
    partial = f"{target}.{uuid.uuid4()}"
    try:
        fetch(url, partial, verify_ssl)
        if sha1_hash and not check_sha1(partial, sha1_hash):
            raise UserWarning(f"{url} does not have the expected SHA-1 {sha1_hash}: it is incomplete or another version")
        replace_file(partial, target)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def _get_repo_url() -> str:
    """Where MXNet's own models and data sets are, ending in '/'."""
    base = os.environ.get("MXNET_GLUON_REPO", "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/")
    return base if base.endswith("/") else base + "/"


def _get_repo_file_url(namespace: str, filename: str) -> str:
    return f"{_get_repo_url()}{namespace}/{filename}"


# -- for the other Gluon modules ------------------------------------------------------------------------------------------------
def _indent(s_: str, numSpaces: int) -> str:
    """Text with all lines but the first indented."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def _brief_print_list(lst: Iterable[Any], limit: int = 7) -> str:
    """Names in quotes, those in the middle left out of a long list."""
    names = [f"'{item}'" for item in lst]
    if len(names) <= limit:
        return ", ".join(names)
    return ", ".join(names[: limit // 2]) + ", ..., " + ", ".join(names[-limit // 2 :])


class HookHandle:
    """Stands for one registered hook: `detach()`, or the end of a `with` block, takes it off."""

    def __init__(self) -> None:
        self._hooks: weakref.ref[Any] | None = None
        self._id: int | None = None

    def attach(self, hooks_dict: OrderedDict[int, Any], hook: Any) -> None:
        """Puts a hook into a dict of hooks; once per handle."""
        assert self._hooks is None, "The same handle cannot be attached twice."
        self._id = id(hook)
        hooks_dict[self._id] = hook
        self._hooks = weakref.ref(hooks_dict)

    def detach(self) -> None:
        """Takes the hook off."""
        hooks = self._hooks() if self._hooks is not None else None
        if hooks is not None:
            hooks.pop(self._id, None)

    def __getstate__(self) -> tuple[Any, int | None]:
        return (self._hooks() if self._hooks is not None else None), self._id

    def __setstate__(self, state: tuple[Any, int | None]) -> None:
        self._hooks = weakref.ref(OrderedDict() if state[0] is None else state[0])
        self._id = state[1]

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.detach()


def shape_is_known(shape: Sequence[int] | None) -> bool:
    """Whether no dimension of a parameter's shape is open (0, or -1 under NumPy shape semantics)."""
    if shape is None:
        return False
    unknown = -1 if is_np_shape() else 0
    if len(shape) == 0:
        return unknown == -1
    for dim in shape:
        assert dim >= unknown, f"shape {tuple(shape)} has a negative dimension"
    return unknown not in shape
