"""Data-parallel training under a hunt, through each door: two gloo processes on CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from processes import ends

pytestmark = [
    pytest.mark.torch,
    pytest.mark.whole,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="gloo as Linux has it"),
]

PROGRAM = str(Path(__file__).with_name("ddp_program.py"))
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


def run(folder: Path, *words: str) -> tuple[int, str, dict[str, Any]]:
    """Exit status, standard error and the report."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    return done.returncode, done.stderr, json.loads((folder / "report.json").read_text())


def test_gradlife_starts_ranks_and_names_the_one_that_leaks(tmp_path: Path) -> None:
    hunt = ("-m", "gradlife", "hunt", "--json", "report.json", "--nproc-per-node", "2")
    status, errors, report = run(tmp_path, *hunt, PROGRAM, "130", "1")
    assert (status, report["exit_status"]) == (1, 1)
    assert "rank 1 of 2 only" in errors
    assert [(row["ranks"], row["verdict"], row["end"]) for row in report["ranks"]] == [
        ("0", "clean", "finished"),
        ("1", "leak", "finished"),
    ]
    assert (report["look_cost"]["shared"], report["look_cost"]["alone"]) == (7, 0)
    assert report["findings"][0]["on_ranks"]["ranks"] == "1"


def test_torchrun_starts_hunts_that_agree_on_one_clean_report(tmp_path: Path) -> None:
    status, errors, report = run(
        tmp_path, *TORCHRUN, "-m", "gradlife", "hunt", "--json", "report.json", PROGRAM, "60", "-1"
    )
    assert (status, report["verdict"], report["world_size"]) == (0, "clean", 2)
    assert " ".join(errors.split()).count("nothing grew on any of 2 ranks") == 1


def test_a_hunt_in_torchrun_reports_the_rank_that_was_killed(tmp_path: Path) -> None:
    hunt = ("-m", "gradlife", "hunt", "--json", "report.json")
    status, _, report = run(tmp_path, *hunt, *TORCHRUN, PROGRAM, "200", "1", "1", "160")
    assert (status, report["target"]) == (1, PROGRAM)
    assert [row["end"] for row in report["ranks"]][1] == "lost"
    assert "rank 1 ended without an exit status, its last report: leak" in report["trouble"]


def test_ranks_that_gradlife_started_are_ended_when_one_hangs(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import os, time\n"
        "def step():\n    pass\n"
        "for _ in range(60):\n    step()\n"
        "if os.environ['RANK'] == '1':\n"
        "    open('pid', 'w').write(str(os.getpid()))\n"
        "    while True:\n        time.sleep(0.05)\n"
    )
    hunt = ("-m", "gradlife", "hunt", "--json", "report.json", "--nproc-per-node=2", "--rank-timeout=2.5")
    status, _, report = run(tmp_path, *hunt, "--step-on", "__main__:step", "train.py")
    assert (status, report["trouble"]) == (143, "rank 1 was killed by signal 15, its last report: clean")
    assert ends(int((tmp_path / "pid").read_text()))


def test_a_rank_that_works_on_is_not_ended_when_another_has_left(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import os, time\n"
        "def step():\n    pass\n"
        "for _ in range(60):\n    step()\n"
        "if os.environ['RANK'] == '0':\n"
        "    end = time.process_time() + 4\n"
        "    while time.process_time() < end:\n        step()\n"
    )
    hunt = ("-m", "gradlife", "hunt", "--json", "report.json", "--nproc-per-node=2", "--rank-timeout=2.5")
    status, _, report = run(tmp_path, *hunt, "--step-on", "__main__:step", "train.py")
    assert (status, report["trouble"]) == (0, "")
    assert {row["end"] for row in report["ranks"]} == {"finished"}


def test_a_rank_that_holds_more_than_the_other_is_named_with_the_variable(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import os, torch\n"
        "cache = {'table': torch.ones(60_000_000)} if os.environ['RANK'] == '1' else {}\n"
        "def step():\n    pass\n"
        "for _ in range(60):\n    step()\n"
    )
    hunt = ("-m", "gradlife", "hunt", "--json", "report.json", "--nproc-per-node=2", "--step-on", "__main__:step")
    status, errors, report = run(tmp_path, *hunt, "train.py")
    [skew] = report["skew"]
    assert (status, report["verdict"], skew["measure"], skew["ranks"]) == (0, "clean", "peak memory", "1")
    assert "cache['table'] (Tensor) holds 240 MB there, 0 B on the usual rank" in " ".join(errors.split())
