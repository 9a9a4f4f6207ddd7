"""Process groups made at each step: their memory is C++ memory, and only `destroy_process_group` frees it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.torch,
    pytest.mark.whole,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="gloo as Linux has it"),
]

PROGRAM = """\
import torch
import torch.distributed as dist

def setup():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

def step(_):
    group = dist.new_group([0])
    total = torch.ones(200)
    dist.all_reduce(total, group=group)
"""


@pytest.mark.parametrize(
    ("last_line", "status", "codes"),
    [("", 1, ["GL806"]), ("    dist.destroy_process_group(group)\n", 0, [])],
    ids=["never destroyed", "destroyed"],
)
def test_groups_that_are_never_destroyed_are_memory_without_a_holder(
    tmp_path: Path, last_line: str, status: int, codes: list[str]
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM + last_line)
    done = subprocess.run(
        [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "program.py::step"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        timeout=900,
    )
    findings = json.loads((tmp_path / "report.json").read_text())["findings"]
    assert (done.returncode, [one["code"] for one in findings]) == (status, codes)
