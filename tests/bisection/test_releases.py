"""Releases of a library: which there are, and environments that have one each. Nothing is installed here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gradlife.bisection.releases import Environments, range_of, releases_in, versions_from_pip
from gradlife.cli import bisect as command, main
from gradlife.errors import UsageError
from gradlife.model.bisection import Candidate

VERSIONS = ["2.14.0", "2.10.0rc1", "2.10.0", "2.9.1", "2.9.0", "2.8.0", "no version"]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("torch==2.9..2.14", ("torch", "2.9", "2.14")),
        ("ruamel.yaml==0.17..0.18.6", ("ruamel.yaml", "0.17", "0.18.6")),
        ("transformers==4.40.0..4.50.0", ("transformers", "4.40.0", "4.50.0")),
    ],
)
def test_a_range_has_a_name_and_two_versions(text: str, ends: tuple[str, str, str]) -> None:
    found = range_of(text)
    assert found is not None
    assert (found.name, str(found.old), str(found.new)) == ends


@pytest.mark.parametrize("text", ["HEAD~3", "v1.0", "torch", "torch==2.9", "--x==1..2", "torch==..2"])
def test_what_is_no_range(text: str) -> None:
    assert range_of(text) is None


def test_a_range_that_is_the_wrong_way_round() -> None:
    with pytest.raises(UsageError, match=r"the good release is first, and is older \(try: torch==2.9..2.14\)"):
        range_of("torch==2.14..2.9")


def test_the_releases_of_a_range_are_those_that_exist_oldest_first() -> None:
    wanted = range_of("torch==2.9..2.13")
    assert wanted is not None
    assert [one.name for one in releases_in(wanted, VERSIONS)] == ["torch 2.9.0", "torch 2.9.1", "torch 2.10.0"]


def test_too_few_releases_are_said_with_what_there_is() -> None:
    wanted = range_of("torch==2.11..2.13")
    assert wanted is not None
    with pytest.raises(UsageError, match=r"torch has 0 releases from 2.11 to 2.13; there are 2.8.0 to 2.14.0"):
        releases_in(wanted, VERSIONS)


def test_versions_are_those_that_pip_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(text: str, errors: str = "", status: int = 0) -> None:
        done = subprocess.CompletedProcess([], status, text, errors)
        monkeypatch.setattr(subprocess, "run", lambda *words, **options: done)

    answer("thing (1.2)\nAvailable versions: 1.2, 1.1\n  INSTALLED: 1.1\n")
    assert versions_from_pip("thing") == ["1.2", "1.1"]
    answer("", "WARNING: experimental\nERROR: No matching distribution found for thing\n", 1)
    with pytest.raises(UsageError, match="pip lists no versions of thing: ERROR: No matching distribution found"):
        versions_from_pip("thing")


class Maker:
    """Stands in for venv and pip: the environment's interpreter is this one, with a module of the release's version."""

    def __init__(self, broken: str = "") -> None:
        self.made: list[str] = []
        self._broken = broken

    def __call__(self, folder: Path, packages: Sequence[str], requirements: Sequence[str]) -> None:
        [package] = packages
        self.made.append(package)
        if package.endswith(f"=={self._broken}"):
            raise UsageError(f"pip could not install {package}: ERROR: no wheel")
        version = package.partition("==")[2]
        (folder / "library.py").write_text(f"VERSION = {tuple(map(int, version.split('.')))}\n")
        (folder / "bin").mkdir()
        python = folder / "bin" / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" "$@"\n')
        python.chmod(0o755)


def test_an_environment_is_used_again_and_other_requirements_have_others(tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("other==1\n")
    maker, release = Maker(), Candidate("library 1.0", "1.0")
    kept = Environments("library", tmp_path / "kept", [], True, maker)
    first = kept.place(release)
    kept.done_with(release)
    assert kept.place(release) == first
    assert maker.made == ["library==1.0"]
    other = Environments("library", tmp_path / "kept", [str(requirements)], True, maker)
    assert other.place(release).python != first.python

    temporary = Environments("library", tmp_path / "temporary", [], False, maker)
    place = temporary.place(release)
    assert Path(place.python).exists()
    temporary.done_with(release)
    assert not Path(place.python).exists()


PROGRAM = """\
import library

kept = []


def step():
    row = bytearray(20_000)
    if library.VERSION >= (1, 3):
        kept.append(row)


for _ in range(120):
    step()
"""


@pytest.mark.whole
def test_the_first_release_with_a_leak_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    maker = Maker(broken="1.1")
    monkeypatch.setattr(command, "versions_from_pip", lambda name: ["1.0", "1.1", "1.2", "1.3", "1.4"])
    monkeypatch.setattr(
        command, "Environments", lambda name, folder, files, kept: Environments(name, folder, files, kept, maker)
    )
    words = ["bisect", "library==1.0..1.4", "--keep", "kept", "--", "hunt", "--step-on", "__main__:step", "train.py"]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0] == "first bad: library 1.3"
    assert "train.py:9   kept.append(row)" in shown.out
    assert [line.split()[:3] for line in shown.err.splitlines()[1:]] == [
        ["BAD", "library", "1.4"],
        ["good", "library", "1.0"],
        ["good", "library", "1.2"],
        ["BAD", "library", "1.3"],
    ]
    assert main(["bisect", "library==1.0..1.1", "--keep", "kept", "--", "hunt", "train.py"]) == 3
    assert "could not tell at library 1.1, the bad end: pip could not install library==1.1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["a", "b"], "bisect needs the command of a hunt (try: gradlife bisect GOOD BAD -- hunt train.py)"),
        (["a", "b", "--", "peak", "x.py"], "bisect follows a finding of gradlife hunt: after -- comes hunt TARGET"),
        (["a", "b", "--", "hunt"], "bisect follows a finding of gradlife hunt: after -- comes hunt TARGET"),
        (["a", "--", "hunt", "x.py"], "bisect takes two commits, or PACKAGE==OLD..NEW"),
        (["a", "b", "c", "--", "hunt", "x.py"], "bisect takes two commits, or PACKAGE==OLD..NEW"),
        (["a", "b", "--", "hunt", "--json", "r.json", "x.py"], "bisect reads the JSON report of each hunt itself"),
        (["a", "b", "--fingerprint", "xyz", "--", "hunt", "x.py"], "argument --fingerprint: 'xyz' is no fingerprint"),
        (["x==1..2", "--with", "nowhere.txt", "--", "hunt", "x.py"], "--with nowhere.txt: there is no such file"),
    ],
)
def test_a_command_line_that_makes_no_sense(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", *words]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"gradlife: error: {error}")
