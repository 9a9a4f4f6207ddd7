"""A guided tour: the program behind one pull request, run on the release before it and on the one that has it."""

from __future__ import annotations

from pathlib import Path

from gradlife.backends.mini import PREFIX, profile_names
from gradlife.model import RunReport
from gradlife.runner import api
from gradlife.runner.history import KnownChange, known_changes, numbers

PULL = "pytorch/pytorch#22983"
STORY = Path(__file__).parent / "story.py"


def run_tour() -> RunReport:
    """Run the tour's program with drawings of owners, on the last profile before the change and the first one after it."""
    before, after = systems_around(next(change for change in known_changes() if change.pull == PULL))
    return api.run([str(STORY)], backends=[before, after], with_graphs=True)


def systems_around(change: KnownChange) -> tuple[str, str]:
    """The engine's imitations of the releases nearest to a change: without it, and with it."""
    lead = f"{change.framework}-"
    releases = sorted((name for name in profile_names() if name.startswith(lead)), key=numbers)
    first = numbers(change.first)[:2]
    before = [name for name in releases if numbers(name) < first]
    after = [name for name in releases if numbers(name) >= first]
    return PREFIX + before[-1], PREFIX + after[0]
