"""The documentation's own code lies beside the documentation."""

from __future__ import annotations

import sys

from sources import ROOT

if str(ROOT / "docs" / "_ext") not in sys.path:
    sys.path.append(str(ROOT / "docs" / "_ext"))
