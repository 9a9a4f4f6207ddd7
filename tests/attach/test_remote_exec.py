"""Attaching through the interpreter itself, as Python 3.14 lets one: a stand-in runs the file in a thread of this process."""

from __future__ import annotations

import os
import runpy
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

import pytest

from attachable import ASLEEP, BUSY, IN_MAIN_THREAD, needs_debugger, running
from gradlife.attach import client
from gradlife.attach.bootstrap import ADDRESS, script
from gradlife.attach.processes import Target, fields_of
from gradlife.attach.protocol import AttachError
from gradlife.attach.remote_exec import request, runs_on_request
from processes import HANGS, comes_true

needs_remote_exec = pytest.mark.skipif(not hasattr(sys, "remote_exec"), reason="sys.remote_exec is new in Python 3.14")

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="gradlife attaches on Linux only")


def run_here(pid: int, path: str) -> None:
    assert pid == os.getpid()
    runpy.run_path(path)


def test_a_process_of_the_same_version_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target(os.getpid(), "python here", OWN, sys.executable)
    monkeypatch.setattr(sys, "remote_exec", run_here, raising=False)
    monkeypatch.delenv("PYTHON_DISABLE_REMOTE_DEBUG", raising=False)
    monkeypatch.setattr(client, "find_target", lambda pid: target)
    monkeypatch.setattr(client, "inject", lambda target, text: pytest.fail("no debugger is needed"))
    before = threading.active_count()
    with client.attach(os.getpid()) as session:
        assert session.pid == os.getpid()
        assert session.stopped_seconds == 0
    assert threading.active_count() <= before + 1  # it ends just now


def test_a_process_whose_main_thread_sleeps_is_attached_to_by_the_debugger(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs nothing until it wakes up; then the file is gone."""
    requested: list[str] = []
    target = Target(os.getpid(), "python here", OWN, sys.executable)
    monkeypatch.setattr(sys, "remote_exec", lambda pid, path: requested.append(os.path.basename(path)), raising=False)
    monkeypatch.delenv("PYTHON_DISABLE_REMOTE_DEBUG", raising=False)
    monkeypatch.setattr(client, "find_target", lambda pid: target)
    monkeypatch.setattr(client, "PATIENCE_WITH_REQUEST", 0.1)

    def inject(target: Target, text: str) -> float:
        eval(text.replace(ADDRESS, "0"), {})
        return 0.25

    monkeypatch.setattr(client, "inject", inject)
    with client.attach(os.getpid()) as session:
        assert (session.pid, session.stopped_seconds) == (os.getpid(), 0.25)
    assert requested == ["script.py", "null"]


@needs_remote_exec
@pytest.mark.parametrize("program", [IN_MAIN_THREAD, BUSY], ids=["trains", "busy"])
def test_a_real_interpreter_runs_what_it_is_asked_to(
    program: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(client, "inject", lambda target, text: pytest.fail("no debugger is needed"))
    monkeypatch.setattr(client, "PATIENCE_WITH_REQUEST", HANGS)
    with running(program, tmp_path) as pid, client.attach(pid) as session:
        assert (session.pid, session.stopped_seconds) == (pid, 0)
        assert session.snapshot(tmp_path / "heap.glheap")["objects"] > 1_000


@needs_remote_exec
@needs_debugger
def test_a_real_interpreter_that_sleeps_is_attached_to_by_the_debugger(tmp_path: Path) -> None:
    with running(ASLEEP, tmp_path) as pid:
        assert comes_true(lambda: fields_of(Path(f"/proc/{pid}"))["State"].startswith("S"))
        time.sleep(0.5)  # between its first line and its sleep it runs Python code
        with client.attach(pid) as session:
            assert session.pid == pid
            assert session.stopped_seconds > 0


def test_others_are_attached_to_by_the_debugger(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Target(1, "python", OWN, sys.executable)
    monkeypatch.setattr(sys, "remote_exec", run_here, raising=False)
    monkeypatch.delenv("PYTHON_DISABLE_REMOTE_DEBUG", raising=False)
    assert runs_on_request(own)
    assert not runs_on_request(Target(1, "python", "3.10", sys.executable))
    monkeypatch.setenv("PYTHON_DISABLE_REMOTE_DEBUG", "1")
    assert not runs_on_request(own)


def test_a_process_that_may_not_be_asked_is_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(pid: int, path: str) -> NoReturn:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(sys, "remote_exec", refuse, raising=False)
    monkeypatch.delenv("PYTHON_DISABLE_REMOTE_DEBUG", raising=False)
    with pytest.raises(AttachError, match=r"process 1 \(python\) cannot be asked: .*Operation not permitted"):
        request(Target(1, "python", OWN, sys.executable), script("/tmp/socket"), str(tmp_path / "script.py"))
