"""The ledger of shared memory: who made it, who has it mapped, who has not taken it yet, what is left behind."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import pytest

from gradlife.hunting.process.cuda_ipc import count_unreleased, is_counters
from gradlife.hunting.process.shared_memory import (
    BLOCK,
    CUDA_IPC,
    DESCRIPTOR,
    FILE_SYSTEM,
    HEAP,
    MEMFD,
    OTHER,
    SharedMemoryWatch,
    files_there,
    is_memory,
    kind_of,
    maker_of,
    segments_of,
)
from gradlife.model.ranks import SharedLedger, SharedStorages

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc as Linux has it")


@pytest.mark.parametrize(
    ("path", "kind", "maker"),
    [
        ("/dev/shm/torch_4711_123_0 (deleted)", DESCRIPTOR, 4711),
        ("/dev/shm/torch_4711_123_0", FILE_SYSTEM, 4711),
        ("/dev/shm/psm_0a1b2c3d", BLOCK, None),
        ("/dev/shm/pym-4711-x1y2z3/pym-4711-q (deleted)", HEAP, 4711),
        ("/memfd:numba (deleted)", MEMFD, None),
        ("/dev/shm/nccl-AbCdEf", OTHER, None),
    ],
)
def test_the_name_of_shared_memory_tells_how_it_is_shared_and_torchs_who_made_it(
    path: str, kind: str, maker: int | None
) -> None:
    assert (kind_of(path), maker_of(path)) == (kind, maker)


@pytest.mark.parametrize(("pages", "is_counted"), [(1, False), (2, True)])
def test_the_page_that_gradlife_shares_with_a_copy_is_not_the_programs(pages: int, is_counted: bool) -> None:
    """It was a segment of the program if a copy was made at the moment of a look."""
    before = {one.bytes for one in segments_of([os.getpid()]).values()}
    with mmap.mmap(-1, pages * mmap.PAGESIZE):
        after = {one.bytes for one in segments_of([os.getpid()]).values()}
    assert (pages * mmap.PAGESIZE in after - before) == is_counted


@contextmanager
def program(source: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A program that prints a line when it has shared something, and then waits to be told to end."""
    process = subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait()


def rows_of(ledger: SharedLedger) -> list[tuple[str, str, int, int]]:
    """Maker, kind, count and waiting of each row, with the numbers of processes left out."""
    return [(words(row.made_by), row.kind, row.count, row.waiting) for row in ledger.rows]


def words(name: str) -> str:
    return " ".join(word for word in name.split() if not word.isdecimal())


BLOCK_SOURCE = """
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
block = SharedMemory(create=True, size=1 << 20)
resource_tracker.unregister(block._name, "shared_memory")
print(block._name, flush=True)
input() if {waits} else None
"""


def test_a_block_that_is_not_unlinked_is_left_behind_with_its_maker() -> None:
    with program(BLOCK_SOURCE.format(waits="True") + "\n") as (process, name):
        watch = SharedMemoryWatch(process.pid)
        watch.look()
        process.kill()
        process.wait()
    ledger = watch.ledger()
    try:
        assert rows_of(ledger) == [("the program", BLOCK, 1, 0)]
        [left] = ledger.leftovers
        assert (left.path, left.kind, left.bytes, left.made_by) == (f"/dev/shm{name}", BLOCK, 1 << 20, "the program")
    finally:
        os.unlink(f"/dev/shm{name}")


NOTING_SOURCE = BLOCK_SOURCE.replace(
    "print(",
    "from gradlife.hunting.process.shared_memory import note_shared_memory\nnote_shared_memory({folder!r})\nprint(",
)


def test_a_program_that_ends_before_a_look_notes_its_own_blocks(tmp_path: Path) -> None:
    with program(NOTING_SOURCE.format(waits="False", folder=str(tmp_path))) as (process, name):
        watch = SharedMemoryWatch(process.pid)
        process.wait()
        watch.add_noted(str(tmp_path))
    try:
        ledger = watch.ledger()
        assert rows_of(ledger) == [("the program", BLOCK, 1, 0)]
        assert [(left.path, left.made_by) for left in ledger.leftovers] == [(f"/dev/shm{name}", "the program")]
    finally:
        os.unlink(f"/dev/shm{name}")


def test_a_file_that_another_process_still_maps_is_not_left_behind() -> None:
    with program(BLOCK_SOURCE.format(waits="True")) as (process, name):
        watch = SharedMemoryWatch(process.pid)
        watch.look()
        block = SharedMemory(name.removeprefix("/"))
    try:
        assert watch.ledger().leftovers == ()
    finally:
        block.close()
        block.unlink()


def test_a_file_of_another_program_is_not_in_the_ledger() -> None:
    block = SharedMemory(create=True, size=4096)
    try:
        with program("print(flush=True)\ninput()") as (process, _):
            watch = SharedMemoryWatch(process.pid)
            watch.look()
        block.close()
        assert watch.ledger() == SharedLedger()
    finally:
        block.unlink()


#: As torch sends CUDA tensors to another process: a file with a header and 10,000 counters. There is no device here.
SENDER_SOURCE = """
import mmap, os, struct
path = "/dev/shm/torch_%d_4711_0" % os.getpid()
with open(path, "w+b") as file:
    file.write(struct.pack("<i60x", 1) + struct.pack("<5q", 1, 0, 1, 1, 0) + bytes(8 * 9_995))
    file.flush()
    counters = mmap.mmap(file.fileno(), 0)
with open({driver!r}, "w+b") as file:
    file.write(bytes(4096))
    file.flush()
    driver = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
print(path, flush=True)
input()
"""


