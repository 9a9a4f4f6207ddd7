from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import time

import pytest

from gradlife.environments import shown_command
from gradlife.environments.install import InstallError, install_error
from gradlife.environments.shown_command import Shown, pass_on, run_shown
from gradlife.readable import readable


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_what_a_command_says_is_passed_on_and_its_end_is_kept() -> None:
    stream = io.StringIO()
    shown = run_shown(
        python("import sys; print('one'); print('two', file=sys.stderr); sys.exit(3)"), os.environ, stream
    )
    assert shown.exit_code == 3
    assert sorted(shown.lines) == ["one", "two"]
    assert sorted(stream.getvalue().split()) == ["one", "two"]


def test_a_command_is_on_a_terminal_where_its_watcher_is() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        shown = run_shown(
            python("import sys; print(sys.stdout.isatty(), '\\x1b[32mgreen\\x1b[0m')"), os.environ, stream
        )
    os.close(ours)
    assert shown == Shown(0, ("True green",))


def test_a_command_that_leaves_its_output_open_to_another_is_not_waited_for() -> None:
    started = time.monotonic()
    code = "import subprocess; subprocess.Popen(['sleep', '3600'], start_new_session=False); print('done')"
    assert run_shown(python(code), os.environ, io.StringIO()).lines == ("done",)
    assert time.monotonic() - started < 1800


def test_what_a_command_says_just_before_its_end_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was lost if the command said it and ended between two looks."""
    reading, writing = os.pipe()
    process = subprocess.Popen(python("input(); print('last')"), stdin=subprocess.PIPE, stdout=writing)
    os.close(writing)

    def late(descriptors: list[int], seconds: float) -> list[int]:
        """Find nothing to read, and say so when the command has ended."""
        monkeypatch.setattr(shown_command, "readable", readable)
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return []

    monkeypatch.setattr(shown_command, "readable", late)
    assert pass_on(reading, io.StringIO(), process) == b"last\n"
    os.close(reading)


def test_a_watcher_that_went_away_does_not_end_the_command() -> None:
    stream = io.StringIO()
    stream.close()

    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    assert run_shown(python("print('on')"), os.environ, Gone()).lines == ("on",)


@pytest.mark.parametrize(
    ("line", "hint", "status"),
    [
        ("ERROR: Could not install: [Errno 28] No space left on device", "free some space", 3),
        ("WARNING: Retrying: Temporary failure in name resolution", "repeat the command when the network is back", 3),
        ("ERROR: No matching distribution found for torch==9", "a version for this Python", 2),
        ("ERROR: Invalid requirement: 'torch=1'", "a package as pip takes it", 2),
        ("Segmentation fault", "repeat the command: it continues where it stopped", 3),
    ],
)
def test_a_failed_pip_is_reported_with_its_last_lines_and_what_helps(line: str, hint: str, status: int) -> None:
    error = install_error(Shown(1, ("Collecting torch", line)), ["torch==9"])
    assert isinstance(error, InstallError)
    assert error.message.startswith("pip could not install torch==9: ")
    assert error.message.endswith(line)
    assert error.hint.startswith(hint)
    assert error.exit_status == status


def test_a_pip_that_says_nothing_is_named_by_its_exit_code() -> None:
    assert install_error(Shown(-9, ()), ["torch"]).message == "pip could not install torch: exit code -9"
