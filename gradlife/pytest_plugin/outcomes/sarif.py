"""Leaks of tests as SARIF for code scanning, at the line that made the survivors or at the test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from gradlife.pytest_plugin.outcomes.github import existing_places
from gradlife.pytest_plugin.outcomes.messages import brief, sentences
from gradlife.pytest_plugin.outcomes.results import Checked, Entry
from gradlife.pytest_plugin.outcomes.summary import SuiteResult
from gradlife.reports.formats.sarif.document import Log, Result, sarif_text
from gradlife.reports.formats.sarif.findings import finding_result
from gradlife.reports.source_places import Place


def text(suite: SuiteResult, root: Path, exit_status: int, folder: Path | None = None) -> str:
    """Return the document: new leaks, as errors if they fail their test. Known leaks are left out."""
    results = tuple(result(one, entry, (folder or root, root)) for one in suite.checked for entry in one.guilty)
    troubles = [f"{one.nodeid}: {one.trouble}" for one in suite.checked if one.trouble]
    kept = tuple(one for one in results if one.places)
    homeless = [one.message for one in results if not one.places]
    return sarif_text(Log("pytest --leaks", kept, not troubles, exit_status, (*troubles, *homeless)))


def result(checked: Checked, entry: Entry, folders: tuple[Path, Path]) -> Result:
    """Encode one leak of a test."""
    finding = entry.finding
    lines = [f"{checked.nodeid} leaks {brief(finding)}.", *sentences(finding.trace, finding.created_at)]
    return finding_result(finding, list(places(checked, entry, folders)), lines, checked.is_failure)


def places(checked: Checked, entry: Entry, folders: tuple[Path, Path]) -> Iterator[Place]:
    """Return the lines that created the survivors, innermost first, then the test: files of the project only."""
    found = ((str(file), max(1, line)) for file, line in existing_places(checked, entry, folders))
    yield from itertools.starmap(Place, dict.fromkeys(found))
