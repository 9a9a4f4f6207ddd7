"""A snapshot file has the memory of the devices: owners and map, as they were in the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fabricated_devices import memory, report
from gradlife.model.device.codec import NOTE, note_of, report_in
from gradlife.model.device.memory import FailedRequest, Frame
from gradlife.reports.devices.terminal import failure_lines

SIMULATED = Path(__file__).parent / "simulated"

SCRIPT = """
import torch, simulated_device
kept = [torch.zeros(1000, device="simulated") for _ in range(8)]
"""


def test_a_note_gives_back_the_report_without_the_folders_of_the_machine() -> None:
    found = report_in([note_of(report(memory()))])
    assert found is not None
    (device,) = found.devices
    assert device.owners[0].place is not None
    assert device.owners[0].place.file == "me/train.py"
    assert replace(device, owners=(), failed=None, drag=()) == replace(memory(), owners=(), failed=None, drag=())


def test_a_request_failed_at_the_innermost_line_of_the_program() -> None:
    library = Frame("/venv/lib/python3.11/site-packages/torch/nn/functional.py", 1700, "gelu")
    line = Frame("/home/me/train.py", 41, "step")
    failed = FailedRequest(0, 12_000_000, 1_000_000, (Frame("??", 0, "alloc"), library, line))
    device = replace(memory(), failed=failed)
    found = report_in([note_of(report(device))])
    assert found is not None
    for one in (device, *found.devices):
        assert one.failed is not None
        [first, *_] = failure_lines(one, one.failed)
        assert first.plain.startswith("   12 MB requested at me/train.py:41: ")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"source": 1}', json.dumps({"source": "x", "devices": [{}]})])
def test_a_damaged_note_is_no_report(text: str) -> None:
    assert report_in([(NOTE, text)]) is None


def test_a_map_that_names_an_owner_that_is_not_there_is_no_report() -> None:
    key, text = note_of(report(replace(memory(), owners=())))
    assert report_in([(key, text)]) is None


@pytest.mark.torch
@pytest.mark.whole
def test_gradlife_snapshot_keeps_the_owners_of_device_memory(accelerator: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(accelerator), str(SIMULATED)]), "COLUMNS": "80"}

    def gradlife(*words: str) -> str:
        command = [sys.executable, "-m", "gradlife", *words]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=True
        )
        return done.stdout

    gradlife("snapshot", "-o", "x.glheap", "train.py")
    shown = gradlife("open", "x.glheap", "--json", "x.json", "--html", "x.html")
    assert "Memory of simulated:0, by owner" in shown
    assert "kept of __main__  8 blocks  train.py:3" in " ".join(shown.split(" "))
    document = json.loads((tmp_path / "x.json").read_text())
    owners = document["device_memory"]["devices"][0]["owners"]
    assert [(one["text"], one["bytes"]) for one in owners] == [("kept of __main__", 8 * 4096)]
    assert NOTE not in dict(document["notes"])
    assert "Memory of simulated:0" in (tmp_path / "x.html").read_text()
