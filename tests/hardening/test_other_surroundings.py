"""Looks under other allocators, seccomp, coroutines and a second interpreter, and what snapshots and hunts leave behind."""

from __future__ import annotations

import ctypes.util
import gc
import os
import random
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import gradlife
from own_interpreter import lines_of
from processes import comes_true

LOOK = """
import asyncio, os, random, sys, gradlife
class Kept: pass
kept = Kept()
def look(): return str(gradlife.why(kept)).splitlines()[0], type(gradlife.snapshot()).__name__
"""
ANSWER = "('Kept is held: a root reaches it', 'Snapshot')"
# A filter of classic BPF: load the number of the call, answer EPERM to process_vm_readv (310), allow all others.
NO_READS = """
import ctypes, struct
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 310), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
class Program(ctypes.Structure): _fields_ = [("count", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(len(rules), ctypes.addressof(code))), 0, 0) == 0
"""
LISTED = """
import os, tempfile
for entry in os.scandir(tempfile.gettempdir()):
    print("temporary", oct(entry.stat().st_mode & 0o077), sep=":")
"""
TRAIN = """
kept = []
def step():
    kept.append(bytearray(200_000))
for _ in range(60):
    step()
"""


def in_child(program: str, **environment: str) -> list[str]:
    return lines_of(LOOK + program, **environment)


def test_with_the_debug_allocators_of_python() -> None:
    assert in_child("print(look())", PYTHONMALLOC="debug") == [ANSWER]


@pytest.mark.allocator
@pytest.mark.parametrize("allocator", ["jemalloc", "tcmalloc_minimal"])
def test_with_another_malloc(allocator: str) -> None:
    library = ctypes.util.find_library(allocator)
    if library is None:
        pytest.skip(f"{allocator} is not installed")
    assert in_child("print(look())", LD_PRELOAD=library) == [ANSWER]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the number of the call is that of x86-64")
def test_where_seccomp_forbids_to_read_another_process() -> None:
    assert in_child(NO_READS + "print(look())") == [ANSWER]


@pytest.mark.whole
def test_in_a_coroutine_and_beside_a_second_interpreter() -> None:
    program = """
async def coroutine(): return look()
async def all_of_them(): return await asyncio.gather(*[coroutine() for _ in range(3)])
print(*set(asyncio.run(all_of_them())))
import _xxsubinterpreters as interpreters
other = interpreters.create()
interpreters.run_string(other, "kept = [object()]")
print(look())
interpreters.destroy(other)
print(look())
"""
    assert in_child(program) == [ANSWER] * 3


def test_a_page_of_a_notebook_leaves_the_random_state_alone() -> None:
    kept = [object()]
    random.seed(1)
    before = random.getstate()
    gradlife.why(kept)._repr_html_()
    gradlife.snapshot()._repr_html_()
    assert random.getstate() == before


@pytest.mark.whole
def test_snapshots_leave_no_descriptor_and_no_child() -> None:
    gradlife.snapshot()
    gc.collect()
    descriptors, children = os.listdir("/proc/self/fd"), psutil.Process().children()
    for _ in range(10):
        gradlife.snapshot()
    assert set(os.listdir("/proc/self/fd")) <= {*descriptors}  # those of other tests may be closed meanwhile
    assert [one for one in psutil.Process().children() if one not in children] == []


@pytest.mark.whole
def test_a_hunt_shows_an_absolute_file_and_its_temporary_files_are_private_and_do_not_stay(tmp_path: Path) -> None:
    temporary, folder = tmp_path / "temporary", tmp_path / "work"
    temporary.mkdir()
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN + LISTED + "print(__file__)\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "train.py"],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert str(folder / "train.py") in done.stdout
    assert {line for line in done.stdout.splitlines() if line.startswith("temporary")} == {"temporary:0o0"}
    assert sorted(os.listdir(temporary)) == []
    assert stat.S_IMODE((folder / "report.json").stat().st_mode) & 0o002 == 0


@pytest.mark.whole
def test_a_hunt_that_is_killed_leaves_no_child(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        TRAIN.replace("range(60)", "range(10**9)").replace("200_000", "10"), encoding="utf-8"
    )
    hunt = subprocess.Popen(
        [sys.executable, "-m", "gradlife", "hunt", "train.py"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "GRADLIFE_TEST_MARK": str(tmp_path)},
    )
    assert comes_true(lambda: len(marked(tmp_path)) >= 2)
    hunt.send_signal(signal.SIGKILL)
    hunt.wait()
    assert comes_true(lambda: marked(tmp_path) == [])


def marked(folder: Path) -> list[str]:
    """The processes that have the folder in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"GRADLIFE_TEST_MARK={folder}".encode() in (process / "environ").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


@pytest.mark.whole
def test_a_report_that_may_not_be_so_large_is_refused_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 8; exec "$0" -m gradlife hunt --html report.html train.py', sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    errors = [
        line for line in done.stderr.splitlines() if line.startswith("gradlife: error: the report cannot be written")
    ]
    assert len(errors) == 1
    assert errors[0].endswith("file too large; the program goes on")
    assert "Traceback" not in done.stderr
