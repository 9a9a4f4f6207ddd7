"""`gradlife hunt --against before.json`: the gate of a pull request."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gradlife.cli import main

TRAIN = """\
kept, rows = [], []


def step():
    kept.append(bytearray(10_000))
    {more}


for _ in range(120):
    step()
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradlife", "hunt", "--step-on", "__main__:step", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)


@pytest.mark.whole
def test_a_new_leak_is_a_regression_and_a_known_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.format(more="pass"))
    assert run(tmp_path, "--json", "before.json", "train.py").returncode == 1
    same = run(tmp_path, "--against", "before.json", "train.py")
    assert (same.returncode, "no regression  train.py: 1 as before" in same.stderr) == (0, True)

    (tmp_path / "train.py").write_text(TRAIN.format(more="rows.append(bytearray(9000))"))
    worse = run(tmp_path, "--against", "before.json", "--json", "after.json", "--markdown", "after.md", "train.py")
    assert (worse.returncode, "REGRESSION  train.py: 1 new and 1 as before" in worse.stderr) == (1, True)
    changes = json.loads((tmp_path / "after.json").read_text())["against"]["changes"]
    assert [(one["kind"], one["stored_at"]) for one in changes] == [
        ("new", "train.py:6"),
        ("as before", "train.py:5"),
    ]
    assert "### Compared with before.json" in (tmp_path / "after.md").read_text()

    both = run(tmp_path, "--against", "after.json", "before.json")
    assert (both.returncode, "no regression  train.py: 1 as before and 1 gone" in both.stdout) == (0, True)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read before.json: no such file or directory (try: gradlife hunt --json FILE TARGET makes one)"),
        ('{"format": "gradlife.peak/1"}', "before.json: this is not a report of a hunt (try: gradlife hunt"),
        (
            '{"format": "gradlife.hunt/9"}',
            "before.json: its format is gradlife.hunt/9; this gradlife reads gradlife.hunt",
        ),
        ("[", "before.json: this is not JSON"),
    ],
    ids=["missing", "a peak", "newer", "no JSON"],
)
def test_a_file_that_is_no_earlier_report(
    content: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("raise SystemExit('it ran')")
    if content is not None:
        Path("before.json").write_text(content)
    assert main(["hunt", "--against", "before.json", "train.py"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"gradlife: error: {words}")
    assert "(try: gradlife hunt" in line


def test_a_fix_and_a_change_are_not_checked_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = tmp_path / "before.json"
    report.write_text("")
    assert main(["hunt", "--verify", "nowhere.json", "--against", str(report), "train.py"]) == 2
    assert "--verify is for after a fix, --against for after a change" in capsys.readouterr().err
