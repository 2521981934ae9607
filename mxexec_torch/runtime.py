"""mx.runtime: which features the library has; here what torch brings."""

from __future__ import annotations

from collections import OrderedDict
from typing import ClassVar, NamedTuple

import torch

from .base import check_call

__all__ = ["Feature", "Features", "check_call", "feature_list"]


class Feature(NamedTuple):
    """A feature's name and whether it is there."""

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def _has_pillow() -> bool:
    try:
        import PIL  # noqa: F401, PLC0415 - only asked for
    except ImportError:
        return False
    return True


def feature_list() -> list[Feature]:
    """MXNet's features in its order. Instruction sets are those of torch's build; OPENCV stands for image decoding."""
    capability = torch.backends.cpu.get_cpu_capability()
    cuda = torch.cuda.is_available()
    avx = capability.startswith("AVX")
    mkl = torch.backends.mkl.is_available()
    enabled = {
        "CUDA": cuda, "CUDNN": cuda and torch.backends.cudnn.is_available(), "NCCL": cuda and torch.distributed.is_available(),
        "CPU_SSE": avx, "CPU_SSE2": avx, "CPU_SSE3": avx, "CPU_SSE4_1": avx, "CPU_SSE4_2": avx, "CPU_AVX": avx,
        "CPU_AVX2": avx and capability != "AVX", "OPENMP": torch.backends.openmp.is_available(), "BLAS_OPEN": not mkl, "BLAS_MKL": mkl,
        "LAPACK": torch._C.has_lapack, "MKLDNN": torch.backends.mkldnn.is_available(), "OPENCV": _has_pillow(), "INT64_TENSOR_SIZE": True,
    }  # fmt: skip
    return [Feature(name, bool(enabled.get(name, False))) for name in _NAMES]


_NAMES = (
    "CUDA", "CUDNN", "NCCL", "CUDA_RTC", "TENSORRT", "CPU_SSE", "CPU_SSE2", "CPU_SSE3", "CPU_SSE4_1", "CPU_SSE4_2", "CPU_SSE4A", "CPU_AVX",
    "CPU_AVX2", "OPENMP", "SSE", "F16C", "JEMALLOC", "BLAS_OPEN", "BLAS_ATLAS", "BLAS_MKL", "BLAS_APPLE", "LAPACK", "MKLDNN", "OPENCV", "CAFFE",
    "PROFILER", "DIST_KVSTORE", "CXX14", "INT64_TENSOR_SIZE", "SIGNAL_HANDLER", "DEBUG", "TVM_OP",
)  # fmt: skip


class Features(OrderedDict[str, Feature]):
    """The features by name: one object, whoever asks for it."""

    _only: ClassVar[Features | None] = None

    def __new__(cls) -> Features:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __init__(self) -> None:
        super().__init__((feature.name, feature) for feature in feature_list())

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature is there. Errors: RuntimeError for a name that is no feature's."""
        name = feature_name.upper()
        if name not in self:
            raise RuntimeError(f"Feature '{name}' is unknown, known features are: {list(self)}")
        return self[name].enabled
