"""mx.test_utils: what legacy test suites use. `from mxnet.test_utils import *` also brings mx, np and further modules, so nothing is held back."""

from __future__ import annotations

import bz2  # noqa: F401 - the modules below are names that test suites take from here
import errno  # noqa: F401
import gzip  # noqa: F401
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

import numpy as np  # noqa: F401
import numpy.random as rnd  # noqa: F401
import numpy.testing as npt  # noqa: F401

import mxexec_torch as mx  # noqa: F401

from ..context import Context, current_context  # noqa: F401
from ..ndarray import array  # noqa: F401
from ..symbol import Symbol  # noqa: F401
from ..util import get_cuda_compute_capability, getenv, setenv, use_np  # noqa: F401
from .arrays import *
from .compare import *
from .datasets import *
from .statistics import *
from .surroundings import *
from .symbolic import *
from .symbolic import _parse_aux_states, _parse_location  # noqa: F401
