"""`gradlife peak` in several processes: one report, one exit status, through each door."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.torch,
    pytest.mark.whole,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals and processes as Linux has them"),
]

TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")

TRAIN = """\
import os, signal, sys, torch

rank = int(os.environ["RANK"])
net = torch.nn.Linear(16, 1000)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(12):
    if rank == 1 and step == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    logits = net(torch.ones(4000 if rank == 1 else 1000, 16))
    loss = torch.nn.functional.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def run(folder: Path, *words: str) -> tuple[int, str, dict[str, Any]]:
    """Exit status, standard error and the report."""
    (folder / "train.py").write_text(TRAIN)
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    return done.returncode, done.stderr, json.loads((folder / "report.json").read_text())


def test_gradlife_starts_ranks_and_shows_what_the_worst_holds(tmp_path: Path) -> None:
    peak = ("-m", "gradlife", "peak", "--json", "report.json", "--fail-on", "5%", "--nproc-per-node", "2")
    status, errors, report = run(tmp_path, *peak, "train.py", "-1")
    assert (status, report["exit_status"], report["worst_rank"]) == (1, 1, 1)
    assert [(row["ranks"], row["end"]) for row in report["ranks"]] == [("0", "finished"), ("1", "finished")]
    assert report["savings"][0]["holder"].startswith("global logits")
    assert report["skew"][0]["ranks"] == "1"
    assert errors.count("peaks: rank 0 ") == 1


PEAK = ("-m", "gradlife", "peak", "--json", "report.json")


@pytest.mark.parametrize("words", [(*TORCHRUN, *PEAK), (*PEAK, *TORCHRUN)], ids=["behind torchrun", "before torchrun"])
def test_ranks_of_torchrun_agree_on_one_report(tmp_path: Path, words: tuple[str, ...]) -> None:
    status, errors, report = run(tmp_path, *words, "train.py", "-1")
    assert (status, report["target"], report["world_size"], report["worst_rank"]) == (0, "train.py", 2, 1)
    assert [(row["ranks"], row["end"]) for row in report["ranks"]] == [("0", "finished"), ("1", "finished")]
    assert errors.count("peaks: rank 0 ") == 1


def test_a_launched_rank_that_is_killed_before_its_peak_is_named_first(tmp_path: Path) -> None:
    status, _, report = run(tmp_path, *PEAK, *TORCHRUN, "train.py", "2")
    assert status == 1  # torchrun's, not that of rank 0, which torchrun may have ended
    assert report["trouble"].startswith("rank 1 ended without an exit status, before its first report")


def test_a_launched_process_that_is_no_rank_gives_the_report(tmp_path: Path) -> None:
    launcher = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, *sys.argv[1:]]))"
    (tmp_path / "launcher.py").write_text(launcher)
    (tmp_path / "alone.py").write_text(f"import os\nos.environ['RANK'] = '0'\n{TRAIN}")
    status, _, report = run(tmp_path, *PEAK, "-m", "launcher", "alone.py", "-1")
    assert (status, report["target"], "ranks" in report) == (0, "-m launcher", False)
    assert report["peak_bytes"] > 0


def test_a_rank_that_is_killed_before_its_peak_is_named(tmp_path: Path) -> None:
    peak = ("-m", "gradlife", "peak", "--json", "report.json", "--nproc-per-node", "2")
    status, _, report = run(tmp_path, *peak, "train.py", "2")
    assert status == 137  # not that of rank 0, which the launcher ended
    assert "rank 1 was killed by signal 9, before its first report" in report["trouble"]


def test_a_proof_is_refused_in_ranks(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "-m", "gradlife", "peak", "--prove", "--nproc-per-node", "2", "train.py", "-1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stderr.startswith("gradlife: error: --prove is for one process")) == (2, True)
