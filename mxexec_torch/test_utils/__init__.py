"""mx.test_utils: what legacy test suites use. `from mxnet.test_utils import *` also brings mx, np and further modules, so nothing is held back."""

from __future__ import annotations

import bz2  # noqa: F401 - the modules below are names that test suites take from here
import errno  # noqa: F401
import gzip  # noqa: F401
import importlib
import json  # noqa: F401
import logging  # noqa: F401
import numbers  # noqa: F401
import os  # noqa: F401
import platform  # noqa: F401
import struct  # noqa: F401
import sys  # noqa: F401
import time  # noqa: F401
import traceback  # noqa: F401
import zipfile  # noqa: F401
from collections import OrderedDict  # noqa: F401
from contextlib import contextmanager  # noqa: F401
from typing import Any

import numpy as np  # noqa: F401
import numpy.random as rnd  # noqa: F401
import numpy.testing as npt  # noqa: F401

import mxexec_torch as mx  # noqa: F401

from ..context import Context, current_context  # noqa: F401
from ..ndarray.utils import array  # noqa: F401
from ..runtime import Features  # noqa: F401
from ..symbol import Symbol  # noqa: F401
from ..util import get_cuda_compute_capability, getenv, setenv, use_np  # noqa: F401
from .arrays import *
from .compare import *
from .datasets import *
from .statistics import *
from .surroundings import *
from .symbolic import *
from .symbolic import _parse_aux_states, _parse_location  # noqa: F401

_LATER = {"DummyIter": "iterators", "get_mnist_iterator": "iterators", "check_gluon_hybridize_consistency": "hybridize"}
__all__ = [*(name for name in globals() if not name.startswith("_")), *_LATER]  # noqa: PLE0604 - all there is, as without it


def __getattr__(name: str) -> Any:
    """What needs mx.io and mx.gluon is imported when asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
