"""The process that watches the recording of a peak."""

from __future__ import annotations

from gradlife.hunting.process.own_folders import PEAK
from gradlife.model.peak import codec
from gradlife.model.peak.report import PeakReport
from gradlife.program.parent import Guard

#: The moment of each report, and so the name of its file: the last one replaces those before.
REPORT = "peak"


class PeakGuard(Guard[PeakReport]):
    """Runs and watches one program whose peak is recorded."""

    prefix = PEAK
    answer = REPORT
    decode = staticmethod(codec.loads)

    def _last_report(self, code: int, folder: str) -> PeakReport | None:
        return self.read_report(folder, REPORT)
