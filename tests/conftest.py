"""Processes that tests start see this checkout's package, wherever they run."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).resolve().parent.parent), os.environ.get("PYTHONPATH")]))
