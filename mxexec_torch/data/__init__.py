"""Data files that ship with the package (sources and licences: README.md in this folder)."""

from __future__ import annotations

from pathlib import Path

__all__ = ["data_path", "data_text"]


def data_path(name: str) -> Path:
    """The path of a data file."""
    return Path(__file__).parent / name


def data_text(name: str) -> str:
    """The text of a data file (UTF-8)."""
    return data_path(name).read_text(encoding="utf-8")
