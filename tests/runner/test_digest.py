from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.model import ScenarioInfo
from gradlife.runner.digest import digest_of

STORY = '''
"""A file."""
from gradlife.scenario import Expect, scenario

SIZE = 4
UNUSED = 5


def helper():
    """Helps."""
    return SIZE


def other():
    return UNUSED


@scenario(title="a title", expects=[Expect("x", "del")])
def kept(lab):
    """The story."""
    x = lab.tensor(helper())  # a comment
    lab.watch("x", x)
    lab.stage("made")
'''


def digest(
    tmp_path: Path, text: str, name: str = "kept", needs: str = "", isolation: str = "fork", profile: str = ""
) -> str:
    file = tmp_path / "story.py"
    file.write_text(text, encoding="utf-8")
    info = ScenarioInfo(f"s/{name}", name, "s", "t", needs=needs, isolation=isolation, profile=profile)
    return digest_of(file, info)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment", "# quite another comment"),
        ('"""The story."""', '"""Told differently."""'),
        ('"""Helps."""', "# helps"),
        ("return SIZE", "return (SIZE)"),
        ('    lab.watch("x", x)\n', '\n    lab.watch(\n        "x", x\n    )\n'),
        ("a title", "another title"),
        ('Expect("x", "del")', 'Expect("x", "gc", because="so")'),
        ("return UNUSED", "return 6"),
        ('"""A file."""', "import os"),
    ],
)
def test_what_changes_nothing_that_runs_leaves_the_digest(tmp_path: Path, old: str, new: str) -> None:
    assert old in STORY
    assert digest(tmp_path, STORY.replace(old, new)) == digest(tmp_path, STORY)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('lab.stage("made")', 'lab.stage("made up")'),
        ('lab.watch("x", x)', 'lab.watch("y", x)'),
        ('    lab.watch("x", x)\n', ""),
        ("SIZE = 4", "SIZE = 8"),
        ("return SIZE", "return SIZE + 1"),
        ('"""A file."""', "import sys\nsys.setrecursionlimit(500)"),
    ],
)
def test_what_changes_what_runs_changes_the_digest(tmp_path: Path, old: str, new: str) -> None:
    assert old in STORY
    assert digest(tmp_path, STORY.replace(old, new)) != digest(tmp_path, STORY)


def test_what_a_story_needs_and_where_it_runs_belong_to_it(tmp_path: Path) -> None:
    found = {
        digest(tmp_path, STORY),
        digest(tmp_path, STORY, needs="hooks"),
        digest(tmp_path, STORY, isolation="fresh"),
        digest(tmp_path, STORY, profile="torch-1.2"),
    }
    assert len(found) == 4


def test_a_story_with_another_name_has_the_same_digest(tmp_path: Path) -> None:
    assert digest(tmp_path, STORY.replace("kept", "renamed"), "renamed") == digest(tmp_path, STORY)


def test_a_story_made_by_other_code_is_known_by_its_whole_file(tmp_path: Path) -> None:
    made = digest(tmp_path, STORY, "made_elsewhere")
    assert made != digest(tmp_path, STORY)
    assert made != digest(tmp_path, STORY.replace("return UNUSED", "return 6"), "made_elsewhere")
