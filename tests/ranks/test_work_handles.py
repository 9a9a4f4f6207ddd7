"""Handles of asynchronous operations that nobody waits for: they hold their tensors in C++, where nothing is seen."""

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

works = []

def setup():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

def step(_):
    part, whole = torch.randn(2000), [torch.empty(2000)]
    work = dist.all_gather(whole, part, async_op=True)
    works.append(work)
"""


def test_handles_are_found_with_the_line_that_keeps_them_and_the_tensors_of_all(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "program.py::step"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        timeout=900,
    )
    [found] = json.loads((tmp_path / "report.json").read_text())["findings"]
    assert (done.returncode, found["code"], found["stored_at"]["source"]) == (1, "GL902", "works.append(work)")
    assert found["per_step"]["tensors"] == 2
