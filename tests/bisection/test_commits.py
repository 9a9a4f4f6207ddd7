"""Bisecting commits: in a worktree, past commits that do not run, without a touch of the user's checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradlife.bisection.commits import Repository
from gradlife.cli import main

CLEAN = """\
kept = []


def step():
    row = bytearray(20_000)


for _ in range(120):
    step()
"""
LEAKS = CLEAN.replace("20_000)\n", "20_000)\n    kept.append(row)\n")
HUNT = ["--", "hunt", "--step-on", "__main__:step", "train.py"]


class Planted:
    """A repository with one commit for each text of train.py."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        names = {
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@b.c",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@b.c",
        }
        dates = {"GIT_AUTHOR_DATE": "2026-03-01T12:00:00", "GIT_COMMITTER_DATE": "2026-03-02T12:00:00"}
        command = ["git", "-C", str(self.folder), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **names, **dates})
        return done.stdout.strip()

    def commit(self, title: str, text: str) -> str:
        (self.folder / "train.py").write_text(text)
        self.git("add", "train.py")
        self.git("commit", "--quiet", "--allow-empty", "--message", title)
        return self.git("rev-parse", "HEAD")[:10]

    @property
    def state(self) -> tuple[str, str, str, str]:
        """What a bisection must not change."""
        return (
            self.git("rev-parse", "HEAD"),
            self.git("status", "--porcelain"),
            self.git("worktree", "list"),
            (self.folder / "train.py").read_text(),
        )


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planted:
    folder = tmp_path / "program"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Planted(folder)


@pytest.mark.whole
def test_the_commit_that_brought_a_leak_is_found_past_one_that_does_not_run(
    planted: Planted, capsys: pytest.CaptureFixture[str]
) -> None:
    good = planted.commit("Train", CLEAN)
    for number in range(2):
        planted.commit("Comment", f"{CLEAN}# {number}\n")
    broken = planted.commit("Half a change", "import nowhere\n" + CLEAN)
    planted.commit("Mend it", CLEAN + "# mended\n")
    first = planted.commit("Keep rows", LEAKS)
    bad = planted.commit("Comment", LEAKS + "# more\n")
    (planted.folder / "train.py").write_text("the user's own work")
    (planted.folder / "notes.txt").write_text("untracked")
    hook = planted.folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {planted.folder}/hooked\n")
    hook.chmod(0o755)
    before = planted.state

    assert main(["bisect", good, "HEAD", "--json", "found.json", *HUNT]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        f"first bad: {first} 2026-03-01 Keep rows",
        "GL512 kept: each step appends to a list: +1 object and 20.1 kB a step",
        "train.py:6   kept.append(row)",
    ]
    assert shown.err.splitlines()[:4] == [
        f"gradlife: bisecting 6 commits from {good} to {bad}: both ends, then about 3 hunts",
        f"  BAD     {bad}  Comment",
        f"  good    {good}  Train",
        f"  skipped {broken}  Half a change: ModuleNotFoundError: No module named 'nowhere'",
    ]
    document = json.loads(Path("found.json").read_text())
    assert (document["format"], document["first_bad"]["title"]) == ("gradlife.bisect/1", "Keep rows")
    assert [one["outcome"] for one in document["judged"]] == ["bad", "good", "skipped", "good", "good", "bad"]
    Path("found.json").unlink()
    assert planted.state == before


@pytest.mark.whole
def test_a_skipped_commit_before_the_first_bad_one_may_be_it(
    planted: Planted, capsys: pytest.CaptureFixture[str]
) -> None:
    planted.commit("Train", CLEAN)
    broken = planted.commit("Half a change", "(")
    bad = planted.commit("Keep rows", LEAKS)
    assert main(["bisect", "HEAD~2", "HEAD", "--markdown", "found.md", *HUNT]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "could not tell: it is one of these 2; all but the last were skipped",
        f"  {broken} 2026-03-01 Half a change",
        f"  {bad} 2026-03-01 Keep rows",
    ]
    assert Path("found.md").read_text().startswith("## gradlife bisect: could not tell\n")


