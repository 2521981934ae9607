"""Attribute value types: how each kind of operator attribute reads MXNet's text and Python values.

A `ValueType` sits in the annotation of a keyword-only parameter of an operator body (`num_hidden: Int`).
`read` turns a Python object or text into the plain value, `describe` is the type's name in MXNet's argument tables.
Reading follows dmlc-core's parameter parser (3rdparty/dmlc-core/include/dmlc/parameter.h) and MXNet's tuple parser (include/mxnet/tuple.h).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ctypes import c_float
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .errors import MXNetError

__all__ = [
    "IGNORED", "Bool", "Double", "DoubleTuple", "Float", "FloatTuple", "IgnoredBool", "IgnoredLong", "IgnoredOptBool", "IgnoredOptFloat", "IgnoredOptInt",
    "Int", "Long", "LongTuple", "NonNegInt", "NonNegLong", "OneOf", "OptBool", "OptDouble", "OptDoubleTuple", "OptFloat", "OptInt", "OptShape", "Range",
    "Shape", "SliceDims", "Str", "ValueType",
]  # fmt: skip

_NUMPY_SCALAR = re.compile(r"np\.(?:\w+)\(([^()]*)\)")  # NumPy 2 prints np.int64(2) where NumPy 1 printed 2


class _Unreadable(Exception):
    """The text or object is not of the type; `ValueType.read` turns it into MXNet's error."""


@dataclass(frozen=True)
class Range:
    """Inclusive bounds of a numeric attribute; None means open."""

    low: float | None = None
    high: float | None = None

    @property
    def broken(self) -> str:
        """What MXNet says of a value outside."""
        if self.low is None:
            return f"should be smaller equal to {self.high:g}"
        return f"should be greater equal to {self.low:g}" if self.high is None else f"exceed bound [{self.low:g},{self.high:g}]"


class _Ignored:
    """Marks an attribute that has no meaning on torch: read and stored, never handed to the body."""


IGNORED = _Ignored()


@dataclass(frozen=True)
class ValueType:
    """One kind of attribute. `describe` is MXNet's name of it, `short` the name used in error texts."""

    describe: str
    short: str
    parse: Callable[[str], Any]
    convert: Callable[[Any], Any]
    show_default: Callable[[Any], str]
    accepts_none: bool = False

    def read(self, value: Any, attribute: str, bounds: Range | None = None) -> Any:
        """The plain value of `value` (text or Python object).

        Errors: MXNetError in MXNet's wording when the value is not of this type or out of bounds.
        """
        try:
            if isinstance(value, str):
                result = self.parse(_NUMPY_SCALAR.sub(r"\1", value.strip()) if "np." in value else value.strip())
            else:
                result = self.convert(value)
        except (_Unreadable, ValueError, OverflowError) as error:
            detail = str(error)
            if isinstance(error, _Unreadable) and detail:
                raise MXNetError(detail) from None
            raise MXNetError(f"Invalid Parameter format for {attribute} expect {self.short} but value='{value}'") from None
        if bounds is not None and result is not None:
            self._check(result, attribute, bounds)
        return result

    def _check(self, value: Any, attribute: str, bounds: Range) -> None:
        for number in value if isinstance(value, tuple) else (value,):
            low_ok = bounds.low is None or number >= bounds.low
            high_ok = bounds.high is None or number <= bounds.high
            if not (low_ok and high_ok):
                raise MXNetError(f"value {number:g} for Parameter {attribute} {bounds.broken}")


def _parse_int(text: str) -> int:
    if re.fullmatch(r"[+-]?\d+[lL]?", text) is None:
        raise _Unreadable
    return int(text.rstrip("lL"))


def _convert_int(value: Any) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise _Unreadable  # str(True) is no number to MXNet's parser
    if isinstance(value, (int, np.integer)):
        return int(value)
    return _parse_int(str(value))


def _parse_bool(text: str) -> bool:
    low = text.lower()
    if low in ("true", "1"):
        return True
    if low in ("false", "0"):
        return False
    raise _Unreadable


