"""Whatever a story does to its process is one result, and the stories after it run all the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife.model import RunCrashed, RunFailed, RunOk, RunTimedOut, ScenarioRun
from gradlife.runner import api
from gradlife.runner.outcome import GARBLED, MUTE, OVERFLOWED
from processes import HANGS, ends

WriteStory = Callable[..., str]

GOOD = """
@scenario(title="a good one")
def good(lab):
    x = lab.tensor()
    lab.watch("x", x)
    del x
    lab.stage("end", all_names_gone=True)
"""


@pytest.fixture
def run_body(write_story: WriteStory) -> Callable[..., ScenarioRun]:
    """RunBody a story with this body, then a good one that must be unharmed."""

    def run(body: str, isolation: str = "fork") -> ScenarioRun:
        report = api.run([write_story(hostile_story(body, isolation))], backends=["fake"], time_limit=HANGS)
        hostile, good = report.runs
        assert isinstance(good, RunOk)
        assert [reading.value for reading in good.readings if reading.probe == "liveness"] == ["del", "del"]
        assert report.exit_status == (1 if hostile.is_failure else 0)
        return hostile

    return run


RunBody = Callable[..., ScenarioRun]


def hostile_story(body: str, isolation: str = "fork") -> str:
    head = f'@scenario(title="hostile", isolation="{isolation}")\ndef hostile(lab):\n'
    return head + "".join(f"    {line}\n" for line in body.strip().splitlines()) + GOOD


#: Time limits of stories that hang: the next one if the machine was too slow for the one before.
LIMITS = (0.5, 5.0, 50.0, 500.0)


@pytest.fixture
def hang(write_story: WriteStory, tmp_path: Path) -> Callable[..., RunTimedOut]:
    """Run a story that does something, then hangs; the good one after it must be unharmed."""
    note = tmp_path / "has begun to hang"

    def run(action: str, before: str = "", isolation: str = "fork") -> RunTimedOut:
        story = write_story(hostile_story(f"{before}\nopen({str(note)!r}, 'w').close()\n{action}", isolation))
        for limit in LIMITS:
            note.unlink(missing_ok=True)
            hostile, good = api.run([story], backends=["fake"], time_limit=limit).runs
            if note.exists() and isinstance(good, RunOk):
                break
        assert isinstance(good, RunOk)
        assert isinstance(hostile, RunTimedOut)
        assert hostile.reason == f"not done after {limit:g} s"
        return hostile

    return run


Hang = Callable[..., RunTimedOut]


def test_a_story_that_raises_failed_at_its_line(run_body: RunBody) -> None:
    run = run_body("lab.stage('first')\nraise ValueError('no\\nsecond line')")
    assert isinstance(run, RunFailed)
    assert run.reason == "ValueError: no (line 7)"
    assert run.traceback.endswith("ValueError: no\nsecond line\n")
    assert {reading.stage for reading in run.readings} == {"first"}


def test_what_was_read_before_an_exception_is_kept(run_body: RunBody) -> None:
    run = run_body("lab.value('a', 1)\nraise ValueError")
    assert [(reading.subject, reading.value) for reading in run.readings] == [("a", 1)]
    assert run.reason == "ValueError (line 7)"


@pytest.mark.parametrize(
    ("action", "reason"), [("sys.exit(0)", "SystemExit: 0"), ("raise KeyboardInterrupt", "KeyboardInterrupt")]
)
def test_a_story_that_wants_to_leave_failed(run_body: RunBody, action: str, reason: str) -> None:
    assert run_body(action).reason == f"{reason} (line 6)"


@pytest.mark.parametrize("code", [0, 3])
def test_a_story_that_ends_its_process_crashed(run_body: RunBody, code: int) -> None:
    run = run_body(f"lab.stage('first')\nos._exit({code})")
    assert isinstance(run, RunCrashed)
    assert run.reason == f"exited with {code} during its story"
    assert {reading.stage for reading in run.readings} == {"first"}


def test_a_story_that_is_killed_by_a_signal_crashed_with_its_last_words(run_body: RunBody) -> None:
    run = run_body("print('last words', flush=True)\nos.kill(os.getpid(), signal.SIGSEGV)")
    assert isinstance(run, RunCrashed)
    assert (run.signal, run.exit_code, run.reason) == ("SIGSEGV", -signal_number(), "killed by SIGSEGV")
    assert run.output.startswith("last words\n")


def signal_number() -> int:
    import signal

    return signal.SIGSEGV.value


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python 3.12 limits recursion through C")
def test_a_story_that_overflows_the_c_stack_crashed(run_body: RunBody) -> None:
    body = """
import ctypes
Callback = ctypes.CFUNCTYPE(None)
def again():
    callback()
callback = Callback(again)
sys.setrecursionlimit(10**9)
callback()
"""
    assert run_body(body).reason == "killed by SIGSEGV"


@pytest.mark.parametrize(
    "action",
    [
        "time.sleep(3600)",
        "while True: pass",
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); time.sleep(3600)",
    ],
)
def test_a_story_that_hangs_is_ended_in_time(hang: Hang, action: str) -> None:
    run = hang(action, before="lab.stage('first')")
    assert {reading.stage for reading in run.readings} == {"first"}


def test_the_processes_that_a_hanging_story_started_go_with_it(hang: Hang, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    hang(
        "time.sleep(3600)", before=f"child = os.fork() or time.sleep(3600)\nopen({str(note)!r}, 'w').write(str(child))"
    )
    assert ends(int(note.read_text()))


def test_a_process_that_a_story_leaves_behind_ends_with_it(run_body: RunBody, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    body = f"""
if os.fork() == 0:
    open({str(note)!r}, 'w').write(str(os.getpid()))
    time.sleep(3600)
