"""How far a watched program is: what its process tells the watching one, and who shows it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

#: The line that says that the program begins to run. Other lines are names of reports, or progress in JSON.
BEGUN = "begun"

#: Most types that are said to grow.
MOST_TYPES = 3


@dataclass(frozen=True)
class StepProgress:
    """The steps of a program so far. ``snapshots``: of a hunt; the first one ends the warm-up."""

    stepped_by: str = ""  # empty: no step was seen
    steps: int = 0
    snapshots: int = 0
    growing: tuple[str, ...] = ()  # types that may leak
    has_ended: bool = False  # the program is over, and the last report is being made

    def dump(self) -> str:
        """Encode it as one line."""
        return json.dumps(asdict(self))


def load_progress(line: str) -> StepProgress:
    """Decode a line of JSON."""
    words = json.loads(line)
    return StepProgress(**{**words, "growing": tuple(words["growing"])})


class Viewer:
    """Sees a program run. This one shows nothing."""

    wants_progress = False

    def see_start(self) -> None:
        """See that the program begins to run."""

    def see(self, progress: StepProgress) -> None:
        """See how far the program is. Called only if ``wants_progress``."""

    def wait(self, resident: int) -> None:
        """Pass some time. ``resident``: bytes of the program, 0 if unknown. Called ten times a second."""
