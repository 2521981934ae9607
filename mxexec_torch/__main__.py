"""`python -m mxexec_torch` is `mxexec-torch`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
