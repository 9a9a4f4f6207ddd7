"""Annotations for GitHub: show a leak at the line that made the survivors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from gradlife.pytest_plugin.outcomes import messages
from gradlife.pytest_plugin.outcomes.results import Checked, Entry
from gradlife.pytest_plugin.outcomes.summary import SuiteResult
from gradlife.reports.formats.github.annotations import escaped, escaped_property

PLACE = re.compile(r"(.+):(\d+)(?: in .*)?")


def lines(suite: SuiteResult, root: Path) -> Iterator[str]:
    """Return a workflow command for each new leak and each expired baseline entry."""
    for one in suite.checked:
        for entry in one.guilty:
            yield annotation(one, entry, root, "error" if one.is_failure and not suite.is_updating else "warning")
    for known in suite.baseline.expired:
        yield f"::warning title={escaped_property('gradlife baseline')}::{escaped(f'expired: {known.words}')}"


def annotation(checked: Checked, entry: Entry, root: Path, level: str) -> str:
    """Annotate one leak."""
    file, line = place_of(checked, entry, root)
    title = escaped_property(f"{entry.finding.code} {entry.finding.title}")
    lines = [messages.brief(entry.finding), *messages.sentences(entry.finding.trace, entry.finding.created_at)]
    words = escaped("\n".join([checked.nodeid, *lines]))
    return f"::{level} file={escaped_property(file)},line={line},title={title}::{words}"


def place_of(checked: Checked, entry: Entry, root: Path) -> tuple[str, int]:
    """Return the line that created the survivors, if it is in a file of the project; else the test."""
    for place in (*entry.finding.created_at, checked.place):
        found = PLACE.fullmatch(place)
        if found and (root / found[1]).is_file():
            workspace = os.environ.get("GITHUB_WORKSPACE") or str(root)
            return Path(os.path.relpath(root / found[1], workspace)).as_posix(), int(found[2])
    return checked.nodeid.partition("::")[0], 1
