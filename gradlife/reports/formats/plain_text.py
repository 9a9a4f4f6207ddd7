"""Reports as plain text, for `print`: as wide as the terminal, or 80 columns."""

from __future__ import annotations

from io import StringIO

from gradlife.model.device.memory import DeviceReport
from gradlife.model.heap import HeapDiff
from gradlife.model.hunt import HuntReport
from gradlife.model.peak.report import PeakReport
from gradlife.reports.devices.terminal import print_devices
from gradlife.reports.heap.diff import print_diff
from gradlife.reports.hunt.first_screen import print_first_screen
from gradlife.reports.hunt.terminal import print_hunt
from gradlife.reports.peak.terminal import print_peak
from gradlife.reports.theme import make_console

#: Most rows of a table of a difference.
ROWS = 15


def plain_text(report: object, is_full: bool = False) -> str:
    """Return what the command line prints for a report, without colours; of a hunt the first screen, or all of it. Raises
    TypeError for anything else.
    """
    with StringIO() as file:
        console = make_console(file, color=False)
        match report:
            case HuntReport() if is_full:
                print_hunt(console, report)
            case HuntReport():
                print_first_screen(console, report)
            case PeakReport():
                print_peak(console, report)
            case DeviceReport():
                print_devices(console, report)
            case HeapDiff():
                print_diff(console, report, ROWS)
            case _:
                raise TypeError(f"a {type(report).__name__} has no text")
        return file.getvalue().rstrip("\n")
