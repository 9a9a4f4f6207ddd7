"""Write the last column of docs/sources.md: the releases on which a statement's stories were recorded.

    python docs/_ext/source_releases.py

A test compares the page with the recordings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from gradlife.backends.recorded import RecordedBackend, recording_names

PAGE = Path(__file__).resolve().parents[1] / "sources.md"
HEAD = "| statement | stories | recorded on |"
RULE = "|---|---|---|"


def renewed(page: str) -> str:
    """Return the page with its last column as the recordings have it."""
    return "\n".join(lines(page)) + "\n"


def lines(page: str) -> Iterator[str]:
    """Yield the page's lines, each row of a table with its releases."""
    ran = stories_that_ran()
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| statement |"):
            yield HEAD
        elif line.startswith("|---"):
            yield RULE
        elif line.startswith("| "):
            statement, shown_by = cells[:2]
            yield f"| {statement} | {shown_by} | {releases_of(shown_by, ran)} |"
        else:
            yield line


def stories_that_ran() -> dict[str, set[str]]:
    """Return the names of the stories that ran to their end, by recording."""
    return {
        name: {
            story.scenario.rpartition("/")[2]
            for story in RecordedBackend(name).stories.values()
            if story.run.outcome == "ok"
        }
        for name in recording_names()
    }


def releases_of(shown_by: str, ran: dict[str, set[str]]) -> str:
    """Format the releases on which one of these stories ran: "torch 1.1.0, 1.2.0"."""
    if shown_by.startswith("reason: "):
        return "-"
    stories = set(re.findall(r"`(\w+)`", shown_by))
    found: dict[str, list[str]] = {}
    for name, known in ran.items():
        framework, _, release = name.partition("-")
        if stories & known:
            found.setdefault(framework, []).append(release)
    return "; ".join(f"{framework} {', '.join(found[framework])}" for framework in found) or "the engine only"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
