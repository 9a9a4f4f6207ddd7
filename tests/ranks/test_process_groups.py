"""Process groups made at each step: torch.distributed keeps them, with C++ memory, until `destroy_process_group`."""

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
import sys
import torch
import torch.distributed as dist

def step():
    group = dist.new_group([0, 1])
    total = torch.ones(200)
    dist.all_reduce(total, group=group)
    if dist.get_rank() != int(sys.argv[1]):
        dist.destroy_process_group(group)

dist.init_process_group("gloo")
for _ in range(70):
    step()
dist.destroy_process_group()
"""


@pytest.mark.parametrize(("leaking", "status", "codes"), [(1, 1, ["GL910"]), (-1, 0, [])], ids=["kept", "destroyed"])
def test_groups_that_one_rank_never_destroys_are_found_in_the_table_that_keeps_them(
    tmp_path: Path, leaking: int, status: int, codes: list[str]
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    hunt = ["hunt", "--step-on", "__main__:step", "--json", "report.json", "--nproc-per-node", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "gradlife", *hunt, "program.py", str(leaking)],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        timeout=900,
    )
    report = json.loads((tmp_path / "report.json").read_text())
    assert (done.returncode, [one["code"] for one in report["findings"]]) == (status, codes)
    for one in report["findings"]:
        assert one["on_ranks"]["ranks"] == str(leaking)
        assert "'_pg_map'" in one["trace"]["text"]
        assert one["per_step"]["retained_bytes"] > 10_000  # what malloc handed out, not the Python objects alone
