from __future__ import annotations

import re
from pathlib import Path

from gradlife.runner.discover import discover

PAGE = Path(__file__).parents[3] / "docs" / "stories.md"


def rows() -> list[tuple[str, str]]:
    cells = (line.strip("|").split("|") for line in PAGE.read_text().splitlines() if line.startswith("| "))
    return [(subject.strip(), result.strip()) for subject, result in cells if subject.strip() != "subject"]


def test_every_subject_names_its_stories_or_the_reason_why_there_is_none() -> None:
    assert [row for row in rows() if not re.match(r"`\w+`( `\w+`)*$|none: \w", row[1])] == []


def test_every_story_that_the_page_names_exists() -> None:
    known = {story.info.name for story in discover()}
    assert [name for _, result in rows() for name in re.findall(r"`(\w+)`", result) if name not in known] == []


def test_no_subject_is_listed_twice() -> None:
    subjects = [subject for subject, _ in rows()]
    assert sorted(subjects) == sorted(set(subjects))
