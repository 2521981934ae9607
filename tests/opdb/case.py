"""The vocabulary of operator cases. NumPy only: the same modules are read by the interpreter that has MXNet 1.9.1."""

from __future__ import annotations

import dataclasses
import fnmatch
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = [
    "Array", "Arrays", "Case", "Gradient", "Limitation", "Reference", "Tolerance",
    "distinct", "full", "integers", "normal", "ones", "over_dtypes", "positive", "uniform",
    "values", "zeros",
]  # fmt: skip

FLOATS = ("float16", "float32", "float64", "bfloat16")


@dataclass(frozen=True)
class Array:
    """How an input array is made. kind: 'normal' | 'uniform' | 'integers' | 'distinct' | 'values'."""

    kind: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    parameters: tuple[Any, ...] = ()
    stype: str = "default"

    def make(self, seed: str) -> np.ndarray:
        """The array; equal seeds give equal arrays in every NumPy version (RandomState's streams are frozen)."""
        rng = np.random.RandomState(zlib.crc32(seed.encode()))
        first, *rest = self.parameters or (None,)
        if self.kind == "normal":
            made = rng.normal(first, rest[0], self.shape)
        elif self.kind == "uniform":
            made = rng.uniform(first, rest[0], self.shape)
        elif self.kind == "integers":
            made = rng.randint(first, rest[0] + 1, self.shape)
        elif self.kind == "distinct":
            size = int(np.prod(self.shape))
            made = first + (rest[0] - first) * (rng.permutation(size).reshape(self.shape) + 0.5) / max(size, 1)
        else:
            made = np.array(first).reshape(self.shape)
        return np.asarray(made).astype(self.dtype)

    def typed(self, dtype: str) -> Array:
        """The same array in another element type."""
        return dataclasses.replace(self, dtype=dtype)

    def stored(self, stype: str) -> Array:
        """The same array in another storage type ('row_sparse', 'csr')."""
        return dataclasses.replace(self, stype=stype)


def normal(*shape: int, dtype: str = "float32", mean: float = 0.0, std: float = 1.0) -> Array:
    """Normal values."""
    return Array("normal", shape, dtype, (mean, std))


def uniform(*shape: int, low: float = -1.0, high: float = 1.0, dtype: str = "float32") -> Array:
    """Uniform values in [low, high)."""
    return Array("uniform", shape, dtype, (low, high))


def positive(*shape: int, dtype: str = "float32") -> Array:
    """Uniform values in [0.2, 2)."""
    return Array("uniform", shape, dtype, (0.2, 2.0))


def integers(*shape: int, low: int = 0, high: int = 9, dtype: str = "float32") -> Array:
    """Whole numbers low..high, both included. Given no gradient by default."""
    return Array("integers", shape, dtype, (low, high))


def distinct(*shape: int, low: float = -2.0, high: float = 2.0, dtype: str = "float32") -> Array:
    """Shuffled, evenly spaced values: no ties (for maxima, sorting)."""
    return Array("distinct", shape, dtype, (low, high))


def values(nested: Any, dtype: str = "float32") -> Array:
    """Exactly these values."""
    return Array("values", np.array(nested).shape, dtype, (nested,))


def full(*shape: int, value: float, dtype: str = "float32") -> Array:
    """One value everywhere."""
    return Array("uniform", shape, dtype, (value, value))


def zeros(*shape: int, dtype: str = "float32") -> Array:
    """Zeros."""
    return full(*shape, value=0.0, dtype=dtype)


def ones(*shape: int, dtype: str = "float32") -> Array:
    """Ones."""
    return full(*shape, value=1.0, dtype=dtype)


@dataclass(frozen=True)
class Tolerance:
    """A case's own tolerance: |here - MXNet| <= atol + rtol * |MXNet|, why it is needed and the error that was measured."""

    rtol: float
    atol: float
    reason: str
    measured: float


Arrays = dict[str, np.ndarray]
Gradient = Callable[[list[np.ndarray]], Arrays]  # head gradients -> gradients by input name


@dataclass(frozen=True)
class Reference:
    """What an operator means, in NumPy, for cases that MXNet 1.9.1 cannot run.

    function: (inputs by name, attributes) -> the outputs, and how head gradients become gradients of the inputs (None: no gradients).
    reason: why MXNet gives no answer, shown in the matrix.
    """

    function: Callable[[Arrays, Mapping[str, Any]], tuple[list[np.ndarray], Gradient | None]]
    reason: str


