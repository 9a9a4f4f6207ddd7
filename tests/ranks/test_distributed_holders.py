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

PROGRAM = Path(__file__).with_name("holders_program.py")


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
    status, report = hunt(tmp_path, what, leaking=1)
    [finding] = report["findings"]
    assert (status, finding["on_ranks"]["ranks"]) == (1, "1")
    assert (finding["code"], finding["stored_at"]["source"]) == (code, source)


def test_a_pipeline_is_clean(tmp_path: Path) -> None:
    status, report = hunt(tmp_path, "microbatches", leaking=-1)
    assert (status, report["verdict"], [row["verdict"] for row in report["ranks"]]) == (0, "clean", ["clean"] * 2)


def hunt(folder: Path, what: str, leaking: int) -> tuple[int, dict[str, Any]]:
    """Exit status and report of a run with two ranks."""
    shutil.copy(PROGRAM, folder / "train.py")
    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*command, "train.py", what, "70", str(leaking)],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        timeout=900,
    )
    return done.returncode, json.loads((folder / "report.json").read_text())
