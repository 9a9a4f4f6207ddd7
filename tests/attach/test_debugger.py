"""Attaching to processes that know nothing of it, by gdb."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import signal
import sys
import sysconfig
import time
import venv
from pathlib import Path

import pytest

from attachable import (
    ASLEEP,
    BUSY,
    IN_ANOTHER_THREAD,
    IN_MAIN_THREAD,
    IN_MANY_THREADS,
    STUCK,
    needs_debugger,
    needs_lldb,
    running,
)
from gradlife.attach import debugger
from gradlife.attach.bootstrap import ADDRESS, expression
from gradlife.attach.client import attach
from gradlife.attach.processes import Target
from gradlife.attach.protocol import VERSION, AttachError
from gradlife.errors import UsageError
from gradlife.heap import open_snapshot
from gradlife.model.hunt import HuntVerdict
from gradlife.program.hunt.running import Terms
from processes import comes_true

#: A process whose interpreter has no gradlife.
WITHOUT_GRADLIFE = """\
import os, sys
sys.meta_path[:] = sys.meta_path[-3:]
sys.path[:] = [one for one in sys.path if "packages" not in one and not os.path.isdir(os.path.join(one, "gradlife"))]
"""

#: Says what a wait of three seconds returned, and whether it took three seconds.
NAPS = """\
import os, select, socket, time
a, b = socket.socketpair()
print("ready", flush=True)
start = time.monotonic()
found = select.select([a], [], [], 3)[0]
open("naps.new", "w").write(f"{found} {time.monotonic() - start >= 3}")
os.rename("naps.new", "naps")
time.sleep(1000)
"""

#: A gradlife that says who it is and no more.
GREETER = f"""\
def serve_one(connection):
    connection.sendall(b'{{"version": {VERSION}, "pid": 1, "gradlife": "brought"}}\\n')
    connection.close()
"""


def test_the_expression_is_plain_ascii_and_knows_its_own_address() -> None:
    text = expression("/tmp/\u00e9 'x'/socket", "/a\\b")
    assert text.isascii()
    assert text.count(ADDRESS) == 1
    compile(text, "<gdb>", "eval")


@pytest.mark.whole
@needs_debugger
@pytest.mark.parametrize("program", [ASLEEP, BUSY, IN_MAIN_THREAD, IN_ANOTHER_THREAD])
def test_a_process_is_attached_to_wherever_its_main_thread_is(tmp_path: Path, program: str) -> None:
    with running(program, tmp_path) as pid:
        for _ in range(2):
            with attach(pid) as session:
                assert session.pid == pid
                assert session.stopped_seconds > 0
        with attach(pid) as session:
            taking = session.snapshot(tmp_path / "heap.glheap")
        assert open_snapshot(tmp_path / "heap.glheap").objects == taking["objects"]


@pytest.mark.whole
@pytest.mark.allocator
@needs_debugger
@pytest.mark.parametrize("allocator", ["debug", "jemalloc", "tcmalloc_minimal"])
def test_a_process_with_an_allocator_of_its_own_survives(tmp_path: Path, allocator: str) -> None:
    """Memory of the C library was given to the `free` of jemalloc or tcmalloc: the process died. One that never sleeps was
    waited for at the C library's `malloc`, which it never called.
    """
    library = ctypes.util.find_library(allocator)
    if library is None and allocator != "debug":
        pytest.skip(f"{allocator} is not installed")
    chosen = {"LD_PRELOAD": library} if library is not None else {"PYTHONMALLOC": "debug"}
    for program in (ASLEEP, BUSY):
        with running(program, tmp_path, **chosen) as pid:
            for _ in range(2):
                with attach(pid) as session:
                    assert session.pid == pid


@needs_debugger
@pytest.mark.whole
def test_a_process_with_many_threads_is_attached_to_and_keeps_them(tmp_path: Path) -> None:
    with running(IN_MANY_THREADS, tmp_path) as pid:
        tasks = Path(f"/proc/{pid}/task")
        before = {one.name for one in tasks.iterdir()}
        with attach(pid) as session:
            taking = session.snapshot(tmp_path / "heap.glheap")
        assert comes_true(lambda: {one.name for one in tasks.iterdir()} == before)
    assert len(before) == 61
    assert open_snapshot(tmp_path / "heap.glheap").objects == taking["objects"]


@needs_lldb
@pytest.mark.whole
@pytest.mark.parametrize("program", [ASLEEP, BUSY, IN_MAIN_THREAD, IN_ANOTHER_THREAD])
def test_lldb_attaches_where_there_is_no_gdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    found = shutil.which("lldb")
    monkeypatch.setattr(shutil, "which", lambda name: found if name == "lldb" else None)
    with running(program, tmp_path) as pid:
        for _ in range(2):
            with attach(pid) as session:
                assert (session.pid, session.stopped_seconds > 0) == (pid, True)


@needs_lldb
@pytest.mark.whole
def test_a_sleep_and_a_wait_go_on_after_lldb_has_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """lldb leaves the interrupted system call by hand, and enters it again."""
    found = shutil.which("lldb")
    monkeypatch.setattr(shutil, "which", lambda name: found if name == "lldb" else None)
    with running(NAPS, tmp_path) as pid:
        attach(pid).close()
        naps = tmp_path / "naps"
        while not naps.exists():
            assert Path(f"/proc/{pid}").exists()
            time.sleep(0.05)
        assert naps.read_text() == "[] True"


def test_folders_of_lldbs_own_package_are_found_beside_it(tmp_path: Path) -> None:
    program = tmp_path / "llvm-14" / "bin" / "lldb"
    package = tmp_path / "llvm-14" / "lib" / "python3.11" / "dist-packages" / "lldb"
    program.parent.mkdir(parents=True)
    package.mkdir(parents=True)
    program.touch()
    assert debugger.lldb_packages(str(program)) == []
    (package / "__init__.py").touch()
    (tmp_path / "lldb").symlink_to(program)
    assert debugger.lldb_packages(str(tmp_path / "lldb")) == [str(package.parent)]


@needs_debugger
@pytest.mark.whole
def test_a_leak_is_found_in_a_process_that_was_running_before(tmp_path: Path) -> None:
    with running(IN_ANOTHER_THREAD, tmp_path) as pid, attach(pid) as session:
        terms = Terms(steps=40, step_on="__main__:step")
        report = session.hunt(terms, f"gradlife attach {pid}", lambda progress: None)
    assert report.verdict is HuntVerdict.LEAK
    root = report.findings[0].trace.steps[0]
    assert (root.detail, root.via) == ("__main__", "global variable 'kept'")
    assert report.settings["attached"] == f"gradlife attach {pid}"


@needs_debugger
@pytest.mark.whole
def test_a_process_in_a_c_call_that_holds_the_lock_is_refused_and_goes_on(tmp_path: Path) -> None:
    with running(STUCK, tmp_path) as pid:
        with pytest.raises(AttachError, match="its main thread has been in a C call all the time"):
            attach(pid)
        assert Path(f"/proc/{pid}/status").read_text().partition("TracerPid:")[2].split()[0] == "0"


@needs_debugger
def test_a_process_without_gradlife_is_told_how_to_get_it(tmp_path: Path) -> None:
    with running(f"{WITHOUT_GRADLIFE}{ASLEEP}", tmp_path) as pid, pytest.raises(AttachError) as caught:
        attach(pid)
    assert caught.value.message == "it cannot import gradlife: ModuleNotFoundError: No module named 'gradlife'"
    assert caught.value.hint == f"gradlife attach --inject FOLDER, a folder with a gradlife for {sys.executable}"


@needs_debugger
def test_gradlife_is_found_in_a_folder_that_is_named(tmp_path: Path) -> None:
    package = tmp_path / "brought" / "gradlife" / "attach"
    package.mkdir(parents=True)
    for place in (package, package.parent):
        (place / "__init__.py").write_text("")
    (package / "server.py").write_text(GREETER)
    with running(f"{WITHOUT_GRADLIFE}{ASLEEP}", tmp_path) as pid, attach(pid, str(tmp_path / "brought")) as session:
        assert session.pid == 1


def test_a_machine_without_a_debugger_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debugger, "refuse_debugging", lambda pid: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match="attaching needs gdb or lldb, and neither is installed"):
        debugger.inject(Target(1, "python", "3.11", "/bin/python"), "1")


def test_the_debugger_does_not_get_libraries_that_are_loaded_into_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gdb with the library of AddressSanitizer hung for good."""
    fake = tmp_path / "gdb"
    fake.write_text('#!/bin/sh\necho "gradlife failed preloaded:$LD_PRELOAD"\n')
    fake.chmod(0o755)
    monkeypatch.setattr(debugger, "refuse_debugging", lambda pid: None)
    monkeypatch.setattr(shutil, "which", lambda name: str(fake) if name == "gdb" else None)
    monkeypatch.setenv("LD_PRELOAD", "libother.so")
    with pytest.raises(AttachError, match="preloaded: "):
        debugger.inject(Target(os.getpid(), "python", "3.11", "/bin/python"), "0")


