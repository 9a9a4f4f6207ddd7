"""The ledger of shared memory in reports, and the finding for what a program leaves in /dev/shm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fabricated_hunts import CLEAN, LEAKING
from gradlife.hunting.process.shared_memory import BLOCK, CUDA_IPC, FILE_SYSTEM
from gradlife.model import hunt_codec
from gradlife.model.hunt import HuntReport, HuntVerdict, Severity
from gradlife.model.ranks import SharedLedger, SharedLeftover, SharedStorages
from gradlife.program.hunt.shared_ledger import ORDER, RELEASE, REMOVE, leave_ledger, with_shared_memory
from gradlife.ranks.merge import merge
from gradlife.ranks.rank_report import RankReport
from gradlife.reports.formats.markdown.document import markdown_of
from gradlife.reports.html.document import page_of
from gradlife.reports.hunt.first_screen import print_first_screen
from gradlife.reports.hunt.terminal import print_hunt
from printing import printed

WORKER = "pt_data_worker 4711"
QUEUED = SharedStorages(
    "torch, file descriptor", WORKER, 4, 1280, ("the program", WORKER), 2, "/dev/shm/torch_4711_1_0"
)
LEFT = SharedLeftover("/dev/shm/psm_0a1b", "SharedMemory", 80 << 20, "the program")
LEDGER = SharedLedger(1280, 4, (QUEUED,), (LEFT,))


def left_in(folder: Path, ledger: SharedLedger, report: HuntReport = CLEAN) -> HuntReport:
    leave_ledger(str(folder), ledger)
    return with_shared_memory(report, str(folder))


def test_a_program_that_shares_nothing_has_no_ledger_and_no_key(tmp_path: Path) -> None:
    report = left_in(tmp_path, SharedLedger())
    assert (report, os.listdir(tmp_path)) == (CLEAN, [])
    assert "shared_memory" not in hunt_codec.encode(report)


def test_a_ledger_without_leftovers_changes_no_verdict_and_comes_back_from_json(tmp_path: Path) -> None:
    report = left_in(tmp_path, replace(LEDGER, leftovers=()))
    assert (report.verdict, report.findings) == (HuntVerdict.CLEAN, ())
    assert hunt_codec.loads(hunt_codec.dumps(report)) == report


def test_a_file_that_is_left_behind_is_a_major_finding_with_its_path(tmp_path: Path) -> None:
    report = left_in(tmp_path, LEDGER, LEAKING)
    assert [(one.code, one.severity) for one in report.findings] == [
        ("GL402", Severity.MAJOR),
        ("GL901", Severity.MAJOR),
    ]
    found = report.findings[1]
    assert (found.retained_bytes, found.survivors, found.trace.detail) == (80 << 20, 1, "/dev/shm/psm_0a1b")
    assert found.diagnosis.advice.code == "rm /dev/shm/psm_0a1b"


def test_a_small_file_that_is_left_behind_is_minor(tmp_path: Path) -> None:
    small = replace(LEDGER, leftovers=(replace(LEFT, bytes=4096),))
    [found] = left_in(tmp_path, small).findings
    assert found.severity is Severity.MINOR


@pytest.mark.parametrize(
    ("kinds", "advice"),
    [
        ((BLOCK,), REMOVE),
        ((FILE_SYSTEM,), ORDER),
        ((CUDA_IPC,), RELEASE),
        ((CUDA_IPC, BLOCK), REMOVE),
    ],
)
def test_the_advice_for_what_is_left_behind_is_that_of_its_kind(
    tmp_path: Path, kinds: tuple[str, ...], advice: str
) -> None:
    left = tuple(replace(LEFT, kind=kind) for kind in kinds)
    [found] = left_in(tmp_path, replace(LEDGER, leftovers=left)).findings
    assert found.diagnosis.advice.text == advice


def test_a_damaged_ledger_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "shared_memory.json").write_text('{"bytes": "many"}')
    assert with_shared_memory(CLEAN, str(tmp_path)) == CLEAN


def test_the_first_screen_says_that_nothing_grows_and_how_to_remove_the_file(tmp_path: Path) -> None:
    text = printed(lambda console: print_first_screen(console, left_in(tmp_path, LEDGER)), 100)
    assert text.startswith("LEAK  train.py leaves 83.9 MB of shared memory; nothing grows")
    assert "rm /dev/shm/psm_0a1b" in text


def test_a_file_is_no_object_that_a_run_could_let_go_of(tmp_path: Path) -> None:
    report = left_in(tmp_path, LEDGER)
    full = printed(lambda console: print_hunt(console, report, in_full=True), 120)
    assert "/dev/shm/psm_0a1b: 83.9 MB of shared memory that no process has mapped any more." in full
    assert "--prove" not in full + printed(lambda console: print_first_screen(console, report), 100)


def test_every_format_has_the_ledger(tmp_path: Path) -> None:
    report = left_in(tmp_path, LEDGER)
    full = printed(lambda console: print_hunt(console, report, in_full=True), 120)
    for text in (full, markdown_of(report), page_of(report)):
        assert "Shared memory at its largest: 1.28 kB in 4 segments" in text
        assert "pt_data_worker 4711" in text or "pt\\_data\\_worker 4711" in text
        assert "psm_0a1b" in text or "psm\\_0a1b" in text


def test_the_ledgers_of_ranks_are_one_with_the_rank_of_each_row() -> None:
    ranks = [
        RankReport(rank, status=0, document=hunt_codec.encode(replace(CLEAN, shared_memory=LEDGER)))
        for rank in range(2)
    ]
    merged = merge(ranks).shared_memory
    assert (merged.bytes, merged.segments, merged.leftovers) == (2560, 8, (LEFT,))
    assert [row.made_by for row in merged.rows] == [f"rank 0: {WORKER}", f"rank 1: {WORKER}"]


PROGRAM = """\
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory

import torch


def step():
    pass


block = SharedMemory(create=True, size=80 << 20)
resource_tracker.unregister(block._name, "shared_memory")
open("name", "w").write(block._name)
shared = torch.ones(250_000).share_memory_()
for _ in range(60):
    step()
block.close()
"""


@pytest.mark.torch
@pytest.mark.whole
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc as Linux has it")
def test_a_hunt_finds_the_block_that_its_program_did_not_unlink(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    hunt = [sys.executable, "-m", "gradlife", "hunt", "--json", "out.json", "--step-on", "__main__:step", "train.py"]
    done = subprocess.run(hunt, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    path = f"/dev/shm{(tmp_path / 'name').read_text()}"
    try:
        report = json.loads((tmp_path / "out.json").read_text())
        assert done.returncode == 1
        assert [(one["code"], one["trace"]["label"]) for one in report["findings"]] == [("GL901", path)]
        rows = {(row["kind"], row["made_by"], row["count"]) for row in report["shared_memory"]["rows"]}
        assert rows == {("SharedMemory", "the program", 1), ("torch, file descriptor", "the program", 1)}
    finally:
        os.unlink(path)
