"""A program does not see the copies that gradlife makes of it, and a copy runs nothing of the program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradlife.hunting.process.forked import CAN_FORK
from own_interpreter import lines_of

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="no copy is made here")

#: Each line is printed by one way in which a program can see a fork.
SEES_FORKS = """
import os, signal, sys, threading
me = os.getpid()
def note(what): os.write(1, f"{what}{' in a copy' * (os.getpid() != me)}\\n".encode())
os.register_at_fork(before=lambda: note("before"), after_in_parent=lambda: note("after"), after_in_child=lambda: note("child"))
signal.signal(signal.SIGCHLD, lambda *_: note("SIGCHLD"))
sys.addaudithook(lambda event, _: note(event) if event in {"os.fork", "os.kill"} else None)
class Prints:
    def __del__(self): note("dropped")
local, is_there, waits = threading.local(), threading.Event(), threading.Event()
def hold():
    local.kept = Prints()
    is_there.set()
    waits.wait()
thread = threading.Thread(target=hold)
thread.start()
is_there.wait()
"""

#: Copies by Python, one of which is waited for, and a copy by C++.
MAKES_COPIES = """
import tempfile
from gradlife import _heap
from gradlife.hunting.process.forked import Answer, in_fork
def look(): return os.getpid() != me, threading.active_count(), len(sys._current_frames())
answer = Answer(look)
answer.wait()
print(in_fork(look), answer.read(), flush=True)
with tempfile.TemporaryFile() as file: _heap.record(file.fileno(), False, None)
try: print("children", os.waitpid(-1, os.WNOHANG))
except ChildProcessError: print("no children", flush=True)
"""

#: Three threads that hold a lock of malloc most of the time: its one heap has no caches of threads.
ALLOCATES = """
import ctypes, os, threading
from gradlife.hunting.process import forked
forked.PATIENCE = 5
libc = ctypes.CDLL(None)
def allocate():
    compiled = ctypes.create_string_buffer(256)
    while True:
        libc.regcomp(compiled, b"((a|bc)*d[e-z]){1,60}", 1)
        libc.regfree(compiled)
for _ in range(3): threading.Thread(target=allocate, daemon=True).start()
print([forked.in_fork(os.getpid) for _ in range(300)].count(os.getpid()), flush=True)
os._exit(0)
"""
ONE_HEAP = {"MALLOC_ARENA_MAX": "1", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


@pytest.mark.allocator  # with another malloc than glibc's a program with threads is forked plainly
def test_no_function_signal_or_audit_hook_of_the_program_sees_a_copy() -> None:
    """A copy has the threads of the program, as they were."""
    ends = "print('end', flush=True); waits.set(); thread.join()"
    assert lines_of(SEES_FORKS + MAKES_COPIES + ends) == [
        "(True, 2, 2) (True, 2, 2)",
        "no children",
        "end",
        "dropped",
    ]


@pytest.mark.allocator  # with another malloc than glibc's a program with threads is forked plainly
def test_a_fork_of_the_program_runs_all_its_functions_after_a_copy() -> None:
    forks = (
        "signal.signal(signal.SIGCHLD, signal.SIG_DFL)\npid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)"
    )
    program = SEES_FORKS + MAKES_COPIES + forks + "\nwaits.set(); thread.join()"
    seen = lines_of(program, PYTHONWARNINGS="ignore")[2:]  # Python warns of forks beside threads
    assert sorted(seen) == ["after", "before", "child in a copy", "dropped", "dropped in a copy", "os.fork"]


@pytest.mark.whole
@pytest.mark.allocator
def test_no_copy_waits_for_a_lock_of_malloc_that_a_thread_of_the_program_holds() -> None:
    assert lines_of(ALLOCATES, **ONE_HEAP) == ["0"]


@pytest.mark.allocator  # with another malloc than glibc's a program with threads is forked plainly
def test_a_hunted_program_sees_its_own_forks_only(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import os, signal\n"
        "os.register_at_fork(after_in_child=lambda: print('child', flush=True))\n"
        "signal.signal(signal.SIGCHLD, lambda *_: print('SIGCHLD', flush=True))\n"
        "kept = []\n"
        "def step(): kept.append(bytearray(200_000))\n"
        "for _ in range(100): step()\n"
        "if not os.fork(): os._exit(0)\n"
        "os.wait()\n"
        "print('end', len(kept))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "gradlife", "hunt", "--step-on", "__main__:step", "--json", "out.json", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 1, done.stderr
    assert re.findall("(?m)^(?:child|SIGCHLD|end.*)$", done.stdout) == ["child", "SIGCHLD", "end 100"]