def _convert_bool(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    return _parse_bool(str(value))


def _parse_float(text: str) -> float:
    if re.fullmatch(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)f?", text, re.IGNORECASE) is None:
        raise _Unreadable
    return float(text.rstrip("fF") if text[-1:] in "fF" and not text.lower().endswith("inf") else text)


def _convert_float(value: Any) -> float:
    if isinstance(value, (bool, np.bool_)):
        raise _Unreadable
    if isinstance(value, (int, float, np.integer, np.floating)):
        return float(value)
    return _parse_float(str(value))


def _single(value: float) -> float:
    """The nearest C float: what MXNet computes with, in float64 arrays too."""
    return c_float(value).value


def _items(text: str) -> list[str]:
    """The entries of '(1, 2)', '[1,2]' or '1' (one bare number counts as a tuple of one)."""
    if text[:1] in "([" and text[:1]:
        if not text.endswith({"(": ")", "[": "]"}[text[0]]):
            raise _Unreadable
        inner = text[1:-1].strip()
        if inner.endswith(","):
            inner = inner[:-1]
        return [part.strip() for part in inner.split(",")] if inner.strip() else []
    return [text]


def _tuple_of(parse: Callable[[str], Any], convert: Callable[[Any], Any]) -> tuple[Callable[[str], Any], Callable[[Any], Any]]:
    def from_text(text: str) -> tuple[Any, ...]:
        return tuple(parse(item) for item in _items(text))

    def from_value(value: Any) -> tuple[Any, ...]:
        if isinstance(value, (list, tuple, np.ndarray)):
            return tuple(convert(item) for item in value)
        return (convert(value),)

    return from_text, from_value


def _parse_dim(text: str) -> int:
    return -1 if text == "None" else _parse_int(text)


def _convert_dim(value: Any) -> int:
    return -1 if value is None else _convert_int(value)


def _optional(inner: ValueType, describe: str) -> ValueType:
    return ValueType(
        describe,
        describe,
        lambda text: None if text == "None" else inner.parse(text),
        lambda value: None if value is None else inner.convert(value),
        lambda value: "None" if value is None else inner.show_default(value),
        accepts_none=True,
    )


def _show_float(value: float) -> str:
    return f"{float(np.float32(value)):.9g}"


def _show_double(value: float) -> str:
    return f"{value:.17g}"


def _show_shape(value: tuple[int, ...] | None) -> str:
    return "None" if value is None else "[" + ",".join(str(v) for v in value) + "]"


def _show_floats(value: tuple[float, ...]) -> str:
    return "[" + ",".join(f"{v:.6g}" for v in value) + "]"


def _whole(low: float | None) -> Callable[[int], int]:
    def check(value: int) -> int:
        if low is not None and value < low:
            raise _Unreadable
        return value

    return check


def _nonneg(inner: ValueType, describe: str) -> ValueType:
    check = _whole(0)
    return ValueType(describe, describe, lambda t: check(inner.parse(t)), lambda v: check(inner.convert(v)), inner.show_default)


_shape_parse, _shape_convert = _tuple_of(_parse_dim, _convert_dim)
_doubles_parse, _doubles_convert = _tuple_of(_parse_float, _convert_float)
_floats_parse, _floats_convert = _tuple_of(lambda t: _single(_parse_float(t)), lambda v: _single(_convert_float(v)))

_INT = ValueType("int", "int", _parse_int, _convert_int, lambda v: f"'{v}'")
_LONG = ValueType("long", "long", _parse_int, _convert_int, str)
# C unsigned fields print their default without quotes (int, unlike "int (non-negative)").
_UINT = ValueType("int", "int", _parse_int, _convert_int, str)
_FLOAT = ValueType("float", "float", lambda t: _single(_parse_float(t)), lambda v: _single(_convert_float(v)), _show_float)
_DOUBLE = ValueType("double", "double", _parse_float, _convert_float, _show_double)
_BOOL = ValueType("boolean", "boolean", _parse_bool, _convert_bool, lambda v: str(int(v)))
_SHAPE = ValueType(
    "Shape(tuple)", "Shape(tuple)",
    lambda t: None if t == "None" else _shape_parse(t),
    lambda v: None if v is None else _shape_convert(v),
    _show_shape, accepts_none=True,
)  # fmt: skip

Int = Annotated[int, _INT]
Long = Annotated[int, _LONG]
NonNegInt = Annotated[int, _nonneg(_UINT, "int (non-negative)")]
NonNegLong = Annotated[int, _nonneg(_LONG, "long (non-negative)")]
Float = Annotated[float, _FLOAT]
Double = Annotated[float, _DOUBLE]
Bool = Annotated[bool, _BOOL]
Str = Annotated[str, ValueType("string", "string", lambda t: t, str, lambda v: f"'{v}'")]
Shape = Annotated[tuple[int, ...], _SHAPE]
OptShape = Annotated[tuple[int, ...] | None, _optional(_SHAPE, "Shape or None")]
OptInt = Annotated[int | None, ValueType(
    "int or None", "int or None",
    lambda t: None if t == "None" else _parse_int(t),
    lambda v: None if v is None else _convert_int(v),
    lambda v: f"'{v}'", accepts_none=True,
)]  # fmt: skip
OptFloat = Annotated[float | None, _optional(_FLOAT, "float or None")]
OptDouble = Annotated[float | None, _optional(_DOUBLE, "double or None")]
OptBool = Annotated[bool | None, _optional(_BOOL, "boolean or None")]
# begin, end and step of slices: None entries stay None (-1 means the last element).
_slice_parse, _slice_convert = _tuple_of(lambda t: None if t == "None" else _parse_int(t), lambda v: None if v is None else _convert_int(v))
SliceDims = Annotated[
    tuple[int | None, ...], ValueType("Shape(tuple)", "Shape(tuple)", _slice_parse, _slice_convert, _show_shape)
]
FloatTuple = Annotated[tuple[float, ...], ValueType("tuple of <float>", "tuple of <float>", _floats_parse, _floats_convert, _show_floats)]
DoubleTuple = Annotated[tuple[float, ...], ValueType("tuple of <double>", "tuple of <double>", _doubles_parse, _doubles_convert, _show_floats)]
LongTuple = Annotated[tuple[int, ...], ValueType("tuple of <long>", "tuple of <long>", _shape_parse, _shape_convert, _show_shape)]
OptDoubleTuple = Annotated[tuple[float, ...] | None, _optional(ValueType(
    "tuple of <double>", "tuple of <double>", _doubles_parse, _doubles_convert, _show_floats), "tuple of <double> or None")]
IgnoredBool = Annotated[bool, _BOOL, IGNORED]
IgnoredOptBool = Annotated[bool | None, _optional(_BOOL, "boolean or None"), IGNORED]
IgnoredOptFloat = Annotated[float | None, _optional(_FLOAT, "float or None"), IGNORED]
IgnoredLong = Annotated[int, _nonneg(_LONG, "long (non-negative)"), IGNORED]
IgnoredOptInt = Annotated[int | None, _optional(_INT, "int or None"), IGNORED]


def OneOf(*choices: str | None) -> ValueType:  # noqa: N802 - reads as a type in annotations
    """An enumeration: `act_type: Annotated[str, OneOf("relu", "tanh")]`. None among the choices stands for MXNet's 'None'."""
    names = sorted(c for c in choices if c is not None)
    optional = None in choices
    listed = ", ".join((["None"] if optional else []) + [f"'{n}'" for n in names])
    allowed = set(names)

    def parse(text: str) -> str | None:
        if text in allowed:
            return text
        if optional and text == "None":
            return None
        raise _Unreadable(f"Invalid Input: '{text}', valid values are: {{{listed}}}")

    def convert(value: Any) -> str | None:
        return parse(_enum_text(value))

    return ValueType(f"{{{listed}}}", "int", parse, convert, lambda v: f"'{v}'", accepts_none=optional)  # MXNet keeps enumerations as int


def _enum_text(value: Any) -> str:
    if isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value).name  # dtype=np.float32 given where a name is expected
    if isinstance(value, np.dtype):
        return value.name
    return str(value)
