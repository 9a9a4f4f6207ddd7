"""`python -m gradlife` is the `gradlife` command."""

import sys

from gradlife.cli import main

if __name__ == "__main__":
    sys.exit(main())
