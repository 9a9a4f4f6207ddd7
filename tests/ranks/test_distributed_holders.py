"""What distributed training keeps: two gloo processes, one of which leaks. The finding names the rank and the line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.torch,
    pytest.mark.whole,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="gloo as Linux has it"),
]

FOLDER = Path(__file__).parent


@pytest.mark.parametrize(
    ("what", "code", "source"),
    [
        ("hook", "GL512", "trainer.buckets.append(bucket.buffer().clone())"),
        ("full", "GL512", "self.full += [one.detach() for one in whole] if self.is_leaking else []"),
        ("checkpoint", "GL512", "self.saves += [done] if self.is_leaking else []"),
        ("microbatches", "GL512", "self.outputs += self.stage.output_chunks"),
    ],
)
def test_what_one_rank_keeps_is_named_with_its_line(tmp_path: Path, what: str, code: str, source: str) -> None:
    status, report = hunt(tmp_path, "holders_program.py", what, "70", "1")
    [finding] = report["findings"]
    assert (status, finding["on_ranks"]["ranks"]) == (1, "1")
    assert (finding["code"], finding["stored_at"]["source"]) == (code, source)


def test_a_pipeline_is_clean(tmp_path: Path) -> None:
    status, report = hunt(tmp_path, "holders_program.py", "microbatches", "70", "-1")
    assert (status, report["verdict"], [row["verdict"] for row in report["ranks"]]) == (0, "clean", ["clean"] * 2)


def test_what_sharded_training_keeps_is_named_and_prefetch_and_one_stager_for_all_are_clean(tmp_path: Path) -> None:
    status, report = hunt(tmp_path, "shards_program.py", "70", "1")
    assert (status, [row["verdict"] for row in report["ranks"]]) == (1, ["clean", "leak"])
    assert kept_on_ranks(report) == {
        ("GL512", "1", "self.staged.append(copied)"),
        ("GL617", "1", "self.stagers.append(stager)"),
        ("GL512", "1", "self.copies.append(whole.to_local())"),
        ("GL402", "1", "self.outputs.append(output)"),
    }


def test_rrefs_that_one_rank_keeps_are_named_there_and_their_values_on_the_rank_that_owns_them(tmp_path: Path) -> None:
    status, report = hunt(tmp_path, "rpc_program.py", "140", "1")
    assert (status, [row["verdict"] for row in report["ranks"]]) == (1, ["leak", "leak"])
    assert kept_on_ranks(report) == {
        ("GL911", "0", ""),
        ("GL902", "1", "futures.append(future)"),
        ("GL911", "1", "references.append(reference)"),
    }
    [values] = [one for one in report["findings"] if one["on_ranks"]["ranks"] == "0"]
    assert [one["description"] for one in values["trace"]["ledger"]["native"]] == ["OwnerRRef"]
    assert values["per_step"]["bytes"] == pytest.approx(64 * 64 * 4, rel=0.2)


def kept_on_ranks(report: dict[str, Any]) -> set[tuple[str, str, str]]:
    """The code, the rank and the line of each finding."""
    found = report["findings"]
    return {(one["code"], one["on_ranks"]["ranks"], (one["stored_at"] or {}).get("source", "")) for one in found}


def hunt(folder: Path, program: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit status and report of a run with two ranks."""
    shutil.copy(FOLDER / program, folder / "train.py")
    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*command, "train.py", *arguments],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        timeout=900,
    )
    return done.returncode, json.loads((folder / "report.json").read_text())
