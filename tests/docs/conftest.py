"""The documentation's own code lies beside the documentation."""

from __future__ import annotations

import sys

from sources import ROOT

for folder in (ROOT / "docs" / "_ext", ROOT / "tests" / "docs"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
