"""The recording in a Python process that a launcher started."""

from __future__ import annotations

from contextlib import suppress

from gradlife.program.hunt.child import END
from gradlife.program.hunt.launched import at_end, launched_settings
from gradlife.program.peak.child import PeakChild


def join() -> None:
    """Join a recording before the program of a launched Python process runs. No error here stops the program."""
    with suppress(Exception):
        settings = launched_settings()
        if settings is not None:
            child = PeakChild(settings)
            child.join()
            at_end(lambda status, error: child.leave(END, status, error))
