"""A summary of a recording."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.text import Text

from gradlife.model.recording import RecordedStory, Recording
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import NOTE, QUIET, TITLE
from gradlife.reports.values import counted, plain
from gradlife.reports.visible_report import shows_report

#: Most readings, and most stories, that differ between rounds to list.
LISTED = 20


@shows_report
def print_recording(console: Console, recording: Recording, stories: int) -> None:
    """Print what was recorded, and what differed between rounds."""
    system = recording.system
    where = f"{system.framework} {system.version}, Python {system.python}, {system.platform}"
    console.print(Hanging(Text(""), Text.assemble((system.name, TITLE), (f"  {where}", QUIET))), end="")
    readings = sum(len(story.run.readings) for story in recording.stories)
    text = f"{counted(stories, 'story', 'stories')} run in {counted(recording.rounds, 'round')}"
    if stories < len(recording.stories):
        text += f"; {len(recording.stories):,} in the file"
    console.print(Hanging(Text("  "), Text(f"{text}: {counted(readings, 'reading')}{endings(recording)}")), end="")
    lines = [line for story in recording.stories for line in unstable_lines(story)]
    for line in lines[:LISTED]:
        console.print(Hanging(Text("  "), Text.assemble(("UNSTABLE ", NOTE), line)), end="")
    if len(lines) > LISTED:
        console.print(Text(f"  and {len(lines) - LISTED:,} more, marked in the file", QUIET))


def endings(recording: Recording) -> str:
    """Yield the stories that did not finish."""
    outcomes = Counter(story.run.outcome for story in recording.stories)
    return "".join(f", {count:,} {outcome}" for outcome, count in sorted(outcomes.items()) if outcome != "ok")


def unstable_lines(story: RecordedStory) -> list[str]:
    """Yield the readings of a story that differ between rounds."""
    lines = (
        [f"{story.scenario} ended differently from round to round: {', '.join(story.outcomes)}"]
        if story.outcomes
        else []
    )
    for reading in story.run.readings:
        if not reading.is_stable:
            values = " or ".join(map(plain, reading.seen))
            lines.append(f"{story.scenario}, {reading.subject}, {reading.probe} at {reading.stage!r}: {values}")
    return lines