@dataclass(frozen=True)
class Case:
    """One call of one operator.

    op:       operator name or alias as registered (`_contrib_box_nms` is called as `contrib.box_nms`, `_plus_scalar` as `_internal._plus_scalar`).
    label:    unique within the operator.
    inputs:   input name -> Array, auxiliary states included; in the operator's order. Variadic inputs are passed by position.
    attrs:    attributes.
    grad:     inputs that get a gradient; None: all floating inputs that are not auxiliary, `integers(...)` left out.
    req:      grad_req of those: 'write' or 'add' (added to seeded values).
    train:    modes in which forward runs (symbol path); backward runs after a forward(is_train=True).
    head:     'random' head gradients, or 'none': backward() without any (loss layers).
    paths:    'sym' (bind, forward, backward) and 'nd' (imperative call, and under autograd.record() where there are gradients).
    out:      names of inputs handed as `out=` in the imperative call (optimizer updates).
    build:    (mx, F, inputs) -> result, in place of the call of `op`; F is mx.sym or mx.nd.
    sample:   a random operator: shapes, types, moments and repeatability are judged, not values.
    error:    MXNet raises: the exception class is judged, the stage recorded.
    np_shape: run under mx.util.np_shape(True).
    onednn:   record with oneDNN's kernels on (default off: the plain kernels are the defined behaviour).
    unjudged: check -> reason why MXNet's own answer is not to be followed (undefined memory, not repeatable).
    reference: where MXNet gives no answer: see Reference. The golden is computed by it, not recorded.
    gradcheck: False or the reason (text) why the float64 gradient check does not apply.
    tolerance: see Tolerance.
    """

    op: str
    label: str = "default"
    inputs: Mapping[str, Array] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)
    grad: Sequence[str] | None = None
    req: str = "write"
    train: Sequence[bool] = (False, True)
    head: str = "random"
    paths: Sequence[str] = ("sym", "nd")
    out: Sequence[str] = ()
    build: Callable[[Any, Any, dict[str, Any]], Any] | None = None
    sample: bool = False
    error: bool = False
    np_shape: bool = False
    onednn: bool = False
    unjudged: Mapping[str, str] = field(default_factory=dict)
    reference: Reference | None = None
    gradcheck: bool | str = True
    tolerance: Tolerance | None = None

    @property
    def id(self) -> str:
        """`op/label`."""
        return f"{self.op}/{self.label}"

    def array(self, name: str) -> np.ndarray:
        """The input of that name."""
        return self.inputs[name].make(f"{self.id}:{name}")

    def seeded(self, what: str, shape: Sequence[int], dtype: Any) -> np.ndarray:
        """Seeded normal numbers for head gradients and the starting values under req='add'."""
        rng = np.random.RandomState(zlib.crc32(f"{self.id}:{what}".encode()))
        return np.asarray(rng.normal(0.0, 1.0, tuple(shape))).astype(dtype)

    def grad_names(self, auxiliary: Sequence[str] = ()) -> list[str]:
        """The inputs that get a gradient."""
        if self.sample and self.grad is None:
            return []
        if self.grad is not None:
            return list(self.grad)
        return [n for n, a in self.inputs.items() if a.dtype in FLOATS and a.kind != "integers" and n not in auxiliary and n not in self.out]


def over_dtypes(case: Case, *dtypes: str, keep: Sequence[str] = ()) -> list[Case]:
    """The case once per element type (label gets `_dtype`); inputs named in `keep` stay as they are."""
    made = []
    for dtype in dtypes:
        inputs = {n: a if n in keep else a.typed(dtype) for n, a in case.inputs.items()}
        made.append(dataclasses.replace(case, label=f"{case.label}_{dtype}", inputs=inputs))
    return made


@dataclass(frozen=True)
class Limitation:
    """A known difference from MXNet 1.9.1: the checks it names must fail (strictly), and the matrix shows its reason.

    op: operator name as in the cases. check: a check name or a prefix of it ('grad', 'sym.grad.data', 'types').
    when: label pattern ('*' = every case of the operator) or a predicate of the case.
    """

    op: str
    check: str
    when: str | Callable[[Case], bool]
    reason: str

    def covers(self, case: Case) -> bool:
        """Whether the limitation is about this case."""
        if case.op != self.op:
            return False
        return fnmatch.fnmatchcase(case.label, self.when) if isinstance(self.when, str) else self.when(case)

    def names(self, check: str) -> bool:
        """Whether it is about this check: `sym.grad.data` is named by itself, by 'sym.grad', 'sym' and by 'grad'."""
        parts, wanted = check.split("."), self.check.split(".")
        return any(parts[i : i + len(wanted)] == wanted for i in range(len(parts)))
