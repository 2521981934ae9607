"""Files that examples and tests download."""

from __future__ import annotations

import bz2
import gzip
import logging
import os
import shutil
import struct
import zipfile
from typing import Any

import numpy as np

from ..downloads import fetch

__all__ = [
    "download", "download_model", "get_bz2_data", "get_cifar10", "get_mnist", "get_mnist_pkl", "get_mnist_ubyte", "get_zip_data",
]  # fmt: skip

_log = logging.getLogger(__name__)
_MNIST = "http://data.mxnet.io/data/mnist/"
_MODELS = "http://data.mxnet.io/models/"
_MODEL_FILES = {
    "imagenet1k-inception-bn": ("imagenet/inception-bn/Inception-BN", "0126"),
    **{f"imagenet1k-resnet-{n}": (f"imagenet/resnet/{n}-layers/resnet-{n}", "0000") for n in (18, 34, 50, 101, 152)},
    "imagenet1k-resnext-50": ("imagenet/resnext/50-layers/resnext-50", "0000"),
    "imagenet1k-resnext-101": ("imagenet/resnext/101-layers/resnext-101", "0000"),
    "imagenet1k-resnext-101-64x4d": ("imagenet/resnext/101-layers/resnext-101-64x4d", "0000"),
    "imagenet11k-resnet-152": ("imagenet-11k/resnet-152/resnet-152", "0000"),
    "imagenet11k-place365ch-resnet-152": ("imagenet-11k-place365-ch/resnet-152", "0000"),
    "imagenet11k-place365ch-resnet-50": ("imagenet-11k-place365-ch/resnet-50", "0000"),
}


def download(url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5) -> str:
    """Downloads a file and returns its path. An existing file is kept unless overwrite.

    Errors: OSError when the last of `retries` further attempts fails too.
    """
    assert retries >= 0, "Number of retries should be at least 0"
    path = url.split("/")[-1] if fname is None else fname
    if dirname is None:
        dirname = os.path.dirname(path)
    else:
        path = os.path.join(dirname, path)
    if dirname:
        os.makedirs(dirname, exist_ok=True)
    if not overwrite and os.path.exists(path):
        _log.info("%s exists, skipping download", path)
        return path
    for left in range(retries, -1, -1):
        try:
            fetch(url, path + ".part")
            os.replace(path + ".part", path)
            break
        except OSError as error:
            if left == 0:
                raise OSError(f"failed to open {url}: {error}") from error
            print(f"download failed, retrying, {left} attempt{'s' if left > 1 else ''} left")
    _log.info("downloaded %s into %s successfully", url, path)
    return path


def download_model(model_name: str, dst_dir: str = "./", meta_info: Any = None) -> tuple[str | None, int]:
    """Downloads a published model's symbol and parameters: (prefix, epoch), or (None, 0) for an unknown name.

    meta_info: name -> {'symbol': url, 'params': url}, for models that are not MXNet's own.
    """
    known = {n: {"symbol": f"{_MODELS}{p}-symbol.json", "params": f"{_MODELS}{p}-{e}.params"} for n, (p, e) in _MODEL_FILES.items()}
    meta = (known if meta_info is None else meta_info).get(model_name)
    if meta is None:
        return None, 0
    os.makedirs(dst_dir, exist_ok=True)
    prefix = os.path.join(dst_dir, model_name)
    for part, suffix in (("symbol", "-symbol.json"), ("params", "-0000.params")):
        assert part in meta, f"missing {part} url of {model_name}"
        download(meta[part], prefix + suffix)
    return prefix, 0


def get_mnist() -> dict[str, Any]:
    """The MNIST digits: train_data, test_data (n,1,28,28) float32 in 0 to 1, train_label, test_label (n,) int8."""

    def read(labels: str, images: str) -> tuple[Any, Any]:
        with gzip.open(download(_MNIST + labels)) as stream:
            stream.read(8)
            label = np.frombuffer(stream.read(), dtype=np.int8)
        with gzip.open(download(_MNIST + images)) as stream:
            _, _, rows, columns = struct.unpack(">IIII", stream.read(16))
            image = np.frombuffer(stream.read(), dtype=np.uint8).reshape(len(label), 1, rows, columns)
        return label, image.astype(np.float32) / 255

    train_label, train_data = read("train-labels-idx1-ubyte.gz", "train-images-idx3-ubyte.gz")
    test_label, test_data = read("t10k-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz")
    return {"train_data": train_data, "train_label": train_label, "test_data": test_data, "test_label": test_label}


def get_mnist_pkl() -> None:
    """Downloads data/mnist.pkl.gz."""
    if not os.path.exists("data/mnist.pkl.gz"):
        download("http://deeplearning.net/data/mnist/mnist.pkl.gz", dirname="data")


def _unzipped(url: str, expected: tuple[str, ...]) -> None:
    if not all(os.path.exists(os.path.join("data", name)) for name in expected):
        with zipfile.ZipFile(download(url, dirname="data")) as archive:
            archive.extractall("data")


def get_mnist_ubyte() -> None:
    """Downloads the MNIST digits in their original files to data/."""
    names = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
    _unzipped("http://data.mxnet.io/mxnet/data/mnist.zip", names)


def get_cifar10() -> None:
    """Downloads CIFAR-10 as record files to data/cifar."""
    names = tuple(f"cifar/{name}" for name in ("train.rec", "test.rec", "train.lst", "test.lst"))
    _unzipped("http://data.mxnet.io/mxnet/data/cifar10.zip", names)


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Downloads a zip archive to a folder and unpacks it there, unless it is there."""
    path = os.path.join(data_dir, data_origin_name)
    if not os.path.exists(path):
        download(url, dirname=data_dir, overwrite=False)
        with zipfile.ZipFile(path) as archive:
            archive.extractall(path=data_dir)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Downloads a bz2 file to a folder and unpacks it to `data_name` there, unless that is there."""
    target, archive = os.path.join(data_dir, data_name), os.path.join(data_dir, data_origin_name)
    if not os.path.exists(target):
        download(url, fname=data_origin_name, dirname=data_dir, overwrite=False)
        with bz2.open(archive) as source, open(target, "wb") as out:
            shutil.copyfileobj(source, out)
        os.remove(archive)
