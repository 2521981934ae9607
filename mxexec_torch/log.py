"""mx.log: loggers with a short coloured line format."""

from __future__ import annotations

import logging
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]

_RED, _GREEN, _BLUE, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[34m", "\x1b[0m"
_LETTERS = {CRITICAL: "C", ERROR: "E", WARNING: "W", INFO: "I", DEBUG: "D"}


class _Formatter(logging.Formatter):
    """Level letter, time, process and place in colour, then the message."""

    def __init__(self) -> None:
        super().__init__(datefmt="%m%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        colour = _RED if record.levelno >= WARNING else _GREEN if record.levelno >= INFO else _BLUE
        place = f"{_LETTERS.get(record.levelno, 'U')}%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d]"
        self._style._fmt = f"{colour}{place}{_PLAIN} %(message)s"
        return super().format(record)


def getLogger(name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING) -> logging.Logger:
    """The older name of `get_logger`."""
    warnings.warn("getLogger is deprecated, Use get_logger instead.", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)


def get_logger(name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING) -> logging.Logger:
    """The logger of that name; the first call sets it up to write to a file (appended unless `filemode`) or coloured to stderr."""
    logger = logging.getLogger(name)
    if name is not None and not getattr(logger, "_init_done", False):
        logger._init_done = True  # type: ignore[attr-defined]
        handler: logging.Handler
        if filename:
            handler = logging.FileHandler(filename, filemode or "a")
        else:
            handler = logging.StreamHandler()
            handler.setFormatter(_Formatter())
        logger.addHandler(handler)
        logger.setLevel(level)
    return logger
