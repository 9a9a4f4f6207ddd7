"""README and the pages that go on from it: each command is run by a test, or it says here why it is not; the picture is of a
real run.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from readme_picture import EXAMPLE, PICTURE

from gradlife.reports.run.summary import SCREEN
from gradlife.runner.discover import discover
from page_commands import commands_of, run
from sources import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
LAB = (ROOT / "docs" / "lab.md").read_text(encoding="utf-8")
WHY = (ROOT / "docs" / "why.md").read_text(encoding="utf-8")
SHOWN = [shown for page in (README, LAB, WHY) for shown in commands_of(page)]
COMMANDS = [shown.command for shown in SHOWN]

#: Commands that are not run here, and why.
ELSEWHERE = {
    "pip install .": "it compiles everything, for minutes: `make run` installs the same way",
    "make run": "it installs everything, and takes a minute: tests/cli/test_built_in_stories.py tells the same stories",
    "make test": "it runs this test",
    "gradlife run": "a minute: tests/cli/test_built_in_stories.py",
    "gradlife run --full": "a minute: tests/cli/test_run.py",
    "gradlife run --backend mini:torch-1.1 --against torch": "a minute: tests/cli/test_built_in_stories.py",
    "gradlife run --backend torch@old/bin/python3.7": "no such interpreter here: tests/cli/test_child_interpreters.py",
    "gradlife env add old --python python3.7 torch==1.1.0 numpy==1.21.6": "downloads: tests/cli/test_env.py",
    "gradlife run --backend torch@old": "no such environment here: tests/cli/test_child_interpreters.py",
    "gradlife record --backend torch@old -o old.json": "no such environment here: tests/cli/test_record.py",
    "gradlife run --backend mini:torch-1.1 --against recorded:old.json": "no such recording: tests/cli/test_record.py",
    "gradlife run --against recorded:torch-2.13.0": "a minute: tests/cli/test_record.py",
    "gradlife run --fidelity": "a minute: tests/runner",
    "gradlife run --matrix": "a minute: tests/runner",
    "gradlife run --json report.json": "a minute: tests/cli/test_run.py",
    "gradlife run --html report.html": "a minute: tests/browser looks at such pages",
    'gradlife run --junit junit.xml --markdown "$GITHUB_STEP_SUMMARY" --sarif findings.sarif': "tests/cli/test_formats.py",
    "gradlife snapshot -o heap.glheap train.py": "tests/cli/test_snapshots.py",
    "gradlife open heap.glheap": "the same as a page of docs/interactive.md: tests/docs/test_programs_of_pages.py",
    "gradlife open heap.glheap --html heap.html": "tests/cli/test_snapshots.py",
    "gradlife why heap.glheap Tensor --picture tensor.svg": "it needs graphviz: tests/cli/test_pictures.py",
    "gradlife open heap.glheap --tui": "it waits for keys: tests/interactive/tui/test_command.py",
    "gradlife hunt --html report.html train.py": "tests/browser looks at such pages",
    "gradlife hunt train.py": "tests/yardsticks/test_hunting_page.py hunts in a train.py",
    "gradlife hunt train.py --lr 0.1": "tests/hunting/steps/test_targets.py: arguments are the script's",
    "gradlife hunt train.py::train_step": "docs/fixing hunts in functions: test_fixing_page.py",
    "gradlife hunt -i train.py": "tests/yardsticks/test_hunting_page.py",
    "gradlife hunt --follow train.py": "it watches for long: tests/docs/test_production_page.py",
    "gradlife attach 4711": "tests/docs/test_production_page.py",
    "gradlife peak train.py": "tests/docs/test_peak_page.py",
    "gradlife hunt --prove train.py": "tests/hunting/run/test_proving.py",
    "gradlife hunt --fix --write train.py": "tests/hunting/run/test_fixing.py",
    "gradlife hunt --nproc-per-node 4 train.py": "tests/ranks/test_distributed_hunts.py",
    "gradlife hunt --lines train.py": "tests/hunting/session/test_lines.py",
    "gradlife hunt --export-scenario leak.py train.py": "tests/yardsticks/test_hunting_page.py",
}
HERE = [command for command in dict.fromkeys(COMMANDS) if command not in ELSEWHERE]


def test_each_command_is_run_or_has_a_reason() -> None:
    assert [command for command in ELSEWHERE if command not in COMMANDS] == []
    named = re.findall(r"tests/[\w/.]+\w", " ".join(ELSEWHERE.values()))
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert len(HERE) >= 4


@pytest.mark.whole
def test_the_quick_commands_run(tmp_path: Path) -> None:
    for shown in dict.fromkeys(one for one in SHOWN if one.command in HERE):
        done = run(shown, tmp_path)
        assert done.returncode == 0, f"{shown.command}\n{done.stderr}"


def test_the_picture_is_of_the_example_and_says_what_the_hunt_of_it_says() -> None:
    """That this is what such a hunt prints is held by the page on hunting, whose script it is."""
    page = (ROOT / "docs" / "hunting.md").read_text(encoding="utf-8")
    assert f"<!-- file: train.py -->\n```python\n{EXAMPLE.read_text(encoding='utf-8')}```" in page
    text = " ".join(re.findall(r">([^<>]+)<", PICTURE.read_text(encoding="utf-8"))).replace("&#160;", " ")
    for part in ("GL402", "stored results keep their graphs", "trainer.losses", "To try the fix:", "Details:"):
        assert part in text


def test_the_run_that_is_shown_is_of_the_stories_that_there_are() -> None:
    stories = [story.info for story in discover()]
    suites = Counter(story.suite for story in stories)
    [shown] = re.findall(r"```text\n(\d+ stories on 7 systems.*?)```", LAB, re.DOTALL)
    assert {suite: int(count) for suite, count in re.findall(r"^  (\w+) +(\d+) ", shown, re.MULTILINE)} == suites
    assert shown.startswith(f"{len(stories)} stories on 7 systems: ")
    assert len(shown.splitlines()) <= SCREEN
    [section] = re.findall(r"What differs most between releases \(12 of \d+\)\n(.*?)\n\n", shown, re.DOTALL)
    titles = [line.partition(": ")[0].strip() for line in section.splitlines()]
    assert len(titles) == 12
    known = [story.title for story in stories]
    assert [title for title in titles if not any(one.startswith(title.removesuffix("...")) for one in known)] == []


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(((?:docs|examples)[^)#]*)", README))))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists()
