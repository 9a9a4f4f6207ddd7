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
from gradlife.reports.visible_report import shows_report

PLACE = re.compile(r"(.+):(\d+)(?: in .*)?")


@shows_report
def lines(suite: SuiteResult, root: Path, folder: Path | None = None) -> Iterator[str]:
    """Return a workflow command for each new leak and each expired baseline entry.

    Lines of the program are named from `folder`, where pytest was started, tests from `root`.
    """
    for one in suite.checked:
        for entry in one.guilty:
            yield annotation(one, entry, (folder or root, root), one.is_failure and not suite.is_updating)
    for known in suite.baseline.expired:
        yield f"::warning title={escaped_property('gradlife baseline')}::{escaped(f'expired: {known.words}')}"


def annotation(checked: Checked, entry: Entry, folders: tuple[Path, Path], is_error: bool) -> str:
    """Annotate one leak."""
    file, line = place_of(checked, entry, folders)
    level = "error" if is_error else "warning"
    title = escaped_property(f"{entry.finding.code} {entry.finding.title}")
    lines = [messages.brief(entry.finding), *messages.sentences(entry.finding.trace, entry.finding.created_at)]
    words = escaped("\n".join([checked.nodeid, *lines]))
    return f"::{level} file={escaped_property(file)},line={line},title={title}::{words}"


def place_of(checked: Checked, entry: Entry, folders: tuple[Path, Path]) -> tuple[str, int]:
    """Return the line that created the survivors, if it is in a file of the project; else the test."""
    workspace = os.environ.get("GITHUB_WORKSPACE") or str(folders[1])
    for file, line in existing_places(checked, entry, folders):
        named = Path(os.path.relpath(file, workspace)).as_posix()
        if not named.startswith("../"):  # GitHub shows no line of a file outside
            return named, line
    return checked.nodeid.partition("::")[0], 1


def existing_places(checked: Checked, entry: Entry, folders: tuple[Path, Path]) -> Iterator[tuple[Path, int]]:
    """Yield the lines that created the survivors, innermost first, then the test: those whose file exists."""
    folder, root = folders
    places = [*((folder, place) for place in entry.finding.created_at), (root, checked.place)]
    for base, place in places:
        found = PLACE.fullmatch(place)
        if found and (base / found[1]).is_file():
            yield base / found[1], int(found[2])
