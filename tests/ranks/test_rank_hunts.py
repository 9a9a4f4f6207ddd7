"""Ranks that hunt at the same time: one report, one exit status, however each of them ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from processes import comes_true, ends

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals and processes as Linux has them"),
]


#: A step keeps a function on one rank.
STEPS = """\
import os, signal, sys, time

rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
kept = []

def step():
    if rank == {leaking}:
        kept.append(lambda: None)

def take(count):
    for _ in range(count):
        step()

"""


def start_ranks(folder: Path, source: str, count: int, *options: str, leaking: int = -1) -> list[subprocess.Popen[str]]:
    """Start `gradlife hunt` in each of so many ranks."""
    (folder / "program.py").write_text(STEPS.format(leaking=leaking) + source)
    command = [sys.executable, "-m", "gradlife", "hunt", "--step-on", "__main__:step", "--fail-on", "leak", *options]
    return [
        subprocess.Popen(
            [*command, "program.py"],
            cwd=folder,
            env={**os.environ, "OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(count)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]


def ended(ranks: list[subprocess.Popen[str]]) -> tuple[list[int], list[str]]:
    """The exit statuses, and what was printed to standard error."""
    errors = [rank.communicate(timeout=900)[1] for rank in ranks]
    return [rank.returncode for rank in ranks], errors


def report_in(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


def rows(report: dict[str, Any]) -> list[tuple[str, str, str, int | None]]:
    """Rank, verdict, end and status."""
    return [(row["ranks"], row["verdict"], row["end"], row["status"]) for row in report["ranks"]]


def test_a_leak_on_one_rank_is_one_report_and_the_status_of_all(tmp_path: Path) -> None:
    statuses, errors = ended(start_ranks(tmp_path, "take(150)", 2, "--json", "report.json", leaking=1))
    assert statuses == [1, 1]
    (said,) = filter(None, errors)  # by the rank that ended last
    assert said.splitlines()[0].startswith("LEAK  program.py, rank 1 of 2, grows by ")
    report = report_in(tmp_path)
    assert rows(report) == [("0", "clean", "finished", 0), ("1", "leak", "finished", 0)]
    assert report["look_cost"]["shared"] == 7
    assert report["look_cost"]["alone"] == 0


def test_a_rank_that_fails_does_not_wait_and_the_last_one_reports_it(tmp_path: Path) -> None:
    waits = "while not os.path.exists('failed'):\n    time.sleep(0.01)\n"
    source = f"take(60)\nif rank == 0:\n    raise ValueError('early')\n{waits}take(100)\n"
    ranks = start_ranks(tmp_path, source, 2, "--json", "report.json", leaking=1)
    assert ends(ranks[0].pid)
    ranks[0].communicate()
    (tmp_path / "failed").write_text(str(ranks[0].returncode))
    statuses, _ = ended(ranks[1:])
    assert (ranks[0].returncode, statuses) == (1, [1])
    assert rows(report_in(tmp_path)) == [("0", "clean", "failed", 1), ("1", "leak", "finished", 0)]
    assert "rank 0 ended with status 1" in report_in(tmp_path)["trouble"]


def test_a_killed_rank_has_its_last_findings_in_the_report(tmp_path: Path) -> None:
    source = "take(200)\nif rank == 1:\n    os.kill(os.getpid(), signal.SIGKILL)\ntake(200)\n"
    statuses, _ = ended(start_ranks(tmp_path, source, 2, "--json", "report.json", leaking=1))
    assert statuses[1] == 137
    report = report_in(tmp_path)
    assert rows(report) == [("0", "clean", "finished", 0), ("1", "leak", "killed", 137)]
    assert report["trouble"] == "rank 1 was killed by signal 9, its last report: leak"
    assert statuses[0] in (0, 137)  # 0 if it ended before the other died


def test_ranks_that_a_signal_ends_flush_what_they_know(tmp_path: Path) -> None:
    source = "take(60)\nopen(f'ready-{rank}', 'w').close()\nwhile True:\n    step()\n    time.sleep(0.05)\n"
    ranks = start_ranks(tmp_path, source, 2, "--json", "report.json", leaking=0)
    assert comes_true(lambda: all((tmp_path / f"ready-{rank}").exists() for rank in range(2)))
    for rank in ranks:
        os.kill(rank.pid, signal.SIGTERM)
    ended(ranks)
    report = report_in(tmp_path)
    assert rows(report) == [("0", "leak", "killed", 143), ("1", "clean", "killed", 143)]


def test_a_rank_that_hangs_is_left_behind_after_the_timeout(tmp_path: Path) -> None:
    hangs = "    open('hangs', 'w').close()\n    while True:\n        time.sleep(0.05)\n"
    source = f"take(60)\nif rank == 1:\n{hangs}while not os.path.exists('hangs'):\n    time.sleep(0.01)\n"
    ranks = start_ranks(tmp_path, source, 2, "--json", "report.json", "--rank-timeout", "0.5", leaking=0)
    statuses, errors = ended(ranks[:1])
    assert (statuses, errors) == ([0], [""])  # the last rank reports, and this one must not make the launcher end it
    os.kill(ranks[1].pid, signal.SIGTERM)
    ended(ranks[1:])
    assert rows(report_in(tmp_path)) == [("0", "leak", "finished", 0), ("1", "clean", "killed", 143)]


def test_reports_stay_in_a_folder_that_was_asked_for_and_no_second_run_uses_it(tmp_path: Path) -> None:
    statuses, _ = ended(start_ranks(tmp_path, "take(60)", 2, "--run-folder", "run"))
    assert statuses == [0, 0]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "merged.json",
        "merging",
        "rank-00000",
        "rank-00001",
    ]
    statuses, errors = ended(start_ranks(tmp_path, "take(60)", 2, "--run-folder", "run"))
    assert statuses == [2, 2]
    assert errors[0].startswith(f"gradlife: error: {tmp_path / 'run'} has reports of an earlier run (try: ")


def test_a_prompt_is_refused_in_ranks(tmp_path: Path) -> None:
    statuses, errors = ended(start_ranks(tmp_path, "take(1)", 2, "-i"))
    assert (statuses, errors[0].count("\n")) == ([2, 2], 1)
