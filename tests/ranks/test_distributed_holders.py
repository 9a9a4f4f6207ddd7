"""What distributed training keeps: two gloo processes, one of which leaks. The finding names the rank and the line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

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
        ("microbatches", "GL402", "self.outputs += losses"),
    ],
)
def test_what_one_rank_keeps_is_named_with_its_line(tmp_path: Path, what: str, code: str, source: str) -> None:
    shutil.copy(PROGRAM, tmp_path / "train.py")
    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*command, "train.py", what, "70"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        timeout=900,
    )
    report = json.loads((tmp_path / "report.json").read_text())
    [finding] = report["findings"]
    assert (done.returncode, finding["on_ranks"]["ranks"]) == (1, "1")
    assert (finding["code"], finding["stored_at"]["source"]) == (code, source)
