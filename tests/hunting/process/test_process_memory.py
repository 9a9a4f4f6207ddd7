"""The memory of a process, and what its allocators have handed out."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from gradlife import _heap
from gradlife.heap.scan import OWN_FOLDER
from gradlife.hunting.process.process_memory import largest_mapped_file, process_memory
from gradlife.hunting.snapshots.creation_recorder import USUAL, Recording

pytestmark = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells of a process's memory")


def test_large_blocks_and_small_objects_are_counted_apart() -> None:
    _, _, small_before, _ = _heap.allocator_bytes()
    numbers = [float(one) for one in range(100_000)]
    malloc, _, small, _ = _heap.allocator_bytes()
    assert 32 * 100_000 - 50_000 <= small - small_before < 32 * 100_000 + 50_000  # blocks are multiples of 16 bytes
    assert malloc >= sys.getsizeof(numbers)


def test_small_objects_are_counted_while_creations_are_recorded() -> None:
    """CPython tells nothing of an allocator that something has hooked."""
    recording = Recording()
    recording.start(USUAL)
    try:
        assert _heap.allocator_bytes()[2] > 0
    finally:
        recording.stop()


def test_under_tracemalloc_small_objects_are_unknown() -> None:
    tracemalloc.start()
    try:
        assert _heap.allocator_bytes()[2:] == (-1, -1)
        assert process_memory() is None
    finally:
        tracemalloc.stop()


def test_pages_that_are_written_become_resident() -> None:
    before = process_memory()
    block = bytearray(b"x") * (32 << 20)
    after = process_memory()
    assert before is not None
    assert after is not None
    assert 31 << 20 < after.resident - before.resident < 40 << 20
    assert len(block) == 32 << 20


def test_a_graph_sums_up_its_large_objects() -> None:
    text = "x" * 1_000_000
    graph = _heap.walk(sizes=True, hidden_sources=OWN_FOLDER, min_atom_bytes=512)
    assert graph.large_bytes(1_000_000) >= sys.getsizeof(text)
    assert graph.large_bytes(1 << 40) == 0


def test_the_file_with_the_most_resident_pages_is_named(tmp_path: Path) -> None:
    (tmp_path / "samples.bin").write_bytes(bytes(64 << 20))
    source = f"""
import mmap
from gradlife.hunting.process.process_memory import largest_mapped_file
with open({str(tmp_path / "samples.bin")!r}, "rb") as file:
    data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
sum(data[::4096])
print(largest_mapped_file())
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path / "samples.bin")
    assert largest_mapped_file() != str(tmp_path / "samples.bin")
