"""Caches of torch.compile: what has an end is explained, what has none is a leak."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gradlife.hunting.snapshots.compile_caches import Compiled, is_bounded

pytest.importorskip("torch")

#: A batch of another size every few steps: each is compiled for.
PROGRAM = """\
import torch

net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
compiled = torch.compile(net, backend="aot_eager", dynamic=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for number in range(130):
    optimizer.zero_grad()
    compiled(torch.randn(4 + number // 17, 64)).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("snapshots", "bounded"),
    [
        ([(3, 4), (3, 5), (3, 8)], True),
        ([(3, 4), (2, 5)], True),
        ([(3, 4), (3, 4), (3, 8)], False),
        ([(3, 4), (4, 5), (5, 6)], False),
        ([(3, 4)], False),
        ([(0, 0), (0, 0)], False),
    ],
)
def test_new_versions_of_old_functions_have_an_end(snapshots: list[tuple[int, int]], bounded: bool) -> None:
    assert is_bounded([Compiled(*one) for one in snapshots]) == bounded


@pytest.mark.whole
def test_a_program_that_compiles_for_each_size_of_its_batches_is_clean(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False)
    report = json.loads((tmp_path / "report.json").read_text())
    assert (done.returncode, report["verdict"], report["findings"]) == (0, "clean", [])
    assert "compile cache" in {one["kind"] for one in report["explained"]}
