"""The peak of a process that trains already."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attachable import ASLEEP, running
from gradlife.attach.client import connect
from gradlife.attach.protocol import AttachError
from gradlife.program.hunt.running import Terms

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peers are known on Linux")

#: Holds the logits through the backward pass.
TRAINS = """\
import time
import gradlife
import torch
import torch.nn.functional as F

gradlife.serve("door")
net = torch.nn.Linear(16, 4000)
optimizer = torch.optim.SGD(net.parameters(), 0.1)

def step():
    logits = net(torch.ones(128, 16))
    loss = F.cross_entropy(logits, torch.zeros(128, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

def epoch():
    for _ in range(50):
        step()
        time.sleep(0.005)

print("ready", flush=True)
while True:
    epoch()
"""


@pytest.mark.torch
@pytest.mark.whole
def test_logits_that_a_running_step_holds_too_long_are_found_twice_over(tmp_path: Path) -> None:
    with running(TRAINS, tmp_path) as _, connect(str(tmp_path / "door"), title="a trainer") as session:
        for _ in range(2):  # the first one has left everything as it was
            report = session.peak(Terms(), lambda progress: None)
            assert (report.target, report.trouble, report.stepped_by[:3]) == ("a trainer", "", "SGD")
            [saving] = report.savings
            assert saving.holder.startswith("local logits of step")
            assert saving.bytes == 128 * 4000 * 4
        short = session.peak(Terms(seconds=0.0, step_on="__main__:epoch"), lambda progress: None)
        assert "a peak needs five" in short.trouble


@pytest.mark.whole
def test_a_process_without_torch_has_no_peak(tmp_path: Path) -> None:
    with (
        running(f"import gradlife\ngradlife.serve('door')\n{ASLEEP}", tmp_path),
        connect(str(tmp_path / "door")) as session,
        pytest.raises(AttachError, match="has not loaded torch"),
    ):
        session.peak(Terms(), lambda progress: None)