@pytest.mark.parametrize(
    ("driver", "kind", "waiting"), [("libcuda.so.1", CUDA_IPC, 3), ("libother.so", FILE_SYSTEM, 0)], ids=["cuda", "cpu"]
)
def test_cuda_tensors_that_were_sent_and_not_released_are_counted(
    tmp_path: Path, driver: str, kind: str, waiting: int
) -> None:
    with program(SENDER_SOURCE.format(driver=str(tmp_path / driver))) as (process, path):
        watch = SharedMemoryWatch(process.pid)
        watch.look()
        process.kill()
        process.wait()
    try:
        ledger = watch.ledger()
        assert rows_of(ledger) == [("the program", kind, 1, waiting)]
        assert [(left.path, left.kind, left.bytes) for left in ledger.leftovers] == [(path, kind, 80_064)]
    finally:
        os.unlink(path)


def test_the_counters_of_a_file_that_is_gone_are_none(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    assert (count_unreleased(gone), is_counters(gone, [os.getpid()])) == (0, False)


#: What was sent is known when the thread that writes to the queue waits for more, and the one that hands descriptors over
#: has closed that of the tensor that was taken: each of the three has one, and one more for each of the two in the queue.
TORCH_SOURCE = """
import os, time
import torch
import torch.multiprocessing as mp
mp.set_sharing_strategy("{strategy}")

def take(queue, taken):
    kept = queue.get()
    taken.set()
    time.sleep(600)

def count_descriptors():
    links = (f"/proc/self/fd/{{name}}" for name in os.listdir("/proc/self/fd"))
    return sum(os.readlink(link).startswith("/dev/shm/torch_") for link in links if os.path.islink(link))

def wait_until(is_true):
    end = time.monotonic() + 900
    while not is_true() and time.monotonic() < end:
        time.sleep(0.01)

context = mp.get_context("fork")
queue, taken = context.Queue(), context.Event()
child = context.Process(target=take, args=(queue, taken), daemon=True)
child.start()
tensors = [torch.zeros(1000) for _ in range(3)]
for one in tensors:
    queue.put(one)
taken.wait()
wait_until(lambda: not queue._buffer and queue._notempty._waiters)
wait_until(lambda: count_descriptors() <= 5)
print(flush=True)
input()
child.kill()
"""


@pytest.mark.whole
@pytest.mark.torch
@pytest.mark.parametrize(("strategy", "kind"), [("file_descriptor", DESCRIPTOR), ("file_system", FILE_SYSTEM)])
def test_of_three_tensors_in_a_queue_two_are_not_taken_yet(strategy: str, kind: str) -> None:
    pytest.importorskip("torch")
    with program(TORCH_SOURCE.format(strategy=strategy)) as (process, _):
        watch = SharedMemoryWatch(process.pid)
        watch.look()
    ledger = watch.ledger()
    rows = sorted((len(row.mapped_by), row.count, row.waiting) for row in ledger.rows if row.kind == kind)
    assert rows == [(1, 2, 2), (2, 1, 0)]
    assert {row.made_by for row in ledger.rows if row.kind == kind} == {"the program"}
    assert isinstance(ledger.rows[0], SharedStorages)


def test_a_block_that_pythons_tracker_removes_is_not_left_behind() -> None:
    source = """
from multiprocessing.shared_memory import SharedMemory
block = SharedMemory(create=True, size=4096)
print(flush=True)
input()
"""
    with program(source) as (process, _):
        watch = SharedMemoryWatch(process.pid)
        watch.look()
        process.kill()
        process.wait()
        assert watch.ledger().leftovers == ()


FILE_SOURCE = """
import mmap, sys
file = open({path!r}, "rb")
mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) if {maps} else None
print(flush=True)
input()
"""


@pytest.mark.parametrize(("maps", "was_there", "left"), [(True, True, 0), (False, False, 0), (True, False, 1)])
def test_a_dataset_in_shared_memory_that_the_program_only_reads_is_not_left_behind(
    maps: bool, was_there: bool, left: int
) -> None:
    """The advice was to remove it."""
    path = f"/dev/shm/gradlife-dataset-{os.getpid()}"
    Path(path).write_bytes(bytes(4096))
    try:
        before = {key for key, there in files_there() if there != path or was_there}
        with program(FILE_SOURCE.format(path=path, maps=maps)) as (process, _):
            watch = SharedMemoryWatch(process.pid, before)
            watch.look()
        assert [one.path for one in watch.ledger().leftovers] == [path] * left
    finally:
        os.unlink(path)


def test_a_block_that_an_earlier_program_left_is_not_this_programs() -> None:
    with program(BLOCK_SOURCE.format(waits="True")) as (process, name):
        watch = SharedMemoryWatch(process.pid, {key for key, _ in files_there()})
        watch.look()
    try:
        assert watch.ledger().leftovers == ()
    finally:
        os.unlink(f"/dev/shm{name}")


SENDING_SOURCE = """
import os
while True:
    descriptor = os.memfd_create("batch")
    print(flush=True)
    input()
    os.close(descriptor)
"""


def test_segments_that_are_gone_are_forgotten() -> None:
    """A training for days makes millions of them."""
    with program(SENDING_SOURCE) as (process, _):
        assert process.stdin is not None
        assert process.stdout is not None
        watch = SharedMemoryWatch(process.pid)
        for _ in range(5):
            watch.look()
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
        assert len(watch._paths) == len(watch._first) == len(watch._kinds) == 1


def test_temporary_files_without_a_name_are_no_shared_memory() -> None:
    """Snapshots of the program that watches were in the ledger where TMPDIR is /dev/shm."""
    assert not is_memory("/dev/shm/#4711 (deleted)")
    assert is_memory("/dev/shm/torch_4711_123_0 (deleted)")
