"""Programs that a limit to memory ends: their report names the holder."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gradlife
from gradlife.hunting.session import method
from gradlife.hunting.session.step_counter import SHORTAGE
from gradlife.hunting.snapshots.step_snapshots import take_snapshot
from gradlife.model.hunt import HuntVerdict

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits as Linux has them")

LEAKING = """\
import os
import signal
import sys
import torch

weight = torch.ones(1000, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)

class Trainer:
    def __init__(self):
        self.activations = []

    def step(self):
        batch = torch.ones(2000, 10)  # so much less than its product that it is not the one which finds no memory
        product = batch.repeat(1, 100) * weight
        optimizer.zero_grad()
        product.sum().backward()
        optimizer.step()
        self.activations.append(product)

trainer = Trainer()
while True:
    trainer.step()
    resident = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if resident > int(sys.argv[1]) << 20:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def hunt(folder: Path, *words: str, address_space: int = 0) -> tuple[int, str, dict[str, Any]]:
    """Exit status, standard error and the report."""
    (folder / "program.py").write_text(LEAKING)

    def limit() -> None:
        if address_space:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", *words]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=900, check=False, preexec_fn=limit
    )
    return done.returncode, done.stderr, json.loads((folder / "report.json").read_text())


@pytest.mark.whole
def test_a_program_that_ulimit_ends_has_its_own_error_and_a_report_with_holder_and_failed_step(tmp_path: Path) -> None:
    status, errors, report = hunt(tmp_path, "program.py", "1000000", address_space=3_500_000 << 10)
    assert (status, report["script_status"]) == (1, 1)
    assert "RuntimeError: [enforce fail" in errors or "MemoryError" in errors
    assert report["trouble"].startswith("the program ended with ")
    seen = [(one["kind"], one["what"]) for one in report["explained"]]
    assert any(kind == "owner of live memory" and "'trainer'.activations" in what for kind, what in seen)
    assert any(kind == "held by the failed step" and "local variable 'batch'" in what for kind, what in seen)


@pytest.mark.whole
def test_a_program_that_is_killed_leaves_the_stock_that_was_taken_near_the_limit(tmp_path: Path) -> None:
    status, errors, report = hunt(tmp_path, "--memory-limit", "400M", "program.py", "800")
    assert status == 137
    assert report["trouble"].startswith("killed by signal 9 at ")
    assert "activations" in json.dumps([report["findings"], report["explained"]])
    assert "activations" in errors


@pytest.mark.whole
@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (MemoryError, SHORTAGE),
        (lambda: ValueError("no such node"), "the hunt itself failed: ValueError: no such node"),
    ],
)
def test_a_look_that_fails_is_reported_and_the_rest_is_judged(
    monkeypatch: pytest.MonkeyPatch, error: Callable[[], Exception], trouble: str
) -> None:
    kept: list[object] = []
    taken = 0

    def scarce(*words: Any, **named: Any) -> Any:
        nonlocal taken
        taken += 1
        if taken > 5:
            raise error()  # a new one: an exception that stays would keep these frames for later tests
        return take_snapshot(*words, **named)

    monkeypatch.setattr(method, "take_snapshot", scarce)
    monkeypatch.setattr(method, "may_have_young_garbage", lambda: False)  # else there is one more snapshot
    report = gradlife.hunt(lambda: kept.append(torch.ones(100)), steps=90)
    assert report.trouble == trouble
    assert (report.verdict, len(report.rounds)) == (HuntVerdict.LEAK, 4)