@pytest.mark.whole
def test_ends_that_are_no_ends_are_one_line(planted: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    clean = planted.commit("Train", CLEAN)
    also = planted.commit("Comment", CLEAN + "# more\n")
    leaks = planted.commit("Keep rows", LEAKS)
    planted.commit("Comment again", LEAKS + "# more\n")
    assert main(["bisect", clean, also, *HUNT]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line == f"gradlife: error: {also} is good: it has no finding that fails a hunt (try: another bad end)"
    assert main(["bisect", leaks, "HEAD", *HUNT]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(f"gradlife: error: {leaks} is bad already: it has GL512 each step appends to a list")
    assert line.endswith("(try: an earlier good end)")


def test_commits_that_are_no_ends(planted: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    first = planted.commit("Train", CLEAN)
    last = planted.commit("Comment", CLEAN + "#\n")
    planted.git("checkout", "--quiet", "-b", "side", "HEAD~1")
    side = planted.commit("Aside", LEAKS)
    for words, error in {
        ("nowhere", "HEAD"): f"'nowhere' is no commit of {planted.folder} (try: git log --oneline)",
        ("--output=x", "HEAD"): "",
        (last, first): f"{last} does not come before {first} (try: gradlife bisect {first} {last} -- hunt ...)",
        (last, side): f"{last} does not come before {side} (try: git merge-base)",
        (first, first): f"{first} is both the good end and the bad one",
    }.items():
        assert main(["bisect", *words, *HUNT]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith(f"gradlife: error: {error}")


def test_a_folder_without_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert main(["bisect", "a", "b", *HUNT]) == 2
    printed = capsys.readouterr().err
    assert "not a git repository" in printed
    assert "cd to the repository of the program" in printed


def test_a_merge_stands_for_its_branch(planted: Planted) -> None:
    planted.commit("Train", CLEAN)
    planted.git("checkout", "--quiet", "-b", "side")
    planted.commit("On the branch", CLEAN + "# side\n")
    planted.git("checkout", "--quiet", "main")
    planted.git("merge", "--quiet", "--no-ff", "--message", "Merge the branch", "side")
    planted.commit("After", CLEAN + "# after\n")
    repository = Repository(".")
    row = repository.between(repository.commit("HEAD~2"), repository.commit("HEAD"))
    assert [one.title for one in row] == ["Merge the branch", "After"]
    assert [repository.is_merge(one) for one in row] == [True, False]
    inside = repository.between(repository.commit("side~1"), repository.commit("side"))
    assert [one.title for one in inside] == ["On the branch"]


def test_a_worktree_has_the_commit_alone_and_its_own_modules_first(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    (planted.folder / "pyproject.toml").write_text("")
    planted.git("add", "pyproject.toml")
    planted.commit("Train", CLEAN)
    (planted.folder / "sub").mkdir()
    (planted.folder / "sub" / "x.py").write_text("")
    planted.git("add", "sub")
    planted.commit("Add a folder", LEAKS)
    monkeypatch.setenv("PYTHONPATH", f"{planted.folder}/lib:/elsewhere")
    monkeypatch.chdir(planted.folder / "sub")
    repository = Repository(".")
    with repository.worktree() as worktree:
        place = worktree.place(repository.commit("HEAD"))
        assert place.folder == os.path.join(worktree.folder, "sub/")
        paths = place.environment["PYTHONPATH"].split(":")
        assert paths == [worktree.folder, f"{worktree.folder}/lib", "/elsewhere"]
        Path(worktree.folder, "left.txt").write_text("by a program")
        with pytest.raises(Exception, match="there is no folder sub/"):
            worktree.place(repository.commit("HEAD~1"))
        assert sorted(os.listdir(worktree.folder)) == [".git", "pyproject.toml", "train.py"]
    assert not os.path.exists(worktree.folder)


@pytest.mark.whole
def test_git_bisect_run_skips_what_cannot_be_told(planted: Planted) -> None:
    texts = {
        "leaks": LEAKS,
        "clean": CLEAN,
        "broken": "import nowhere\n" + CLEAN,
        "fails": CLEAN + "raise SystemExit(1)\n",
    }
    statuses = {}
    command = [sys.executable, "-m", "gradlife", "hunt", "--git-bisect", "--step-on", "__main__:step", "train.py"]
    for name, text in texts.items():
        (planted.folder / "train.py").write_text(text)
        statuses[name] = subprocess.run(command, cwd=planted.folder, capture_output=True, timeout=900).returncode
    (planted.folder / "train.py").unlink()
    statuses["missing"] = subprocess.run(command, cwd=planted.folder, capture_output=True, timeout=900).returncode
    assert statuses == {"leaks": 1, "clean": 0, "broken": 125, "fails": 125, "missing": 125}