def test_what_the_debugger_says_last_is_the_cause_where_it_says_no_other() -> None:
    assert debugger.cause_of("", ["ptrace: Operation not permitted."]) == "ptrace: Operation not permitted."
    assert debugger.cause_of("failed it ended meanwhile", []) == "it ended meanwhile"
    assert debugger.cause_of("", []) == "the debugger said nothing"


#: Waits for a worker that takes its time.
IN_DATA_LOADER = """\
import threading, time
import torch
from torch.utils.data import DataLoader

class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, at):
        if at:
            time.sleep(1000)
        return torch.zeros(2)

if __name__ == "__main__":
    batches = iter(DataLoader(Slow(), num_workers=1))
    next(batches)
    threading.Timer(0.5, lambda: print("ready", flush=True)).start()
    next(batches)
"""


@needs_debugger
@pytest.mark.torch
@pytest.mark.whole
def test_a_process_that_waits_for_a_worker_of_a_data_loader_is_attached_to(tmp_path: Path) -> None:
    with running(IN_DATA_LOADER, tmp_path) as pid:
        workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        with attach(pid) as session:
            taking = session.snapshot(tmp_path / "heap.glheap")
        for worker in workers:
            os.kill(int(worker), signal.SIGKILL)
    assert open_snapshot(tmp_path / "heap.glheap").objects == taking["objects"]


@needs_debugger
@pytest.mark.whole
def test_a_process_in_a_virtual_environment_of_its_own_gets_gradlife_from_another(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    with running(ASLEEP, tmp_path, python=str(python), PYTHONPATH="") as pid:
        with pytest.raises(AttachError, match="it cannot import gradlife"):
            attach(pid)
        with attach(pid, sysconfig.get_path("purelib")) as session:
            assert session.pid == pid
            assert session.snapshot(tmp_path / "heap.glheap")["objects"] > 0
