"""The process of a hunted program, with a session where a leak is found."""

from __future__ import annotations

from gradlife.hunting.process.settings import END, Settings
from gradlife.interactive.live import Talk
from gradlife.program.hunt.child import HuntChild


class TalkingChild(HuntChild):
    """Stop when the hunt has a result, at the latest when the program ends."""

    def __init__(self, settings: Settings) -> None:
        self._talk = Talk()
        super().__init__(settings, after_rounds=self._talk)

    def _leave_at_end(self, status: int | None, error: BaseException | None) -> None:
        """Write the last report. In the session that may follow, an interrupt is the user's own."""
        self.leave(END, status, error)

    def leave(self, moment: str, status: int | None, error: BaseException | None) -> None:
        """Write the report, after a session at the end if no step was left for one."""
        super().leave(moment, status, error)
        if moment == END and not self._talk.has_begun:
            self._talk.after_the_end(self._hunt, self._report(status, error))
