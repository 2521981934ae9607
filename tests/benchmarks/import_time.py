"""How long `import mxexec_torch` takes beside `import torch`: `python tests/benchmarks/import_time.py [repeats]`. Figures, no verdict."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time


def seconds(statement: str, repeats: int) -> float:
    """Median wall time of a fresh interpreter that runs the statement."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for statement in ("pass", "import torch", "import mxexec_torch"):
        print(f"{seconds(statement, repeats):6.2f} s  {statement}")
