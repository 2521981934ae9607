"""The exception tree. `mxnet.base` re-exports these names at the border."""

from __future__ import annotations

__all__ = ["FileFormatError", "MXNetError", "NotImplementedForSymbol", "NotSupportedForSparseNDArray", "OutOfBoundsError", "UnsupportedError", "translated"]


class MXNetError(RuntimeError):
    """An error of MXNet's core: bad operator arguments, shapes, types, contexts or files."""


class OutOfBoundsError(MXNetError, IndexError):
    """An index beyond an axis. MXNet raises Python's IndexError for it in places and its own error in others: this is both."""


class UnsupportedError(MXNetError):
    """Something MXNet 1.9.1 does and this package does not: the text names it and the way out."""


class FileFormatError(MXNetError):
    """A file or buffer that is not what it should be (truncated, corrupt, hostile)."""


class NotImplementedForSymbol(MXNetError):
    """An NDArray-only function was called on a Symbol."""

    def __init__(self, function: object, alias: str | None = None, *args: object) -> None:
        super().__init__(*(str(type(a)) for a in args))
        self.function, self.alias = getattr(function, "__name__", str(function)), alias

    def __str__(self) -> str:
        return f"{_called(self.function, self.alias, self.args)} is not implemented for Symbol and only available in NDArray."


class NotSupportedForSparseNDArray(MXNetError):
    """A function that exists for dense arrays only was called on a sparse one."""

    def __init__(self, function: object, alias: str | None = None, *args: object) -> None:
        super().__init__(*(str(type(a)) for a in args))
        self.function, self.alias = getattr(function, "__name__", str(function)), alias

    def __str__(self) -> str:
        return f"{_called(self.function, self.alias, self.args)} is not supported for SparseNDArray and only available in NDArray."


def _called(function: str, alias: str | None, args: tuple[object, ...]) -> str:
    """What was called, for the two errors above; code that lists their bases finds MXNetError next."""
    text = f"Function {function}"
    if alias:
        text += f' (namely operator "{alias}")'
    return f"{text} with arguments ({', '.join(map(str, args))})" if args else text


def translated(error: Exception, text: str) -> MXNetError:
    """The MXNet error with this text for an exception that torch or a leaf raised."""
    return (OutOfBoundsError if isinstance(error, IndexError) else MXNetError)(text)