while not os.path.exists({str(note)!r}) or not open({str(note)!r}).read():
    time.sleep(0.01)
"""
    assert isinstance(run_body(body), RunOk)
    assert ends(int(note.read_text()))


def test_nothing_that_a_story_prints_corrupts_its_result(run_body: RunBody) -> None:
    run = run_body(
        """
record = '{"kind": "reading", "stage": "s", "subject": "forged", "probe": "value", "value": 1, "status": ""}'
print(record)
sys.stderr.write(record + chr(10))
os.write(1, b'\\xff\\x00 not utf-8 ' + record.encode())
os.write(2, b'{"kind": "done"}')
lab.value("true", 1)
"""
    )
    assert isinstance(run, RunOk)
    assert [reading.subject for reading in run.readings] == ["true"]
    assert "\ufffd\x00 not utf-8" in run.output


def test_only_the_end_of_a_flood_of_output_is_kept(run_body: RunBody) -> None:
    run = run_body("for n in range(300000): print('line', n)")
    assert isinstance(run, RunOk)
    assert len(run.output) == 8192
    assert run.output.endswith("line 299999\n")


def test_a_story_that_never_stops_printing_is_ended_in_time(hang: Hang) -> None:
    run = hang("while True: os.write(1, b'x' * 65536)", before="os.write(1, b'x' * 8192)")
    assert len(run.output) == 8192


def test_a_story_that_never_stops_reporting_is_ended(run_body: RunBody) -> None:
    run = run_body("text = 'x' * 2**20\nfor n in range(10**6):\n    lab.value(str(n), text)\n    lab.flush()")
    assert isinstance(run, RunFailed)
    assert run.reason == OVERFLOWED == "it reported more than 32 MB"


def test_a_story_that_closes_every_descriptor_failed_for_that(run_body: RunBody) -> None:
    run = run_body("lab.stage('first')\nos.closerange(0, 1024)\nlab.stage('second')")
    assert isinstance(run, RunFailed)
    assert run.reason == MUTE
    assert {reading.stage for reading in run.readings} == {"first"}


def test_a_story_may_close_its_standard_streams(run_body: RunBody) -> None:
    run = run_body("sys.stdout.close()\nsys.stderr.close()\nos.closerange(0, 3)\nlab.value('v', 1)")
    assert isinstance(run, RunOk)


def test_a_story_that_writes_on_the_descriptor_of_the_lab_failed_for_that(run_body: RunBody) -> None:
    run = run_body("lab.stage('first')\nos.write(lab._emit._descriptor, b'garbage\\n[1]\\n{}\\n')")
    assert isinstance(run, RunFailed)
    assert run.reason == GARBLED
    assert {reading.stage for reading in run.readings} == {"first"}


def test_a_record_that_lacks_something_is_garbage(run_body: RunBody) -> None:
    assert run_body("lab._emit({'kind': 'reading', 'stage': 's'})").reason == GARBLED
    assert (
        run_body(
            "lab._emit({'kind': 'reading', 'stage': 1, 'subject': 's', 'probe': 'p', 'value': 0, 'status': ''})"
        ).reason
        == GARBLED
    )


def test_a_story_that_kills_its_fork_server_crashed(run_body: RunBody) -> None:
    run = run_body("os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(3600)")
    assert isinstance(run, RunCrashed)
    assert run.reason == "killed by SIGKILL"
    assert run.output.startswith("the story killed its fork server")


def test_a_crash_after_the_last_word_is_a_crash(run_body: RunBody) -> None:
    body = """
class Bomb:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGABRT)
bomb = Bomb()
lab.finish = (lambda finish: lambda: (finish(), setattr(sys.stdout, 'bomb', None)))(lab.finish)
sys.stdout = type('Out', (), {'flush': lambda self: os.kill(os.getpid(), signal.SIGABRT)})()
"""
    run = run_body(body)
    assert isinstance(run, RunCrashed)
    assert run.reason == "killed by SIGABRT"


def test_a_story_without_output_streams_is_fine(run_body: RunBody) -> None:
    assert isinstance(run_body("sys.stdout = sys.stderr = None"), RunOk)


def test_a_fresh_interpreter_is_isolated_in_the_same_path(run_body: RunBody, hang: Hang) -> None:
    assert run_body("raise ValueError('no')", isolation="fresh").reason == "ValueError: no (line 6)"
    assert run_body("os.kill(os.getpid(), signal.SIGSEGV)", isolation="fresh").reason == "killed by SIGSEGV"
    hang("time.sleep(3600)", isolation="fresh")


def test_a_fresh_interpreter_that_crashes_on_its_path_out_crashed(run_body: RunBody) -> None:
    run = run_body("import atexit\natexit.register(os._exit, 5)", isolation="fresh")
    assert run.reason == "exited with 5 during its story"
