"""An out of memory on the simulated accelerator leaves the owners of its blocks, fragmentation and advice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.whole]

SIMULATED = Path(__file__).parent / "simulated"

#: Keeps every second of twelve pieces of 5.24 MB, and asks for 25.2 MB: 31 MB are free, in pieces.
FRAGMENTED = """
import torch
import simulated_accelerator as native
import simulated_device
native.set_capacity(0, 64 << 20)
pieces = [torch.zeros(5 << 18, device="simulated") for _ in range(12)]
kept = pieces[::2]
del pieces
"""

PIECE, REQUEST = (5 << 18) * 4, (6 << 20) * 4

ASKS_TOO_MUCH = 'torch.zeros(6 << 20, device="simulated")\n'

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(accelerator: Path, tmp_path: Path) -> Run:
    """Runs Python with the accelerator in a folder of its own."""

    def started(*words: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(map(str, (accelerator, SIMULATED)))
        environment = {**os.environ, "PYTHONPATH": path}
        command = [sys.executable, *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900)

    return started


def test_on_oom_leaves_owners_fragmentation_drag_and_advice_by_bytes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"import gradlife\ngradlife.on_oom('oom.json', limit=1 << 50)\n{FRAGMENTED}{ASKS_TOO_MUCH}"
    )
    done = run("train.py")
    assert done.returncode == 1
    document = json.loads((tmp_path / "oom.json").read_text())
    assert document["cause"].startswith("OutOfMemoryError: the simulated device is out of memory")
    (found,) = document["device_memory"]
    assert [(one["text"], one["bytes"], one["blocks"]) for one in found["owners"]] == [
        ("kept of __main__", 6 * PIECE, 6)
    ]
    assert (found["failed"]["bytes"], found["largest_free_bytes"] < REQUEST < found["free_bytes"]) == (REQUEST, True)
    in_pieces = found["free_bytes"] - found["idle_bytes"]
    expected = {
        "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True": in_pieces,
        "del kept below train.py:9": 6 * PIECE,
    }
    advice = [(one["text"], one["saved_bytes"]) for one in found["advice"]]
    assert (dict(advice), advice) == (expected, sorted(advice, key=lambda one: -one[1]))
    assert [(one["holder"], one["bytes"]) for one in found["drag"]] == [("kept of __main__", 6 * PIECE)]


def test_device_memory_takes_the_request_from_the_error_that_is_handled(run: Run, tmp_path: Path) -> None:
    """CUDA keeps no history without `_record_memory_history`: its error alone says what was asked for."""
    (tmp_path / "train.py").write_text(
        f"import gradlife\n{FRAGMENTED}"
        "def step():\n"
        "    raise torch.OutOfMemoryError('CUDA out of memory. Tried to allocate 24.00 MiB. GPU 0 has a total capacity '\n"
        "        'of 64.00 MiB of which 1.00 MiB is free.')\n"
        "from gradlife.devices import failed_request\n"
        "failed_request.KINDS['CUDA'] = 'simulated'\n"
        "try:\n    step()\nexcept torch.OutOfMemoryError:\n    print(gradlife.device_memory())\n"
    )
    done = run("train.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].strip().startswith("25.2 MB requested at train.py:11: free blocks up to")


#: The same failure as an exception that nobody catches: it leaves a second report.
UNCAUGHT = "error = RuntimeError('CUDA out of memory. Tried to allocate 24.00 MiB.')\nwatching._failed(error)\n"


@pytest.mark.parametrize("then", ["", UNCAUGHT], ids=["caught", "uncaught"])
def test_a_request_that_the_history_does_not_have_is_added(run: Run, tmp_path: Path, then: str) -> None:
    """As after torch's observer of failed allocations, without `_record_memory_history`."""
    done = run(
        "-c",
        f"import gradlife\nwatching = gradlife.on_oom('oom.json', limit=1 << 50)\n{FRAGMENTED}"
        f"watching._device_failed(0, {REQUEST}, 9, 5)\n{then}",
    )
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((tmp_path / "oom.json").read_text())["device_memory"]
    assert (found["failed"]["bytes"], found["failed"]["device_free_bytes"]) == (REQUEST, 5)
    assert "keep less in kept, or keep it on the CPU" in [one["text"] for one in found["advice"]]


def test_a_hunted_program_that_runs_out_says_who_owns_the_device(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(FRAGMENTED + ASKS_TOO_MUCH)
    run("-m", "gradlife", "hunt", "train.py", "--json", "hunt.json")
    explained = json.loads((tmp_path / "hunt.json").read_text())["explained"]
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for one in explained:
        by_kind.setdefault(one["kind"], []).append(one)
    assert [(one["what"], one["bytes"]) for one in by_kind["owner of device memory"]] == [
        ("simulated:0: kept of __main__", 6 * PIECE)
    ]
    assert {one["what"] for one in by_kind["advice"]} == {
        "simulated:0: del kept below train.py:7",
        "simulated:0: set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    }
    (unused,) = by_kind["held longer than used"]
    assert (unused["what"], unused["bytes"]) == ("simulated:0: kept of __main__, del kept below train.py:7", 6 * PIECE)
    free = next(one for one in by_kind["device memory"] if "free between" in one["what"])
    assert free["bytes"] > REQUEST


LEAK = """
import torch
import simulated_accelerator as native
import simulated_device
native.set_capacity(0, 256 << 20)
model = torch.nn.Linear(256, 256).to("simulated")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
kept = []
for step in range(150):
    optimizer.zero_grad()
    output = model(torch.randn(64, 256, device="simulated"))
    kept.append(output.detach())
    output.sum().backward()
    optimizer.step()
"""


def test_a_hunt_says_after_how_many_steps_the_device_is_full(run: Run, tmp_path: Path) -> None:
    """64 KiB a step on a device of 256 MiB: full after about 4,096 steps."""
    (tmp_path / "train.py").write_text(LEAK)
    done = run("-m", "gradlife", "hunt", "train.py", "--json", "hunt.json")
    (finding,) = json.loads((tmp_path / "hunt.json").read_text())["findings"]
    assert (finding["fills"], finding["severity"]) == ("simulated:0", "critical")
    assert 3_800 <= finding["steps_to_limit"] <= 4_200
    assert "out of memory on simulated:0 after about" in done.stderr.replace("\n", " ")


PEAK = """
import torch, simulated_device
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 5000)).to("simulated")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(14):
    logits = net(torch.randn(512, 64).to("simulated"))
    loss = torch.log_softmax(logits, 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_peak_in_the_backward_pass_of_a_device_is_the_line_that_called_it(run: Run, tmp_path: Path) -> None:
    """Its operations run in a thread without frames of Python: no line, and a saving that cannot be made."""
    (tmp_path / "train.py").write_text(PEAK)
    run("-m", "gradlife", "peak", "--prove", "--json", "peak.json", "train.py")
    found = json.loads((tmp_path / "peak.json").read_text())
    assert (found["device"], found["peak_at"]["phase"]) == ("simulated:0", "backward")
    assert found["peak_at"]["place"]["line"] == 10
    (saving,) = found["savings"]
    assert [edit["text"] for edit in saving["edits"]] == ["`del logits` after line 8"]
    assert found["proof"]["peak_after"] == found["proof"]["predicted_bytes"]
