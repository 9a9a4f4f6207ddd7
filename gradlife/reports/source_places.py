"""Places in the program's files, for tools that show results in them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from gradlife.model import RunReport, ScenarioInfo
from gradlife.model.hunt import Finding, HuntReport

#: The variable with the folder of the checkout on GitHub's runners; annotations name files relative to it.
WORKSPACE_VARIABLE = "GITHUB_WORKSPACE"

MADE_AT = re.compile(r"(?P<file>.+?):(?P<line>[0-9]+)(?: in .*)?")
IN_DETAIL = re.compile(r"\((?P<file>[^()]+):(?P<line>[0-9]+)\)")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file that exists."""

    file: str  # as given, or found next to the target
    line: int

    @property
    def relative(self) -> str:
        """The file relative to the checkout, else to the working folder; its full path if it is in neither."""
        path = os.path.realpath(self.file)
        for folder in (os.environ.get(WORKSPACE_VARIABLE), os.getcwd()):
            if folder and path.startswith(os.path.realpath(folder).rstrip(os.sep) + os.sep):
                return Path(os.path.relpath(path, os.path.realpath(folder))).as_posix()
        return path

    @property
    def is_inside(self) -> bool:
        """Whether the file is in the checkout or below the working folder."""
        return not os.path.isabs(self.relative)

    @property
    def uri(self) -> str:
        """The relative file as a URI, or the end of one."""
        name = os.fsencode(self.relative)
        return quote(name) if self.is_inside else "file://" + quote(name)


def places_of(finding: Finding, target: str = "") -> list[Place]:
    """Return the line that stores, then the lines that created the survivors, innermost first, else those of the
    trace's frames. Only files that exist.
    """
    stored = finding.stored_at
    first = there(stored.file, stored.line, target) if stored is not None else None
    made = [found for result in finding.created_at for found in [MADE_AT.fullmatch(result)] if found]
    trace = finding.trace
    details = [step.detail for step in reversed((*trace.steps, *trace.cycle, *trace.tail))]
    frames = [found for detail in details for found in IN_DETAIL.finditer(detail)]
    return list(dict.fromkeys([*([first] if first else []), *existing(made or frames, target)]))


def existing(found: Iterable[re.Match[str]], target: str) -> Iterator[Place]:
    """Keep the places whose file exists."""
    for one in found:
        place = there(one["file"], int(one["line"]), target)
        if place is not None:
            yield place


def there(file: str, line: int, target: str) -> Place | None:
    """Return a file as named from the working folder or the target's folder; None if it is in neither."""
    beside = os.path.dirname(target.partition("::")[0])
    for path in (file, os.path.join(beside, file)):
        if line > 0 and os.path.isfile(path):
            return Place(path, line)
    return None


def first_place(finding: Finding, report: HuntReport) -> Place | None:
    """Return the place where a finding is shown."""
    return next(iter(places_of(finding, report.target)), None)


def story_place(story: ScenarioInfo | None) -> Place | None:
    """Return the place of a story."""
    return there(story.file, story.line, "") if story is not None and story.file else None


def stories_by_id(report: RunReport) -> dict[str, ScenarioInfo]:
    """Return the stories of a run by the id that their readings use."""
    return {story.id: story for story in report.scenarios}
