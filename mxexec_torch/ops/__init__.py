"""Operators, one module a family. Importing this package fills the registry."""

from . import random  # noqa: F401
