"""What a hunt says of resident memory that grows while no object does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")

from expected_programs import TRAINING

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux counts resident memory by its kind"),
]

#: Reads some more of a mapped file in each step.
PAGES_OF_A_FILE = """
import numpy
with open("samples.bin", "wb") as file:
    file.write(bytes(64 << 20))
samples = numpy.memmap("samples.bin", dtype=numpy.uint8, mode="r")
for step in range(110):
    total = samples[step * 500_000 : (step + 1) * 500_000].sum()
    train(loss_of(torch.ones(2, 64)))
"""

#: Maps memory in each step and never unmaps it, as native code may.
MAPPED_MEMORY = """
import ctypes
mmap = ctypes.CDLL(None).mmap
mmap.restype = ctypes.c_void_p
mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for step in range(110):
    ctypes.memset(mmap(None, 1 << 18, 3, 0x22, -1, 0), 1, 1 << 18)
    train(loss_of(torch.ones(2, 64)))
"""


def hunted(source: str, folder: Path) -> tuple[str, int]:
    (folder / "program.py").write_text(TRAINING + source)
    command = [sys.executable, "-m", "gradlife", "hunt", "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    return " ".join((done.stdout + done.stderr).split()), done.returncode


def test_pages_of_a_file_that_is_read_are_named_and_are_no_leak(tmp_path: Path) -> None:
    screen, status = hunted(PAGES_OF_A_FILE, tmp_path)
    told = f"pages of {tmp_path}/samples.bin, which the system drops when it needs memory"
    assert told.replace(" ", "") in screen.replace(" ", "")  # a long path is broken
    assert "clean program.py: nothing grew in " in screen
    assert status == 0


def test_memory_mapped_in_each_step_is_growth_whose_cause_is_not_found(tmp_path: Path) -> None:
    screen, status = hunted(MAPPED_MEMORY, tmp_path)
    assert "GROWS program.py: the cause was not found: each step leaves 262." in screen
    assert status == 3
