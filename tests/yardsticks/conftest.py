"""Benchmarks are no part of the package: they are found beside it."""

from __future__ import annotations

import sys

from sources import ROOT

if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))
