"""gradlife's own threads are none of the program's: it neither lists, traces, hears nor replaces them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradlife.own_thread import OwnThread, is_main_thread
from written import report_in


@pytest.fixture
def waiting() -> Iterator[OwnThread]:
    begun, is_over = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        is_over.wait()

    thread = OwnThread("gradlife", work)
    thread.start()
    begun.wait()
    yield thread
    is_over.set()
    thread.join()


def test_the_program_does_not_list_it(waiting: OwnThread) -> None:
    names = [thread.name for thread in threading.enumerate()]
    assert waiting.ident in sys._current_frames()
    assert "gradlife" not in names


def test_to_ask_in_it_for_the_main_thread_does_not_list_it_either() -> None:
    answers: list[object] = []
    thread = OwnThread("gradlife", lambda: answers.extend((is_main_thread(), threading.active_count())))
    before = threading.active_count()
    thread.start()
    thread.join()
    assert (answers, is_main_thread()) == ([False, before], True)


def test_functions_that_trace_the_threads_of_the_program_do_not_see_it() -> None:
    seen: list[str] = []
    threading.setprofile(lambda frame, *_: seen.append(frame.f_code.co_filename))
    threading.settrace(lambda frame, *_: seen.append(frame.f_code.co_filename))
    try:
        thread = OwnThread("gradlife", lambda: len([1]))
        thread.start()
        thread.join()
    finally:
        threading.setprofile(None)
        threading.settrace(None)
    assert seen == []


def test_an_error_in_it_is_one_line_and_none_of_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[object] = []
    monkeypatch.setattr(threading, "excepthook", heard.append)
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    thread = OwnThread("gradlife steps", lambda: 1 // 0)
    thread.start()
    thread.join()
    words = "the thread 'gradlife steps' has ended: ZeroDivisionError: integer division or modulo by zero"
    assert (heard, capsys.readouterr().err) == ([], f"gradlife: {words}; the program goes on\n")


def test_join_gives_up_after_its_time(waiting: OwnThread) -> None:
    waiting.join(0.01)
    assert waiting.ident in sys._current_frames()


#: The steps come after the working folder is gone, from a function that gradlife finds by sampling.
WITHOUT_FOLDER = """
import os, sys, tempfile, threading, time
threading.excepthook = lambda arguments: print("heard", arguments.exc_type.__name__, flush=True)
folder = tempfile.mkdtemp()
os.chdir(folder)
os.rmdir(folder)
sys.path.insert(0, "")
kept = []
def step(number):
    kept.append(bytearray(100_000))
    time.sleep(0.002)
def train():
    for number in range(400): step(number)
train()
print("end", len(kept))
"""


@pytest.mark.whole
def test_steps_are_found_after_the_program_has_removed_its_working_folder(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(WITHOUT_FOLDER, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "gradlife", "hunt", str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert (done.returncode, done.stdout) == (1, "end 400\n")
    assert "kept: each step appends to a list" in done.stderr
    assert "gradlife: " not in report_in(done.stderr)
