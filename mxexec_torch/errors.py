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


class _UnavailableFunction(MXNetError):
    """A function that another kind of object has was called; subclasses say in `ending` what has it and what has not."""

    ending = ""

    def __init__(self, function: object, alias: str | None = None, *args: object) -> None:
        super().__init__()
        self.function = getattr(function, "__name__", str(function))
        self.alias = alias
        self.args = tuple(str(type(a)) for a in args)

    def __str__(self) -> str:
        text = f"Function {self.function}"
        if self.alias:
            text += f' (namely operator "{self.alias}")'
        if self.args:
            text += f" with arguments ({', '.join(self.args)})"
        return text + self.ending


class NotImplementedForSymbol(_UnavailableFunction):
    """An NDArray-only function was called on a Symbol."""

    ending = " is not implemented for Symbol and only available in NDArray."


class NotSupportedForSparseNDArray(_UnavailableFunction):
    """A function that exists for dense arrays only was called on a sparse one."""

    ending = " is not supported for SparseNDArray and only available in NDArray."


def translated(error: Exception, text: str) -> MXNetError:
    """The MXNet error with this text for an exception that torch or a leaf raised."""
    return (OutOfBoundsError if isinstance(error, IndexError) else MXNetError)(text)
